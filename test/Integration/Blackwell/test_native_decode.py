# RUN: %pytest %s
# REQUIRES: python, emulator
"""The kernel for Blackwell's tensor cores in generated cases that it takes: all
pairs of the options, where test_decode.py has those of all kernels."""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from decode_case import DecodeCase
from decode_domains import DOMAINS, is_legal, is_native
from pairs import all_pairs

NATIVE = {
    **DOMAINS,
    "k_format": ("nvfp4",),
    "v_format": ("nvfp4",),
    "qk": tuple(f"block_scaled, terms = {n}" for n in (1, 2, 3)),
    "pv": ("f16",),
    "lengths": ("page", "tile"),
    "group": (1, 8, 13, 64),
}
CASES = list(all_pairs(NATIVE, is_legal, seed=1))


def name(case):
    return "-".join(str(v).replace(", terms = ", "_") for v in case.values())


@pytest.mark.parametrize("index", range(len(CASES)), ids=[*map(name, CASES)].__getitem__)
def test_pairs(index, tmp_path):
    assert is_native(CASES[index])
    DecodeCase(CASES[index], seed=index).run(tmp_path)
