"""Models in float64 of how Blackwell kernels compute attention: Q in terms of
K's own block format, beside a path of which all four operands are E4M3.

The formats are the oracle's, in NumPy and ml_dtypes.
"""

import ml_dtypes
import numpy as np
from oracle import formats

E4M3 = ml_dtypes.float8_e4m3fn


def largest_power(x):
    """For each row the power of two at or below its largest magnitude; 1 for
    zeros."""
    most = np.abs(x).max(axis=-1, keepdims=True)
    return np.exp2(np.frexp(np.where(most == 0, 1, most))[1] - 1)


def split_in_type(q, dtype, exponent, terms):
    """The sum of so many terms of a type, each of what those before it leave of
    the rows, which are scaled so that their largest magnitudes are 2^exponent
    to 2^(exponent + 1)."""
    factor = largest_power(np.asarray(q, np.float64)) / 2.0**exponent
    rest, total = np.asarray(q, np.float64) / factor, 0.0
    for _ in range(terms):
        term = rest.astype(np.float32).astype(dtype).astype(np.float64)
        rest, total = rest - term, total + term
    return total * factor


def split_terms(q, fmt, terms):
    """The sum of so many terms of a format, each of what those before it leave
    of the rows. A row is first scaled by a power of two so that its largest
    magnitude is 1024 to 2048, which puts block scales in the upper half of
    what E4M3 has."""
    q = np.asarray(q, np.float32)
    factor = (largest_power(q.astype(np.float64)) / 1024).astype(np.float32)
    rest, total = q / factor, np.zeros(q.shape, np.float32)
    for _ in range(terms):
        term = formats.dequantize(fmt, *formats.quantize(fmt, rest))
        rest, total = rest - term, total + term.astype(np.float64)
    return total * factor


def to_e4m3(x):
    """x with one scale for the whole array, chosen so that nothing saturates."""
    scale = np.abs(x).max() / 448
    return (x / scale).astype(np.float32).astype(E4M3).astype(np.float64) * scale


def rounded_query(q, kind, fmt):
    """Q as an MMA kind ("block_scaled, terms = 2", "f8", "f16" or "bf16") has
    it, beside keys of a format."""
    if kind.startswith("block_scaled"):
        return split_terms(q, fmt, int(kind.rpartition("=")[2]))
    if fmt == "fp8":
        return split_in_type(q, E4M3, 7, 2 if kind == "f8" else 3)
    dtype, exact = {"f16": (np.float16, ("float16", "bfloat16")),
                    "bf16": (ml_dtypes.bfloat16, ("bfloat16",))}[kind]
    return split_in_type(q, dtype, 10, 1 if q.dtype.name in exact else 2)


def round_weights(weights, kind, fmt=None):
    """P as an MMA kind has it beside values of a format, given with the largest in
    (1/2, 1]. E4M3 has it times 64 or more, where it has more bits."""
    if kind == "f16" and fmt in ("nvfp4", "mxfp4"):
        # Two terms of bf16, cut off.
        rest, total = weights.astype(np.float32), 0.0
        for _ in range(2):
            term = (rest.view(np.uint32) & np.uint32(0xffff0000)).view(np.float32)
            rest, total = rest - term, total + term.astype(np.float64)
        return total
    if kind == "f8":
        return (64 * weights).astype(np.float32).astype(E4M3).astype(np.float64) / 64
    dtype = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[kind]
    return weights.astype(np.float32).astype(dtype).astype(np.float64)


def round_values(v, kind, fmt, g=1):
    """V of a format, with its global scale, as an MMA kind has it."""
    if kind != "f8" or fmt != "nvfp4":
        return v
    # Without the global scale an eighth of them, of which the largest is 336. They have
    # at most 6 bits.
    stored = (v / np.float64(g)).astype(ml_dtypes.bfloat16).astype(np.float32)
    return (stored / 8).astype(E4M3).astype(np.float64) * 8 * np.float64(g)


def softmax(logits):
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def attend(q, k, v, scale, pv="exact"):
    """(logits, output) of rows q over all of k and v, with P as an MMA kind has
    it."""
    logits = q @ k.T * scale
    weights = softmax(logits)
    if pv != "exact":
        factor = 2 * largest_power(weights)
        weights = round_weights(weights / factor, pv) * factor
    return logits, weights @ v


def attend_in_e4m3(q, k, v, scale):
    """The same with Q, K, P and V in E4M3 and exact sums: Q, K and V with one
    scale for all, P from 0 to 448."""
    logits = to_e4m3(q) @ to_e4m3(k).T * scale
    weights = 448 * np.exp(logits - logits.max(axis=-1, keepdims=True))
    rounded = weights.astype(np.float32).astype(E4M3).astype(np.float64)
    return logits, rounded @ to_e4m3(v) / weights.sum(axis=-1, keepdims=True)


def relative(found, expected):
    """The relative L2 error."""
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)
