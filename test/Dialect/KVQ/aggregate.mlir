// The decomposition of operations on tensors into linalg. That the numbers are
// right is tested by running it.
//
// RUN: kvq-opt %s --transform-interpreter --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-DAG: #[[KEYS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2 floordiv 4, d4)>
// CHECK-LABEL: func @attention
// CHECK-NOT: kvq.
// CHECK: linalg.generic {{.*}}#[[KEYS]]{{.*}} iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]
// CHECK-NOT: kvq.
// CHECK: math.tanh
// CHECK: arith.maxnumf
// CHECK: math.exp
// CHECK: linalg.generic {{.*}}#[[VALUES:.*]], #{{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]
// CHECK: arith.divf
// CHECK: math.log
func.func @attention(%q: tensor<2x3x8x64xf32>, %k: tensor<2x?x2x64xf16>, %v: tensor<2x?x2x32xf16>, %len: tensor<2xi32>, %scale: f32, %o: tensor<2x3x8x32xbf16>, %l: tensor<2x3x8xf32>) -> (tensor<2x3x8x32xbf16>, tensor<2x3x8xf32>) {
  %0:2 = kvq.attention ins(%q, %k, %v : tensor<2x3x8x64xf32>, tensor<2x?x2x64xf16>, tensor<2x?x2x32xf16>) seq_lens(%len : tensor<2xi32>) scale(%scale)
      outs(%o, %l : tensor<2x3x8x32xbf16>, tensor<2x3x8xf32>) {options = #kvq.attention<causal, softcap = 3.0>} -> tensor<2x3x8x32xbf16>, tensor<2x3x8xf32>
  return %0#0, %0#1 : tensor<2x3x8x32xbf16>, tensor<2x3x8xf32>
}

// Keys whose heads are not static are read by their indices.
// CHECK-LABEL: func @dynamic_heads
// CHECK-NOT: kvq.
// CHECK: arith.divui
// CHECK: tensor.extract
func.func @dynamic_heads(%q: tensor<2x3x8x64xf32>, %k: tensor<2x?x?x64xf32>, %scale: f32, %o: tensor<2x3x8x64xf32>) -> tensor<2x3x8x64xf32> {
  %0 = kvq.attention ins(%q, %k, %k : tensor<2x3x8x64xf32>, tensor<2x?x?x64xf32>, tensor<2x?x?x64xf32>) scale(%scale)
      outs(%o : tensor<2x3x8x64xf32>) -> tensor<2x3x8x64xf32>
  return %0 : tensor<2x3x8x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.kvq.decompose %op : !transform.any_op
    transform.yield
  }
}

// -----

// CHECK-DAG: #[[SCALES:.*]] = affine_map<(d0, d1) -> (d0, d1 floordiv 16)>
// CHECK-LABEL: func @quantize
// CHECK: %[[S:.*]] = linalg.generic
// CHECK:   scf.for
// CHECK: linalg.generic {{.*}}#[[SCALES]]{{.*}} ins(%{{.*}}, %[[S]] :
func.func @quantize(%x: tensor<3x64xf32>, %g: f32, %d: tensor<3x64xf4E2M1FN>, %s: tensor<3x4xf8E4M3FN>) -> (tensor<3x64xf4E2M1FN>, tensor<3x4xf8E4M3FN>) {
  %0:2 = kvq.quantize ins(%x : tensor<3x64xf32>) global_scale(%g) outs(%d, %s : tensor<3x64xf4E2M1FN>, tensor<3x4xf8E4M3FN>) {format = #kvq.format<nvfp4>} -> tensor<3x64xf4E2M1FN>, tensor<3x4xf8E4M3FN>
  return %0#0, %0#1 : tensor<3x64xf4E2M1FN>, tensor<3x4xf8E4M3FN>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.kvq.decompose %op : !transform.any_op
    transform.yield
  }
}

// -----

// Upstream's operation has one result, and takes operations with one.
// CHECK-LABEL: func @dequantize
// CHECK-NOT: kvq.
// CHECK: linalg.generic
// CHECK: return
func.func @dequantize(%d: tensor<3x64xf8E4M3FN>, %g: f32, %y: tensor<3x64xf32>) -> tensor<3x64xf32> {
  %0 = kvq.dequantize ins(%d : tensor<3x64xf8E4M3FN>) global_scale(%g) outs(%y : tensor<3x64xf32>) {format = #kvq.format<fp8>} -> tensor<3x64xf32>
  return %0 : tensor<3x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.dequantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %new = transform.structured.decompose_interface %op : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

func.func @memrefs(%p: memref<4x3x8x64xf32>, %l: memref<4x3x8xf32>, %o: memref<3x8x64xf32>) {
  // expected-error @+2 {{operand #0 is of type 'memref<4x3x8x64xf32>', accepted are tensors; kvq-decompose takes memrefs}}
  // expected-note @+1 {{}}
  kvq.merge_states ins(%p, %l : memref<4x3x8x64xf32>, memref<4x3x8xf32>) outs(%o : memref<3x8x64xf32>)
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.merge_states"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @+1 {{}}
    %new = transform.structured.decompose_interface %op : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

func.func @undecided(%x: tensor<4x64xf32>, %d: tensor<4x64xf4E2M1FN>) -> tensor<4x64xf4E2M1FN> {
  // expected-error @+2 {{the format is #kvq.fp4, whose block scales are not decided; kvq-assign-block-scales chooses them}}
  // expected-note @+1 {{}}
  %0 = kvq.quantize ins(%x : tensor<4x64xf32>) outs(%d : tensor<4x64xf4E2M1FN>) {format = #kvq.fp4} -> tensor<4x64xf4E2M1FN>
  return %0 : tensor<4x64xf4E2M1FN>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @+1 {{}}
    %new = transform.structured.decompose_interface %op : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
