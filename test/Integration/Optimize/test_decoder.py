# RUN: %pytest %s
# REQUIRES: python, compiler
"""A whole decoder of random weights (examples/smollm2/decoder.py): kvq-optimize makes
of it one quantizing append per side and one attention per layer, and what it
generates is what NumPy does over the same caches."""

import os
import pathlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest

BIN = pathlib.Path(os.environ["KVQ_BUILD_DIR"]) / "bin"
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
sys.path.insert(0, os.path.join(os.environ["KVQ_SOURCE_DIR"], "examples", "smollm2"))

import generate  # noqa: E402
from decode_oracle import DecodeOracle  # noqa: E402
from op_counts import check_fused  # noqa: E402

STEPS, VOCABULARY = 7, 50
FLAGS = ["--parallel=none", "--opt-level=0"]


def model(layers):
    """Sizes that are no powers of two, and weights of scale 1."""
    random = np.random.default_rng(5)
    heads, kv_heads, dim, hidden = 6, 2, 32, 40
    width = heads * dim
    weights = {"token_embd.weight": (VOCABULARY, width), "output_norm.weight": (width,)}
    for i in range(layers):
        weights |= {
            f"blk.{i}.{name}.weight": shape
            for name, shape in {
                "attn_norm": (width,),
                "attn_q": (width, width),
                "attn_k": (kv_heads * dim, width),
                "attn_v": (kv_heads * dim, width),
                "attn_output": (width, width),
                "ffn_norm": (width,),
                "ffn_gate": (hidden, width),
                "ffn_up": (hidden, width),
                "ffn_down": (width, hidden),
            }.items()
        }
    weights = {
        name: (
            (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
            if len(shape) > 1
            else random.uniform(0.5, 2, shape).astype(np.float32)
        )
        for name, shape in weights.items()
    }
    return SimpleNamespace(
        heads=heads,
        kvHeads=kv_heads,
        headDim=dim,
        theta=1e4,
        epsilon=np.float32(1e-5),
        weights=weights,
    )


def program(formats):
    random = np.random.default_rng(6)
    prompts = [list(random.integers(0, VOCABULARY, n)) for n in (12, 3, 1)]
    result = generate.Program(model(len(formats)), prompts, STEPS, formats)
    for layer, name in enumerate(formats):
        if name in ("nvfp4", "fp8"):
            result.global_scales |= {
                ("k", layer): np.float32(0.005),
                ("v", layer): np.float32(0.003),
            }
    return result


def check(program, text, folder):
    tokens, logits, stored, _ = program.run(BIN / "kvq-run", text, folder, FLAGS)
    oracle = DecodeOracle(program, stored)
    expected = oracle.logits(tokens)
    error = np.linalg.norm(logits - expected, axis=-1) / np.linalg.norm(expected, axis=-1)
    assert error.max() < 1e-4, error
    # Equal up to ties, and generated from these logits.
    n = program.config.prompt
    chosen = np.take_along_axis(expected, tokens.T[n:, :, None], -1)[..., 0]
    assert (expected.max(-1) - chosen < 1e-3).all()
    np.testing.assert_array_equal(logits.argmax(-1).T, tokens[:, n:])
    np.testing.assert_array_equal(tokens[:, :n], program.tokens[:, :n])
    assert oracle.differences() < 1e-3


@pytest.mark.parametrize(
    "formats,chip",
    [(["fp8", "nvfp4", "fp8"], "sm_100a"), (["mxfp4", "mxfp8"], "cpu"), (["nvfp4"], "sm_80")],
)
def test_optimized(formats, chip, tmp_path):
    case = program(formats)
    text = case.optimize(BIN / "kvq-opt", case.module(), tmp_path, chip)
    check_fused(text, len(formats))
    check(case, text, tmp_path)


def test_as_written(tmp_path):
    """The module itself, over bf16."""
    case = program(["bf16", "bf16"])
    check(case, case.module(), tmp_path)
