// RUN: kvq-opt %s --transform-interpreter --canonicalize --cse --split-input-file | FileCheck %s

// Tiles of 4 rows and of 2 blocks of 16 elements.
// CHECK-LABEL: func @quantize
// CHECK-SAME: (%[[X:.*]]: tensor<8x64xf32>, %[[G:.*]]: f32, %[[D:.*]]: tensor<8x64xf4E2M1FN>, %[[S:.*]]: tensor<8x4xf8E4M3FN>)
// CHECK: scf.for %[[I:.*]] = %{{.*}} step %{{.*}} iter_args
// CHECK:   scf.for %[[J:.*]] = %{{.*}} step %{{.*}} iter_args(%[[DT:.*]] = %{{.*}}, %[[ST:.*]] = %{{.*}})
// CHECK:     %[[E:.*]] = affine.apply
// CHECK:     %[[XS:.*]] = tensor.extract_slice %[[X]][%[[I]], %[[E]]] [4, 32] [1, 1]
// CHECK:     %[[DS:.*]] = tensor.extract_slice %[[DT]][%[[I]], %[[E]]] [4, 32] [1, 1]
// CHECK:     %[[SS:.*]] = tensor.extract_slice %[[ST]][%[[I]], %[[J]]] [4, 2] [1, 1]
// CHECK:     %[[Q:.*]]:2 = kvq.quantize ins(%[[XS]] : tensor<4x32xf32>) global_scale(%[[G]]) outs(%[[DS]], %[[SS]] : tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>)
// CHECK:     tensor.insert_slice %[[Q]]#0 into %[[DT]][%[[I]], %[[E]]] [4, 32] [1, 1]
// CHECK:     tensor.insert_slice %[[Q]]#1 into %[[ST]][%[[I]], %[[J]]] [4, 2] [1, 1]
func.func @quantize(%x: tensor<8x64xf32>, %g: f32, %d: tensor<8x64xf4E2M1FN>, %s: tensor<8x4xf8E4M3FN>) -> (tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>) {
  %0:2 = kvq.quantize ins(%x : tensor<8x64xf32>) global_scale(%g) outs(%d, %s : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>) {format = #kvq.format<nvfp4>} -> tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>
  return %0#0, %0#1 : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %op tile_sizes [4, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// One sequence and one KV head, with its group of 4 query heads, at a time.
// CHECK-LABEL: func @attention
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]]) in (2, 2)
// CHECK:   %[[QH:.*]] = affine.apply
// CHECK:   tensor.extract_slice %{{.*}}[%[[B]], 0, %[[QH]], 0] [1, 3, 4, 64] [1, 1, 1, 1]
// CHECK:   tensor.extract_slice %{{.*}}[%[[B]], 0, %[[H]], 0] [1, 5, 1, 64] [1, 1, 1, 1]
// CHECK:   tensor.extract_slice %{{.*}}[%[[B]], 0, %[[H]], 0] [1, 5, 1, 32] [1, 1, 1, 1]
// CHECK:   tensor.extract_slice %{{.*}}[%[[B]]] [1] [1]
// CHECK:   tensor.extract_slice %{{.*}}[0, %[[QH]], 0, 0] [1, 4, 3, 5] [1, 1, 1, 1]
// CHECK:   tensor.extract_slice %{{.*}}[%[[QH]]] [4] [1]
// CHECK:   kvq.attention ins(%{{.*}} : tensor<1x3x4x64xf32>, tensor<1x5x1x64xf32>, tensor<1x5x1x32xf32>) seq_lens(%{{.*}} : tensor<1xi32>)
// CHECK-SAME: outs(%{{.*}} : tensor<1x3x4x32xf32>, tensor<1x3x4xf32>) {options = #kvq.attention<causal>}
func.func @attention(%q: tensor<2x3x8x64xf32>, %k: tensor<2x5x2x64xf32>, %v: tensor<2x5x2x32xf32>, %len: tensor<2xi32>, %m: tensor<1x8x3x5xf32>, %sinks: tensor<8xf32>, %scale: f32, %o: tensor<2x3x8x32xf32>, %l: tensor<2x3x8xf32>) -> (tensor<2x3x8x32xf32>, tensor<2x3x8xf32>) {
  %0:2 = kvq.attention ins(%q, %k, %v : tensor<2x3x8x64xf32>, tensor<2x5x2x64xf32>, tensor<2x5x2x32xf32>) seq_lens(%len : tensor<2xi32>) scale(%scale) mask(%m : tensor<1x8x3x5xf32>) sinks(%sinks : tensor<8xf32>)
      outs(%o, %l : tensor<2x3x8x32xf32>, tensor<2x3x8xf32>) {options = #kvq.attention<causal>} -> tensor<2x3x8x32xf32>, tensor<2x3x8xf32>
  return %0#0, %0#1 : tensor<2x3x8x32xf32>, tensor<2x3x8xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A consumer's tile pulls the tile of its producer into the loop.
// CHECK-LABEL: func @fuse
// CHECK: scf.for
// CHECK:   kvq.dequantize ins(%{{.*}} : tensor<1x?x2x64xf8E4M3FN>) global_scale(%{{.*}}) outs(%{{.*}} : tensor<1x?x2x64xf32>)
// CHECK:   kvq.attention
func.func @fuse(%q: tensor<4x1x8x64xf32>, %d: tensor<4x?x2x64xf8E4M3FN>, %g: f32, %e: tensor<4x?x2x64xf32>, %v: tensor<4x?x2x64xf32>, %scale: f32, %o: tensor<4x1x8x64xf32>) -> tensor<4x1x8x64xf32> {
  %k = kvq.dequantize ins(%d : tensor<4x?x2x64xf8E4M3FN>) global_scale(%g) outs(%e : tensor<4x?x2x64xf32>) {format = #kvq.format<fp8>} -> tensor<4x?x2x64xf32>
  %0 = kvq.attention ins(%q, %k, %v : tensor<4x1x8x64xf32>, tensor<4x?x2x64xf32>, tensor<4x?x2x64xf32>) scale(%scale) outs(%o : tensor<4x1x8x64xf32>) -> tensor<4x1x8x64xf32>
  return %0 : tensor<4x1x8x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.fuse %op tile_sizes [1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
