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

// -----

// Tiles of 2 queries of 5: their positions count from the end of the keys, so
// the queries that follow in other tiles are taken off.
// CHECK: #[[SHIFT:.*]] = affine_map<()[s0, s1] -> (s0 + s1 - 5)>
// CHECK-LABEL: func @queries
// CHECK: scf.for %[[I:.*]] = %{{.*}} step %{{.*}}
// CHECK:   %[[N:.*]] = affine.min
// CHECK:   tensor.extract_slice %{{.*}}[0, %[[I]], 0, 0] [2, %[[N]], 8, 64] [1, 1, 1, 1]
// CHECK:   %[[S:.*]] = affine.apply
// CHECK:   kvq.attention ins(%{{.*}}, %arg1, %arg1 : tensor<2x?x8x64xf32>, tensor<2x7x2x64xf32>, tensor<2x7x2x64xf32>) scale(%{{.*}}) query_shift(%[[S]])
func.func @queries(%q: tensor<2x5x8x64xf32>, %k: tensor<2x7x2x64xf32>, %scale: f32, %o: tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> {
  %0 = kvq.attention ins(%q, %k, %k : tensor<2x5x8x64xf32>, tensor<2x7x2x64xf32>, tensor<2x7x2x64xf32>) scale(%scale) outs(%o : tensor<2x5x8x64xf32>) {options = #kvq.attention<window_left = 2>} -> tensor<2x5x8x64xf32>
  return %0 : tensor<2x5x8x64xf32>
}

// Without positions there is nothing to shift.
// CHECK-LABEL: func @queries_without_positions
// CHECK: scf.for
// CHECK: kvq.attention
// CHECK-NOT: query_shift
// CHECK: return
func.func @queries_without_positions(%q: tensor<2x5x8x64xf32>, %k: tensor<2x7x2x64xf32>, %scale: f32, %o: tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> {
  %0 = kvq.attention ins(%q, %k, %k : tensor<2x5x8x64xf32>, tensor<2x7x2x64xf32>, tensor<2x7x2x64xf32>) scale(%scale) outs(%o : tensor<2x5x8x64xf32>) {options = #kvq.attention<softcap = 3.0>} -> tensor<2x5x8x64xf32>
  return %0 : tensor<2x5x8x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Keys in tiles of 4: a part of each, and one of the sinks.
// CHECK-LABEL: func @keys
// CHECK-SAME: (%[[Q:.*]]: tensor<2x3x8x64xf16>, %[[K:.*]]: tensor<2x11x2x64xf32>, %[[V:.*]]: tensor<2x11x2x32xf32>, %[[LEN:.*]]: tensor<2xi32>, %[[SINKS:.*]]: tensor<8xf32>, %{{.*}}: f32, %[[O:.*]]: tensor<2x3x8x32xf16>)
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.0
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0xFF800000
// CHECK-DAG: %[[PO:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.*}} : tensor<4x2x3x8x32xf32>)
// CHECK-DAG: %[[PL:.*]] = linalg.fill ins(%[[NONE]] : f32) outs(%{{.*}} : tensor<4x2x3x8xf32>)
// CHECK: %[[SINK:.*]] = linalg.broadcast ins(%[[SINKS]] : tensor<8xf32>) outs(%{{.*}} : tensor<1x2x3x8xf32>)
// CHECK: %[[PLS:.*]] = tensor.insert_slice %[[SINK]] into %[[PL]][3, 0, 0, 0] [1, 2, 3, 8] [1, 1, 1, 1]
// CHECK: %[[PARTS:.*]]:2 = scf.forall (%[[J:.*]]) = (0) to (11) step (4) shared_outs(%[[A:.*]] = %[[PO]], %[[B:.*]] = %[[PLS]])
// CHECK:   %[[I:.*]] = affine.apply #{{.*}}()[%[[J]]]
// CHECK:   %[[OT:.*]] = tensor.extract_slice %[[A]][%[[I]], 0, 0, 0, 0] [1, 2, 3, 8, 32] {{.*}} to tensor<2x3x8x32xf32>
// CHECK:   %[[LT:.*]] = tensor.extract_slice %[[B]][%[[I]], 0, 0, 0] [1, 2, 3, 8] {{.*}} to tensor<2x3x8xf32>
// CHECK:   %[[KT:.*]] = tensor.extract_slice %[[K]][0, %[[J]], 0, 0] [2, %[[N:.*]], 2, 64]
// CHECK:   %[[VT:.*]] = tensor.extract_slice %[[V]][0, %[[J]], 0, 0] [2, %[[N]], 2, 32]
// CHECK:   %[[R:.*]]:2 = kvq.attention ins(%[[Q]], %[[KT]], %[[VT]] : {{.*}}) seq_lens(%[[LEN]] : tensor<2xi32>) scale(%{{.*}}) kv_offset(%[[J]]) outs(%[[OT]], %[[LT]] : tensor<2x3x8x32xf32>, tensor<2x3x8xf32>)
// CHECK-SAME: {options = #kvq.attention<causal>}
// CHECK:   tensor.parallel_insert_slice %[[R]]#0 into %[[A]][%[[I]], 0, 0, 0, 0] [1, 2, 3, 8, 32]
// CHECK:   tensor.parallel_insert_slice %[[R]]#1 into %[[B]][%[[I]], 0, 0, 0] [1, 2, 3, 8]
// CHECK: kvq.merge_states ins(%[[PARTS]]#0, %[[PARTS]]#1 : tensor<4x2x3x8x32xf32>, tensor<4x2x3x8xf32>) outs(%[[O]] : tensor<2x3x8x32xf16>) -> tensor<2x3x8x32xf16>
func.func @keys(%q: tensor<2x3x8x64xf16>, %k: tensor<2x11x2x64xf32>, %v: tensor<2x11x2x32xf32>, %len: tensor<2xi32>, %sinks: tensor<8xf32>, %scale: f32, %o: tensor<2x3x8x32xf16>) -> tensor<2x3x8x32xf16> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<2x3x8x64xf16>, tensor<2x11x2x64xf32>, tensor<2x11x2x32xf32>) seq_lens(%len : tensor<2xi32>) scale(%scale) sinks(%sinks : tensor<8xf32>)
      outs(%o : tensor<2x3x8x32xf16>) {options = #kvq.attention<causal>} -> tensor<2x3x8x32xf16>
  return %0 : tensor<2x3x8x32xf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %fill:2, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %op by tile_sizes = [0, 0, 0, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Without seq_lens the queries move instead, by the keys after the tile.
// CHECK: #[[LATER:.*]] = affine_map<(d0)[s0, s1, s2] -> (-(d0 * (s2 ceildiv 4)) + -s0 + s1)>
// CHECK-LABEL: func @keys_without_lengths
// CHECK: %[[L:.*]] = tensor.dim %{{.*}}, %c1
// CHECK: scf.forall (%[[J:.*]]) in (4)
// CHECK:   %[[N:.*]] = affine.max
// CHECK:   %[[S:.*]] = affine.apply #[[LATER]](%[[J]])[%[[N]], %[[L]], %[[L]]]
// CHECK:   kvq.attention {{.*}} scale(%{{.*}}) query_shift(%[[S]]) outs
func.func @keys_without_lengths(%q: tensor<9x8x64xf16>, %k: tensor<2x?x2x64xf32>, %indptr: tensor<3xi32>, %scale: f32, %o: tensor<9x8x64xf16>) -> tensor<9x8x64xf16> {
  %0 = kvq.attention ins(%q, %k, %k : tensor<9x8x64xf16>, tensor<2x?x2x64xf32>, tensor<2x?x2x64xf32>) qo_indptr(%indptr : tensor<3xi32>) scale(%scale)
      outs(%o : tensor<9x8x64xf16>) {options = #kvq.attention<causal>} -> tensor<9x8x64xf16>
  return %0 : tensor<9x8x64xf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %fill:2, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %op by num_threads = [0, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
