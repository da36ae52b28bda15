// RUN: kvq-opt %s --transform-interpreter --split-input-file | FileCheck %s

!f8 = !kvq.cache<key, 16x2x32, fp8, NHD>

// Only the matched operation becomes loops.
// CHECK-LABEL: func @one
// CHECK: kvq.append
// CHECK: scf.for
// CHECK:   memref.store
// CHECK-NOT: kvq.dequantize
// CHECK: return
func.func @one(%k: !f8, %d: memref<3x2x32xf8E4M3FN>, %slots: memref<3xi32>, %g: f32, %y: memref<3x2x32xf32>) {
  kvq.append ins(%d : memref<3x2x32xf8E4M3FN>) into(%k : !f8) slot_mapping(%slots : memref<3xi32>)
  kvq.dequantize ins(%d : memref<3x2x32xf8E4M3FN>) global_scale(%g) outs(%y : memref<3x2x32xf32>) {format = #kvq.format<fp8>}
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.dequantize"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.kvq.decompose %op : !transform.any_op
    transform.yield
  }
}

// -----

!f8 = !kvq.cache<key, 16x2x32, fp8, NHD>

// CHECK-LABEL: func @patterns
// CHECK-NOT: kvq.append
// CHECK: scf.for
// CHECK-NOT: vector
// CHECK-LABEL: func @vectors
// CHECK-NOT: kvq.append
// CHECK: scf.parallel
// CHECK: vector.store
func.func @patterns(%k: !f8, %d: memref<3x2x32xf8E4M3FN>, %slots: memref<3xi32>) {
  kvq.append ins(%d : memref<3x2x32xf8E4M3FN>) into(%k : !f8) slot_mapping(%slots : memref<3xi32>)
  return
}
func.func @vectors(%k: !f8, %d: memref<3x2x32xf8E4M3FN>, %slots: memref<3xi32>) attributes {vectors} {
  kvq.append ins(%d : memref<3x2x32xf8E4M3FN>) into(%k : !f8) slot_mapping(%slots : memref<3xi32>)
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %vectors = transform.structured.match ops{["func.func"]} attributes {vectors} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %vectors {
      transform.apply_patterns.kvq.to_vector
    } : !transform.any_op
    %all = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %all {
      transform.apply_patterns.kvq.decompose
    } : !transform.any_op
    transform.yield
  }
}

// -----

// Operations on tensors, whatever the number of their results.
// CHECK-LABEL: func @tensors
// CHECK-NOT: kvq.
// CHECK: linalg.generic
// CHECK: return
func.func @tensors(%x: tensor<3x64xf32>, %g: f32, %d: tensor<3x64xf4E2M1FN>, %s: tensor<3x4xf8E4M3FN>, %y: tensor<3x64xf32>) -> tensor<3x64xf32> {
  %0:2 = kvq.quantize ins(%x : tensor<3x64xf32>) global_scale(%g) outs(%d, %s : tensor<3x64xf4E2M1FN>, tensor<3x4xf8E4M3FN>) {format = #kvq.format<nvfp4>} -> tensor<3x64xf4E2M1FN>, tensor<3x4xf8E4M3FN>
  %1 = kvq.dequantize ins(%0#0, %0#1 : tensor<3x64xf4E2M1FN>, tensor<3x4xf8E4M3FN>) global_scale(%g) outs(%y : tensor<3x64xf32>) {format = #kvq.format<nvfp4>} -> tensor<3x64xf32>
  return %1 : tensor<3x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.quantize", "kvq.dequantize"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.kvq.decompose %op : !transform.any_op
    transform.yield
  }
}
