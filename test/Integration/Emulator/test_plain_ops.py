# RUN: %pytest_in_every_schedule %s
# REQUIRES: python, emulator
"""Kernels of quantize, dequantize, convert_scale_layout and merge_states,
against the oracle."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import device
import programs
from oracle import attention, cache as caches, formats


def quantize_text(fmt, dtype, dim, strided, four_over_six):
    shape = (0, 0, dim)
    data = programs.memref(shape, programs.ELEMENTS[fmt.element], strided)
    x = programs.memref(shape, dtype, strided)
    scales, s = "", ""
    if fmt.block:
        type = programs.memref((0, 0, dim // fmt.block),
                               programs.ELEMENTS[fmt.scale], strided)
        scales, s = f", %s : {data}, {type}", f", %s: {type}"
    else:
        scales = f" : {data}"
    g = "global_scale(%g) " if fmt.has_global else ""
    four = ", four_over_six" if four_over_six else ""
    return f"""
func.func @quantize(%x: {x}, %d: {data}{s}, %g: f32) {{
  kvq.quantize ins(%x : {x}) {g}outs(%d{scales})
      {{format = #kvq.format<{fmt.name}>{four}}}
  return
}}
func.func @dequantize(%x: {x}, %d: {data}{s}, %g: f32) {{
  kvq.dequantize ins(%d{scales}) {g}outs(%x : {x})
      {{format = #kvq.format<{fmt.name}>}}
  return
}}
"""


CASES = [
    # format, dtype, dim, (offset, gap), four over six
    ("nvfp4", "f32", 128, None, False),
    ("nvfp4", "bf16", 64, (0, 16), False),
    ("nvfp4", "f16", 48, (1, 3), False),
    ("nvfp4", "bf16", 128, None, True),
    ("mxfp4", "f32", 96, None, False),
    ("mxfp4", "f16", 64, (2, 2), False),
    ("mxfp8", "bf16", 64, None, False),
    ("mxfp8", "f32", 32, (3, 5), False),
    ("fp8", "f32", 128, None, False),
    ("fp8", "f16", 37, (0, 0), False),
    ("fp8", "bf16", 40, (5, 3), False),
    ("bf16", "f32", 64, None, False),
    ("bf16", "f16", 21, (1, 1), False),
    ("f16", "bf16", 64, None, False),
    ("f16", "f32", 19, (0, 5), False),
    ("f16", "f16", 16, None, False),
    ("bf16", "bf16", 8, None, False),
]


#: One chip of each set of conversions for all cases, the others for one.
CHIPS = ("sm_80", "sm_89", "sm_100a")
OTHERS = [chip for chip in programs.CHIPS if chip not in CHIPS]


@pytest.mark.parametrize(
    "fmt, dtype, dim, place, four, chip",
    [(*case, chip) for chip in CHIPS for case in CASES] +
    [(*CASES[3], chip) for chip in OTHERS])
def test_quantize(fmt, dtype, dim, place, four, chip, tmp_path):
    random = np.random.default_rng(dim)
    fmt = formats.FORMATS[fmt]
    text = quantize_text(fmt, dtype, dim, place is not None, four)
    quantize, dequantize = device.Compiled(text, chip, tmp_path).kernels
    offset, gap = place or (0, 0)
    scalars = {"global_scale": np.float32(0.0107)}
    g = scalars["global_scale"] if fmt.has_global else np.float32(1)
    for rows in ((0, 3), (1, 1), (7, 5)):
        x, x_all = programs.padded((*rows, dim), programs.DTYPES[dtype], 0xFF,
                                   offset, gap)
        x[...] = programs.values(random, x.shape, dtype)
        step = max(1, fmt.bits // 8)
        data, data_all = programs.padded(
            (*rows, fmt.data_bytes(dim)), np.uint8, 0xA5, offset * step,
            gap * step)
        scales, scales_all = programs.padded(
            (*rows, fmt.num_scales(dim)), np.uint8, 0xA5, offset, gap)
        operands = {"input": x, "data": data, "scales": scales}
        expected = data_all.copy(), scales_all.copy()
        want, want_scales = formats.quantize(
            fmt, programs.widen(np.ascontiguousarray(x)), g, four)
        with device.registered(x_all, data_all, scales_all):
            quantize.launch(operands, scalars)
        np.testing.assert_array_equal(data, want)
        np.testing.assert_array_equal(scales, want_scales)
        # Nothing beside the rows is written.
        data[...] = 0xA5
        scales[...] = 0xA5
        np.testing.assert_array_equal(data_all, expected[0])
        np.testing.assert_array_equal(scales_all, expected[1])

        # Any code is decoded.
        data[...] = random.integers(0, 256, data.shape)
        scales[...] = random.integers(0, 256, scales.shape)
        if fmt.scale == "e4m3":
            scales[...] &= 0x7F
        x[...] = 0
        operands["output"] = x
        with device.registered(x_all, data_all, scales_all):
            dequantize.launch(operands, scalars)
        if rows[0] == 0:
            continue
        want = formats.dequantize(fmt, data, scales, g)
        with np.errstate(all="ignore"):
            want = want.reshape(x.shape).astype(x.dtype)
        nan = np.isnan(want.astype(np.float32))
        np.testing.assert_array_equal(np.isnan(x.astype(np.float32)), nan)
        np.testing.assert_array_equal(
            programs.bits(np.where(nan, 0, x).astype(x.dtype)),
            programs.bits(np.where(nan, 0, want).astype(x.dtype)))


#: Global scales, among them those whose products with block scales underflow
#: or overflow.
GLOBAL_SCALES = (0.0107, 1.0, 2.0**-126, 3e-39, 1e-45, 2.0**119, 1e36, 3e38)


@pytest.mark.parametrize("four", (False, True), ids=("", "four_over_six"))
@pytest.mark.parametrize("fmt", ("nvfp4", "mxfp4", "mxfp8", "fp8"))
@pytest.mark.parametrize("dtype", ("f16", "bf16"))
@pytest.mark.parametrize("chip", CHIPS)
def test_quantize_every_value(chip, dtype, fmt, four, tmp_path):
    """All values of 16 bits, NaN and infinities too: among their like, and
    mixed."""
    if four and fmt != "nvfp4":
        pytest.skip("a choice that nvfp4 has")
    fmt = formats.FORMATS[fmt]
    text = quantize_text(fmt, dtype, 128, False, four)
    quantize = device.Compiled(text, chip, tmp_path).kernels[0]
    ordered = np.arange(65536, dtype=np.uint16)
    mixed = np.random.default_rng(1).permutation(ordered)
    for bits in (ordered, mixed):
        x = bits.view(programs.DTYPES[dtype]).reshape(512, 1, 128)
        for g in map(np.float32, GLOBAL_SCALES if fmt.has_global else (1,)):
            data = np.full((512, 1, fmt.data_bytes(128)), 0xA5, np.uint8)
            scales = np.full((512, 1, fmt.num_scales(128)), 0xA5, np.uint8)
            with device.registered(x, data, scales):
                quantize.launch({"input": x, "data": data, "scales": scales},
                                {"global_scale": g})
            with np.errstate(all="ignore"):
                want, want_scales = formats.quantize(fmt, programs.widen(x), g, four)
            np.testing.assert_array_equal(data, want)
            np.testing.assert_array_equal(scales, want_scales)


@pytest.mark.parametrize("kv_layout", caches.KV_LAYOUTS)
@pytest.mark.parametrize("source, dest, page, chip", [
    ("linear", "interleaved_4", 4, "sm_80"),
    ("interleaved_4", "linear", 16, "sm_100a"),
    ("linear", "blocked_128x4", 128, "sm_89"),
    ("blocked_128x4", "interleaved_4", 256, "sm_80")])
def test_convert_scale_layout(kv_layout, source, dest, page, chip, tmp_path):
    random = np.random.default_rng(page)
    cache = caches.Cache.allocate(3, page=page, heads=2, head_dim=128,
                                  fmt="nvfp4", kv_layout=kv_layout,
                                  scale_layout=source)
    cache.scales[...] = random.integers(0, 256, cache.scales.shape)
    type = programs.memref(cache.scales.shape, "f8E4M3FN")
    kernel = device.Compiled(f"""
func.func @main(%s: {type}, %t: {type}) {{
  kvq.convert_scale_layout ins(%s : {type}) outs(%t : {type})
      from {source} to {dest} {kv_layout}
  return
}}
""", chip, tmp_path).only
    output = np.full_like(cache.scales, 0xA5)
    with device.registered(cache.scales, output):
        kernel.launch({"input": cache.scales, "output": output})
    want = caches.convert_scale_layout(cache, dest).scales
    np.testing.assert_array_equal(output, want)


@pytest.mark.parametrize("dtype, chip", [("f32", "sm_80"), ("f16", "sm_89"),
                                         ("bf16", "sm_100a")])
@pytest.mark.parametrize("dim, with_lse", [(64, True), (20, False)])
def test_merge_states(dtype, chip, dim, with_lse, tmp_path):
    random = np.random.default_rng(dim)
    parts, rows, heads = 5, 6, 3
    partial = random.standard_normal((parts, rows, heads, dim))
    partial = partial.astype(np.float32)
    lse = (8 * random.standard_normal((parts, rows, heads))).astype(np.float32)
    # Parts without keys hold garbage; row 0 has none at all.
    empty = random.random(lse.shape) < 0.3
    empty[:, 0] = True
    lse[empty] = -np.inf
    clean = np.where(empty[..., None], 0, partial)
    partial[empty] = np.nan
    p, l = f"memref<?x?x{heads}x{dim}xf32>", f"memref<?x?x{heads}xf32>"
    o, r = f"memref<?x{heads}x{dim}x{dtype}>", f"memref<?x{heads}xf32>"
    outs = f"%o, %r : {o}, {r}" if with_lse else f"%o : {o}"
    kernel = device.Compiled(f"""
func.func @main(%p: {p}, %l: {l}, %o: {o}, %r: {r}) {{
  kvq.merge_states ins(%p, %l : {p}, {l}) outs({outs})
  return
}}
""", chip, tmp_path).only
    output = np.full((rows, heads, dim), 7, programs.DTYPES[dtype])
    output_lse = np.full((rows, heads), 7, np.float32)
    with device.registered(partial, lse, output, output_lse):
        kernel.launch({"partial_output": partial, "partial_lse": lse,
                       "output": output, "lse": output_lse})
    want, want_lse = attention.merge_states(clean, lse)
    tolerance = {"f32": 1e-5, "f16": 1e-3, "bf16": 8e-3}[dtype]
    np.testing.assert_allclose(output.astype(np.float32), want, tolerance,
                               tolerance)
    if with_lse:
        np.testing.assert_allclose(output_lse, want_lse, 1e-6, 1e-5)
    else:
        assert np.all(output_lse == 7)
