"""Rotary position embeddings in NumPy's f32 arithmetic."""

import numpy as np

#: How the channels of a head are paired.
STYLES = ("rotate_half", "interleaved")

#: The NaN that a rotation gives.
NAN = np.uint32(0x7FC00000).view(np.float32)


def rotate(x, cos, sin, style="rotate_half"):
    """Rotates the first R channels of f32 rows [n, heads, head_dim] by tables
    [n, R / 2]. Every product and sum is rounded to f32."""
    result = np.array(x, np.float32)
    pairs = cos.shape[1]
    if style == "rotate_half":
        first, second = slice(0, pairs), slice(pairs, 2 * pairs)
    else:
        first, second = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
    x0, x1 = result[..., first].copy(), result[..., second].copy()
    c, s = (table.astype(np.float32)[:, None, :] for table in (cos, sin))
    with np.errstate(all="ignore"):
        y0 = x0 * c - x1 * s
        y1 = x1 * c + x0 * s
    result[..., first] = np.where(np.isnan(y0), NAN, y0)
    result[..., second] = np.where(np.isnan(y1), NAN, y1)
    return result
