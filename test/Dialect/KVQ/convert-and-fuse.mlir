// A layer over float caches becomes two appends that quantize and one attention
// that decodes, with nothing left in between.
// RUN: kvq-opt %s --kvq-convert-cache-format='key-format=nvfp4 value-format=fp8' --kvq-fuse-quantize-append=require=true --kvq-fuse-dequant-attention=require=true --cse --canonicalize | FileCheck %s

!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!v = !kvq.cache<value, 16x2x64, bf16, NHD>
!x = tensor<2x2x64xbf16>
!kv = tensor<2x64x2x64xbf16>
!q = tensor<2x1x8x64xf32>
!m = memref<?x16x2x64xbf16>

// CHECK: func @layer(%[[KD:.*]]: memref<?x16x2x64xf4E2M1FN>, %[[VD:.*]]: memref<?x16x2x64xf8E4M3FN>, %[[X:.*]]: tensor<2x2x64xbf16>, %[[Q:.*]]: tensor<2x1x8x64xf32>, {{.*}}, %[[SCALE:.*]]: f32, %[[KS:.*]]: memref<?x16x2x4xf8E4M3FN>, %[[KG:.*]]: memref<f32>, %[[VG:.*]]: memref<f32>)
// CHECK-NEXT: %[[K:.*]] = kvq.make_cache data(%[[KD]] : {{.*}}) scales(%[[KS]] : {{.*}}) global_scale(%[[KG]] : memref<f32>)
// CHECK-NEXT: %[[V:.*]] = kvq.make_cache data(%[[VD]] : {{.*}}) global_scale(%[[VG]] : memref<f32>)
// CHECK-NEXT: kvq.quantize_append ins(%[[X]] : tensor<2x2x64xbf16>) into(%[[K]] :
// CHECK-NEXT: kvq.quantize_append ins(%[[X]] : tensor<2x2x64xbf16>) into(%[[V]] :
// CHECK-NEXT: %[[O:.*]] = kvq.dequant_attention ins(%[[Q]] : tensor<2x1x8x64xf32>) caches(%[[K]], %[[V]] : {{.*}} scale(%[[SCALE]]) outs(%[[Q]] :
// CHECK-NEXT: return %[[O]]
func.func @layer(%k: !m, %v: !m, %x: !x, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %slots: tensor<2xi32>, %scale: f32) -> !q {
  %kv = tensor.empty() : !kv
  %kc = kvq.make_cache data(%k : !m) : !k
  %vc = kvq.make_cache data(%v : !m) : !v
  kvq.append ins(%x : !x) into(%kc : !k) slot_mapping(%slots : tensor<2xi32>)
  kvq.append ins(%x : !x) into(%vc : !v) slot_mapping(%slots : tensor<2xi32>)
  %0 = kvq.gather cache(%kc : !k) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%vc : !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%kv : !kv) -> !kv
  %2 = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : !q) -> !q
  return %2 : !q
}
