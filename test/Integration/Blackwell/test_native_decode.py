# RUN: %pytest %s
# REQUIRES: python, emulator
"""The kernel for Blackwell's tensor cores in generated cases that it takes: for each
format and kind of the keys all pairs of the other options, where test_decode.py has
those of all kernels.

Of the cases three of four run, eagerly and in a schedule of their own; with
KVQ_TEST_ALL_SCHEDULES all of them run in every one."""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from decode_case import DecodeCase
from decode_domains import EVERY_SCHEDULE, is_native, schedules
from native_cases import CASES, name


def test_count():
    assert len(CASES) >= 300


@pytest.mark.parametrize("index", [i for i in range(len(CASES)) if EVERY_SCHEDULE or i % 4],
                         ids=[*map(name, CASES)].__getitem__)
def test_pairs(index, tmp_path):
    config = CASES[index]
    assert is_native(config)
    DecodeCase({**config, "schedule": schedules(config)}, seed=index).run(tmp_path)


@pytest.mark.parametrize("k_format, v_format", [
    ("nvfp4", "nvfp4"), ("nvfp4", "bf16"), ("mxfp4", "mxfp4"), ("fp8", "fp8"),
    ("bf16", "bf16"), ("f16", "nvfp4")])
def test_longest(k_format, v_format, tmp_path):
    case = next(c for c in CASES if c["lengths"] == "long" and c["group"] <= 16
                and (c["k_format"], c["v_format"]) == (k_format, v_format))
    DecodeCase({**case, "lengths": "longest"}, seed=0).run(tmp_path)
