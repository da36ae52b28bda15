# RUN: %pytest %s
# REQUIRES: python, compiler
"""kvq-convert-cache-format against NumPy: a program over float caches, converted,
leaves the bytes that NumPy's quantization of the same rows gives, and reads back
their values."""

import os
import re
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from oracle import cache as caches
from oracle import formats

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from execute import execute, optimize  # noqa: E402

FORMATS = ("nvfp4", "mxfp4", "mxfp8", "fp8", "f16")
PAGE, HEADS, PAGES, TABLE = 4, 2, 5, 2
ELEMENTS = {"e2m1": "f4E2M1FN", "e4m3": "f8E4M3FN", "e8m0": "f8E8M0FNU", "f16": "f16"}


def program(layout, dims, shape):
    """Two layers of a pool in a loop, each appended to and read by a function
    that makes the handles; keys as data of a layer, values as a whole."""
    k_dim, v_dim = dims
    sizes = f"{PAGE}x{HEADS}" if layout == "NHD" else f"{HEADS}x{PAGE}"
    first, second = (PAGE, HEADS) if layout == "NHD" else (HEADS, PAGE)
    stride = PAGE * HEADS * k_dim
    layer = (f"memref<{PAGES}x{sizes}x{k_dim}xbf16, strided<[{stride}, {second * k_dim}, "
             f"{k_dim}, 1], offset: ?>>")
    k, v = (f"!kvq.cache<{side}, {PAGE}x{HEADS}x{dim}, bf16, {layout}>"
            for side, dim in (("key", k_dim), ("value", v_dim)))
    rows, batch, length = shape
    out = [f"tensor<{batch}x{length}x{HEADS}x{dim}xbf16>" for dim in dims]
    tables = f"tensor<{batch}x{TABLE}xi32>, tensor<{batch}xi32>"
    return f"""
!layer = {layer}
!pool = memref<2x{PAGES}x{sizes}x{k_dim}xbf16>
!values = memref<{PAGES}x{sizes}x{v_dim}xbf16>
!k = {k}
!v = {v}
func.func private @layer(%kd: !layer, %v: !v, %x: tensor<{rows}x{HEADS}x{k_dim}xbf16>, %y: tensor<{rows}x{HEADS}x{v_dim}xbf16>,
    %slots: tensor<{rows}xi32>, %bt: tensor<{batch}x{TABLE}xi32>, %len: tensor<{batch}xi32>) -> ({out[0]}, {out[1]}) {{
  %k = kvq.make_cache data(%kd : !layer) : !k
  kvq.append ins(%x : tensor<{rows}x{HEADS}x{k_dim}xbf16>) into(%k : !k) slot_mapping(%slots : tensor<{rows}xi32>)
  kvq.append ins(%y : tensor<{rows}x{HEADS}x{v_dim}xbf16>) into(%v : !v) slot_mapping(%slots : tensor<{rows}xi32>)
  %e = tensor.empty() : {out[0]}
  %f = tensor.empty() : {out[1]}
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<{batch}x{TABLE}xi32>) seq_lens(%len : tensor<{batch}xi32>) outs(%e : {out[0]}) -> {out[0]}
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<{batch}x{TABLE}xi32>) seq_lens(%len : tensor<{batch}xi32>) outs(%f : {out[1]}) -> {out[1]}
  return %0, %1 : {out[0]}, {out[1]}
}}
func.func @main(%pool: !pool, %values: !values, %x: tensor<{rows}x{HEADS}x{k_dim}xbf16>, %y: tensor<{rows}x{HEADS}x{v_dim}xbf16>,
    %slots: tensor<{rows}xi32>, %bt: tensor<{batch}x{TABLE}xi32>, %len: tensor<{batch}xi32>, %k0: {out[0]}, %v0: {out[1]}) -> ({out[0]}, {out[1]}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %v = kvq.make_cache data(%values : !values) : !v
  %r:3 = scf.for %i = %c0 to %c2 step %c1 iter_args(%h = %v, %ka = %k0, %va = %v0) -> (!v, {out[0]}, {out[1]}) {{
    %l = memref.subview %pool[%i, 0, 0, 0, 0] [1, {PAGES}, {first}, {second}, {k_dim}] [1, 1, 1, 1, 1] : !pool to !layer
    %0:2 = func.call @layer(%l, %h, %x, %y, %slots, %bt, %len) : (!layer, !v, tensor<{rows}x{HEADS}x{k_dim}xbf16>, tensor<{rows}x{HEADS}x{v_dim}xbf16>, tensor<{rows}xi32>, {tables}) -> ({out[0]}, {out[1]})
    %1 = linalg.copy ins(%0#0 : {out[0]}) outs(%ka : {out[0]}) -> {out[0]}
    %2 = linalg.copy ins(%0#1 : {out[1]}) outs(%va : {out[1]}) -> {out[1]}
    scf.yield %h, %1, %2 : !v, {out[0]}, {out[1]}
  }}
  return %r#1, %r#2 : {out[0]}, {out[1]}
}}
"""


def convert(text, k_format, v_format, *options):
    flags = " ".join([f"key-format={k_format}", f"value-format={v_format}", *options])
    done = subprocess.run(["kvq-opt", f"--kvq-convert-cache-format={flags}"], input=text,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def stored(fmt, array):
    """Bytes as kvq-run takes them."""
    return array.view(np.float16) if fmt.name == "f16" else array


class Pool:
    """The buffers of one side after the conversion, and the same in NumPy."""

    def __init__(self, name, layout, dim, layers, g):
        self.fmt, self.dim, self.layers = formats.FORMATS[name], dim, layers
        g = g if self.fmt.has_global else 1.0
        made = [caches.Cache.allocate(PAGES, page=PAGE, heads=HEADS, head_dim=dim,
                                      fmt=name, kv_layout=layout, g=g, fill=0)
                for _ in range(layers or 1)]
        self.caches = made
        self.g = g

    def join(self, parts):
        return np.stack(parts) if self.layers else parts[0]

    def data(self):
        return stored(self.fmt, self.join([c.data for c in self.caches]))

    def companions(self):
        """What the signature gains for it, in order."""
        arrays = []
        if self.fmt.block:
            arrays.append(self.join([c.scales for c in self.caches]))
        if self.fmt.has_global:
            arrays.append(np.array(self.g, np.float32))
        return arrays

    def values(self, table, lens, length):
        """The rows of the last layer that a gather reads, as bf16."""
        cache = self.caches[-1]
        data, scales = caches.gather(cache, table, lens, length)
        with np.errstate(all="ignore"):
            return formats.dequantize(self.fmt, data, scales, cache.g).astype(
                ml_dtypes.bfloat16).view(np.uint16)


CASES = [(k, v, layout) for i, k in enumerate(FORMATS) for j, v in enumerate(FORMATS)
         for layout in (("NHD", "HND")[(i + j) % 2],)]


@pytest.mark.parametrize("k_format,v_format,layout", CASES)
def test_converted_program(k_format, v_format, layout, tmp_path):
    random = np.random.default_rng([7, FORMATS.index(k_format), FORMATS.index(v_format)])
    dims, shape = (64, 32), (int(random.integers(1, 7)), 2, PAGE * TABLE)
    text = convert(program(layout, dims, shape), k_format, v_format)
    check_program(text, k_format, v_format, layout, dims, shape, random, tmp_path)


@pytest.mark.parametrize("decided,options", [
    ("nvfp4", "chip=sm_100a"), ("mxfp4", "chip=cpu max-stored-error=0.2")])
@pytest.mark.parametrize("layout", ["NHD", "HND"])
def test_decided_program(decided, options, layout, tmp_path):
    """Block scales that kvq-assign-block-scales decides are those of a format that
    is asked for by its name."""
    random = np.random.default_rng([8, FORMATS.index(decided)])
    dims, shape = (64, 32), (5, 2, PAGE * TABLE)
    text = convert(program(layout, dims, shape), "fp4", "fp4")
    assert "fp4, NHD>" in text or "fp4, HND>" in text
    text = optimize(text, f"--kvq-assign-block-scales={options}")
    check_program(text, decided, decided, layout, dims, shape, random, tmp_path)


def check_program(text, k_format, v_format, layout, dims, shape, random, tmp_path):
    """Compares a converted program with NumPy."""
    rows, batch, length = shape
    k = Pool(k_format, layout, dims[0], 2, 0.37)
    v = Pool(v_format, layout, dims[1], 0, 0.05)

    def values(dim):
        x = random.standard_normal((rows, HEADS, dim)) * random.choice([0, 1e-3, 1, 300], (rows, HEADS, 1))
        return x.astype(ml_dtypes.bfloat16)

    x, y = values(dims[0]), values(dims[1])
    # Two layers write the same values, so no slot may be named twice but by them.
    slots = random.permutation(PAGES * PAGE)[:rows].astype(np.int32)
    slots[random.random(rows) < 0.2] = -1
    table = random.permutation(PAGES)[: batch * TABLE].reshape(batch, TABLE).astype(np.int32)
    lens = random.integers(0, length + 1, batch).astype(np.int32)
    zeros = [np.zeros((batch, length, HEADS, dim), np.uint16) for dim in dims]
    arrays = [k.data(), v.data(), x.view(np.uint16), y.view(np.uint16), slots, table, lens,
              *zeros, *k.companions(), *v.companions()]
    first = 9
    memrefs = [0, 1] + list(range(first, len(arrays)))
    results, after = execute(text, arrays, memrefs, 2, tmp_path)

    for cache in (*k.caches, *v.caches):
        rows_of = x if cache.head_dim == dims[0] else y
        caches.quantize_append(cache, rows_of.astype(np.float32), slots)
    expected = [k.data(), v.data(), *k.companions(), *v.companions()]
    for index, (found, wanted) in enumerate(zip(after, expected)):
        assert found.tobytes() == wanted.tobytes(), f"memref {index}"
    for found, pool in zip(results, (k, v)):
        np.testing.assert_array_equal(
            found.view(np.uint16), pool.values(table, lens, length))

    # Quantization fuses into the appends, and changes no byte.
    if k_format == v_format:
        done = subprocess.run(["kvq-opt", "--kvq-fuse-quantize-append=require=true"],
                              input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("kvq.quantize_append ins") == 2
        assert "kvq.quantize ins" not in done.stdout
        _, again = execute(done.stdout, arrays, memrefs, 2, tmp_path)
        for found, wanted in zip(again, after):
            assert found.tobytes() == wanted.tobytes()


def test_layers_and_calibration(tmp_path):
    """The first layer in fp8 with a calibrated global scale, the other in nvfp4
    with an argument: NumPy with these numbers gives the same bytes."""
    random = np.random.default_rng(8)
    rows, dim = 5, 64
    handle = f"!kvq.cache<key, {PAGE}x{HEADS}x{dim}, bf16, NHD>"
    memref = f"memref<{PAGES}x{PAGE}x{HEADS}x{dim}xbf16>"
    text = f"""
func.func @main(%a: {memref}, %b: {memref}, %x: tensor<{rows}x{HEADS}x{dim}xbf16>, %slots: tensor<{rows}xi64>) {{
  %0 = kvq.make_cache data(%a : {memref}) {{kvq.global_scale = 0.0125 : f32}} : {handle}
  %1 = kvq.make_cache data(%b : {memref}) : {handle}
  kvq.append ins(%x : tensor<{rows}x{HEADS}x{dim}xbf16>) into(%0 : {handle}) slot_mapping(%slots : tensor<{rows}xi64>)
  kvq.append ins(%x : tensor<{rows}x{HEADS}x{dim}xbf16>) into(%1 : {handle}) slot_mapping(%slots : tensor<{rows}xi64>)
  return
}}
"""
    file = tmp_path / "formats.json"
    file.write_text('{"0": "fp8"}')
    text = convert(text, "nvfp4", "nvfp4", f"formats-file={file}")
    x = random.standard_normal((rows, HEADS, dim)).astype(ml_dtypes.bfloat16)
    slots = random.permutation(PAGES * PAGE)[:rows]
    a = Pool("fp8", "NHD", dim, 0, float(np.float32(0.0125)))
    b = Pool("nvfp4", "NHD", dim, 0, 0.01)
    arrays = [a.data(), b.data(), x.view(np.uint16), slots, *b.companions()]
    _, after = execute(text, arrays, [0, 1, 4], 0, tmp_path)
    for pool in (a, b):
        caches.quantize_append(pool.caches[0], x.astype(np.float32), slots)
    for found, wanted in zip(after, [a.data(), b.data(), b.companions()[0]]):
        assert found.tobytes() == wanted.tobytes()


def test_new_format_of_the_values_of_a_quantize(tmp_path):
    """Values that were quantized to one format are quantized anew, not twice."""
    random = np.random.default_rng(9)
    rows, dim = 6, 64
    handle = f"!kvq.cache<value, {PAGE}x{HEADS}x{dim}, fp8, NHD>"
    memref = f"memref<{PAGES}x{PAGE}x{HEADS}x{dim}xf8E4M3FN>"
    shape = f"{rows}x{HEADS}x{dim}"
    text = f"""
func.func @main(%a: {memref}, %g: memref<f32>, %x: tensor<{shape}xf32>, %slots: tensor<{rows}xi64>) {{
  %0 = kvq.make_cache data(%a : {memref}) global_scale(%g : memref<f32>) : {handle}
  %s = memref.load %g[] : memref<f32>
  %e = tensor.empty() : tensor<{shape}xf8E4M3FN>
  %1 = kvq.quantize ins(%x : tensor<{shape}xf32>) global_scale(%s) outs(%e : tensor<{shape}xf8E4M3FN>) {{format = #kvq.format<fp8>}} -> tensor<{shape}xf8E4M3FN>
  kvq.append ins(%1 : tensor<{shape}xf8E4M3FN>) into(%0 : {handle}) slot_mapping(%slots : tensor<{rows}xi64>)
  return
}}
"""
    text = convert(text, "nvfp4", "nvfp4")
    assert not re.search("kvq.quantize.*fp8", text)
    x = random.standard_normal((rows, HEADS, dim)).astype(np.float32)
    slots = random.permutation(PAGES * PAGE)[:rows]
    pool = Pool("nvfp4", "NHD", dim, 0, 0.01)
    scales, g = pool.companions()
    _, after = execute(text, [pool.data(), g, x, slots, scales], [0, 4], 0, tmp_path)
    caches.quantize_append(pool.caches[0], x, slots)
    for found, wanted in zip(after, [pool.data(), pool.companions()[0]]):
        assert found.tobytes() == wanted.tobytes()
