"""Functions of one kvq operation each, and arrays for them."""

import ml_dtypes
import numpy as np

ELEMENTS = {"e2m1": "f4E2M1FN", "e4m3": "f8E4M3FN", "e8m0": "f8E8M0FNU",
            "bf16": "bf16", "f16": "f16"}
DTYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16),
          "bf16": np.dtype(ml_dtypes.bfloat16)}

CHIPS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a")


def memref(shape, element, strided=False):
    """A memref type with all sizes but the innermost dynamic, or with a fully
    dynamic layout too."""
    sizes = "".join("?x" for _ in shape[:-1]) + f"{shape[-1]}x"
    layout = ""
    if strided:
        strides = ", ".join(["?"] * (len(shape) - 1) + ["1"])
        layout = f", strided<[{strides}], offset: ?>"
    return f"memref<{sizes}{element}{layout}>"


def cache_type(cache):
    side = "value" if cache.scale_layout == "interleaved_4" else "key"
    layout = f", {cache.scale_layout}" if cache.num_scales else ""
    return (f"!kvq.cache<{side}, {cache.page}x{cache.heads}x{cache.head_dim}, "
            f"{cache.fmt.name}, {cache.kv_layout}{layout}>")


def padded(shape, dtype, fill, offset=0, gap=0):
    """An array of a shape inside a larger one, all bytes `fill`: `gap` unused
    elements behind each row and `offset` elements in front. Returns (view,
    whole)."""
    rows = int(np.prod(shape[:-1], dtype=np.int64))
    width = shape[-1] + gap
    dtype = np.dtype(dtype)
    # At a multiple of 64 bytes, so that the offset decides alignment.
    raw = np.full((offset + rows * width) * dtype.itemsize + 64, fill, np.uint8)
    start = -raw.ctypes.data % 64
    whole = raw[start:start + (offset + rows * width) * dtype.itemsize]
    view = whole.view(dtype)[offset:].reshape(*shape[:-1], width)
    return view[..., :shape[-1]], whole


def bits(array):
    """The bytes of an array, for comparison."""
    return np.ascontiguousarray(array).view(np.uint8)


#: Values where rounding, clamping and special cases lie.
SPECIAL = np.array(
    [0.0, -0.0, 0.25, -0.25, 0.75, 1.25, 2.5, 3.5, 5.0, 6.0, 448.0, -448.0,
     464.0, 2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 1e-38, -1e-45, 3e38, -3e38,
     np.inf, -np.inf, np.nan, -np.nan, 65504.0, 65520.0, 6e-8], np.float32)


def values(random, shape, dtype):
    """Values of many magnitudes, special ones among them."""
    x = random.standard_normal(shape) * 2.0 ** random.integers(-8, 8, shape)
    x = x.astype(np.float32)
    special = random.random(shape) < 0.02
    x = np.where(special, random.choice(SPECIAL, shape), x)
    with np.errstate(all="ignore"):
        return x.astype(DTYPES[dtype])


def widen(x):
    """f32 of f16 and bf16 with the payload of NaN, which processors may not
    keep."""
    if x.dtype == np.float16:
        raw = x.view(np.uint16).astype(np.uint32)
        payload = (raw & 0x8000) << 16 | (raw & 0x3FF) << 13 | 0x7FC00000
        with np.errstate(all="ignore"):
            wide = x.astype(np.float32)
        return np.where(np.isnan(x), payload.view(np.float32), wide)
    if x.dtype == DTYPES["bf16"]:
        return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return x
