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
    q = np.asarray(q, np.float64)
    if kind == "f8":
        factor = largest_power(q) / 256
        return (q / factor).astype(np.float32).astype(E4M3).astype(np.float64) * factor
    dtype = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[kind]
    return q.astype(dtype).astype(np.float64)


def softmax(logits):
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def attend(q, k, v, scale):
    """(logits, output) of rows q over all of k and v."""
    logits = q @ k.T * scale
    return logits, softmax(logits) @ v


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
