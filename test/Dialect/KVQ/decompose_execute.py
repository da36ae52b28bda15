# RUN: env KVQ_CC=%cc %pytest %s
# REQUIRES: python
"""Runs what kvq-decompose makes of every operation.

Expected values are written down by hand or computed here in NumPy from the
formulas of the documentation: elements through ml_dtypes, attention in float64.
"""
import ctypes
import os
import platform
import sys

import ml_dtypes
import numpy as np
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Conversion", "Inputs"))
import jit

PIPELINE = ("builtin.module(func.func(kvq-decompose),kvq-expand-handles,"
            "kvq-lower-fp-conversions,kvq-legalize-storage,canonicalize,cse)")
E4M3, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
E2M1, BF16 = ml_dtypes.float4_e2m1fn, ml_dtypes.bfloat16
# Element, scale, block, largest magnitude, has global scale; MLIR's names.
FORMATS = {
    "nvfp4": (E2M1, E4M3, 16, 6.0, True, "f4E2M1FN", "f8E4M3FN"),
    "mxfp4": (E2M1, E8M0, 32, 6.0, False, "f4E2M1FN", "f8E8M0FNU"),
    "mxfp8": (E4M3, E8M0, 32, 448.0, False, "f8E4M3FN", "f8E8M0FNU"),
    "fp8": (E4M3, None, 0, 448.0, True, "f8E4M3FN", None),
    "bf16": (BF16, None, 0, None, False, "bf16", None),
    "f16": (np.float16, None, 0, None, False, "f16", None),
}
INPUTS = {"f32": np.float32, "f16": np.float16, "bf16": BF16}


X86 = platform.machine() in ("x86_64", "AMD64")
# The processor's modes: FTZ and DAZ are bits 15 and 6 of MXCSR.
MODES = {"default": 0x1f80, **({"ftz": 0x9fc0} if X86 else {})}
SET_MODE = "void set_mode(unsigned m) { __builtin_ia32_ldmxcsr(m); }"


def build(tmp_path, source):
    lowered = jit.run(["kvq-opt", "--pass-pipeline=" + PIPELINE], source)
    assert "kvq." not in lowered
    wrapped = jit.run(["mlir-opt", "-llvm-request-c-wrappers"], lowered)
    return jit.build(wrapped, tmp_path, c_source=SET_MODE if X86 else None)


def descriptor(array):
    """A descriptor with the bytes of an array of any type."""
    array = np.asarray(array)
    assert array.flags.c_contiguous
    return jit.descriptor(array)


def scalar(value):
    return np.array(value, np.float32)


def call(library, name, *arguments, mode=None):
    """Calls a function; floats travel by value, in float32."""
    function = getattr(library, "_mlir_ciface_" + name)
    function.restype = None
    converted = [ctypes.c_float(a) if isinstance(a, float) else descriptor(a)
                 for a in arguments]
    if mode is not None and X86:
        library.set_mode(mode)
    function(*converted)
    if mode is not None and X86:
        library.set_mode(MODES["default"])


def pack(codes):
    """Codes of 4 bits to bytes, the even one in the low nibble."""
    return (codes[..., 0::2] | (codes[..., 1::2] << 4)).astype(np.uint8)


def unpack(data):
    return np.stack([data & 15, data >> 4], -1).reshape(*data.shape[:-1], -1)


#===------------------------------------------------------------------------===
# The formats in NumPy
#===------------------------------------------------------------------------===


def encode(values, dtype, largest):
    """Codes of f32 values: clamped, then rounded to nearest even."""
    if largest is None:
        return values.astype(dtype).view(np.uint16)
    clamped = np.clip(values, -largest, largest)  # NaN stays.
    if dtype == E2M1:
        clamped = np.where(np.isnan(clamped), np.copysign(0, clamped), clamped)
    return clamped.astype(np.float32).astype(dtype).view(np.uint8) & (
        15 if dtype == E2M1 else 255)


def decode(codes, dtype):
    return codes.astype(np.uint16 if np.dtype(dtype).itemsize == 2 else
                        np.uint8).view(dtype).astype(np.float32)


def quantize(x, name, g=1.0, target=None):
    """Codes (one per element) and scale bytes of rows [..., D]."""
    dtype, scale_dtype, block, largest, has_g, _, _ = FORMATS[name]
    x = x.astype(np.float32)
    g = np.float32(g)
    if not block:
        return encode(x / g if has_g else x, dtype, largest), None
    blocks = x.reshape(*x.shape[:-1], x.shape[-1] // block, block)
    amax = np.nan_to_num(np.abs(blocks), nan=0, posinf=np.inf).max(-1)
    with np.errstate(all="ignore"):
        if scale_dtype == E8M0:
            exponent = np.floor(np.log2(amax.astype(np.float64)))
            exponent = exponent - np.floor(np.log2(largest)) + 127
            scales = np.clip(exponent, 0, 254).astype(np.uint8)
            factor = np.ldexp(1.0, scales.astype(int) - 127).astype(np.float32)
        else:
            sf = np.minimum(amax / (np.float32(target or largest) * g), 448)
            scales = sf.astype(np.float32).astype(E4M3).view(np.uint8)
            factor = scales.view(E4M3).astype(np.float32) * g
        quotient = blocks / factor[..., None]
        zero = np.copysign(np.float32(0), blocks)
        quotient = np.where(factor[..., None] == 0, zero, quotient)
    return encode(quotient, dtype, largest).reshape(x.shape), scales


def dequantize(codes, scales, name, g=1.0):
    dtype, scale_dtype, block, _, has_g, _, _ = FORMATS[name]
    value = decode(codes, dtype)
    if block:
        factor = np.repeat(decode(scales, scale_dtype), block, -1)
        value = value * factor
    return value * np.float32(g) if has_g else value


def four_over_six(x, g):
    """The better of two targets for each block, errors summed in order."""
    results = []
    for target in (6.0, 4.0):
        codes, scales = quantize(x, "nvfp4", g, target)
        difference = x - dequantize(codes, scales, "nvfp4", g)
        blocks = (difference * difference).reshape(*x.shape[:-1], -1, 16)
        error = np.zeros(blocks.shape[:-1], np.float32)
        for i in range(16):
            error = error + blocks[..., i]
        results.append((codes, scales, error))
    (codes, scales, error), (codes4, scales4, error4) = results
    better = error4 < error
    assert better.any() and not better.all()
    return (np.where(np.repeat(better, 16, -1), codes4, codes),
            np.where(better, scales4, scales))


def scale_position(layout, t, s, columns):
    offset = {
        "linear": t * columns + s,
        "interleaved_4": t // 4 * 4 * columns + 4 * s + t % 4,
        "blocked_128x4": (t // 128 * (columns // 4) + s // 4) * 512
                         + t % 32 * 16 + t % 128 // 32 * 4 + s % 4,
    }[layout]
    return offset // columns, offset % columns


class Pool:
    """Pages of one side of a cache, full of bytes that must not matter."""

    def __init__(self, side, name, pages, page, heads, dim, kv_layout, layout,
                 g=1.0, axis="head_dim"):
        self.__dict__.update(locals())
        _, scale, block, _, self.has_g, element, scale_name = FORMATS[name]
        self.element, self.scale_name = element, scale_name
        width = {"f4E2M1FN": dim // 2}.get(element, dim)
        dtype = np.uint16 if "16" in element else np.uint8
        self.data = np.full((pages, *self.order(page, heads), width), -1 & (
            65535 if dtype == np.uint16 else 255), dtype)
        self.scales = None
        if block:
            rows, self.columns = ((page, dim // block) if axis == "head_dim"
                                  else (page // block, dim))
            self.scales = np.full((pages, *self.order(rows, heads),
                                   self.columns), 255, np.uint8)

    def order(self, token, head):
        return (token, head) if self.kv_layout == "NHD" else (head, token)

    def mlir(self):
        kind = self.name if self.axis == "head_dim" else (
            f"#kvq.format<{self.element}, scale = {self.scale_name}, "
            f"block = {FORMATS[self.name][2]}, axis = token, global_scale>")
        layout = f", {self.layout}" if self.scales is not None else ""
        return (f"!kvq.cache<{self.side}, {self.page}x{self.heads}x{self.dim}, "
                f"{kind}, {self.kv_layout}{layout}>")

    def parts(self):
        parts = [self.data]
        if self.scales is not None:
            parts.append(self.scales)
        if self.has_g:
            parts.append(scalar(self.g))
        return parts

    def copy(self):
        other = Pool(self.side, self.name, self.pages, self.page, self.heads,
                     self.dim, self.kv_layout, self.layout, self.g, self.axis)
        other.data[...] = self.data
        if self.scales is not None:
            other.scales[...] = self.scales
        return other

    def write(self, page, t, codes, scales):
        """Writes one token, codes [heads, dim] and scales [heads, S]."""
        data = pack(codes) if self.element == "f4E2M1FN" else codes
        for h in range(self.heads):
            self.data[(page, *self.order(t, h))] = data[h]
            if self.scales is None:
                continue
            for s in range(self.columns):
                row, column = scale_position(self.layout, t, s, self.columns)
                self.scales[(page, *self.order(row, h), column)] = scales[h, s]


#===------------------------------------------------------------------------===
# Arrays
#===------------------------------------------------------------------------===


def quantize_function(name, dtype, dim, options=""):
    _, scale, block, _, has_g, element, scale_name = FORMATS[name]
    outs, types = ["%d"], [f"memref<?x{dim}x{element}>"]
    arguments = [f"%x: memref<?x{dim}x{dtype}>"]
    if has_g:
        arguments.append("%g: f32")
    arguments.append(f"%d: {types[0]}")
    if block:
        types.append(f"memref<?x{dim // block}x{scale_name}>")
        outs.append("%s")
        arguments.append(f"%s: {types[1]}")
    g = "global_scale(%g)" if has_g else ""
    both = f"({', '.join(outs)} : {', '.join(types)})"
    format = f"{{format = #kvq.format<{name}>"
    return f"""
func.func @quantize({', '.join(arguments)}) {{
  kvq.quantize ins(%x : memref<?x{dim}x{dtype}>) {g} outs{both}
      {format}{options}}}
  return
}}
func.func @dequantize({', '.join(arguments)}) {{
  kvq.dequantize ins{both} {g} outs(%x : memref<?x{dim}x{dtype}>) {format}}}
  return
}}
"""


def test_quantize_by_hand(tmp_path):
    library = build(tmp_path, quantize_function("nvfp4", "f32", 16))
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
    data, scales = np.zeros((4, 8), np.uint8), np.zeros((4, 1), np.uint8)
    call(library, "quantize", x, 1.0, data, scales)
    assert scales[:, 0].tolist() == [0x38, 0x7e, 0, 0]
    codes = unpack(data).tolist()
    assert codes[0] == [0, 0, 2, 2, 4, 4, 6, 6, 8, 14, 7, 15, 0, 8, 2, 5]
    assert codes[1] == [7, 15, 2, 0, 5] + [0] * 11
    assert codes[2] == [0, 8] + [0] * 12 + [0, 8]
    assert codes[3] == [0, 8] + [0] * 14

    y = np.zeros_like(x)
    call(library, "dequantize", y, 1.0, data, scales)
    assert y[0].tolist() == [0, 0, 1, 1, 2, 2, 4, 4, 0, -4, 6, -6, 0, 0, 1, 3]
    assert y[1, :5].tolist() == [2688, -2688, 448, 0, 1344]


@pytest.mark.parametrize("mode", MODES)
def test_underflow_and_overflow_of_the_divisor(tmp_path, mode):
    mode = MODES[mode]
    library = build(tmp_path, quantize_function("nvfp4", "f32", 16))
    tiny, huge = np.float32(1e-45), np.float32(3e38)
    # 0.171875 * tiny rounds to zero, and zeros stay zeros of their sign.
    x = np.zeros((1, 16), np.float32)
    x[0, 0], x[0, 1], x[0, 2] = tiny, -tiny, -0.
    data, scales = np.zeros((1, 8), np.uint8), np.zeros((1, 1), np.uint8)
    call(library, "quantize", x, float(tiny), data, scales, mode=mode)
    assert scales[0, 0] == 0x23
    assert unpack(data)[0].tolist() == [7, 15, 8] + [0] * 13
    # 6 * huge is infinite: finite blocks vanish, infinite elements are 6.
    call(library, "quantize", x + huge, float(huge), data, scales, mode=mode)
    assert scales[0, 0] == 0 and not data.any()
    x[0, 0], x[0, 1] = -np.inf, 1
    call(library, "quantize", x, float(huge), data, scales, mode=mode)
    assert scales[0, 0] == 0x7e
    assert unpack(data)[0].tolist() == [15, 0, 8] + [0] * 13
    # Blocks of subnormal values.
    rng = np.random.default_rng(8)
    x = rng.integers(-(1 << 23), 1 << 23, (30, 16)).astype(np.int64)
    x >>= rng.integers(0, 20, (30, 1))
    x = np.ldexp(x, -149).astype(np.float32)
    data, scales = np.zeros((30, 8), np.uint8), np.zeros((30, 1), np.uint8)
    for g in (1e-39, 2.5e-42, 3e-38):
        codes, expected = quantize(x, "nvfp4", g)
        assert codes.any()
        call(library, "quantize", x, g, data, scales, mode=mode)
        np.testing.assert_array_equal(scales, expected)
        np.testing.assert_array_equal(unpack(data), codes)


@pytest.mark.parametrize("dtype", INPUTS)
@pytest.mark.parametrize("name", FORMATS)
def test_quantize_random(tmp_path, name, dtype):
    _, _, block, _, has_g, element, _ = FORMATS[name]
    rng = np.random.default_rng(1)
    x = rng.standard_normal((40, 64)) * np.exp2(rng.integers(-9, 9, (40, 1)))
    x[3, 5] = np.nan
    x = x.astype(INPUTS[dtype])
    g = 0.0371 if has_g else None
    codes, scales = quantize(x, name, g or 1.0)
    expected = [pack(codes) if element == "f4E2M1FN" else codes]
    if block:
        expected.append(scales)
    found = [np.full_like(part, 0x5a) for part in expected]
    library = build(tmp_path, quantize_function(name, dtype, 64))
    more = [g] if has_g else []
    call(library, "quantize", x, *more, *found)
    for f, e in zip(found, expected):
        np.testing.assert_array_equal(f, e)
    y = np.zeros_like(x)
    call(library, "dequantize", y, *more, *found)
    with np.errstate(over="ignore"):
        values = dequantize(codes, scales, name, g or 1.0).astype(INPUTS[dtype])
    np.testing.assert_array_equal(y.view(np.uint8), values.view(np.uint8))


@pytest.mark.parametrize("mode", MODES)
def test_four_over_six(tmp_path, mode):
    library = build(tmp_path, quantize_function("nvfp4", "f32", 64,
                                                ", four_over_six"))
    rng = np.random.default_rng(2)
    x = rng.standard_normal((50, 64)).astype(np.float32)
    g = 0.02
    if mode == "ftz":  # Squares of errors are subnormal.
        x, g = np.ldexp(x, -68), float(np.ldexp(np.float32(0.02), -68))
    codes, scales = four_over_six(x, g)
    data, found = np.zeros((50, 32), np.uint8), np.zeros((50, 4), np.uint8)
    call(library, "quantize", x, g, data, found, mode=MODES[mode])
    np.testing.assert_array_equal(found, scales)
    np.testing.assert_array_equal(data, pack(codes))


@pytest.mark.parametrize("to,kv_layout,rows,columns", [
    ("interleaved_4", "NHD", 8, 12), ("interleaved_4", "HND", 16, 4),
    ("blocked_128x4", "NHD", 256, 8), ("blocked_128x4", "HND", 128, 4)])
def test_convert_scale_layout(tmp_path, to, kv_layout, rows, columns):
    order = (rows, 2) if kv_layout == "NHD" else (2, rows)
    shape = (3, *order, columns)
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
    rng = np.random.default_rng(3)
    source = rng.integers(0, 256, shape).astype(np.uint8)
    expected = np.zeros(shape, np.uint8)
    for t in range(rows):
        for s in range(columns):
            row, column = scale_position(to, t, s, columns)
            if kv_layout == "NHD":
                expected[:, row, :, column] = source[:, t, :, s]
            else:
                expected[:, :, row, column] = source[:, :, t, s]
    found, again = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    call(library, "there", source, found)
    np.testing.assert_array_equal(found, expected)
    call(library, "back", found, again)
    np.testing.assert_array_equal(again, source)


#===------------------------------------------------------------------------===
# Caches
#===------------------------------------------------------------------------===

POOLS = [("nvfp4", 8, "NHD", "linear"), ("nvfp4", 4, "HND", "interleaved_4"),
         ("nvfp4", 128, "NHD", "blocked_128x4"), ("mxfp8", 1, "HND", "linear"),
         ("fp8", 5, "HND", None), ("bf16", 3, "NHD", None)]


def make_pool(name, page, kv_layout, layout, pages=5, heads=2, dim=64):
    return Pool("value", name, pages, page, heads, dim, kv_layout, layout,
                g=0.0625)


@pytest.mark.parametrize("case", POOLS, ids=lambda c: "-".join(map(str, c)))
def test_write_copy_gather(tmp_path, case):
    pool = make_pool(*case)
    name, page, heads, dim = pool.name, pool.page, pool.heads, pool.dim
    _, _, block, _, _, element, scale_name = FORMATS[name]
    cache = pool.mlir()
    rows = f"memref<?x{heads}x{dim}x{element}>"
    dense = f"memref<?x?x{heads}x{dim}x{element}>"
    ins, outs = f"%d : {rows}", f"%d : {dense}"
    append_args, gather_args = f"%d: {rows}", f"%d: {dense}"
    if block:
        row_scales = f"memref<?x{heads}x{dim // block}x{scale_name}>"
        dense_scales = f"memref<?x?x{heads}x{dim // block}x{scale_name}>"
        ins = f"%d, %s : {rows}, {row_scales}"
        outs = f"%d, %s : {dense}, {dense_scales}"
        append_args += f", %s: {row_scales}"
        gather_args += f", %s: {dense_scales}"
    library = build(tmp_path, f"""
func.func @append(%c: {cache}, {append_args}, %slots: memref<?xi64>) {{
  kvq.append ins({ins}) into(%c : {cache}) slot_mapping(%slots : memref<?xi64>)
  return
}}
func.func @append_at(%c: {cache}, {append_args}, %bt: memref<?x?xi32>, %p: memref<?xi32>) {{
  kvq.append ins({ins}) into(%c : {cache}) block_table(%bt : memref<?x?xi32>) positions(%p : memref<?xi32>)
  return
}}
func.func @quantize_append(%c: {cache}, %x: memref<?x{heads}x{dim}xf16>,
    %bt: memref<?x?xi32>, %p: memref<?xi32>, %i: memref<?xi32>) {{
  kvq.quantize_append ins(%x : memref<?x{heads}x{dim}xf16>) into(%c : {cache})
      block_table(%bt : memref<?x?xi32>) positions(%p : memref<?xi32>) batch_indices(%i : memref<?xi32>)
  return
}}
func.func @copy_pages(%c: {cache}, %i: memref<?xi32>, %j: memref<?xi32>) {{
  kvq.copy_pages from(%c) to(%c) src_pages(%i : memref<?xi32>) dst_pages(%j : memref<?xi32>) : {cache}
  return
}}
func.func @gather(%c: {cache}, %bt: memref<?x?xi32>, %len: memref<?xi32>, {gather_args}) {{
  kvq.gather cache(%c : {cache}) block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>) outs({outs})
  return
}}
""")
    rng = np.random.default_rng(4)
    count = 2 * page + 3
    x = rng.standard_normal((count, heads, dim)).astype(np.float16)
    codes, scales = quantize(x, name, pool.g)
    data = pack(codes) if element == "f4E2M1FN" else codes
    stored = [data] + ([scales] if block else [])
    # Two sequences; the second one has all rows but the last two, which are
    # the first one's. The table's other entries are no pages.
    table = np.full((2, 4), 1 << 30, np.int32)
    table[0, 0], table[1, :3] = 4, [2, 0, 3]
    where = [(1, t) for t in range(count - 2)] + [(0, 0), (0, 1 % page)]
    if page == 1:
        where[-1] = (0, -1)  # Padding.

    def place(row):
        b, t = where[row]
        return table[b, t // page], t % page

    def expected_after(pool, chosen):
        result = pool.copy()
        for row in chosen:
            if where[row][1] >= 0:
                result.write(*place(row), codes[row], 
                             scales[row] if block else None)
        return result

    def check(pool, expected):
        np.testing.assert_array_equal(pool.data, expected.data)
        if block:
            np.testing.assert_array_equal(pool.scales, expected.scales)

    # By slots, the odd rows padded.
    slots = np.full(count, -1, np.int64)
    for row in range(0, count, 2):
        p, t = place(row)
        slots[row] = p * page + t if where[row][1] >= 0 else -1
    expected = expected_after(pool, range(0, count, 2))
    call(library, "append", *pool.parts(), *stored, slots)
    check(pool, expected)

    # By positions: one row for each sequence, the first one padded.
    expected = expected_after(pool, [1])
    positions = np.array([-1, where[1][1]], np.int32)
    call(library, "append_at", *pool.parts(),
         *[np.ascontiguousarray(part[:2]) for part in stored], table, positions)
    check(pool, expected)

    # Quantized on the way, all rows.
    expected = expected_after(pool, range(count))
    positions = np.array([t for _, t in where], np.int32)
    batch = np.array([b for b, _ in where], np.int32)
    call(library, "quantize_append", *pool.parts(), x, table, positions, batch)
    check(pool, expected)

    lengths = np.array([0, count - 2], np.int32)
    dense_data = np.full((2, count, *data.shape[1:]), 0x5a, data.dtype)
    dense = [dense_data]
    if block:
        dense.append(np.full((2, count, *scales.shape[1:]), 0x5a, np.uint8))
    call(library, "gather", *pool.parts(), table, lengths, *dense)
    for found, rows in zip(dense, stored):
        assert not found[0].any() and not found[1, count - 2:].any()
        np.testing.assert_array_equal(found[1, :count - 2], rows[:count - 2])

    expected = pool.copy()
    for part, from_part in zip(expected.parts()[:2 if block else 1],
                               pool.parts()):
        part[1], part[4] = from_part[3], from_part[2]
    call(library, "copy_pages", *pool.parts(), np.array([3, 2], np.int32),
         np.array([1, 4], np.int32))
    check(pool, expected)


#===------------------------------------------------------------------------===
# Attention
#===------------------------------------------------------------------------===


def attention(q, k, v, scale, position, causal=False, left=None, right=None,
              softcap=None, sink=None, bias=None, keys=None):
    """One query row [D] over k [L, D], v [L, Dv] in float64, by definition."""
    admitted = []
    for j in range(len(k)):
        if ((causal and j > position)
                or (left is not None and j < position - left)
                or (right is not None and j > position + right)
                or (bias is not None and bias[j] == -np.inf)
                or (keys is not None and j not in keys)):
            continue
        admitted.append(j)
    logits = []
    for j in admitted:
        logit = float(scale) * float(q.astype(float) @ k[j].astype(float))
        if softcap:
            logit = softcap * np.tanh(logit / softcap)
        logits.append(logit + (float(bias[j]) if bias is not None else 0))
    if sink is not None and sink != -np.inf:
        logits.append(float(sink))
    if not logits:
        return np.zeros(v.shape[1]), -np.inf
    weights = np.exp(np.array(logits))
    lse = np.log(weights.sum())
    out = np.zeros(v.shape[1])
    for j, weight in zip(admitted, weights):
        out += weight * v[j].astype(float)
    return out / weights.sum(), lse


def test_attention_by_hand(tmp_path):
    library = build(tmp_path, """
func.func @f(%q: memref<1x1x1x1xf32>, %k: memref<1x2x1x1xf32>, %v: memref<1x2x1x2xf32>,
    %scale: f32, %o: memref<1x1x1x2xf32>, %lse: memref<1x1x1xf32>) {
  kvq.attention ins(%q, %k, %v : memref<1x1x1x1xf32>, memref<1x2x1x1xf32>, memref<1x2x1x2xf32>)
      scale(%scale) outs(%o, %lse : memref<1x1x1x2xf32>, memref<1x1x1xf32>)
  return
}
""")
    q = np.array([2], np.float32).reshape(1, 1, 1, 1)
    # Logits 0.5 * 2 * k = ln 3 and 0: weights 3/4 and 1/4, lse ln 4.
    k = np.array([np.log(3), 0], np.float32).reshape(1, 2, 1, 1)
    v = np.array([[4, 0], [8, 2]], np.float32).reshape(1, 2, 1, 2)
    o, lse = np.zeros((1, 1, 1, 2), np.float32), np.zeros((1, 1, 1), np.float32)
    call(library, "f", q, k, v, 0.5, o, lse)
    np.testing.assert_allclose(o.ravel(), [5, 0.5], rtol=1e-7)
    np.testing.assert_allclose(lse.ravel(), [np.log(4)], rtol=1e-7)


@pytest.mark.parametrize("mask", [None, "i1", "f32"])
def test_attention(tmp_path, mask):
    batch, queries, heads, length, kv_heads, dim, v_dim = 3, 2, 4, 9, 2, 8, 6
    q_type = f"memref<?x?x{heads}x?xf16>"
    k_type, v_type = "memref<?x?x?x?xf32>", "memref<?x?x?x?xf32>"
    mask_type = f"memref<?x1x?x?x{mask}>"
    library = build(tmp_path, f"""
func.func @f(%q: {q_type}, %k: {k_type}, %v: {v_type}, %len: memref<?xi32>, %scale: f32,
    %mask: {mask_type if mask else "memref<1xf32>"}, %sinks: memref<{heads}xf32>,
    %o: memref<?x?x{heads}x?xf32>, %lse: memref<?x?x{heads}xf32>) {{
  kvq.attention ins(%q, %k, %v : {q_type}, {k_type}, {v_type})
      seq_lens(%len : memref<?xi32>) scale(%scale) {f"mask(%mask : {mask_type})" if mask else ""}
      sinks(%sinks : memref<{heads}xf32>)
      outs(%o, %lse : memref<?x?x{heads}x?xf32>, memref<?x?x{heads}xf32>)
      {{options = #kvq.attention<causal, window_left = 4, softcap = 2.5>}}
  return
}}
""")
    rng = np.random.default_rng(5)
    q = rng.standard_normal((batch, queries, heads, dim)).astype(np.float16)
    k = rng.standard_normal((batch, length, kv_heads, dim)).astype(np.float32)
    v = rng.standard_normal((batch, length, kv_heads, v_dim)).astype(np.float32)
    lengths = np.array([9, 0, 1], np.int32)
    for b, n in enumerate(lengths):
        k[b, n:], v[b, n:] = np.nan, np.inf
    sinks = np.array([0.5, -np.inf, 3, -1], np.float32)
    bias = np.zeros((1, 1, queries, length), np.float32)
    if mask:
        # Key 7 is masked out and poisonous; the mask is one for all sequences.
        k[0, 7], v[0, 7] = np.nan, np.nan
        bias = rng.standard_normal(bias.shape).astype(np.float32)
        bias[..., 7] = -np.inf
    mask_array = scalar([0])
    if mask == "i1":
        bias = np.where(np.isneginf(bias), bias, np.float32(0))
        mask_array = (bias == 0)
    elif mask:
        mask_array = bias
    o = np.full((batch, queries, heads, v_dim), 7, np.float32)
    lse = np.full((batch, queries, heads), 7, np.float32)
    call(library, "f", q, k, v, lengths, 0.7, mask_array, sinks, o, lse)
    for b, n in enumerate(lengths):
        for i in range(queries):
            for h in range(heads):
                out, log = attention(
                    q[b, i, h], k[b, :n, h // 2], v[b, :n, h // 2],
                    np.float32(0.7), n - queries + i, causal=True, left=4,
                    softcap=2.5, sink=sinks[h], bias=bias[0, 0, i])
                np.testing.assert_allclose(o[b, i, h], out, atol=1e-6)
                np.testing.assert_allclose(lse[b, i, h], log, rtol=1e-6)


PAIRS = {
    "nvfp4-hnd": (("nvfp4", "HND", "linear"), ("nvfp4", "HND", "interleaved_4")),
    "mixed": (("mxfp8", "NHD", "linear"), ("nvfp4", "HND", "linear")),
    "plain": (("fp8", "HND", None), ("f16", "NHD", None)),
}


def fill(pool, rows, table):
    """Writes rows [b][L, heads, dim], quantized; returns what they decode to."""
    decoded = []
    for b, x in enumerate(rows):
        codes, scales = quantize(x, pool.name, pool.g)
        for t in range(len(x)):
            pool.write(table[b, t // pool.page], t % pool.page, codes[t],
                       None if scales is None else scales[t])
        decoded.append(dequantize(codes, scales, pool.name, pool.g))
    return decoded


@pytest.mark.parametrize("pair", PAIRS)
def test_dequant_attention(tmp_path, pair):
    page, heads, kv_heads, dim, v_dim, split = 4, 6, 2, 64, 32, 5
    key_case, value_case = PAIRS[pair]
    keys = Pool("key", key_case[0], 6, page, kv_heads, dim, *key_case[1:],
                g=0.03)
    # Interleaving needs four scales for each row.
    v_dim = 64 if value_case[2] == "interleaved_4" else v_dim
    values = Pool("value", value_case[0], 6, page, kv_heads, v_dim,
                  *value_case[1:], g=0.02)
    caches = f"caches(%k, %v : {keys.mlir()}, {values.mlir()})"
    tables = "block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)"
    library = build(tmp_path, f"""
func.func @ragged(%q: memref<?x{heads}x{dim}xbf16>, %k: {keys.mlir()}, %v: {values.mlir()},
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %qo: memref<?xi32>, %scale: f32,
    %o: memref<?x{heads}x{v_dim}xf32>, %lse: memref<?x{heads}xf32>) {{
  kvq.dequant_attention ins(%q : memref<?x{heads}x{dim}xbf16>) {caches}
      {tables} qo_indptr(%qo : memref<?xi32>) scale(%scale)
      outs(%o, %lse : memref<?x{heads}x{v_dim}xf32>, memref<?x{heads}xf32>)
      {{options = #kvq.attention<window_left = 6, window_right = 1>}}
  return
}}
func.func @split(%q: memref<?x1x{heads}x{dim}xbf16>, %k: {keys.mlir()}, %v: {values.mlir()},
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32, %sinks: memref<{heads}xf32>,
    %po: memref<?x?x1x{heads}x{v_dim}xf32>, %pl: memref<?x?x1x{heads}xf32>,
    %o: memref<?x1x{heads}x{v_dim}xf16>, %lse: memref<?x1x{heads}xf32>) {{
  kvq.dequant_attention ins(%q : memref<?x1x{heads}x{dim}xbf16>) {caches}
      {tables} scale(%scale) sinks(%sinks : memref<{heads}xf32>)
      outs(%po, %pl : memref<?x?x1x{heads}x{v_dim}xf32>, memref<?x?x1x{heads}xf32>)
      {{kv_split = {split}}}
  kvq.merge_states ins(%po, %pl : memref<?x?x1x{heads}x{v_dim}xf32>, memref<?x?x1x{heads}xf32>)
      outs(%o, %lse : memref<?x1x{heads}x{v_dim}xf16>, memref<?x1x{heads}xf32>)
  return
}}
""")
    rng = np.random.default_rng(6)
    lengths = np.array([11, 0, 4, 1], np.int32)
    table = np.full((4, 4), -1 << 20, np.int32)
    table[0, :3], table[2, 0], table[3, 0] = [5, 1, 3], 0, 2
    k = fill(keys, [rng.standard_normal((n, kv_heads, dim)) for n in lengths],
             table)
    v = fill(values, [rng.standard_normal((n, kv_heads, v_dim)) for n in lengths],
             table)
    scale = np.float32(dim ** -0.5)

    # Three, no, two and no queries.
    indptr = np.array([0, 3, 3, 5, 5], np.int32)
    q = rng.standard_normal((5, heads, dim)).astype(BF16)
    o = np.full((5, heads, v_dim), 7, np.float32)
    lse = np.full((5, heads), 7, np.float32)
    call(library, "ragged", q, *keys.parts(), *values.parts(), table, lengths,
         indptr, float(scale), o, lse)
    for b, n in enumerate(lengths):
        count = indptr[b + 1] - indptr[b]
        for i in range(count):
            for h in range(heads):
                row = indptr[b] + i
                out, log = attention(q[row, h], k[b][:, h // 3],
                                     v[b][:, h // 3], scale, n - count + i,
                                     left=6, right=1)
                np.testing.assert_allclose(o[row, h], out, atol=1e-6)
                np.testing.assert_allclose(lse[row, h], log, rtol=1e-6)

    q = rng.standard_normal((4, 1, heads, dim)).astype(BF16)
    sinks = rng.standard_normal(heads).astype(np.float32)
    po = np.full((4, 4, 1, heads, v_dim), np.nan, np.float32)
    pl = np.full((4, 4, 1, heads), np.nan, np.float32)
    o = np.full((4, 1, heads, v_dim), 7, np.float16)
    lse = np.full((4, 1, heads), 7, np.float32)
    call(library, "split", q, *keys.parts(), *values.parts(), table, lengths,
         float(scale), sinks, po, pl, o, lse)
    for b, n in enumerate(lengths):
        for h in range(heads):
            arguments = (q[b, 0, h], k[b][:, h // 3], v[b][:, h // 3], scale,
                         n - 1)
            for c in range(4):
                out, log = attention(
                    *arguments, sink=sinks[h] if c == 0 else None,
                    keys=range(c * split, (c + 1) * split))
                np.testing.assert_allclose(po[c, b, 0, h], out, atol=1e-6)
                np.testing.assert_allclose(pl[c, b, 0, h], log, rtol=2e-6)
            out, log = attention(*arguments, sink=sinks[h])
            np.testing.assert_allclose(o[b, 0, h], out, atol=1e-3)
            np.testing.assert_allclose(lse[b, 0, h], log, rtol=2e-6)


def test_blocks_along_tokens(tmp_path):
    """A value cache with a scale for 16 tokens of each column."""
    keys = Pool("key", "bf16", 2, 32, 1, 4, "NHD", None)
    values = Pool("value", "nvfp4", 2, 32, 1, 4, "NHD", "linear", g=0.5,
                  axis="token")
    library = build(tmp_path, f"""
func.func @f(%q: memref<1x1x1x4xf32>, %k: {keys.mlir()}, %v: {values.mlir()},
    %bt: memref<1x2xi32>, %len: memref<1xi32>, %scale: f32, %o: memref<1x1x1x4xf32>) {{
  kvq.dequant_attention ins(%q : memref<1x1x1x4xf32>) caches(%k, %v : {keys.mlir()}, {values.mlir()})
      block_table(%bt : memref<1x2xi32>) seq_lens(%len : memref<1xi32>) scale(%scale)
      outs(%o : memref<1x1x1x4xf32>)
  return
}}
func.func @copy_pages(%c: {values.mlir()}, %i: memref<1xi32>, %j: memref<1xi32>) {{
  kvq.copy_pages from(%c) to(%c) src_pages(%i : memref<1xi32>) dst_pages(%j : memref<1xi32>) : {values.mlir()}
  return
}}
""")
    rng = np.random.default_rng(7)
    # Keys of zero: the result is the mean of the values.
    keys.data[...] = 0
    codes = rng.integers(0, 16, (2, 32, 1, 4)).astype(np.uint8)
    values.data[...] = pack(codes)
    values.scales[...] = rng.integers(0x30, 0x40, values.scales.shape)
    assert values.scales.shape == (2, 2, 1, 4)
    table, length = np.array([[1, 0]], np.int32), np.array([40], np.int32)
    factor = np.repeat(decode(values.scales, E4M3), 16, 1)
    decoded = (decode(codes, E2M1) * factor * np.float32(0.5))[[1, 0]]
    expected = decoded.reshape(64, 4)[:40].astype(float).mean(0)
    # Tokens past the last one have another block's scale: make it NaN.
    values.scales[0, 1] = 0x7f
    o = np.zeros((1, 1, 1, 4), np.float32)
    call(library, "f", np.ones((1, 1, 1, 4), np.float32), *keys.parts(),
         *values.parts(), table, length, 1.0, o)
    np.testing.assert_allclose(o.ravel(), expected, rtol=1e-6)
    call(library, "copy_pages", *values.parts(), np.array([1], np.int32),
         np.array([0], np.int32))
    np.testing.assert_array_equal(values.data[0], values.data[1])
    np.testing.assert_array_equal(values.scales[0], values.scales[1])
