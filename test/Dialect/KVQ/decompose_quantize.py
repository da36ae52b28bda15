# RUN: %pytest %s
# REQUIRES: python
"""Runs the decomposed operations on plain arrays."""
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from decomposed import (INPUTS, MODES, build, cache, call, formats, rows_types,
                        stored)


def quantize_functions(name, dtype, dim, options=""):
    fmt = formats.FORMATS[name]
    x = f"memref<?x{dim}x{dtype}>"
    types = rows_types(fmt, "?", dim)
    names = ["%d", "%s"][:len(types)]
    arguments = [f"%x: {x}"] + (["%g: f32"] if fmt.has_global else [])
    arguments += [f"{n}: {t}" for n, t in zip(names, types)]
    g = "global_scale(%g)" if fmt.has_global else ""
    quantized = f"({', '.join(names)} : {', '.join(types)})"
    return f"""
func.func @quantize({', '.join(arguments)}) {{
  kvq.quantize ins(%x : {x}) {g} outs{quantized} {{format = #kvq.format<{name}>{options}}}
  return
}}
func.func @dequantize({', '.join(arguments)}) {{
  kvq.dequantize ins{quantized} {g} outs(%x : {x}) {{format = #kvq.format<{name}>}}
  return
}}
"""


def quantize(library, fmt, x, g=1.0, mode="default"):
    """Runs the compiled function; returns data and scales as the oracle does."""
    data = np.full((len(x), fmt.data_bytes(x.shape[1])), 0x5a, np.uint8)
    scales = np.full((len(x), fmt.num_scales(x.shape[1])), 0x5a, np.uint8)
    call(library, "quantize", x, *([g] if fmt.has_global else []),
         *stored(fmt, data, scales), mode=mode)
    return data, scales


def test_by_hand(tmp_path):
    library = build(tmp_path, quantize_functions("nvfp4", "f32", 16))
    nan, inf = np.nan, np.inf
    x = np.array([
        # Every tie, under a scale of one.
        [0, .25, .75, 1.25, 1.75, 2.5, 3.5, 5, -.25, -5, 6, -6, nan, -0., 1, 3],
        # Infinity saturates scale and element.
        [inf, -inf, 448, 0, 1344, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        # A zero block, and one whose scale rounds to zero: signs are kept.
        [0, -0., 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, nan, -0.],
        [1e-3, -1e-3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ], np.float32)
    data, scales = quantize(library, formats.FORMATS["nvfp4"], x)
    assert scales[:, 0].tolist() == [0x38, 0x7e, 0, 0]
    codes = formats.unpack(data, "e2m1").tolist()
    assert codes[0] == [0, 0, 2, 2, 4, 4, 6, 6, 8, 14, 7, 15, 0, 8, 2, 5]
    assert codes[1] == [7, 15, 2, 0, 5] + [0] * 11
    assert codes[2] == [0, 8] + [0] * 12 + [0, 8]
    assert codes[3] == [0, 8] + [0] * 14

    y = np.zeros_like(x)
    call(library, "dequantize", y, 1.0, data, scales)
    assert y[0].tolist() == [0, 0, 1, 1, 2, 2, 4, 4, 0, -4, 6, -6, 0, 0, 1, 3]
    assert y[1, :5].tolist() == [2688, -2688, 448, 0, 1344]


@pytest.mark.parametrize("mode", MODES)
def test_divisor_underflows_or_overflows(tmp_path, mode):
    library = build(tmp_path, quantize_functions("nvfp4", "f32", 16))
    fmt = formats.FORMATS["nvfp4"]
    tiny, huge = np.float32(1e-45), np.float32(3e38)
    # 0.171875 * tiny rounds to zero, and zeros stay zeros of their sign.
    x = np.zeros((1, 16), np.float32)
    x[0, 0], x[0, 1], x[0, 2] = tiny, -tiny, -0.
    data, scales = quantize(library, fmt, x, float(tiny), mode)
    assert scales[0, 0] == 0x23
    codes = formats.unpack(data, "e2m1")
    assert codes[0].tolist() == [7, 15, 8] + [0] * 13
    # 6 * huge is infinite: finite blocks vanish, infinite elements are 6.
    data, scales = quantize(library, fmt, x + huge, float(huge), mode)
    assert scales[0, 0] == 0 and not data.any()
    x[0, 0], x[0, 1] = -np.inf, 1
    data, scales = quantize(library, fmt, x, float(huge), mode)
    assert scales[0, 0] == 0x7e
    codes = formats.unpack(data, "e2m1")
    assert codes[0].tolist() == [15, 0, 8] + [0] * 13


def any_floats(rng, rows, dim):
    """Floats of any bits: most rows have magnitudes near each other."""
    bits = rng.integers(0, 1 << 32, (rows, dim), dtype=np.uint64)
    exponent = rng.integers(0, 256, (rows, 1)) - rng.integers(0, 6, (rows, dim))
    near = bits & 0x807fffff | np.clip(exponent, 0, 255).astype(np.uint64) << 23
    bits = np.where(rng.random((rows, 1)) < 0.8, near, bits)
    bits[rng.random((rows, dim)) < 0.02] = 0
    bits[rng.random((rows, dim)) < 0.02] = 0x80000000
    return bits.astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("name,options", [
    *((name, "") for name in formats.FORMATS), ("nvfp4", ", four_over_six")])
def test_any_floats(tmp_path, name, options):
    fmt = formats.FORMATS[name]
    library = build(tmp_path, quantize_functions(name, "f32", 64, options))
    x = any_floats(np.random.default_rng(1), 400, 64)
    for g in [1.0, 0.01, 1e-45, 3e-39, 1.2e-38, 7e37, 3e38]:
        g = g if fmt.has_global else 1.0
        data, scales = formats.quantize(fmt, x, g, bool(options))
        for mode in MODES:
            found, found_scales = quantize(library, fmt, x, g, mode)
            np.testing.assert_array_equal(found, data)
            np.testing.assert_array_equal(found_scales, scales)
        y = np.zeros_like(x)
        call(library, "dequantize", y, *([g] if fmt.has_global else []),
             *stored(fmt, found, found_scales))
        expected = formats.dequantize(fmt, data, scales, g)
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.isnan(y), ~number)
        np.testing.assert_array_equal(y.view(np.uint32)[number],
                                      expected.view(np.uint32)[number])


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["nvfp4", "mxfp8", "fp8", "bf16"])
def test_narrow_inputs(tmp_path, name, dtype):
    fmt = formats.FORMATS[name]
    library = build(tmp_path, quantize_functions(name, dtype, 64))
    rng = np.random.default_rng(2)
    x = rng.standard_normal((40, 64)) * np.exp2(rng.integers(-9, 9, (40, 1)))
    x = x.astype(INPUTS[dtype])
    g = 0.0371 if fmt.has_global else 1.0
    data, scales = formats.quantize(fmt, x.astype(np.float32), g)
    found, found_scales = quantize(library, fmt, x, g)
    np.testing.assert_array_equal(found, data)
    np.testing.assert_array_equal(found_scales, scales)
    y = np.zeros_like(x)
    call(library, "dequantize", y, *([g] if fmt.has_global else []),
         *stored(fmt, found, found_scales))
    expected = formats.dequantize(fmt, data, scales, g).astype(INPUTS[dtype])
    np.testing.assert_array_equal(y.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("mode", MODES)
def test_four_over_six(tmp_path, mode):
    library = build(tmp_path, quantize_functions("nvfp4", "f32", 64,
                                                 ", four_over_six"))
    # Squares of errors are subnormal.
    x = np.ldexp(np.random.default_rng(3).standard_normal((50, 64)), -68)
    x, g = x.astype(np.float32), float(np.ldexp(0.02, -68))
    data, scales = formats.quantize("nvfp4", x, g, four_over_six=True)
    plain, _ = formats.quantize("nvfp4", x, g)
    assert (data != plain).any(-1).any() and (data == plain).any()
    found, found_scales = quantize(library, formats.FORMATS["nvfp4"], x, g, mode)
    np.testing.assert_array_equal(found_scales, scales)
    np.testing.assert_array_equal(found, data)


@pytest.mark.parametrize("to,kv_layout,page,columns", [
    ("interleaved_4", "NHD", 8, 12), ("interleaved_4", "HND", 16, 4),
    ("blocked_128x4", "NHD", 256, 8), ("blocked_128x4", "HND", 128, 4)])
def test_convert_scale_layout(tmp_path, to, kv_layout, page, columns):
    linear = cache.Cache.allocate(3, page=page, heads=2, head_dim=16 * columns,
                                  fmt="nvfp4", kv_layout=kv_layout)
    shape = linear.scales.shape
    linear.scales[...] = np.random.default_rng(4).integers(0, 256, shape)
    type = "memref<%sxf8E4M3FN>" % "x".join(map(str, shape))
    library = build(tmp_path, f"""
func.func @there(%s: {type}, %t: {type}) {{
  kvq.convert_scale_layout ins(%s : {type}) outs(%t : {type}) from linear to {to} {kv_layout}
  return
}}
func.func @back(%s: {type}, %t: {type}) {{
  kvq.convert_scale_layout ins(%s : {type}) outs(%t : {type}) from {to} to linear {kv_layout}
  return
}}
""")
    expected = cache.convert_scale_layout(linear, to).scales
    assert (expected != linear.scales).any()
    found, again = np.zeros_like(expected), np.zeros_like(expected)
    call(library, "there", linear.scales, found)
    np.testing.assert_array_equal(found, expected)
    call(library, "back", found, again)
    np.testing.assert_array_equal(again, linear.scales)
