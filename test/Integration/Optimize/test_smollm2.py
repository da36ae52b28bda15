# RUN: %pytest %s
# REQUIRES: python, compiler, smollm2
"""All 30 layers of SmolLM2-135M with the real weights, which come with what
examples/smollm2/requirements.txt names: 64 tokens of two prompts in one batch are
generated from caches in NVFP4, the first and the last layer in FP8."""

import os
import pathlib
import sys

import numpy as np

BIN = pathlib.Path(os.environ["KVQ_BUILD_DIR"]) / "bin"
EXAMPLE = pathlib.Path(os.environ["KVQ_SOURCE_DIR"]) / "examples" / "smollm2"
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
sys.path.insert(0, str(EXAMPLE))

import capture  # noqa: E402
import generate  # noqa: E402
from decode_oracle import DecodeOracle  # noqa: E402
from op_counts import check_fused  # noqa: E402

STEPS = 64


def log_softmax(x):
    x = x.astype(np.float64)
    x -= x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def test_generates_from_quantized_caches(tmp_path):
    model = capture.Model(capture.findModel())
    assert model.layers == 30
    formats = ["fp8", *["nvfp4"] * 28, "fp8"]
    encode = model.tokenizer.encode
    program = generate.Program(model, [encode(p) for p in generate.PROMPTS], STEPS, formats)
    program.calibrate(model.forward(encode((EXAMPLE / "text.txt").read_text()))[1])
    text = program.optimize(BIN / "kvq-opt", program.module(), tmp_path, "sm_100a")
    check_fused(text, model.layers)
    tokens, logits, stored, _ = program.run(BIN / "kvq-run", text, tmp_path, generate.RUN_FLAGS)

    # NumPy over the same caches generates the same.
    oracle = DecodeOracle(program, stored)
    expected = oracle.logits(tokens)
    n = program.config.prompt
    np.testing.assert_array_equal(expected.argmax(-1).T, tokens[:, n:])
    error = np.linalg.norm(logits - expected, axis=-1) / np.linalg.norm(expected, axis=-1)
    assert error.max() < 1e-4, error.max()
    assert oracle.differences() < 1e-4
    assert program.texts(tokens)[0].startswith(" Paris")

    # What the caches lose is what NVFP4 loses: a divergence of 0.05 when measured.
    for row, start, step in zip(tokens, program.starts, range(len(tokens))):
        exact = log_softmax(model.forward(row[start:-1])[0][n - 1 - start :])
        found = log_softmax(logits[:, step])
        divergence = (np.exp(exact) * (exact - found)).sum(-1).mean()
        assert 0.01 < divergence < 0.15, divergence
        assert (exact.argmax(-1) == row[n:]).mean() > 0.75
