# RUN: %pytest %s
# REQUIRES: python
"""Attention as real front ends emit it is raised, and computes what it did.

Inputs/torch, Inputs/jax and Inputs/iree are written by Inputs/emit_*.py."""

import os
import re
import sys

import ml_dtypes
import numpy as np
import pytest

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs")
sys.path.insert(0, INPUTS)
from run_module import compare_functions, raise_module, split_module

CAUSAL, WINDOW, CAP = "causal", "window_left = 2", "softcap = 5.000000e+01"

#: The options that each is raised with, and whether it has a mask.
EXPECTED = {
    "torch/sdpa": ((), False),
    "torch/sdpa_scale": ((), False),
    "torch/sdpa_causal": ((CAUSAL,), False),
    "torch/sdpa_gqa": ((), False),
    "torch/sdpa_f16": ((), False),
    "torch/sdpa_bf16": ((), False),
    "torch/sdpa_float_mask": ((), True),
    "torch/sdpa_bool_mask": ((), True),
    "torch/llama": ((CAUSAL,), False),
    "torch/gpt2": ((CAUSAL,), False),
    "torch/bert": ((), True),
    "torch/gemma2": ((CAUSAL, WINDOW, CAP), False),
    "torch/t5": ((), True),
    "torch/decode_f16": ((), True),
    "jax/plain": ((), False),
    "jax/plain_bf16": ((), False),
    "jax/causal": ((CAUSAL,), False),
    "jax/gemma2": ((CAUSAL, WINDOW, CAP), False),
    "jax/nn": ((), False),
    "jax/nn_causal_gqa": ((CAUSAL,), False),
    "iree/plain": ((), False),
    "iree/plain_bf16": ((), False),
    "iree/causal": ((CAUSAL,), False),
    "iree/gemma2": ((CAUSAL, WINDOW, CAP), False),
    "iree/nn": ((), False),
    "iree/nn_causal_gqa": ((CAUSAL,), False),
}

#: Roundings of scores and weights that raising drops.
TOLERANCE = {"f32": 1e-5, "f16": 2e-3, "bf16": 3e-2}
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
          "i1": np.bool_}


def test_all_are_listed():
    found = {f"{folder}/{name[:-5]}" for folder in ("torch", "jax", "iree")
             for name in os.listdir(os.path.join(INPUTS, folder))}
    assert found == set(EXPECTED)


def arrays_for(function, name):
    random = np.random.default_rng(len(name))
    signature = function.split("{\n", 1)[0].split("->")[0]
    arrays = []
    for shape, element in re.findall(r": tensor<((?:\d+x)*)(\w+)>", signature):
        sizes = [int(n) for n in shape.split("x") if n]
        array = random.standard_normal(sizes)
        if element == "i1":
            array = random.integers(0, 2, sizes).astype(bool)
            array[..., 0] = True
        elif name == "torch/bert" and sizes == [2, 6]:
            array = np.ones(sizes)
            array[1, 4:] = 0
        arrays.append(array.astype(DTYPES[element]))
    return arrays


@pytest.mark.parametrize("name", EXPECTED)
def test_front_end(name, tmp_path):
    options, has_mask = EXPECTED[name]
    with open(os.path.join(INPUTS, name + ".mlir")) as file:
        text = file.read()
    header, functions = raise_module(text, tmp_path)
    after = functions["main"]
    assert after.count(" = kvq.attention") == 1, after
    assert "math.exp" not in after and "math.tanh" not in after, after
    assert ("mask(" in after) == has_mask, after
    found = re.search(r"#kvq\.attention<([^>]*)>", after)
    assert (found[1].split(", ") if found else []) == list(options), after

    plain_header, plain = split_module(text)
    before = re.sub(r"@main", "@before", plain["main"], count=1)
    resources = text[text.index("{-#"):] if "{-#" in text else ""
    arrays = arrays_for(after, name)
    # Aliases of the two texts are apart.
    before = re.sub(r"#(map\d*)\b", r"#before_\1", before)
    plain_header = re.sub(r"^#(map\d*)\b", r"#before_\1", plain_header, flags=re.M)
    results = compare_functions(plain_header + "\n" + header, before, after, arrays,
                                tmp_path, resources=resources)
    bound = TOLERANCE["bf16" if "bf16" in name else "f16" if "f16" in name else "f32"]
    np.testing.assert_allclose(results[1], results[0], rtol=bound, atol=bound)
