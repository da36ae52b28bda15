"""Quantization of rows by the numeric contract, in NumPy's f32 arithmetic and
ml_dtypes' conversions.

Arrays of values have shape [..., n]. Packed data has shape [..., n * bits / 8]
and block scales have shape [..., n / block], both uint8.
"""

from typing import NamedTuple, Optional

import ml_dtypes
import numpy as np


class Format(NamedTuple):
    name: str
    element: str  # e2m1, e4m3, bf16, f16
    scale: Optional[str]  # e4m3, e8m0
    block: int  # 0 without block scales
    has_global: bool

    @property
    def bits(self):
        return {"e2m1": 4, "e4m3": 8, "bf16": 16, "f16": 16}[self.element]

    @property
    def max(self):
        return np.float32({"e2m1": 6, "e4m3": 448}[self.element])

    def data_bytes(self, n):
        return n * self.bits // 8

    def num_scales(self, n):
        return n // self.block if self.block else 0


FORMATS = {
    f.name: f
    for f in (
        Format("nvfp4", "e2m1", "e4m3", 16, True),
        Format("mxfp4", "e2m1", "e8m0", 32, False),
        Format("mxfp8", "e4m3", "e8m0", 32, False),
        Format("fp8", "e4m3", None, 0, True),
        Format("bf16", "bf16", None, 0, False),
        Format("f16", "f16", None, 0, False),
    )
}

DTYPES = {
    "e2m1": ml_dtypes.float4_e2m1fn,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e8m0": ml_dtypes.float8_e8m0fnu,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
}

F32 = np.float32


def get_format(fmt):
    return FORMATS[fmt] if isinstance(fmt, str) else fmt


def encode(x, kind):
    """Codes of f32 values as e2m1 or e4m3, clamped, one per byte."""
    x = np.asarray(x, F32)
    limit = F32(6 if kind == "e2m1" else 448)
    sign = np.signbit(x).astype(np.uint8) << (3 if kind == "e2m1" else 7)
    nan = np.isnan(x)
    magnitude = np.where(nan, F32(0), np.minimum(np.abs(x), limit))
    code = magnitude.astype(DTYPES[kind]).view(np.uint8)
    return np.where(nan, np.uint8(0 if kind == "e2m1" else 0x7F), code) | sign


def decode(codes, kind):
    """Exact f32 values of codes."""
    return np.asarray(codes, np.uint8).view(DTYPES[kind]).astype(F32)


def pack(codes, kind):
    if kind != "e2m1":
        return codes
    return codes[..., 0::2] | codes[..., 1::2] << 4


def unpack(data, kind):
    if kind != "e2m1":
        return data
    codes = np.stack([data & 0xF, data >> 4], axis=-1)
    return codes.reshape(*data.shape[:-1], 2 * data.shape[-1])


def _encode_16(x, kind):
    if kind == "f16":
        with np.errstate(all="ignore"):
            bits = x.astype(np.float16).view(np.uint16)
        # Quiet, with the payload kept, whatever NumPy was built for.
        source = x.view(np.uint32)
        nan = (source >> 16 & 0x8000) | 0x7E00 | (source >> 13 & 0x1FF)
    else:
        with np.errstate(all="ignore"):
            bits = x.astype(ml_dtypes.bfloat16).view(np.uint16)
        nan = x.view(np.uint32) >> 16 | 0x40
    bits = np.where(np.isnan(x), nan.astype(np.uint16), bits)
    return np.ascontiguousarray(bits.astype("<u2")).view(np.uint8)


def _largest(blocks):
    """The largest magnitude of each block, NaN ignored."""
    return np.where(np.isnan(blocks), F32(0), np.abs(blocks)).max(axis=-1)


def _quantize_e4m3_scaled(blocks, kind, target, g):
    """Codes and scale bytes for scales that map the largest magnitude to
    `target`."""
    a = _largest(blocks)
    with np.errstate(all="ignore"):
        scales = encode(a / (F32(target) * g), "e4m3")
        scales = np.where(np.isinf(a), np.uint8(0x7E), scales)
        divisor = (decode(scales, "e4m3") * g)[..., None]
        quotient = blocks / divisor
    # Infinite elements saturate, zeros stay zero, for any divisor.
    keep = np.isinf(blocks) | (blocks == 0) | np.isnan(blocks)
    quotient = np.where(keep, blocks, quotient)
    flushed = np.copysign(F32(0), blocks)
    if kind == "e4m3":
        flushed = np.where(np.isnan(blocks), blocks, flushed)
    quotient = np.where((scales == 0)[..., None], flushed, quotient)
    return encode(quotient, kind), scales


def _squared_error(blocks, codes, scales, kind, g):
    decoded = _product(codes, scales[..., None], "e4m3", kind, g)
    total = np.zeros(blocks.shape[:-1], F32)
    with np.errstate(all="ignore"):
        for i in range(blocks.shape[-1]):
            error = blocks[..., i] - decoded[..., i]
            total = total + error * error
    return total


def _product(codes, scales, scale_kind, kind, g):
    """(element x block scale) x global scale: the first product is exact."""
    with np.errstate(all="ignore"):
        return decode(codes, kind) * decode(scales, scale_kind) * g


def quantize(fmt, x, g=1.0, four_over_six=False):
    """Returns (data, scales) of f32 values. `g` broadcasts against the leading
    dimensions of x."""
    fmt = get_format(fmt)
    x = np.ascontiguousarray(x, F32)
    g = np.asarray(g, F32)
    assert np.all(np.isfinite(g)) and np.all(g > 0)
    assert fmt.has_global or np.all(g == 1)
    n = x.shape[-1]
    scales = np.zeros((*x.shape[:-1], fmt.num_scales(n)), np.uint8)
    if fmt.bits == 16:
        return _encode_16(x, fmt.element), scales
    if not fmt.block:
        with np.errstate(all="ignore"):
            return pack(encode(x / g[..., None], fmt.element), fmt.element), scales

    assert n % fmt.block == 0
    blocks = x.reshape(*x.shape[:-1], n // fmt.block, fmt.block)
    if fmt.scale == "e8m0":
        a = _largest(blocks)
        # floor(log2(a)): frexp gives a = m * 2^e with 0.5 <= m < 1. Infinity
        # counts as 2^128.
        exponent = np.frexp(a.astype(np.float64))[1] - 1
        exponent = np.where(np.isinf(a), 128, exponent)
        exponent = exponent - {"e2m1": 2, "e4m3": 8}[fmt.element]
        exponent = np.where(a == 0, -127, np.clip(exponent, -127, 127))
        scales = (exponent + 127).astype(np.uint8)
        with np.errstate(all="ignore"):
            codes = encode(
                np.ldexp(blocks.astype(np.float64), -exponent[..., None]).astype(F32),
                fmt.element,
            )
    else:
        g_block = g[..., None] if g.ndim else g
        g_element = g_block[..., None] if g.ndim else g
        codes, scales = _quantize_e4m3_scaled(blocks, fmt.element, fmt.max, g_block)
        if four_over_six:
            assert fmt.element == "e2m1"
            other, other_scales = _quantize_e4m3_scaled(
                blocks, fmt.element, 4, g_block
            )
            error = _squared_error(blocks, codes, scales, fmt.element, g_element)
            other_error = _squared_error(
                blocks, other, other_scales, fmt.element, g_element
            )
            better = other_error < error
            codes = np.where(better[..., None], other, codes)
            scales = np.where(better, other_scales, scales)
    return pack(codes.reshape(x.shape), fmt.element), scales


def dequantize(fmt, data, scales=None, g=1.0):
    """Returns f32 values."""
    fmt = get_format(fmt)
    g = np.asarray(g, F32)
    data = np.ascontiguousarray(data, np.uint8)
    if fmt.bits == 16:
        return data.view(np.dtype("<u2")).view(DTYPES[fmt.element]).astype(F32)
    codes = unpack(data, fmt.element)
    with np.errstate(all="ignore"):
        if not fmt.block:
            return decode(codes, fmt.element) * g[..., None]
    blocks = codes.reshape(*codes.shape[:-1], -1, fmt.block)
    g_element = g[..., None, None] if g.ndim else g
    values = _product(
        blocks, np.asarray(scales)[..., None], fmt.scale, fmt.element, g_element
    )
    return values.reshape(codes.shape)
