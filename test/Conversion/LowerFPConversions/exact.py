# RUN: %pytest %s
# REQUIRES: python
"""Runs the lowered conversions over every code and every tie.

Expected values come from the formats' value tables (decoded by ml_dtypes) and
exact midpoint comparison in double precision, in which every f32 and every
midpoint of two codes is exact.
"""
import os
import platform
import sys

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Inputs"))
import jit

WIDTH = {"f32": 32, "f16": 16, "bf16": 16, "f8E4M3FN": 8, "f8E8M0FNU": 8,
         "f4E2M1FN": 4}
DTYPE = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
EXTENSIONS = [(low, wide) for low in ("f4E2M1FN", "f8E4M3FN")
              for wide in ("f32", "f16", "bf16")] + [
    ("f8E8M0FNU", "f32"), ("f8E8M0FNU", "bf16"), ("f4E2M1FN", "f8E4M3FN"),
    ("bf16", "f32")]
TRUNCATIONS = [(wide, low) for wide in ("f32", "f16", "bf16")
               for low in ("f4E2M1FN", "f8E4M3FN", "f8E8M0FNU")] + [
    ("f8E4M3FN", "f4E2M1FN"), ("f32", "bf16")]
FORMS = {"scalar": 1, "vector": 8, "matrix": 8}
X86 = platform.machine() in ("x86_64", "AMD64")
MODES = ["default"] + (["ftz"] if X86 else [])


def store_bits(name):
    return max(WIDTH[name], 8)


def conversion(op, src, dst, form):
    """IR that converts %raw (i8/i16/i32 elements) to %done."""
    shape = {"scalar": "%s", "vector": "vector<8x%s>",
             "matrix": "vector<2x4x%s>"}[form]
    lines, value = [], "%raw"
    raw, out = f"i{store_bits(src)}", f"i{store_bits(dst)}"
    if form == "matrix":
        lines.append(f"%m = vector.shape_cast {value} : vector<8x{raw}> to "
                     f"{shape % raw}")
        value = "%m"
    if WIDTH[src] == 4:
        lines.append(f"%nibble = arith.trunci {value} : {shape % 'i8'} to "
                     f"{shape % 'i4'}")
        value, raw = "%nibble", "i4"
    lines.append(f"%x = arith.bitcast {value} : {shape % raw} to {shape % src}")
    lines.append(f"%y = arith.{op} %x : {shape % src} to {shape % dst}")
    lines.append(f"%z = arith.bitcast %y : {shape % dst} to "
                 f"{shape % ('i%d' % WIDTH[dst])}")
    value = "%z"
    if WIDTH[dst] == 4:
        lines.append(f"%w = arith.extui %z : {shape % 'i4'} to {shape % 'i8'}")
        value = "%w"
    if form == "matrix":
        lines.append(f"%v = vector.shape_cast {value} : {shape % out} to "
                     f"vector<8x{out}>")
        value = "%v"
    return lines, value


def function(name, op, src, dst, form, mode):
    raw, out = f"i{store_bits(src)}", f"i{store_bits(dst)}"
    lines, value = conversion(op, src, dst, form)
    body = "\n      ".join(lines)
    if form == "scalar":
        load = f"%raw = memref.load %in[%i] : memref<?x{raw}>"
        store = f"memref.store {value}, %out[%i] : memref<?x{out}>"
    else:
        load = f"%raw = vector.load %in[%i] : memref<?x{raw}>, vector<8x{raw}>"
        store = (f"vector.store {value}, %out[%i] : memref<?x{out}>, "
                 f"vector<8x{out}>")

    def control(value, tag):
        if mode == "default":
            return ""
        return f"""
    %one{tag} = llvm.mlir.constant(1 : i32) : i32
    %p{tag} = llvm.alloca %one{tag} x i32 : (i32) -> !llvm.ptr
    %c{tag} = llvm.mlir.constant({value} : i32) : i32
    llvm.store %c{tag}, %p{tag} : i32, !llvm.ptr
    llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"(%p{tag}) : (!llvm.ptr) -> ()"""

    return f"""
  func.func @{name}(%in: memref<?x{raw}>, %out: memref<?x{out}>)
      attributes {{llvm.emit_c_interface}} {{{control(0x9FC0, 'a')}
    %c0 = arith.constant 0 : index
    %step = arith.constant {FORMS[form]} : index
    %n = memref.dim %in, %c0 : memref<?x{raw}>
    scf.for %i = %c0 to %n step %step {{
      {load}
      {body}
      {store}
    }}{control(0x1F80, 'b')}
    return
  }}"""


class Library:
    def __init__(self, directory):
        functions = []
        for op, pairs in (("extf", EXTENSIONS), ("truncf", TRUNCATIONS)):
            for src, dst in pairs:
                for form in FORMS:
                    for mode in MODES:
                        functions.append(function(
                            f"{src}_{dst}_{form}_{mode}", op, src, dst, form,
                            mode))
        source = "module {" + "".join(functions) + "\n}\n"
        lowered = jit.run(["kvq-opt", "-kvq-lower-fp-conversions"], source)
        assert "arith.extf" not in lowered and "arith.truncf" not in lowered
        self.library = jit.build(lowered, directory)

    def __call__(self, src, dst, form, mode, codes):
        unsigned = {8: np.uint8, 16: np.uint16, 32: np.uint32}
        count = len(codes)
        padded = np.zeros(-(-count // 8) * 8, unsigned[store_bits(src)])
        padded[:count] = codes
        out = np.full(len(padded), 0xA5, unsigned[store_bits(dst)])

        jit.call(self.library, f"{src}_{dst}_{form}_{mode}", padded, out)
        return out[:count]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return Library(str(tmp_path_factory.mktemp("fp")))


def decode(codes, name):
    """Float64 values of codes; NaN for NaN."""
    if name == "f8E8M0FNU":
        return np.where(codes == 255, np.nan,
                        np.ldexp(1.0, codes.astype(np.int64) - 127))
    unsigned = {8: np.uint8, 16: np.uint16, 32: np.uint32}[store_bits(name)]
    with np.errstate(all="ignore"):
        return codes.astype(unsigned).view(DTYPE[name]).astype(np.float64)


def sign_of(codes, name):
    if name == "f8E8M0FNU":
        return np.zeros(len(codes), np.int64)
    return (codes.astype(np.int64) >> (WIDTH[name] - 1)) & 1


def encode(values, signs, name):
    """Clamp, then nearest with ties to even, by the table of all values."""
    nan = np.isnan(values)
    magnitude = np.where(nan, 0.0, np.abs(values))
    if name == "f8E8M0FNU":
        exponent = np.frexp(np.minimum(magnitude, 2.0**200))[1] - 1
        code = np.where(magnitude == 0, 0, np.clip(exponent + 127, 0, 254))
        return np.where(nan, 255, code)
    largest = {"f4E2M1FN": 7, "f8E4M3FN": 0x7E}[name]
    table = decode(np.arange(largest + 1), name)
    middles = (table[1:] + table[:-1]) / 2
    code = np.searchsorted(middles, magnitude, side="left")
    tie = np.isin(magnitude, middles)
    code = np.where(tie & (code % 2 == 1), code + 1, code)
    code = np.where(nan, {"f4E2M1FN": 0, "f8E4M3FN": 0x7F}[name], code)
    return code | signs << (WIDTH[name] - 1)


def f32_inputs():
    values = []
    for name, largest in (("f4E2M1FN", 7), ("f8E4M3FN", 0x7E)):
        table = decode(np.arange(largest + 1), name)
        values += [table, (table[1:] + table[:-1]) / 2]
    values.append(np.ldexp(1.0, np.arange(-149, 128)))
    values.append(np.array([448.0, 464.0, 480.0, 6.5, 7.0, 3.0e38]))
    bits = np.concatenate(values).astype(np.float32).view(np.uint32)
    bits = np.concatenate([bits - 1, bits, bits + 1, [0, 1, 0x007FFFFF,
                          0x00800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001,
                          0x7FFFFFFF, 0x7FC00000, 0x7FA00000]])
    # Ties and neighbours of bf16.
    bits = np.concatenate([bits, 0x3F808000 + np.arange(-1, 2),
                           0x3F818000 + np.arange(-1, 2),
                           0x7F7F8000 + np.arange(-1, 2)])
    bits = bits.astype(np.int64) & 0x7FFFFFFF
    random = np.random.default_rng(7).integers(0, 2**31, 200000)
    near = np.random.default_rng(8).integers(0x3A000000, 0x44000000, 200000)
    bits = np.concatenate([bits, random, near])
    return np.concatenate([bits, bits | 0x80000000]).astype(np.uint32)


def inputs(name):
    return f32_inputs() if name == "f32" else np.arange(2**WIDTH[name])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("src,dst", EXTENSIONS)
def test_extension_is_exact(library, src, dst, form, mode):
    codes = inputs(src)
    result = library(src, dst, form, mode, codes)
    expected, actual = decode(codes, src), decode(result, dst)
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(sign_of(result, dst), sign_of(codes, src))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "src,dst", [pair for pair in TRUNCATIONS if pair[1] != "bf16"])
def test_truncation_clamps_and_rounds_to_even(library, src, dst, form, mode):
    codes = inputs(src)
    result = library(src, dst, form, mode, codes)
    expected = encode(decode(codes, src), sign_of(codes, src), dst)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_truncation_to_bf16(library, form, mode):
    codes = inputs("f32")
    result = library("f32", "bf16", form, mode, codes)
    with np.errstate(all="ignore"):
        expected = codes.view(np.float32).astype(ml_dtypes.bfloat16)
    nan = np.isnan(expected)
    np.testing.assert_array_equal(
        result[~nan], expected[~nan].view(np.uint16))
    assert np.all(result[nan] & 0x7FFF > 0x7F80)
    np.testing.assert_array_equal(sign_of(result[nan], "bf16"),
                                  sign_of(codes[nan], "f32"))


def test_hand_written_codes(library):
    """Values of the formats' specifications, not of any library."""
    e2m1 = library("f4E2M1FN", "f32", "scalar", "default", np.arange(16))
    magnitudes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    expected = magnitudes + [-value for value in magnitudes]
    assert list(e2m1.view(np.float32)) == expected
    e4m3 = library("f8E4M3FN", "f32", "scalar", "default",
                   np.array([0x01, 0x07, 0x08, 0x38, 0x7E, 0xFE, 0x80]))
    assert list(e4m3.view(np.float32)) == [
        2.0**-9, 7 * 2.0**-9, 2.0**-6, 1.0, 448.0, -448.0, 0.0]
    ties = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0, np.inf],
                    np.float32)
    codes = library("f32", "f4E2M1FN", "scalar", "default",
                    ties.view(np.uint32))
    assert list(codes) == [0, 2, 2, 4, 4, 6, 6, 7, 7]
