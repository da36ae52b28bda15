# RUN: %pytest %s
# REQUIRES: python, compiler
"""Attention that reads a copy of scales in another layout, run on the CPU before and
after. test_differential.py runs random functions."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from execute import execute, optimize  # noqa: E402

READS_COPY = """
!k = !kvq.cache<key, 8x2x64, fp8, NHD>
!v = !kvq.cache<value, 8x2x64, nvfp4, NHD, linear>
!x = tensor<5x2x64xf32>
!q = tensor<2x1x4x64xf32>
func.func @main(%kd: memref<?x8x2x64xf8E4M3FN>, %vd: memref<?x8x2x64xf4E2M1FN>, %vs: memref<?x8x2x4xf8E4M3FN>, %g: memref<f32>,
    %x: !x, %q: !q, %slots: tensor<5xi32>, %bt: tensor<2x2xi32>, %len: tensor<2xi32>, %o: !q) -> !q {
  %scale = arith.constant 0.125 : f32
  %k = kvq.make_cache data(%kd : memref<?x8x2x64xf8E4M3FN>) global_scale(%g : memref<f32>) : !k
  %v = kvq.make_cache data(%vd : memref<?x8x2x64xf4E2M1FN>) scales(%vs : memref<?x8x2x4xf8E4M3FN>) global_scale(%g : memref<f32>) : !v
  kvq.quantize_append ins(%x : !x) into(%k : !k) slot_mapping(%slots : tensor<5xi32>)
  kvq.quantize_append ins(%x : !x) into(%v : !v) slot_mapping(%slots : tensor<5xi32>)
  %0 = kvq.dequant_attention ins(%q : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x2xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%o : !q) -> !q
  return %0 : !q
}
"""


def test_copied_scales(tmp_path):
    """A copy of scales in another layout reads the same values, bit for bit."""
    random = np.random.default_rng(3)
    arrays = [random.integers(0, 0x70, (5, 8, 2, 64), np.uint8), random.integers(0, 256, (5, 8, 2, 32), np.uint8),
              random.integers(0, 0x70, (5, 8, 2, 4), np.uint8), np.array(0.25, np.float32),
              random.standard_normal((5, 2, 64)).astype(np.float32),
              random.standard_normal((2, 1, 4, 64)).astype(np.float32),
              np.array([3, 9, -1, 20, 39], np.int32), np.array([[0, 2], [4, 1]], np.int32),
              np.array([13, 16], np.int32), np.zeros((2, 1, 4, 64), np.float32)]
    optimized = optimize(READS_COPY, "--kvq-optimize=value-reader=trtllm-gen split-length=1024")
    assert optimized.count("kvq.convert_scale_layout") == 1
    before = execute(READS_COPY, arrays, [0, 1, 2], 1, tmp_path / "before")
    after = execute(optimized, arrays, [0, 1, 2], 1, tmp_path / "after")
    assert np.isfinite(before[0][0]).all() and before[0][0].any()
    assert before[0][0].tobytes() == after[0][0].tobytes()
    for index, (a, b) in enumerate(zip(before[1], after[1])):
        assert a.tobytes() == b.tobytes(), f"memref {index}"
