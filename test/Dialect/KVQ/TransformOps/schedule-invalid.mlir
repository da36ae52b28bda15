// RUN: kvq-opt %s --transform-interpreter --split-input-file --verify-diagnostics

// expected-note@+1 {{target}}
func.func @target(%x: f32) -> f32 {
  return %x : f32
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{'func.func' op is no 'builtin.module' with caches}}
    %0 = transform.kvq.convert_cache_format %function : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

func.func @target(%x: f32) -> f32 {
  // expected-note@+1 {{target}}
  return %x : f32
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %return = transform.structured.match ops{["func.return"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{'func.return' op is no function to raise attention in}}
    %0 = transform.kvq.raise_attention %return : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// What a pass reports as an error is a definite failure: not suppressed.
// expected-error@+1 {{'builtin.module' op asks for the unknown format nvfp5, accepted are nvfp4}}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    transform.sequence %root : !transform.any_op failures(suppress) {
    ^bb0(%module: !transform.any_op):
      %0 = transform.kvq.convert_cache_format %module {key_format = "nvfp5"} : (!transform.any_op) -> !transform.any_op
    }
    transform.yield
  }
}

// -----

// expected-error@+1 {{'builtin.module' op has value-reader=xqa, accepted are kvq and trtllm-gen}}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %0 = transform.kvq.assign_block_scales %root {value_reader = "xqa"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!v = !kvq.cache<value, 16x2x64, bf16, NHD>
!q = tensor<2x1x8x64xf32>

func.func @kinds(%k: !k, %v: !v, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32) -> !q {
  // expected-error@+2 {{'kvq.dequant_attention' op has qk = f8, which sm_80 does not have for the format}}
  // expected-note@+1 {{the rule: no instruction of sm_80 is f8}}
  %0 = kvq.dequant_attention ins(%q : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : !q) -> !q
  return %0 : !q
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %0 = transform.structured.match ops{["kvq.dequant_attention"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.kvq.select_mma %0 {chip = "sm_80", qk = "f8"} : !transform.any_op
    transform.yield
  }
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!v = !kvq.cache<value, 16x2x64, bf16, NHD>
!q = tensor<2x1x8x64xf32>

func.func @short(%k: !k, %v: !v, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32) -> !q {
  // expected-note@+1 {{target}}
  %0 = kvq.dequant_attention ins(%q : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : !q) -> !q
  return %0 : !q
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %0 = transform.structured.match ops{["kvq.dequant_attention"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{'kvq.dequant_attention' op is not split: the block table has room for 64 tokens, and a chunk has 512}}
    %parts, %merge = transform.kvq.split_kv %0 : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
    %0 = transform.structured.match ops{["arith.addf"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{'arith.addf' op has no MMA kinds: accepted is 'kvq.dequant_attention'}}
    transform.kvq.select_mma %0 : !transform.any_op
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
    %0 = transform.structured.match ops{["arith.addf"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{'arith.addf' op is not split: accepted is 'kvq.dequant_attention' without kv_split}}
    %parts, %merge = transform.kvq.split_kv %0 : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    // expected-error@+1 {{attribute 'split_length' failed to satisfy constraint}}
    %parts, %merge = transform.kvq.split_kv %root {split_length = 0} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
