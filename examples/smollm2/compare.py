#!/usr/bin/env python3
"""Compare attention outputs over quantized caches with the unquantized one.

  compare.py prefill OUTPUTS    # reads OUTPUTS/out_bf16.npy, out_fp8.npy,
  compare.py decode OUTPUTS     # out_nvfp4.npy and out_mxfp4.npy

Prints, for each format, the bytes of the cached K and V rows (data and scales),
their ratio to bf16 and fp8, and the error of the output. Any missing, misshapen
or non-finite output is an error and exit status 1.
"""

import argparse
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

DATA = pathlib.Path(__file__).resolve().parent / "data"

# Bits of an element, and elements that share a block scale of one byte (0: no
# block scale). Global scales, four bytes a side, are not counted.
FORMATS = {
    "bf16": (16, 0),
    "fp8": (8, 0),
    "nvfp4": (4, 16),
    "mxfp4": (4, 32),
}


class Failure(Exception):
    """A message for the user."""


def load(path, shape=None):
    """The array of a .npy file as f64.

    bfloat16 has no NumPy type of its own: ml_dtypes saves it as two-byte voids.
    """
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise Failure(f"{path}: {error}") from None
    if array.dtype.kind == "V" and array.dtype.itemsize == 2:
        array = array.view(ml_dtypes.bfloat16)
    elif array.dtype.kind != "f":
        raise Failure(f"{path}: dtype {array.dtype}, expected a float type")
    if shape is not None and array.shape != shape:
        raise Failure(f"{path}: shape {array.shape}, expected {shape}")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))
        raise Failure(
            f"{path}: {len(bad)} values are not finite, the first at "
            f"{bad[0].tolist()}"
        )
    return array


def cacheBytes(name, rows, headDim):
    """(data bytes, scale bytes) of `rows` rows of headDim elements."""
    bits, block = FORMATS[name]
    scales = headDim // block if block else 0
    return rows * headDim * bits // 8, rows * scales


def errors(output, expected):
    """(relative L2 error, largest absolute error)."""
    difference = output - expected
    relative = np.linalg.norm(difference) / np.linalg.norm(expected)
    return relative, np.abs(difference).max()


def compare(step, outputs, formats, data=DATA):
    """The lines of the table for a step ('prefill' or 'decode')."""
    metadata = json.loads((data / "metadata.json").read_text())
    entry = metadata["steps"][step]
    expected = load(data / f"{step}_expected.npy")
    tokens = sum(entry["seq_lens"])
    rows = 2 * tokens * metadata["kv_heads"]
    total = {
        name: sum(cacheBytes(name, rows, metadata["head_dim"]))
        for name in FORMATS
    }
    lines = [
        f"{step}: layer {metadata['layer']} of {metadata['model']}",
        f"{len(entry['seq_lens'])} sequences, {tokens} tokens, "
        f"{sum(entry['queries'])} queries; the largest expected value is "
        f"{np.abs(expected).max():.3f}",
        f"{'format':8}{'data B':>10}{'scales B':>10}{'K+V B':>10}"
        f"{'of bf16':>9}{'of fp8':>9}{'rel. L2':>12}{'max error':>12}",
    ]
    for name in formats:
        payload, scales = cacheBytes(name, rows, metadata["head_dim"])
        output = load(outputs / f"out_{name}.npy", expected.shape)
        relative, largest = errors(output, expected)
        lines.append(
            f"{name:8}{payload:10}{scales:10}{total[name]:10}"
            f"{total[name] / total['bf16']:9.1%}"
            f"{total[name] / total['fp8']:9.1%}"
            f"{relative:12.3e}{largest:12.3e}"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("step", choices=("prefill", "decode"))
    parser.add_argument("outputs", type=pathlib.Path)
    parser.add_argument(
        "--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS)
    )
    options = parser.parse_args()
    try:
        lines = compare(options.step, options.outputs, options.formats)
    except Failure as failure:
        sys.exit(f"compare.py: error: {failure}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
