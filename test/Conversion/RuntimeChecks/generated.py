# RUN: %pytest %s
# REQUIRES: python
"""Runs the checks that upstream's --generate-runtime-verification emits: an
operation whose check fails reports and does nothing, and what follows runs."""
import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Inputs"))
import jit
from execute import DUPLICATE_SLOT, GLOBAL_SCALE, REPORT, SIZE, SLOT

SOURCE = """
!pool = memref<?x4x2x8xf16>
!k = !kvq.cache<key, 4x2x8, f16, NHD>
func.func @append(%x: memref<?x2x8xf32>, %pool: !pool, %slots: memref<?xi32>,
                  %y: memref<?x2x8xf32>, %z: memref<?x2x8xf16>)
    attributes {llvm.emit_c_interface} {
  %k = kvq.make_cache data(%pool : !pool) : !k
  kvq.quantize_append ins(%x : memref<?x2x8xf32>) into(%k : !k)
      slot_mapping(%slots : memref<?xi32>)
  kvq.quantize ins(%y : memref<?x2x8xf32>) outs(%z : memref<?x2x8xf16>)
      {format = #kvq.format<f16>}
  return
}
func.func @scale(%x: memref<2x8xf32>, %g: memref<f32>, %y: memref<2x8xf8E4M3FN>)
    attributes {llvm.emit_c_interface} {
  %s = memref.load %g[] : memref<f32>
  kvq.quantize ins(%x : memref<2x8xf32>) global_scale(%s)
      outs(%y : memref<2x8xf8E4M3FN>) {format = #kvq.format<fp8>}
  return
}
"""
PIPELINE = ("builtin.module(generate-runtime-verification,func.func(kvq-decompose),"
            "kvq-expand-handles,kvq-lower-fp-conversions,kvq-legalize-storage)")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    opt = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-opt")
    # Without memref's own checks, which abort.
    text = jit.run([opt, f"--pass-pipeline={PIPELINE}"], SOURCE)
    text = "\n".join(line for line in text.splitlines() if "cf.assert" not in line)
    library = jit.build(text, tmp_path_factory.mktemp("generated"), REPORT)
    library.last_report.restype = ctypes.POINTER(ctypes.c_int64)
    return library


def call(library, name, *arguments):
    """The report (kind, index, value, limit), or None."""
    last = library.last_report()
    last[0] = 0
    jit.call(library, name, *arguments)
    assert last[0] in (0, 1)
    return tuple(last[i] for i in range(1, 5)) if last[0] else None


@pytest.mark.parametrize("slots, report", [
    ([0, 7, -1], None),
    ([0, 8, 1], (SLOT, 1, 8, 8)),
    ([3, 5, 3], (DUPLICATE_SLOT, 2, 3, 0)),
    ([1, 2], (SIZE, 0, 2, 3)),
])
def test_append(library, slots, report):
    x = np.random.default_rng(1).standard_normal((3, 2, 8)).astype(np.float32)
    pool = np.full((2, 4, 2, 8), 9, np.float16)
    y, z = x + 1, np.zeros((3, 2, 8), np.float16)
    found = call(library, "append", x, pool, np.array(slots, np.int32), y, z)
    assert found == report
    expected = np.full((8, 2, 8), 9, np.float16)
    if report is None:
        expected[[0, 7]] = x[:2].astype(np.float16)
    np.testing.assert_array_equal(pool.reshape(8, 2, 8), expected)
    np.testing.assert_array_equal(z, y.astype(np.float16))


def test_sizes_of_what_follows(library):
    x = np.ones((1, 2, 8), np.float32)
    pool = np.zeros((1, 4, 2, 8), np.float16)
    z = np.zeros((2, 2, 8), np.float16)
    found = call(library, "append", x, pool, np.array([2], np.int32), x, z)
    assert found == (SIZE, 0, 2, 1)
    assert not z.any() and pool[0, 2].all()


@pytest.mark.parametrize("scale, good", [(0.5, True), (0.0, False), (-1.0, False),
                                         (np.nan, False), (np.inf, False)])
def test_global_scale(library, scale, good):
    x = np.ones((2, 8), np.float32)
    y = np.zeros((2, 8), np.uint8)
    report = call(library, "scale", x, np.array(scale, np.float32), y)
    assert (report is None) == good
    assert y.all() == good
    if not good:
        assert report[0] == GLOBAL_SCALE
