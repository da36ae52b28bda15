// The whole way from attention in linalg over float caches to a scheduled
// program, step by step in a script: what kvq-optimize does with passes.
// RUN: kvq-opt %s --transform-interpreter --canonicalize --cse | FileCheck %s --implicit-check-not='kvq.gather cache' --implicit-check-not='kvq.quantize ins' --implicit-check-not='kvq.dequantize ins' --implicit-check-not='kvq.append ins' --implicit-check-not='kvq.attention ins'

!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!v = !kvq.cache<value, 16x2x64, bf16, NHD>
!m = memref<?x16x2x64xbf16>
!x = tensor<2x2x64xbf16>
!kv = tensor<2x64x2x64xbf16>
!q = tensor<2x2x4x64xf32>
!s = tensor<2x2x4x64xf32>

#q = affine_map<(b, h, g, j, d) -> (b, h, g, d)>
#k = affine_map<(b, h, g, j, d) -> (b, j, h, d)>
#s = affine_map<(b, h, g, j, d) -> (b, h, g, j)>
#row = affine_map<(b, h, g, j) -> (b, h, g, j)>
#seq = affine_map<(b, h, g, j) -> (b)>

// CHECK-LABEL: func @layer
// CHECK: %[[K:.*]] = kvq.make_cache {{.*}} : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK: %[[V:.*]] = kvq.make_cache {{.*}} : !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>
// CHECK: kvq.quantize_append {{.*}} into(%[[K]] :
// CHECK: kvq.quantize_append {{.*}} into(%[[V]] :
// CHECK: kvq.dequant_attention {{.*}} caches(%[[K]], %[[V]] : {{.*}} {kv_split = 32 : i64, pv = #kvq.mma_kind<f16>, qk = #kvq.mma_kind<{{.*}}>}
// CHECK: kvq.merge_states {{.*}} {merged_here}
func.func @layer(%kd: !m, %vd: !m, %x: !x, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %slots: tensor<2xi32>) -> !q {
  %k = kvq.make_cache data(%kd : !m) : !k
  %v = kvq.make_cache data(%vd : !m) : !v
  kvq.append ins(%x : !x) into(%k : !k) slot_mapping(%slots : tensor<2xi32>)
  kvq.append ins(%x : !x) into(%v : !v) slot_mapping(%slots : tensor<2xi32>)
  %kv = tensor.empty() : !kv
  %gk = kvq.gather cache(%k : !k) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%kv : !kv) -> !kv
  %gv = kvq.gather cache(%v : !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%kv : !kv) -> !kv

  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
  %es = tensor.empty() : tensor<2x2x4x64xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : !s) -> !s
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %gk : !q, !kv) outs(%fs : !s) {
  ^bb0(%a: f32, %b: bf16, %out: f32):
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %a, %y : f32
    %r = arith.addf %out, %p : f32
    linalg.yield %r : f32
  } -> !s
  %masked = linalg.generic {indexing_maps = [#row, #seq, #row], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %len : !s, tensor<2xi32>) outs(%es : !s) {
  ^bb0(%a: f32, %n: i32, %out: f32):
    %j = linalg.index 3 : index
    %j32 = arith.index_cast %j : index to i32
    %keep = arith.cmpi slt, %j32, %n : i32
    %scaled = arith.mulf %a, %scale : f32
    %r = arith.select %keep, %scaled, %ninf : f32
    linalg.yield %r : f32
  } -> !s
  %p = linalg.softmax dimension(3) ins(%masked : !s) outs(%es : !s) -> !s
  %eo = tensor.empty() : !q
  %fo = linalg.fill ins(%zero : f32) outs(%eo : !q) -> !q
  %o = linalg.generic {indexing_maps = [#s, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
      ins(%p, %gv : !s, !kv) outs(%fo : !q) {
  ^bb0(%a: f32, %b: bf16, %out: f32):
    %y = arith.extf %b : bf16 to f32
    %m = arith.mulf %a, %y : f32
    %r = arith.addf %out, %m : f32
    linalg.yield %r : f32
  } -> !q
  return %o : !q
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %raised = transform.kvq.raise_attention %function : (!transform.any_op) -> !transform.any_op
    %converted = transform.kvq.convert_cache_format %root {global_scale = "one", scale_layout = "undecided"} : (!transform.any_op) -> !transform.any_op
    %appends = transform.structured.match ops{["kvq.append"]} in %converted : (!transform.any_op) -> !transform.any_op
    %fused_appends = transform.kvq.fuse_quantize_append %appends : (!transform.any_op) -> !transform.any_op
    %attention = transform.structured.match ops{["kvq.attention"]} in %converted : (!transform.any_op) -> !transform.any_op
    %fused = transform.kvq.fuse_dequant_attention %attention : (!transform.any_op) -> !transform.any_op
    %assigned = transform.kvq.assign_block_scales %converted {value_reader = "trtllm-gen"} : (!transform.any_op) -> !transform.any_op
    %read = transform.structured.match ops{["kvq.dequant_attention"]} in %assigned : (!transform.any_op) -> !transform.any_op
    transform.kvq.select_mma %read {chip = "sm_100a"} : !transform.any_op
    %parts, %merge = transform.kvq.split_kv %read {split_length = 32} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %merge "merged_here" : !transform.any_op
    transform.yield
  }
}
