# RUN: %pytest %s
# REQUIRES: python, emulator
"""The kernel for Blackwell's tensor cores in generated cases that it takes: all
pairs of the options, where test_decode.py has those of all kernels."""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from decode_case import DecodeCase
from decode_domains import DOMAINS, is_legal, is_native, schedules
from pairs import all_pairs


def cases(k_format, v_format):
    dims = {"nvfp4": DOMAINS["k_dim"], "mxfp4": (128, 256)}
    wide = v_format == "mxfp4"
    domains = {
        **DOMAINS,
        "k_format": (k_format,),
        "v_format": (v_format,),
        "qk": tuple(f"block_scaled, terms = {n}" for n in (1, 2, 3)),
        "pv": ("bf16" if wide else "f16",),
        "k_dim": dims[k_format],
        "v_dim": dims[v_format],
        "lengths": ("page", "tile", "long"),
        "v_scale_layout": ("linear",) if wide else DOMAINS["v_scale_layout"],
    }
    return all_pairs(domains, is_legal, seed=1)


FORMATS = ("nvfp4", "mxfp4")
CASES = [case for k in FORMATS for v in FORMATS for case in cases(k, v)]


def name(case):
    return "-".join(str(v).replace(", terms = ", "_") for v in case.values())


def test_count():
    assert len(CASES) >= 300


@pytest.mark.parametrize("index", range(len(CASES)), ids=[*map(name, CASES)].__getitem__)
def test_pairs(index, tmp_path):
    config = CASES[index]
    assert is_native(config)
    for schedule in schedules(config):
        DecodeCase({**config, "schedule": schedule}, seed=index).run(tmp_path)


@pytest.mark.parametrize("k_format", FORMATS)
@pytest.mark.parametrize("v_format", FORMATS)
def test_longest(k_format, v_format, tmp_path):
    case = next(c for c in CASES if c["lengths"] == "long" and c["group"] <= 16
                and (c["k_format"], c["v_format"]) == (k_format, v_format))
    DecodeCase({**case, "lengths": "longest"}, seed=0).run(tmp_path)
