// RUN: kvq-opt %s --kvq-fuse-quantize-append --split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-fuse-quantize-append=require=true --split-input-file -o %t.once
// RUN: kvq-opt %t.once --kvq-fuse-quantize-append --split-input-file | diff %t.once -

// No format with a global scale needs to know one.
// CHECK-LABEL: func @direct
// CHECK-SAME: (%[[X:.*]]: tensor<4x8x128xbf16>, {{.*}} %[[SLOTS:.*]]: tensor<4xi32>, %[[K:.*]]: !kvq.cache
// CHECK-NEXT: kvq.quantize_append ins(%[[X]] : tensor<4x8x128xbf16>) into(%[[K]] : !kvq.cache<key, 16x8x128, mxfp8, HND, linear>) slot_mapping(%[[SLOTS]] : tensor<4xi32>) {rounding = #kvq<rounding fast>, tag}
// CHECK-NEXT: return
func.func @direct(%x: tensor<4x8x128xbf16>, %d: tensor<4x8x128xf8E4M3FN>, %s: tensor<4x8x4xf8E8M0FNU>, %slots: tensor<4xi32>, %k: !kvq.cache<key, 16x8x128, mxfp8, HND, linear>) {
  %0:2 = kvq.quantize ins(%x : tensor<4x8x128xbf16>) outs(%d, %s : tensor<4x8x128xf8E4M3FN>, tensor<4x8x4xf8E8M0FNU>) {format = #kvq.format<mxfp8>, rounding = #kvq<rounding fast>} -> tensor<4x8x128xf8E4M3FN>, tensor<4x8x4xf8E8M0FNU>
  kvq.append ins(%0#0, %0#1 : tensor<4x8x128xf8E4M3FN>, tensor<4x8x4xf8E8M0FNU>) into(%k : !kvq.cache<key, 16x8x128, mxfp8, HND, linear>) slot_mapping(%slots : tensor<4xi32>) {tag}
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!d = tensor<4x8x128xf4E2M1FN>
!s = tensor<4x8x8xf8E4M3FN>

// The global scale of the handle, loaded through it, though rows of another
// handle are appended in between.
// CHECK-LABEL: func @own_global_scale
// CHECK: kvq.append
// CHECK-NOT: kvq.append
// CHECK: kvq.quantize_append {{.*}} block_table(%{{.*}} : tensor<4x2xi32>) positions(%{{.*}} : tensor<4xi32>) {four_over_six}
func.func @own_global_scale(%x: tensor<4x8x128xf32>, %d: !d, %s: !s, %bt: tensor<4x2xi32>, %pos: tensor<4xi32>, %k: !k, %other: !k) {
  %gm = kvq.cache_global_scale %k : !k -> memref<f32>
  %g = memref.load %gm[] : memref<f32>
  %0:2 = kvq.quantize ins(%x : tensor<4x8x128xf32>) global_scale(%g) outs(%d, %s : !d, !s) {format = #kvq.format<nvfp4>, four_over_six} -> !d, !s
  kvq.append ins(%d, %s : !d, !s) into(%other : !k) block_table(%bt : tensor<4x2xi32>) positions(%pos : tensor<4xi32>)
  kvq.append ins(%0#0, %0#1 : !d, !s) into(%k : !k) block_table(%bt : tensor<4x2xi32>) positions(%pos : tensor<4xi32>)
  return
}

// -----

!data = memref<?x16x8x128xf4E2M1FN>
!scales = memref<?x16x8x8xf8E4M3FN>
!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!v = !kvq.cache<value, 16x8x128, nvfp4, NHD, linear>
!d = tensor<4x8x128xf4E2M1FN>
!s = tensor<4x8x8xf8E4M3FN>

// One global scale, loaded once, for two handles. The quantized rows that are
// used twice are gone, those that are returned stay.
// CHECK-LABEL: func @shared_global_scale
// CHECK-SAME: (%[[X:.*]]: tensor<4x8x128xf16>,
// CHECK: %[[Q:.*]]:2 = kvq.quantize ins(%[[X]]
// CHECK-NOT: kvq.append
// CHECK: kvq.quantize_append ins(%[[X]] : tensor<4x8x128xf16>) into(%{{.*}} : !kvq.cache<key
// CHECK: kvq.quantize_append ins(%[[X]] : tensor<4x8x128xf16>) into(%{{.*}} : !kvq.cache<value
// CHECK: return %[[Q]]#0
func.func @shared_global_scale(%x: tensor<4x8x128xf16>, %d: !d, %s: !s, %slots: tensor<4xi64>, %kd: !data, %ks: !scales, %vd: !data, %vs: !scales, %gm: memref<f32>) -> !d {
  %k = kvq.make_cache data(%kd : !data) scales(%ks : !scales) global_scale(%gm : memref<f32>) : !k
  %v = kvq.make_cache data(%vd : !data) scales(%vs : !scales) global_scale(%gm : memref<f32>) : !v
  %g = memref.load %gm[] : memref<f32>
  %0:2 = kvq.quantize ins(%x : tensor<4x8x128xf16>) global_scale(%g) outs(%d, %s : !d, !s) {format = #kvq.format<nvfp4>} -> !d, !s
  kvq.append ins(%0#0, %0#1 : !d, !s) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  kvq.append ins(%0#0, %0#1 : !d, !s) into(%v : !v) slot_mapping(%slots : tensor<4xi64>)
  return %0#0 : !d
}

// -----

!k = !kvq.cache<key, 16x8x128, mxfp4, NHD, linear>

// [B, heads, L, D] becomes [B * L, heads, D], and the first rows are written:
// on the values instead, and the widening cast is taken off.
// CHECK-LABEL: func @moved_rows
// CHECK-SAME: (%[[X:.*]]: tensor<?x8x4x128xf16>,
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[X]] : tensor<?x8x4x128xf16>) outs(%{{.*}} : tensor<?x4x8x128xf16>) permutation = [0, 2, 1, 3]
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[T]] {{\[\[}}0, 1], [2], [3]] : tensor<?x4x8x128xf16> into tensor<?x8x128xf16>
// CHECK: %[[S:.*]] = tensor.extract_slice %[[C]][0, 0, 0] [%{{.*}}, 8, 128] [1, 1, 1] : tensor<?x8x128xf16> to tensor<?x8x128xf16>
// CHECK: %[[D:.*]] = tensor.cast %[[S]] : tensor<?x8x128xf16> to tensor<3x8x128xf16>
// CHECK-NEXT: kvq.quantize_append ins(%[[D]] : tensor<3x8x128xf16>)
// CHECK-NEXT: return
func.func @moved_rows(%x: tensor<?x8x4x128xf16>, %slots: tensor<3xi32>, %b: index, %n: index, %k: !k) {
  %0 = arith.extf %x : tensor<?x8x4x128xf16> to tensor<?x8x4x128xf32>
  %d = tensor.empty(%b) : tensor<?x8x4x128xf4E2M1FN>
  %s = tensor.empty(%b) : tensor<?x8x4x4xf8E8M0FNU>
  %1:2 = kvq.quantize ins(%0 : tensor<?x8x4x128xf32>) outs(%d, %s : tensor<?x8x4x128xf4E2M1FN>, tensor<?x8x4x4xf8E8M0FNU>) {format = #kvq.format<mxfp4>} -> tensor<?x8x4x128xf4E2M1FN>, tensor<?x8x4x4xf8E8M0FNU>
  %dt = tensor.empty(%b) : tensor<?x4x8x128xf4E2M1FN>
  %st = tensor.empty(%b) : tensor<?x4x8x4xf8E8M0FNU>
  %2 = linalg.transpose ins(%1#0 : tensor<?x8x4x128xf4E2M1FN>) outs(%dt : tensor<?x4x8x128xf4E2M1FN>) permutation = [0, 2, 1, 3]
  %3 = linalg.transpose ins(%1#1 : tensor<?x8x4x4xf8E8M0FNU>) outs(%st : tensor<?x4x8x4xf8E8M0FNU>) permutation = [0, 2, 1, 3]
  %4 = tensor.collapse_shape %2 [[0, 1], [2], [3]] : tensor<?x4x8x128xf4E2M1FN> into tensor<?x8x128xf4E2M1FN>
  %5 = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<?x4x8x4xf8E8M0FNU> into tensor<?x8x4xf8E8M0FNU>
  %6 = tensor.extract_slice %4[0, 0, 0] [%n, 8, 128] [1, 1, 1] : tensor<?x8x128xf4E2M1FN> to tensor<?x8x128xf4E2M1FN>
  %7 = tensor.extract_slice %5[0, 0, 0] [%n, 8, 4] [1, 1, 1] : tensor<?x8x4xf8E8M0FNU> to tensor<?x8x4xf8E8M0FNU>
  %8 = tensor.cast %6 : tensor<?x8x128xf4E2M1FN> to tensor<3x8x128xf4E2M1FN>
  kvq.append ins(%8, %7 : tensor<3x8x128xf4E2M1FN>, tensor<?x8x4xf8E8M0FNU>) into(%k : !k) slot_mapping(%slots : tensor<3xi32>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!pool = memref<4x8x16x2x64xf8E4M3FN>
!layer = memref<8x16x2x64xf8E4M3FN, strided<[2048, 128, 64, 1], offset: ?>>
!handle = !kvq.cache<key, 16x2x64, fp8, NHD>

// The rows of all layers are quantized before a loop that appends a layer each.
// CHECK-LABEL: func @layers
// CHECK-SAME: (%[[X:.*]]: tensor<4x24x64xf32>,
// CHECK: scf.for %[[I:.*]] = %{{.*}} iter_args(%[[A:.*]] = %{{.*}})
// CHECK: %[[E:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2], [3]] output_shape [4, 12, 2, 64] : tensor<4x24x64xf32> into tensor<4x12x2x64xf32>
// CHECK: %[[R:.*]] = tensor.extract_slice %[[E]][%[[I]], 0, 0, 0] [1, 12, 2, 64] [1, 1, 1, 1] : tensor<4x12x2x64xf32> to tensor<12x2x64xf32>
// CHECK-NEXT: kvq.quantize_append ins(%[[R]] : tensor<12x2x64xf32>)
func.func @layers(%x: tensor<4x24x64xf32>, %d: tensor<4x24x64xf8E4M3FN>, %slots: tensor<12xi64>, %pool: !pool, %gm: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %g = memref.load %gm[] : memref<f32>
  %0 = kvq.quantize ins(%x : tensor<4x24x64xf32>) global_scale(%g) outs(%d : tensor<4x24x64xf8E4M3FN>) {format = #kvq.format<fp8>} -> tensor<4x24x64xf8E4M3FN>
  %1 = tensor.expand_shape %0 [[0], [1, 2], [3]] output_shape [4, 12, 2, 64] : tensor<4x24x64xf8E4M3FN> into tensor<4x12x2x64xf8E4M3FN>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%rows = %1) -> tensor<4x12x2x64xf8E4M3FN> {
    %layer = memref.subview %pool[%i, 0, 0, 0, 0] [1, 8, 16, 2, 64] [1, 1, 1, 1, 1] : !pool to !layer
    %k = kvq.make_cache data(%layer : !layer) global_scale(%gm : memref<f32>) : !handle
    %2 = tensor.extract_slice %rows[%i, 0, 0, 0] [1, 12, 2, 64] [1, 1, 1, 1] : tensor<4x12x2x64xf8E4M3FN> to tensor<12x2x64xf8E4M3FN>
    kvq.append ins(%2 : tensor<12x2x64xf8E4M3FN>) into(%k : !handle) slot_mapping(%slots : tensor<12xi64>)
    scf.yield %rows : tensor<4x12x2x64xf8E4M3FN>
  }
  return
}

// -----

// Rows that no quantize made are left alone without a remark, even when a
// fusion is required.
// CHECK-LABEL: func @nothing_to_fuse
// CHECK: kvq.append
func.func @nothing_to_fuse(%x: tensor<4x2x64xbf16>, %y: memref<4x2x64xbf16>, %slots: tensor<4xi64>, %k: !kvq.cache<key, 16x2x64, bf16, NHD>) {
  kvq.append ins(%x : tensor<4x2x64xbf16>) into(%k : !kvq.cache<key, 16x2x64, bf16, NHD>) slot_mapping(%slots : tensor<4xi64>)
  kvq.append ins(%y : memref<4x2x64xbf16>) into(%k : !kvq.cache<key, 16x2x64, bf16, NHD>) slot_mapping(%slots : tensor<4xi64>)
  return
}
