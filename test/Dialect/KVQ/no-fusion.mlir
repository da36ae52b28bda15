// An operation that reads a handle stays where it is: upstream's fusion of
// producers does not see effects, and would move a read past the append that
// follows it. (It leaves a copy of the read behind, which nothing uses.) What
// it may move is fused: the plain attention.
//
// (`transform.structured.fuse_into_containing_op` clones any producer into a
// loop, whatever interfaces it has; no operation can refuse that.)
//
// RUN: kvq-opt %s --transform-interpreter --canonicalize | FileCheck %s

!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!v = !kvq.cache<value, 16x2x64, bf16, NHD>

// CHECK-LABEL: func @reads_a_handle
// CHECK: %[[O:.*]] = kvq.dequant_attention
// CHECK: kvq.quantize_append
// CHECK: scf.for
// CHECK-NOT: kvq.
// CHECK: tensor.extract_slice %[[O]]
// CHECK: linalg.exp
// CHECK: return
func.func @reads_a_handle(%q: tensor<4x1x8x64xf32>, %k: !k, %v: !v, %bt: tensor<4x2xi32>, %len: tensor<4xi32>, %scale: f32, %o: tensor<4x1x8x64xf32>, %x: tensor<3x2x64xf32>, %slots: tensor<3xi32>, %e: tensor<4x1x8x64xf32>) -> tensor<4x1x8x64xf32> {
  %0 = kvq.dequant_attention ins(%q : tensor<4x1x8x64xf32>) caches(%k, %v : !k, !v) block_table(%bt : tensor<4x2xi32>) seq_lens(%len : tensor<4xi32>) scale(%scale) outs(%o : tensor<4x1x8x64xf32>) -> tensor<4x1x8x64xf32>
  kvq.quantize_append ins(%x : tensor<3x2x64xf32>) into(%k : !k) slot_mapping(%slots : tensor<3xi32>)
  %1 = linalg.exp ins(%0 : tensor<4x1x8x64xf32>) outs(%e : tensor<4x1x8x64xf32>) -> tensor<4x1x8x64xf32>
  return %1 : tensor<4x1x8x64xf32>
}

// CHECK-LABEL: func @reads_rows
// CHECK: %[[D:.*]] = kvq.gather
// CHECK: kvq.quantize_append
// CHECK: scf.for
// CHECK-NOT: kvq.
// CHECK: tensor.extract_slice %[[D]]
// CHECK: linalg.exp
// CHECK: return
func.func @reads_rows(%k: !k, %bt: tensor<4x2xi32>, %len: tensor<4xi32>, %d: tensor<4x32x2x64xbf16>, %x: tensor<3x2x64xf32>, %slots: tensor<3xi32>, %e: tensor<4x32x2x64xbf16>) -> tensor<4x32x2x64xbf16> {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<4x2xi32>) seq_lens(%len : tensor<4xi32>) outs(%d : tensor<4x32x2x64xbf16>) -> tensor<4x32x2x64xbf16>
  kvq.quantize_append ins(%x : tensor<3x2x64xf32>) into(%k : !k) slot_mapping(%slots : tensor<3xi32>)
  %1 = linalg.exp ins(%0 : tensor<4x32x2x64xbf16>) outs(%e : tensor<4x32x2x64xbf16>) -> tensor<4x32x2x64xbf16>
  return %1 : tensor<4x32x2x64xbf16>
}

// CHECK-LABEL: func @reads_tensors
// CHECK: kvq.quantize_append
// CHECK: scf.for
// CHECK: kvq.attention
// CHECK: linalg.exp
// CHECK: return
func.func @reads_tensors(%q: tensor<4x1x8x64xf32>, %kv: tensor<4x9x2x64xf32>, %k: !k, %scale: f32, %o: tensor<4x1x8x64xf32>, %x: tensor<3x2x64xf32>, %slots: tensor<3xi32>, %e: tensor<4x1x8x64xf32>) -> tensor<4x1x8x64xf32> {
  %0 = kvq.attention ins(%q, %kv, %kv : tensor<4x1x8x64xf32>, tensor<4x9x2x64xf32>, tensor<4x9x2x64xf32>) scale(%scale) outs(%o : tensor<4x1x8x64xf32>) -> tensor<4x1x8x64xf32>
  kvq.quantize_append ins(%x : tensor<3x2x64xf32>) into(%k : !k) slot_mapping(%slots : tensor<3xi32>)
  %1 = linalg.exp ins(%0 : tensor<4x1x8x64xf32>) outs(%e : tensor<4x1x8x64xf32>) -> tensor<4x1x8x64xf32>
  return %1 : tensor<4x1x8x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %consumers = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops = transform.structured.fuse %consumers tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
