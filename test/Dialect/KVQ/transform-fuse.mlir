// RUN: kvq-opt %s --transform-interpreter --split-input-file --verify-diagnostics | FileCheck %s

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kd = tensor<3x48x2x64xf8E4M3FN>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// CHECK-LABEL: func @fuse
// CHECK: kvq.quantize_append {{.*}} {fused_here}
// CHECK: kvq.dequant_attention {{.*}} {fused_here}
// CHECK-NOT: kvq.gather
func.func @fuse(%k: !k, %v: !v, %x: tensor<3x2x64xf32>, %d: tensor<3x2x64xf8E4M3FN>, %slots: tensor<3xi32>, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %kd: !kd, %kv: !kv, %scale: f32) -> !q {
  %gm = kvq.cache_global_scale %k : !k -> memref<f32>
  %g = memref.load %gm[] : memref<f32>
  %0 = kvq.quantize ins(%x : tensor<3x2x64xf32>) global_scale(%g) outs(%d : tensor<3x2x64xf8E4M3FN>) {format = #kvq.format<fp8>} -> tensor<3x2x64xf8E4M3FN>
  kvq.append ins(%0 : tensor<3x2x64xf8E4M3FN>) into(%k : !k) slot_mapping(%slots : tensor<3xi32>)
  %1 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kd : !kd) -> !kd
  %2 = kvq.dequantize ins(%1 : !kd) global_scale(%g) outs(%kv : !kv) {format = #kvq.format<fp8>} -> !kv
  %3 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %4 = kvq.attention ins(%q, %2, %3 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%q : !q) -> !q
  return %4 : !q
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %appends = transform.structured.match ops{["kvq.append"]} in %root : (!transform.any_op) -> !transform.any_op
    %a = transform.kvq.fuse_quantize_append %appends : (!transform.any_op) -> !transform.any_op
    transform.annotate %a "fused_here" : !transform.any_op
    %attention = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %b = transform.kvq.fuse_dequant_attention %attention : (!transform.any_op) -> !transform.any_op
    transform.annotate %b "fused_here" : !transform.any_op
    transform.yield
  }
}

// -----

!v = !kvq.cache<value, 16x2x64, f16, NHD>
!k = !kvq.cache<key, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

func.func @obstacle(%k: !k, %v: !v, %x: tensor<3x2x64xf16>, %slots: tensor<3xi32>, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{kvq.append is in the way here}}
  kvq.append ins(%x : tensor<3x2x64xf16>) into(%k : !k) slot_mapping(%slots : tensor<3xi32>)
  // expected-note@+1 {{target}}
  %2 = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%q : !q) -> !q
  return %2 : !q
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %attention = transform.structured.match ops{["kvq.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{'kvq.attention' op is not fused: the cache of its keys, or a table that it is gathered with, may be written after the kvq.gather}}
    %b = transform.kvq.fuse_dequant_attention %attention : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

func.func @nothing(%x: tensor<4x2x64xbf16>, %slots: tensor<4xi64>, %k: !kvq.cache<key, 16x2x64, bf16, NHD>) {
  // expected-note@+1 {{target}}
  kvq.append ins(%x : tensor<4x2x64xbf16>) into(%k : !kvq.cache<key, 16x2x64, bf16, NHD>) slot_mapping(%slots : tensor<4xi64>)
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %appends = transform.structured.match ops{["kvq.append"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{'kvq.append' op is not fused: it does not use what kvq.quantize or kvq.gather make}}
    %a = transform.kvq.fuse_quantize_append %appends : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

func.func @other(%x: f32) -> f32 {
  // expected-note@+1 {{target}}
  %0 = arith.addf %x, %x : f32
  return %0 : f32
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %ops = transform.structured.match ops{["arith.addf"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{'arith.addf' op is not fused: accepted is 'kvq.append'}}
    %a = transform.kvq.fuse_quantize_append %ops : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
