# RUN: %pytest %s
# REQUIRES: python, openmp
"""What runs parallel loops changes no bit of a result."""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from attention_case import AttentionCase
from compare import check_bytes
from test_attention_edges import BASE


@pytest.mark.parametrize("changes", [
    {"lengths": "mixed", "page": 32, "kv_heads": 3},
    {"queries": "ragged", "mask": "causal", "softcap": 3.0, "sinks": True},
    {"queries": "prefill", "lengths": "mixed", "v_format": "mxfp8", "split": 16},
    {"lengths": "empty", "kind": "tensor", "dynamic": True}])
def test_same_bits(changes, tmp_path):
    p, values = AttentionCase({**BASE, **changes}, seed=2).program()
    expected = p.run("cpu", tmp_path, ["--parallel=none"])
    for threads in ("async", "openmp"):
        # The second call is on threads that are there already.
        found = p.run("cpu", tmp_path, [f"--parallel={threads}", "--repeat=2"])
        for name, value in values.items():
            check_bytes(found[value], expected[value], f"{threads} {name}")
