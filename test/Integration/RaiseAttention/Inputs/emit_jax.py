"""Emits jax/*.mlir and iree/*.mlir: attention as JAX traces it, lowered from
StableHLO to linalg by torch-mlir's copy of stablehlo-legalize-to-linalg and by
IREE's input conversion.

Run by hand, in an environment with jax, iree-base-compiler and torch-mlir; the
tests need only what it wrote. Written with jax 0.10.2, iree-base-compiler
3.13.0, torch-mlir 20261001:

    python emit_jax.py
"""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.dirname(sys.executable)
LEGALIZE = (
    "builtin.module(inline,symbol-dce,func.func(canonicalize,cse),"
    "stablehlo-legalize-to-linalg{enable-primitive-ops=false},"
    "func.func(canonicalize,cse))")
IREE = ("builtin.module(iree-stablehlo-to-stablehlo-preprocessing,"
        "iree-stablehlo-input-transformation-pipeline)")


def plain(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)


def causal(q, k, v):
    """As flax's dot_product_attention with make_causal_mask."""
    q = q / jnp.sqrt(q.shape[-1]).astype(q.dtype)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
    length = q.shape[1]
    i = jax.lax.iota(jnp.int32, length)
    mask = i[None, :] <= i[:, None]
    scores = jnp.where(mask, scores, jnp.finfo(jnp.float32).min)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def gemma2(q, k, v):
    """Soft-cap, sliding window, grouped queries in five dimensions."""
    b, length, heads, dim = q.shape
    kv_heads = k.shape[2]
    q = q.reshape(b, length, kv_heads, heads // kv_heads, dim) * dim ** -0.5
    scores = jnp.einsum("btkgh,bskh->bkgts", q, k)
    scores = jnp.tanh(scores / 50.0) * 50.0
    i = jnp.arange(length)
    seen = (i[None, :] <= i[:, None]) & (i[None, :] > i[:, None] - 3)
    scores = jnp.where(seen, scores, -2.3819763e38)
    out = jnp.einsum("bkgts,bskh->btkgh", jax.nn.softmax(scores), v)
    return out.reshape(b, length, heads, dim)


def nn(q, k, v):
    return jax.nn.dot_product_attention(q, k, v)


def nn_causal(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def r(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


Q, K = (2, 6, 4, 8), (2, 7, 4, 8)
CASES = {
    "plain": (plain, r(*Q), r(*K), r(*K)),
    "causal": (causal, r(*Q), r(*Q), r(*Q)),
    "gemma2": (gemma2, r(*Q), r(2, 6, 2, 8), r(2, 6, 2, 8)),
    "nn": (nn, r(*Q), r(*K), r(*K)),
    "nn_causal_gqa": (nn_causal, r(*Q), r(2, 6, 2, 8), r(2, 6, 2, 8)),
    "plain_bf16": (plain, *(r(*s, dtype=jnp.bfloat16) for s in (Q, K, K))),
}


def convert(tool, pipeline, text):
    done = subprocess.run(
        [os.path.join(BIN, tool), f"--pass-pipeline={pipeline}", "-"],
        input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[:500])
    return done.stdout


def main():
    for folder, tool, pipeline in (("jax", "torch-mlir-opt", LEGALIZE),
                                   ("iree", "iree-opt", IREE)):
        os.makedirs(os.path.join(HERE, folder), exist_ok=True)
        for name, (function, *arguments) in CASES.items():
            lowered = jax.jit(function).trace(*arguments).lower(
                lowering_platforms=("cpu",))
            try:
                text = convert(tool, pipeline, lowered.as_text())
            except RuntimeError as error:  # one that cannot be converted
                print(f"{folder}/{name}: {error}", file=sys.stderr)
                continue
            path = os.path.join(HERE, folder, name + ".mlir")
            with open(path, "w") as file:
                file.write(f"// Written by emit_jax.py with jax "
                           f"{jax.__version__}.\n{text}")


main()
