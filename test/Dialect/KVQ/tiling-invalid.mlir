// RUN: kvq-opt %s --transform-interpreter --split-input-file --verify-diagnostics

// A loop over keys that carries the result would need outs that accumulate.
func.func @sequential(%q: tensor<2x3x8x64xf32>, %k: tensor<2x11x2x64xf32>, %scale: f32, %o: tensor<2x3x8x64xf32>) -> tensor<2x3x8x64xf32> {
  // expected-error @+3 {{is tiled along its keys (loop 3) by a loop that carries the result, accepted is a partial reduction with the strategy PartialReductionOuterParallel, as by transform.structured.tile_reduction_using_forall}}
  // expected-error @+2 {{tile operation}}
  // expected-error @+1 {{failed to generate tiling loops}}
  %0 = kvq.attention ins(%q, %k, %k : tensor<2x3x8x64xf32>, tensor<2x11x2x64xf32>, tensor<2x11x2x64xf32>) scale(%scale) outs(%o : tensor<2x3x8x64xf32>) -> tensor<2x3x8x64xf32>
  return %0 : tensor<2x3x8x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @outer_reduction(%q: tensor<2x3x8x64xf32>, %k: tensor<2x11x2x64xf32>, %scale: f32, %o: tensor<2x3x8x64xf32>) -> tensor<2x3x8x64xf32> {
  // expected-error @+3 {{is tiled with the strategy PartialReductionOuterReduction, accepted is PartialReductionOuterParallel: partial results do not accumulate}}
  // expected-error @+2 {{tile operation}}
  // expected-error @+1 {{failed to generate tiling loops}}
  %0 = kvq.attention ins(%q, %k, %k : tensor<2x3x8x64xf32>, tensor<2x11x2x64xf32>, tensor<2x11x2x64xf32>) scale(%scale) outs(%o : tensor<2x3x8x64xf32>) -> tensor<2x3x8x64xf32>
  return %0 : tensor<2x3x8x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @+1 {{failed to tile using partial reduction}}
    %fill:2, %part, %merge, %loop = transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 0, 0, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The two are tiled one after the other.
func.func @heads_and_keys(%q: tensor<2x3x8x64xf32>, %k: tensor<2x11x2x64xf32>, %scale: f32, %o: tensor<2x3x8x64xf32>) -> tensor<2x3x8x64xf32> {
  // expected-error @+1 {{tiling parallel dimensions is not supported with partial reduction tiling strategies}}
  %0 = kvq.attention ins(%q, %k, %k : tensor<2x3x8x64xf32>, tensor<2x11x2x64xf32>, tensor<2x11x2x64xf32>) scale(%scale) outs(%o : tensor<2x3x8x64xf32>) -> tensor<2x3x8x64xf32>
  return %0 : tensor<2x3x8x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @+1 {{could not tile reduction}}
    %fill:2, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %op by tile_sizes = [0, 1, 0, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @memrefs(%q: memref<2x3x8x64xf32>, %k: memref<2x11x2x64xf32>, %scale: f32, %o: memref<2x3x8x64xf32>) {
  // expected-error @+1 {{is on memrefs, accepted for a partial reduction is one on tensors}}
  kvq.attention ins(%q, %k, %k : memref<2x3x8x64xf32>, memref<2x11x2x64xf32>, memref<2x11x2x64xf32>) scale(%scale) outs(%o : memref<2x3x8x64xf32>)
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @+1 {{could not tile reduction}}
    %fill:2, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %op by tile_sizes = [0, 0, 0, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
