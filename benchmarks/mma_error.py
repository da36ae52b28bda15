"""Measures what each MMA kind adds to the error of a product.

Prints the relative root mean square of rounding a Gaussian operand to f16,
bf16 and E4M3, of two terms of E4M3, of folding NVFP4 values into E4M3, and of the
residual of one to three terms of NVFP4 and MXFP4. The table in lib/Dialect/KVQ/Analysis/MMARules.cpp
states these figures.

Usage: python benchmarks/mma_error.py [--rows N]
"""

import argparse

import ml_dtypes
import numpy as np


def quantize(x, block, scale_type):
    """One term: values decoded from FP4 with a scale per block, rule A."""
    blocks = x.reshape(-1, block)
    largest = np.abs(blocks).max(axis=1)
    if scale_type == "e4m3":
        g = np.abs(x).max() / 6 / 448
        scale = np.minimum(largest / 6 / g, 448)
        scale = scale.astype(ml_dtypes.float8_e4m3fn).astype(np.float64) * g
    else:
        scale = np.exp2(np.floor(np.log2(np.maximum(largest, 2.0**-126))) - 2)
    ratio = np.divide(blocks, scale[:, None], where=scale[:, None] > 0,
                      out=np.zeros_like(blocks))
    codes = np.clip(ratio, -6, 6).astype(ml_dtypes.float4_e2m1fn)
    return (codes.astype(np.float64) * scale[:, None]).reshape(x.shape)


def relative(error, x):
    return np.sqrt((error**2).sum() / (x**2).sum())


def round_to(x, dtype, factor=1.0):
    return (x * factor).astype(dtype).astype(np.float64) / factor


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000)
    args = parser.parse_args()
    x = np.random.default_rng(1).standard_normal((args.rows, 128))
    for name, dtype, factor in (("f16", np.float16, 1),
                                ("bf16", ml_dtypes.bfloat16, 1),
                                ("E4M3", ml_dtypes.float8_e4m3fn, 64)):
        print(f"{name:6} {relative(round_to(x, dtype, factor) - x, x):.4%}")
    residual = x.copy()
    for _ in range(2):
        residual -= round_to(residual, ml_dtypes.float8_e4m3fn, 64)
    print(f"E4M3 terms 2 {relative(residual, x):.4%}")
    stored = quantize(x, 16, "e4m3")
    folded = round_to(stored, ml_dtypes.float8_e4m3fn, 64)
    print(f"NVFP4 folded into E4M3 {relative(folded - stored, stored):.4%}")
    for name, block, scale in (("NVFP4", 16, "e4m3"), ("MXFP4", 32, "e8m0")):
        residual = x.copy()
        for terms in (1, 2, 3):
            residual -= quantize(residual, block, scale)
            print(f"{name} terms {terms} {relative(residual, x):.3%}")


if __name__ == "__main__":
    main()
