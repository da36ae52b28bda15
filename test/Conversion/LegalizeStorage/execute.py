# RUN: %pytest %s
# REQUIRES: python
"""Runs legalized loads, stores and views against unpacked NumPy arrays."""
import ctypes
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Inputs"))
import jit

# A 4-bit row-strided matrix with an offset: [?, 1], offset: ?.
F4 = "memref<?x?xf4E2M1FN, strided<[?, 1], offset: ?>>"
F8 = "memref<?x?xf8E4M3FN, strided<[?, 1], offset: ?>>"
ATTRIBUTES = "attributes {llvm.emit_c_interface}"


def vector_load(name, count, offset, kind=F4, element="f4E2M1FN", raw="i4"):
    widen = (f"%w = arith.extui %b : vector<{count}xi4> to vector<{count}xi8>"
             if raw == "i4" else
             f"%w = arith.bitcast %b : vector<{count}xi8> to vector<{count}xi8>")
    return f"""
  func.func @{name}(%m: {kind}, %out: memref<?xi8>, %i: index) {ATTRIBUTES} {{
    %c0 = arith.constant 0 : index
    %j = arith.constant {offset} : index
    %x = vector.load %m[%i, %j] : {kind}, vector<{count}x{element}>
    %b = arith.bitcast %x : vector<{count}x{element}> to vector<{count}x{raw}>
    {widen}
    vector.store %w, %out[%c0] : memref<?xi8>, vector<{count}xi8>
    return
  }}"""


def vector_store(name, count, offset):
    return f"""
  func.func @{name}(%m: {F4}, %in: memref<?xi8>, %i: index) {ATTRIBUTES} {{
    %c0 = arith.constant 0 : index
    %j = arith.constant {offset} : index
    %x = vector.load %in[%c0] : memref<?xi8>, vector<{count}xi8>
    %n = arith.trunci %x : vector<{count}xi8> to vector<{count}xi4>
    %e = arith.bitcast %n : vector<{count}xi4> to vector<{count}xf4E2M1FN>
    vector.store %e, %m[%i, %j] : {F4}, vector<{count}xf4E2M1FN>
    return
  }}"""


SOURCE = f"""
module {{
  memref.global "private" constant @table : memref<2x4xf4E2M1FN> =
    dense<[[0.0, 0.5, -1.0, 1.5], [2.0, -3.0, 4.0, -6.0]]>
  memref.global "private" constant @bytes : memref<4xf8E4M3FN> =
    dense<[1.0, -448.0, 0.001953125, -0.0]>

  func.func @load(%m: {F4}, %i: index, %j: index) -> i8 {ATTRIBUTES} {{
    %x = memref.load %m[%i, %j] : {F4}
    %b = arith.bitcast %x : f4E2M1FN to i4
    %r = arith.extui %b : i4 to i8
    return %r : i8
  }}
  func.func @store(%m: {F4}, %i: index, %j: index, %v: i8) {ATTRIBUTES} {{
    %n = arith.trunci %v : i8 to i4
    %x = arith.bitcast %n : i4 to f4E2M1FN
    memref.store %x, %m[%i, %j] : {F4}
    return
  }}
  func.func @from_table(%i: index, %j: index) -> i8 {ATTRIBUTES} {{
    %m = memref.get_global @table : memref<2x4xf4E2M1FN>
    %x = memref.load %m[%i, %j] : memref<2x4xf4E2M1FN>
    %b = arith.bitcast %x : f4E2M1FN to i4
    %r = arith.extui %b : i4 to i8
    return %r : i8
  }}
  func.func @from_bytes(%i: index) -> i8 {ATTRIBUTES} {{
    %m = memref.get_global @bytes : memref<4xf8E4M3FN>
    %x = memref.load %m[%i] : memref<4xf8E4M3FN>
    %r = arith.bitcast %x : f8E4M3FN to i8
    return %r : i8
  }}
  func.func @dim(%m: {F4}, %k: index) -> index {ATTRIBUTES} {{
    %d = memref.dim %m, %k : {F4}
    return %d : index
  }}
  // Rows from %i on, columns from 2*%j on, through metadata and a new view.
  func.func @view(%m: {F4}, %i: index, %j: index, %k: index) -> i8 {ATTRIBUTES} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %jj = arith.muli %j, %c2 : index
    %s = memref.subview %m[%i, %jj] [1, 4] [1, 1] : {F4}
      to memref<4xf4E2M1FN, strided<[1], offset: ?>>
    %base, %o, %n, %t = memref.extract_strided_metadata %s
      : memref<4xf4E2M1FN, strided<[1], offset: ?>>
      -> memref<f4E2M1FN>, index, index, index
    %r = memref.reinterpret_cast %base to offset: [%o], sizes: [2, 2],
      strides: [%c2, 1]
      : memref<f4E2M1FN> to memref<2x2xf4E2M1FN, strided<[?, 1], offset: ?>>
    %row = arith.divui %k, %c2 : index
    %column = arith.remui %k, %c2 : index
    %x = memref.load %r[%row, %column]
      : memref<2x2xf4E2M1FN, strided<[?, 1], offset: ?>>
    %b = arith.bitcast %x : f4E2M1FN to i4
    %v = arith.extui %b : i4 to i8
    return %v : i8
  }}
  // A copy through an allocation of dynamic size, a cast and a reshape.
  func.func @copy(%m: {F4}, %out: memref<?xi8>) {ATTRIBUTES} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %rows = memref.dim %m, %c0 : {F4}
    %columns = memref.dim %m, %c1 : {F4}
    %a = memref.alloc(%rows, %columns) : memref<?x?xf4E2M1FN>
    memref.copy %m, %a : {F4} to memref<?x?xf4E2M1FN>
    %half = arith.divui %columns, %c2 : index
    %e = memref.expand_shape %a [[0], [1, 2]] output_shape [%rows, %half, 2]
      : memref<?x?xf4E2M1FN> into memref<?x?x2xf4E2M1FN>
    %flat = memref.collapse_shape %e [[0, 1, 2]]
      : memref<?x?x2xf4E2M1FN> into memref<?xf4E2M1FN>
    %n = memref.dim %flat, %c0 : memref<?xf4E2M1FN>
    scf.for %i = %c0 to %n step %c1 {{
      %x = memref.load %flat[%i] : memref<?xf4E2M1FN>
      %b = arith.bitcast %x : f4E2M1FN to i4
      %r = arith.extui %b : i4 to i8
      memref.store %r, %out[%i] : memref<?xi8>
    }}
    memref.dealloc %a : memref<?x?xf4E2M1FN>
    return
  }}
  func.func @transfer(%m: {F4}, %out: memref<?xi8>, %i: index) {ATTRIBUTES} {{
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %pad = arith.constant 6.0 : f4E2M1FN
    %x = vector.transfer_read %m[%i, %c4], %pad : {F4}, vector<16xf4E2M1FN>
    %b = arith.bitcast %x : vector<16xf4E2M1FN> to vector<16xi4>
    %w = arith.extui %b : vector<16xi4> to vector<16xi8>
    vector.store %w, %out[%c0] : memref<?xi8>, vector<16xi8>
    return
  }}
  func.func @transfer_back(%m: {F4}, %in: memref<?xi8>, %i: index) {ATTRIBUTES} {{
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %x = vector.load %in[%c0] : memref<?xi8>, vector<16xi8>
    %n = arith.trunci %x : vector<16xi8> to vector<16xi4>
    %e = arith.bitcast %n : vector<16xi4> to vector<16xf4E2M1FN>
    vector.transfer_write %e, %m[%i, %c4] : vector<16xf4E2M1FN>, {F4}
    return
  }}
  func.func @block(%m: memref<2x8xf4E2M1FN>, %out: memref<2x8xi8>) {ATTRIBUTES} {{
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : f4E2M1FN
    %x = vector.transfer_read %m[%c0, %c0], %pad {{in_bounds = [true, true]}}
      : memref<2x8xf4E2M1FN>, vector<2x8xf4E2M1FN>
    %b = arith.bitcast %x : vector<2x8xf4E2M1FN> to vector<2x8xi4>
    %w = arith.extui %b : vector<2x8xi4> to vector<2x8xi8>
    vector.transfer_write %w, %out[%c0, %c0] {{in_bounds = [true, true]}}
      : vector<2x8xi8>, memref<2x8xi8>
    vector.transfer_write %x, %m[%c0, %c0] {{in_bounds = [true, true]}}
      : vector<2x8xf4E2M1FN>, memref<2x8xf4E2M1FN>
    return
  }}
  // vector.bitcast and the packed storage agree on the order of nibbles.
  func.func @bitcast(%m: memref<?xi8>, %out: memref<?xi8>) {ATTRIBUTES} {{
    %c0 = arith.constant 0 : index
    %x = vector.load %m[%c0] : memref<?xi8>, vector<4xi8>
    %f = vector.bitcast %x : vector<4xi8> to vector<8xf4E2M1FN>
    %b = arith.bitcast %f : vector<8xf4E2M1FN> to vector<8xi4>
    %w = arith.extui %b : vector<8xi4> to vector<8xi8>
    vector.store %w, %out[%c0] : memref<?xi8>, vector<8xi8>
    return
  }}
  // Both passes: a row to f32 and back, in vectors and one by one.
  func.func @dequantize(%m: {F4}, %out: memref<?xf32>, %i: index) {ATTRIBUTES} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %x = vector.load %m[%i, %c0] : {F4}, vector<8xf4E2M1FN>
    %f = arith.extf %x : vector<8xf4E2M1FN> to vector<8xf32>
    vector.store %f, %out[%c0] : memref<?xf32>, vector<8xf32>
    scf.for %j = %c8 to %c12 step %c1 {{
      %y = memref.load %m[%i, %j] : {F4}
      %g = arith.extf %y : f4E2M1FN to f32
      memref.store %g, %out[%j] : memref<?xf32>
    }}
    return
  }}
  func.func @quantize(%m: {F4}, %in: memref<?xf32>, %i: index) {ATTRIBUTES} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %f = vector.load %in[%c0] : memref<?xf32>, vector<8xf32>
    %x = arith.truncf %f : vector<8xf32> to vector<8xf4E2M1FN>
    vector.store %x, %m[%i, %c0] : {F4}, vector<8xf4E2M1FN>
    scf.for %j = %c8 to %c12 step %c1 {{
      %g = memref.load %in[%j] : memref<?xf32>
      %y = arith.truncf %g : f32 to f4E2M1FN
      memref.store %y, %m[%i, %j] : {F4}
    }}
    return
  }}
  {vector_load("load_even", 8, 2)}
  {vector_load("load_odd", 8, 3)}
  {vector_load("load_seven", 7, 2)}
  {vector_load("load_bytes", 8, 3, F8, "f8E4M3FN", "i8")}
  {vector_store("store_even", 8, 2)}
  {vector_store("store_odd", 8, 3)}
  {vector_store("store_seven", 7, 2)}
}}
"""
ROWS, COLUMNS, STRIDE, OFFSET = 3, 12, 20, 6


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    lowered = jit.run(["kvq-opt", "-kvq-legalize-storage",
                       "-kvq-lower-fp-conversions"], SOURCE)
    assert "xf4E2M1FN, strided" not in lowered
    return jit.build(lowered, tmp_path_factory.mktemp("storage"))


class Matrix:
    """Packed bytes with an offset and padding between rows, all random."""

    def __init__(self):
        self.bytes = np.random.default_rng(3).integers(
            0, 256, (OFFSET + ROWS * STRIDE) // 2, np.uint8)
        self.memref = jit.descriptor(self.bytes, [STRIDE // 2, 1],
                                     (ROWS, COLUMNS // 2), OFFSET // 2)

    def nibbles(self):
        flat = np.stack([self.bytes & 15, self.bytes >> 4], 1).reshape(-1)
        return flat

    @staticmethod
    def place(i, j):
        return OFFSET + i * STRIDE + j


def test_load_each_element(library):
    m = Matrix()
    for i in range(ROWS):
        for j in range(COLUMNS):
            value = jit.call(library, "load", m.memref, i, j,
                             result=ctypes.c_uint8)
            assert value == m.nibbles()[m.place(i, j)]


def test_store_each_element_changes_no_other(library):
    m = Matrix()
    expected = m.nibbles()
    for k in np.random.default_rng(5).permutation(ROWS * COLUMNS):
        i, j = int(k) // COLUMNS, int(k) % COLUMNS
        value = (int(k) * 7 + 3) % 16
        jit.call(library, "store", m.memref, i, j, ctypes.c_uint8(value))
        expected[m.place(i, j)] = value
        np.testing.assert_array_equal(m.nibbles(), expected)


@pytest.mark.parametrize("name,count,offset", [
    ("load_even", 8, 2), ("load_odd", 8, 3), ("load_seven", 7, 2)])
def test_vector_load(library, name, count, offset):
    m = Matrix()
    out = np.full(10, 0xA5, np.uint8)
    jit.call(library, name, m.memref, out, 1)
    start = m.place(1, offset)
    np.testing.assert_array_equal(out[:count],
                                  m.nibbles()[start:start + count])
    assert np.all(out[count:] == 0xA5)


@pytest.mark.parametrize("name,count,offset", [
    ("store_even", 8, 2), ("store_odd", 8, 3), ("store_seven", 7, 2)])
def test_vector_store(library, name, count, offset):
    m = Matrix()
    values = np.array([9, 2, 15, 0, 7, 8, 1, 4], np.uint8)
    expected = m.nibbles()
    start = m.place(2, offset)
    expected[start:start + count] = values[:count]
    jit.call(library, name, m.memref, values, 2)
    np.testing.assert_array_equal(m.nibbles(), expected)


def test_vector_load_of_bytes(library):
    data = np.arange(64, dtype=np.uint8).reshape(4, 16)
    out = np.zeros(8, np.uint8)
    jit.call(library, "load_bytes", data, out, 2)
    np.testing.assert_array_equal(out, data[2, 3:11])


def test_globals(library):
    codes = [[0, 1, 10, 3], [4, 13, 6, 15]]
    for i in range(2):
        for j in range(4):
            assert jit.call(library, "from_table", i, j,
                            result=ctypes.c_uint8) == codes[i][j]
    for i, byte in enumerate([0x38, 0xFE, 0x01, 0x80]):
        assert jit.call(library, "from_bytes", i,
                        result=ctypes.c_uint8) == byte


def test_dim_counts_elements(library):
    m = Matrix()
    for k, size in enumerate([ROWS, COLUMNS]):
        assert jit.call(library, "dim", m.memref, k,
                        result=ctypes.c_int64) == size


def test_views(library):
    m = Matrix()
    for j in range(COLUMNS // 2 - 1):
        for k in range(4):
            value = jit.call(library, "view", m.memref, 1, j, k,
                             result=ctypes.c_uint8)
            assert value == m.nibbles()[m.place(1, 2 * j + k)]


def test_copy_and_reshape(library):
    m = Matrix()
    out = np.zeros(ROWS * COLUMNS, np.uint8)
    jit.call(library, "copy", m.memref, out)
    expected = [m.nibbles()[m.place(i, j)]
                for i in range(ROWS) for j in range(COLUMNS)]
    np.testing.assert_array_equal(out, expected)


def test_transfer_past_the_end_pads(library):
    m = Matrix()
    out = np.zeros(16, np.uint8)
    jit.call(library, "transfer", m.memref, out, 1)
    inside = COLUMNS - 4
    start = m.place(1, 4)
    np.testing.assert_array_equal(out[:inside],
                                  m.nibbles()[start:start + inside])
    assert np.all(out[inside:] == 7)


def test_transfer_past_the_end_writes_nothing_there(library):
    m = Matrix()
    values = np.arange(16, dtype=np.uint8)
    expected = m.nibbles()
    start = m.place(1, 4)
    expected[start:start + COLUMNS - 4] = values[:COLUMNS - 4]
    jit.call(library, "transfer_back", m.memref, values, 1)
    np.testing.assert_array_equal(m.nibbles(), expected)


def test_two_dimensional_transfer(library):
    data = np.random.default_rng(1).integers(0, 256, (2, 4), np.uint8)
    before = data.copy()
    out = np.zeros((2, 8), np.uint8)
    jit.call(library, "block", data, out)
    np.testing.assert_array_equal(
        out, np.stack([before & 15, before >> 4], 2).reshape(2, 8))
    np.testing.assert_array_equal(data, before)


def test_bitcast_order(library):
    data = np.array([0x10, 0x32, 0x54, 0x76], np.uint8)
    out = np.zeros(8, np.uint8)
    jit.call(library, "bitcast", data, out)
    np.testing.assert_array_equal(out, np.arange(8))


def test_both_passes_round_trip(library):
    m = Matrix()
    before = m.bytes.copy()
    values = np.zeros(COLUMNS, np.float32)
    jit.call(library, "dequantize", m.memref, values, 1)
    magnitudes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    codes = m.nibbles()[m.place(1, 0):m.place(1, COLUMNS)]
    np.testing.assert_array_equal(
        values, np.where(codes & 8, -1, 1) * magnitudes[codes & 7])
    row = slice(m.place(1, 0) // 2, m.place(1, COLUMNS) // 2)
    m.bytes[row] ^= 0xFF
    jit.call(library, "quantize", m.memref, values, 1)
    np.testing.assert_array_equal(m.bytes, before)
