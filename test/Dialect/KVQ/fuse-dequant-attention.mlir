// RUN: kvq-opt %s --kvq-fuse-dequant-attention=require=true --split-input-file -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: kvq-opt %t.once --kvq-fuse-dequant-attention --split-input-file | diff %t.once -

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Rows of floats need no kvq.dequantize. Two attentions read one gather; an append
// to the values of another cache, and one to the keys after, are not in the way.
// CHECK-LABEL: func @two_readers
// CHECK-SAME: (%[[K:.*]]: !kvq.cache<key, 16x2x64, f16, NHD>, %[[V:.*]]: !kvq.cache<value, 16x2x64, f16, NHD>, %[[BT:.*]]: tensor<3x3xi32>, %[[LEN:.*]]: tensor<3xi32>, %[[Q:.*]]: tensor<3x1x8x64xf32>, %[[O:.*]]: tensor<3x1x8x64xf32>, %{{.*}}, %[[SCALE:.*]]: f32,
// CHECK-NEXT: kvq.append
// CHECK-NEXT: %[[R:.*]] = kvq.dequant_attention ins(%[[Q]] : tensor<3x1x8x64xf32>) caches(%[[K]], %[[V]] : !kvq.cache<key, 16x2x64, f16, NHD>, !kvq.cache<value, 16x2x64, f16, NHD>) block_table(%[[BT]] : tensor<3x3xi32>) seq_lens(%[[LEN]] : tensor<3xi32>) scale(%[[SCALE]]) outs(%[[O]] : tensor<3x1x8x64xf32>) {options = #kvq.attention<causal>, tag} -> tensor<3x1x8x64xf32>
// CHECK-NEXT: %[[S:.*]] = kvq.dequant_attention ins(%[[R]] {{.*}} outs(%[[R]]
// CHECK-NEXT: kvq.append
// CHECK-NEXT: return %[[S]]
func.func @two_readers(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %new: tensor<3x2x64xf16>, %slots: tensor<3xi64>, %other: !v) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  kvq.append ins(%new : tensor<3x2x64xf16>) into(%other : !v) slot_mapping(%slots : tensor<3xi64>)
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) {options = #kvq.attention<causal>, tag} -> !q
  %s = kvq.attention ins(%r, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%r : !q) -> !q
  kvq.append ins(%new : tensor<3x2x64xf16>) into(%k : !k) slot_mapping(%slots : tensor<3xi64>)
  return %s : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
!v = !kvq.cache<value, 16x2x64, fp8, NHD>
!kd = tensor<3x48x2x64xf4E2M1FN>
!ks = tensor<3x48x2x4xf8E4M3FN>
!vd = tensor<3x48x2x64xf8E4M3FN>
!kv = tensor<3x48x2x64xbf16>
!q = tensor<7x8x64xbf16>

// Scales, with the global scale of the handle; ragged queries, sinks and lse stay.
// The values are decoded with a number that could be any: the ratio is applied to
// the output.
// CHECK-LABEL: func @quantized
// CHECK-SAME: %[[G:[a-z0-9]+]]: f32)
// CHECK-DAG: %[[VG:.*]] = kvq.cache_global_scale %{{.*}} : !kvq.cache<value
// CHECK-DAG: %[[OWN:.*]] = memref.load %[[VG]][]
// CHECK-DAG: %[[RATIO:.*]] = arith.divf %[[G]], %[[OWN]] : f32
// CHECK: %[[E:.*]] = tensor.empty() : tensor<7x8x64xf32>
// CHECK: %[[R:.*]]:2 = kvq.dequant_attention {{.*}} qo_indptr(%{{.*}} : tensor<4xi32>) scale(%{{[a-z0-9]+}}) sinks(%{{.*}} : tensor<8xf32>) outs(%[[E]], %{{.*}} : tensor<7x8x64xf32>, tensor<7x8xf32>)
// CHECK: %[[O:.*]] = linalg.generic {{.*}} ins(%[[R]]#0 : tensor<7x8x64xf32>) outs(%{{.*}} : tensor<7x8x64xbf16>)
// CHECK: %[[M:.*]] = arith.mulf %{{.*}}, %[[RATIO]] : f32
// CHECK: arith.truncf %[[M]] : f32 to bf16
// CHECK-NOT: kvq.gather
// CHECK-NOT: kvq.dequantize
// CHECK: return %[[O]], %[[R]]#1
func.func @quantized(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %kd: !kd, %ks: !ks, %vd: !vd, %qo: tensor<4xi32>, %sinks: tensor<8xf32>, %l: tensor<7x8xf32>, %g: f32) -> (!q, tensor<7x8xf32>) {
  %gm = kvq.cache_global_scale %k : !k -> memref<f32>
  %kg = memref.load %gm[] : memref<f32>
  %d:2 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kd, %ks : !kd, !ks) -> !kd, !ks
  %0 = kvq.dequantize ins(%d#0, %d#1 : !kd, !ks) global_scale(%kg) outs(%kv : !kv) {format = #kvq.format<nvfp4>} -> !kv
  %e = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%vd : !vd) -> !vd
  %1 = kvq.dequantize ins(%e : !vd) global_scale(%g) outs(%kv : !kv) {format = #kvq.format<fp8>} -> !kv
  %r:2 = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) qo_indptr(%qo : tensor<4xi32>) scale(%scale) sinks(%sinks : tensor<8xf32>) outs(%o, %l : !q, tensor<7x8xf32>) -> !q, tensor<7x8xf32>
  return %r#0, %r#1 : !q, tensor<7x8xf32>
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// As a model has it: [B, heads, L, D], widened, each head repeated for its group,
// heads and batch as one, and back.
// CHECK-LABEL: func @front_end
// CHECK: %[[R:.*]] = kvq.dequant_attention ins(%{{.*}} : tensor<3x1x8x64xf32>) caches(%{{.*}}, %{{.*}} : !kvq.cache<key, 16x2x64, f16, NHD>
// CHECK-NEXT: return %[[R]]
func.func @front_end(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %t = tensor.empty() : tensor<3x2x48x64xf16>
  %2 = linalg.transpose ins(%0 : !kv) outs(%t : tensor<3x2x48x64xf16>) permutation = [0, 2, 1, 3]
  %3 = arith.extf %2 : tensor<3x2x48x64xf16> to tensor<3x2x48x64xf32>
  %b = tensor.empty() : tensor<3x2x4x48x64xf32>
  %4 = linalg.broadcast ins(%3 : tensor<3x2x48x64xf32>) outs(%b : tensor<3x2x4x48x64xf32>) dimensions = [2]
  %5 = tensor.collapse_shape %4 [[0, 1, 2], [3], [4]] : tensor<3x2x4x48x64xf32> into tensor<24x48x64xf32>
  %6 = tensor.expand_shape %5 [[0, 1], [2], [3]] output_shape [3, 8, 48, 64] : tensor<24x48x64xf32> into tensor<3x8x48x64xf32>
  %u = tensor.empty() : tensor<3x48x8x64xf32>
  %7 = linalg.transpose ins(%6 : tensor<3x8x48x64xf32>) outs(%u : tensor<3x48x8x64xf32>) permutation = [0, 2, 1, 3]
  %8 = tensor.expand_shape %1 [[0], [1], [2, 3], [4]] output_shape [3, 48, 2, 1, 64] : !kv into tensor<3x48x2x1x64xf16>
  %w = tensor.empty() : tensor<3x48x2x4x64xf32>
  %9 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d, e) -> (a, b, c, 0, e)>, affine_map<(a, b, c, d, e) -> (a, b, c, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<3x48x2x1x64xf16>) outs(%w : tensor<3x48x2x4x64xf32>) {
  ^bb0(%x: f16, %out: f32):
    %y = arith.extf %x : f16 to f32
    linalg.yield %y : f32
  } -> tensor<3x48x2x4x64xf32>
  %10 = tensor.collapse_shape %9 [[0], [1], [2, 3], [4]] : tensor<3x48x2x4x64xf32> into tensor<3x48x8x64xf32>
  %r = kvq.attention ins(%q, %7, %10 : !q, tensor<3x48x8x64xf32>, tensor<3x48x8x64xf32>) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<1x?x2x64xf16>
!q = tensor<1x?x8x64xf32>

// Heads repeated by an index expression, dynamic sizes, and one sequence whose
// batch of size 1 is dropped and added.
// CHECK-LABEL: func @dynamic
// CHECK: kvq.dequant_attention ins(%{{.*}} : tensor<1x?x8x64xf32>) caches
// CHECK-NOT: kvq.gather
func.func @dynamic(%k: !k, %v: !v, %bt: tensor<1x?xi32>, %len: tensor<1xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<1x?xi32>) seq_lens(%len : tensor<1xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<1x?xi32>) seq_lens(%len : tensor<1xi32>) outs(%kv : !kv) -> !kv
  %c1 = arith.constant 1 : index
  %n = tensor.dim %kv, %c1 : !kv
  %2 = tensor.collapse_shape %0 [[0, 1], [2], [3]] : !kv into tensor<?x2x64xf16>
  %e = tensor.empty(%n) : tensor<?x8x64xf16>
  %3 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b floordiv 4, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<?x2x64xf16>) outs(%e : tensor<?x8x64xf16>) {
  ^bb0(%x: f16, %out: f16):
    linalg.yield %x : f16
  } -> tensor<?x8x64xf16>
  %4 = tensor.expand_shape %3 [[0, 1], [2], [3]] output_shape [1, %n, 8, 64] : tensor<?x8x64xf16> into tensor<1x?x8x64xf16>
  %5 = tensor.collapse_shape %1 [[0], [1, 2], [3]] : !kv into tensor<1x?x64xf16>
  %6 = tensor.expand_shape %5 [[0], [1, 2], [3]] output_shape [1, %n, 2, 64] : tensor<1x?x64xf16> into !kv
  %f = tensor.empty(%n) : tensor<1x?x2x4x64xf16>
  %7 = linalg.broadcast ins(%6 : !kv) outs(%f : tensor<1x?x2x4x64xf16>) dimensions = [3]
  %8 = tensor.collapse_shape %7 [[0], [1], [2, 3], [4]] : tensor<1x?x2x4x64xf16> into tensor<1x?x8x64xf16>
  %9 = tensor.cast %8 : tensor<1x?x8x64xf16> to tensor<?x?x8x64xf16>
  %r = kvq.attention ins(%q, %4, %9 : !q, tensor<1x?x8x64xf16>, tensor<?x?x8x64xf16>) seq_lens(%len : tensor<1xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Factors of the keys become part of the scale: a constant, an argument, a number
// in a tensor, a division.
// CHECK-LABEL: func @key_factors
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: f32, %[[A:[a-z0-9]+]]: f32, %[[T:[a-z0-9]+]]: tensor<f16>)
// CHECK: %[[C:.*]] = arith.constant 5.000000e-01 : f32
// CHECK: %[[S0:.*]] = arith.mulf %[[SCALE]], %[[C]] : f32
// CHECK: %[[S1:.*]] = arith.mulf %[[S0]], %[[A]] : f32
// CHECK: %[[X:.*]] = tensor.extract %[[T]][] : tensor<f16>
// CHECK: %[[Y:.*]] = arith.extf %[[X]] : f16 to f32
// CHECK: %[[S2:.*]] = arith.divf %[[S1]], %[[Y]] : f32
// CHECK: kvq.dequant_attention {{.*}} scale(%[[S2]])
// CHECK-NEXT: return
func.func @key_factors(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %a: f32, %t: tensor<f16>) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %c = arith.constant dense<0.5> : !kv
  %2 = arith.mulf %c, %0 : !kv
  %w = tensor.empty() : tensor<3x48x2x64xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> ()>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %t : !kv, tensor<f16>) outs(%w : tensor<3x48x2x64xf32>) {
  ^bb0(%x: f16, %y: f16, %out: f32):
    %x32 = arith.extf %x : f16 to f32
    %y32 = arith.extf %y : f16 to f32
    %m = arith.mulf %x32, %a : f32
    %n = arith.divf %m, %y32 : f32
    linalg.yield %n : f32
  } -> tensor<3x48x2x64xf32>
  %r = kvq.attention ins(%q, %3, %1 : !q, tensor<3x48x2x64xf32>, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// A factor of the values is applied to the output.
// CHECK-LABEL: func @value_factor
// CHECK-SAME: %[[A:[a-z0-9]+]]: f32)
// CHECK: %[[R:.*]] = kvq.dequant_attention
// CHECK: linalg.generic {{.*}} ins(%[[R]] : tensor<3x1x8x64xf32>)
// CHECK: arith.mulf %{{.*}}, %[[A]] : f32
func.func @value_factor(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %a: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %s = tensor.splat %a : tensor<3x48x2x64xf32>
  %2 = arith.extf %1 : !kv to tensor<3x48x2x64xf32>
  %w = tensor.empty() : tensor<3x48x2x64xf32>
  %3 = linalg.mul ins(%2, %s : tensor<3x48x2x64xf32>, tensor<3x48x2x64xf32>) outs(%w : tensor<3x48x2x64xf32>) -> tensor<3x48x2x64xf32>
  %r = kvq.attention ins(%q, %0, %3 : !q, !kv, tensor<3x48x2x64xf32>) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<2x1x8x64xf32>

// Slices: two sequences of the batch, and the first rows.
// CHECK-LABEL: func @slices
// CHECK-DAG: %[[L:.*]] = tensor.extract_slice %{{.*}}[%{{.*}}] [2] [1] : tensor<3xi32> to tensor<2xi32>
// CHECK-DAG: %[[BT:.*]] = tensor.extract_slice %{{.*}}[%{{.*}}, 0] [2, 3] [1, 1] : tensor<3x3xi32> to tensor<2x3xi32>
// CHECK: kvq.dequant_attention {{.*}} block_table(%[[BT]] : tensor<2x3xi32>) seq_lens(%[[L]] : tensor<2xi32>)
// CHECK-NEXT: return
func.func @slices(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %b: index) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %2 = tensor.extract_slice %0[%b, 0, 0, 0] [2, 32, 2, 64] [1, 1, 1, 1] : !kv to tensor<2x32x2x64xf16>
  %3 = tensor.extract_slice %1[%b, 0, 0, 0] [2, 48, 2, 64] [1, 1, 1, 1] : !kv to tensor<2x48x2x64xf16>
  %4 = tensor.extract_slice %3[0, 0, 0, 0] [2, 32, 2, 64] [1, 1, 1, 1] : tensor<2x48x2x64xf16> to tensor<2x32x2x64xf16>
  %5 = tensor.extract_slice %len[%b] [2] [1] : tensor<3xi32> to tensor<2xi32>
  %r = kvq.attention ins(%q, %2, %4 : !q, tensor<2x32x2x64xf16>, tensor<2x32x2x64xf16>) seq_lens(%5 : tensor<2xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Constant lengths that cover all rows mask nothing.
// CHECK-LABEL: func @full_lengths
// CHECK: kvq.dequant_attention {{.*}} seq_lens(%{{.*}} : tensor<3xi32>)
func.func @full_lengths(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %len = arith.constant dense<48> : tensor<3xi32>
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// A layer in each iteration: the append comes before the gather. Handles that the
// loop carries, and keys gathered before it that it does not change.
// CHECK-LABEL: func @layers
// CHECK: scf.for
// CHECK: kvq.append
// CHECK-NEXT: kvq.dequant_attention
// CHECK-NEXT: scf.yield
// CHECK-NOT: kvq.gather
func.func @layers(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %new: tensor<3x2x64xf16>, %slots: tensor<3xi64>) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %l:3 = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %o, %vv = %v, %keys = %0) -> (!q, !v, !kv) {
    kvq.append ins(%new : tensor<3x2x64xf16>) into(%vv : !v) slot_mapping(%slots : tensor<3xi64>)
    %1 = kvq.gather cache(%vv : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
    %r = kvq.attention ins(%q, %keys, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%acc : !q) -> !q
    scf.yield %r, %vv, %keys : !q, !v, !kv
  }
  return %l#0 : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Attention over plain arrays has nothing to fuse, even when a fusion is required.
// CHECK-LABEL: func @plain
// CHECK: kvq.attention
func.func @plain(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %r = kvq.attention ins(%q, %kv, %kv : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}
