// RUN: kvq-opt %s --transform-interpreter --split-input-file --verify-diagnostics

func.func @tensors(%k: !kvq.cache<key, 16x2x32, bf16, NHD>, %x: tensor<3x2x32xf32>, %slots: tensor<3xi32>) {
  // expected-note @+1 {{target}}
  kvq.quantize_append ins(%x : tensor<3x2x32xf32>) into(%k : !kvq.cache<key, 16x2x32, bf16, NHD>) slot_mapping(%slots : tensor<3xi32>)
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.quantize_append"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @+1 {{does not decompose 'kvq.quantize_append', accepted are attention, merge_states, quantize and dequantize on tensors, and operations of kvq on memrefs and on handles whose scale layout is decided}}
    transform.kvq.decompose %op : !transform.any_op
    transform.yield
  }
}

// -----

func.func @undecided(%k: !kvq.cache<key, 16x2x32, nvfp4, NHD, ?>, %x: memref<3x2x32xf32>, %slots: memref<3xi32>) {
  // expected-note @+1 {{target}}
  kvq.quantize_append ins(%x : memref<3x2x32xf32>) into(%k : !kvq.cache<key, 16x2x32, nvfp4, NHD, ?>) slot_mapping(%slots : memref<3xi32>)
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.quantize_append"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @+1 {{does not decompose 'kvq.quantize_append'}}
    transform.kvq.decompose %op : !transform.any_op
    transform.yield
  }
}

// -----

func.func @others(%x: i32) -> i32 {
  // expected-note @+1 {{target}}
  %0 = arith.addi %x, %x : i32
  return %0 : i32
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["arith.addi"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @+1 {{does not decompose 'arith.addi'}}
    transform.kvq.decompose %op : !transform.any_op
    transform.yield
  }
}
