// RUN: kvq-opt %s --kvq-optimize | FileCheck %s --implicit-check-not=kvq.gather --implicit-check-not='kvq.quantize ' --implicit-check-not='kvq.dequantize ' --implicit-check-not=kvq.append --implicit-check-not='kvq.attention '
// RUN: kvq-opt %s --kvq-optimize -o %t.once
// RUN: kvq-opt %t.once --kvq-optimize | diff %t.once -
// RUN: kvq-opt %s --kvq-optimize=chip=sm_80 | kvq-opt --kvq-to-cpu -o /dev/null

!k = !kvq.cache<key, 16x2x64, nvfp4, NHD, ?>
!v = !kvq.cache<value, 16x2x64, nvfp4, NHD, ?>
!d = memref<?x16x2x64xf4E2M1FN>
!s = memref<?x16x2x4xf8E4M3FN>
!x = tensor<2x2x64xbf16>
!rd = tensor<2x2x64xf4E2M1FN>
!rs = tensor<2x2x4xf8E4M3FN>
!gd = tensor<2x64x2x64xf4E2M1FN>
!gs = tensor<2x64x2x4xf8E4M3FN>
!kv = tensor<2x64x2x64xf32>
!q = tensor<2x1x8x64xf32>

// Quantize, append, gather, dequantize and attention apart: one of each side
// and one attention, with layouts, kinds and a split.
// CHECK-LABEL: func @layer
// CHECK: %[[K:.*]] = kvq.make_cache {{.*}} : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK: %[[V:.*]] = kvq.make_cache
// CHECK-SAME: linear>
// CHECK: kvq.quantize_append {{.*}} into(%[[K]] :
// CHECK-NEXT: kvq.quantize_append {{.*}} into(%[[V]] :
// CHECK: kvq.dequant_attention {{.*}} caches(%[[K]], %[[V]] : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>,
// CHECK-SAME: #kvq.mma_kind
// CHECK-NOT: kvq.quantize_append
// CHECK-NOT: kvq.dequant_attention
// CHECK: return
func.func @layer(%kd: !d, %ks: !s, %vd: !d, %vs: !s, %gm: memref<f32>, %x: !x, %y: !x, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %slots: tensor<2xi32>, %scale: f32) -> !q {
  %k = kvq.make_cache data(%kd : !d) scales(%ks : !s) global_scale(%gm : memref<f32>) : !k
  %v = kvq.make_cache data(%vd : !d) scales(%vs : !s) global_scale(%gm : memref<f32>) : !v
  %g = memref.load %gm[] : memref<f32>
  %rd = tensor.empty() : !rd
  %rs = tensor.empty() : !rs
  %a:2 = kvq.quantize ins(%x : !x) global_scale(%g) outs(%rd, %rs : !rd, !rs) {format = #kvq.format<nvfp4>} -> !rd, !rs
  kvq.append ins(%a#0, %a#1 : !rd, !rs) into(%k : !k) slot_mapping(%slots : tensor<2xi32>)
  %b:2 = kvq.quantize ins(%y : !x) global_scale(%g) outs(%rd, %rs : !rd, !rs) {format = #kvq.format<nvfp4>} -> !rd, !rs
  kvq.append ins(%b#0, %b#1 : !rd, !rs) into(%v : !v) slot_mapping(%slots : tensor<2xi32>)
  %gd = tensor.empty() : !gd
  %gs = tensor.empty() : !gs
  %kv = tensor.empty() : !kv
  %c:2 = kvq.gather cache(%k : !k) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%gd, %gs : !gd, !gs) -> !gd, !gs
  %kf = kvq.dequantize ins(%c#0, %c#1 : !gd, !gs) global_scale(%g) outs(%kv : !kv) {format = #kvq.format<nvfp4>} -> !kv
  %e:2 = kvq.gather cache(%v : !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%gd, %gs : !gd, !gs) -> !gd, !gs
  %vf = kvq.dequantize ins(%e#0, %e#1 : !gd, !gs) global_scale(%g) outs(%kv : !kv) {format = #kvq.format<nvfp4>} -> !kv
  %o0 = tensor.empty() : !q
  %o = kvq.attention ins(%q, %kf, %vf : !q, !kv, !kv) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%o0 : !q) -> !q
  return %o : !q
}
