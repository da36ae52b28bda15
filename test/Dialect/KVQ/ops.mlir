// RUN: kvq-opt %s --verify-roundtrip | FileCheck %s
// RUN: kvq-opt %s --mlir-print-op-generic | kvq-opt | FileCheck %s

!kn = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!kh = !kvq.cache<key, 16x8x128, nvfp4, HND, linear>
!vh = !kvq.cache<value, 16x8x128, nvfp4, HND, interleaved_4>
!k8 = !kvq.cache<key, 16x8x128, fp8, NHD>

// CHECK-LABEL: func @quantize_tensor
func.func @quantize_tensor(%x: tensor<?x8x128xbf16>, %g: f32, %d0: tensor<?x8x128xf4E2M1FN>, %s0: tensor<?x8x8xf8E4M3FN>)
    -> (tensor<?x8x128xf4E2M1FN>, tensor<?x8x8xf8E4M3FN>) {
  // CHECK: kvq.quantize ins(%{{.*}} : tensor<?x8x128xbf16>) global_scale(%{{.*}}) outs(%{{.*}}, %{{.*}} : tensor<?x8x128xf4E2M1FN>, tensor<?x8x8xf8E4M3FN>)
  // CHECK-SAME: {format = #kvq.format<nvfp4>} -> tensor<?x8x128xf4E2M1FN>, tensor<?x8x8xf8E4M3FN>
  %d, %s = kvq.quantize ins(%x : tensor<?x8x128xbf16>) global_scale(%g)
      outs(%d0, %s0 : tensor<?x8x128xf4E2M1FN>, tensor<?x8x8xf8E4M3FN>)
      {format = #kvq.format<nvfp4>}
      -> tensor<?x8x128xf4E2M1FN>, tensor<?x8x8xf8E4M3FN>
  return %d, %s : tensor<?x8x128xf4E2M1FN>, tensor<?x8x8xf8E4M3FN>
}

// CHECK-LABEL: func @quantize_memref
func.func @quantize_memref(%x: memref<7x64xf32>, %d: memref<7x64xf4E2M1FN>, %s: memref<7x2xf8E8M0FNU>) {
  // CHECK: kvq.quantize ins(%{{.*}} : memref<7x64xf32>) outs(%{{.*}}, %{{.*}} : memref<7x64xf4E2M1FN>, memref<7x2xf8E8M0FNU>) {format = #kvq.format<mxfp4>}
  kvq.quantize ins(%x : memref<7x64xf32>) outs(%d, %s : memref<7x64xf4E2M1FN>, memref<7x2xf8E8M0FNU>) {format = #kvq.format<mxfp4>}
  return
}

// CHECK-LABEL: func @quantize_options
func.func @quantize_options(%x: memref<7x64xf16>, %g: f32, %d: memref<7x64xf4E2M1FN>, %s: memref<7x4xf8E4M3FN>) {
  // CHECK: {format = #kvq.format<nvfp4>, four_over_six, rounding = #kvq<rounding fast>}
  kvq.quantize ins(%x : memref<7x64xf16>) global_scale(%g) outs(%d, %s : memref<7x64xf4E2M1FN>, memref<7x4xf8E4M3FN>)
      {format = #kvq.format<nvfp4>, four_over_six, rounding = #kvq<rounding fast>}
  return
}

// CHECK-LABEL: func @dequantize
func.func @dequantize(%d: tensor<4x128xf4E2M1FN>, %s: tensor<4x4xf8E8M0FNU>, %y0: tensor<4x128xf32>, %m: memref<3x48xf8E4M3FN>, %g: f32, %n: memref<3x48xbf16>) -> tensor<4x128xf32> {
  // CHECK: kvq.dequantize ins(%{{.*}}, %{{.*}} : tensor<4x128xf4E2M1FN>, tensor<4x4xf8E8M0FNU>) outs(%{{.*}} : tensor<4x128xf32>) {format = #kvq.format<mxfp4>} -> tensor<4x128xf32>
  %y = kvq.dequantize ins(%d, %s : tensor<4x128xf4E2M1FN>, tensor<4x4xf8E8M0FNU>)
      outs(%y0 : tensor<4x128xf32>) {format = #kvq.format<mxfp4>}
      -> tensor<4x128xf32>
  // CHECK: kvq.dequantize ins(%{{.*}} : memref<3x48xf8E4M3FN>) global_scale(%{{.*}}) outs(%{{.*}} : memref<3x48xbf16>) {format = #kvq.format<fp8>}
  kvq.dequantize ins(%m : memref<3x48xf8E4M3FN>) global_scale(%g) outs(%n : memref<3x48xbf16>) {format = #kvq.format<fp8>}
  return %y : tensor<4x128xf32>
}

// CHECK-LABEL: func @convert_scale_layout
func.func @convert_scale_layout(%s: memref<?x16x8x8xf8E4M3FN>, %t: memref<?x16x8x8xf8E4M3FN>, %x: tensor<2x3x128x4xf8E8M0FNU>, %y0: tensor<2x3x128x4xf8E8M0FNU>) -> tensor<2x3x128x4xf8E8M0FNU> {
  // CHECK: kvq.convert_scale_layout ins(%{{.*}} : memref<?x16x8x8xf8E4M3FN>) outs(%{{.*}} : memref<?x16x8x8xf8E4M3FN>) from linear to interleaved_4 NHD
  kvq.convert_scale_layout ins(%s : memref<?x16x8x8xf8E4M3FN>)
      outs(%t : memref<?x16x8x8xf8E4M3FN>) from linear to interleaved_4 NHD
  // CHECK: from linear to blocked_128x4 HND -> tensor<2x3x128x4xf8E8M0FNU>
  %y = kvq.convert_scale_layout ins(%x : tensor<2x3x128x4xf8E8M0FNU>)
      outs(%y0 : tensor<2x3x128x4xf8E8M0FNU>) from linear to blocked_128x4 HND -> tensor<2x3x128x4xf8E8M0FNU>
  return %y : tensor<2x3x128x4xf8E8M0FNU>
}

// CHECK-LABEL: func @handles
func.func @handles(%d: memref<?x16x8x128xf4E2M1FN>, %s: memref<?x16x8x8xf8E4M3FN, strided<[2048, 64, 8, 1], offset: 3>>, %g: memref<f32>) {
  // CHECK: %[[K:.*]] = kvq.make_cache data(%{{.*}} : memref<?x16x8x128xf4E2M1FN>) scales(%{{.*}} : memref<?x16x8x8xf8E4M3FN, strided<[2048, 64, 8, 1], offset: 3>>) global_scale(%{{.*}} : memref<f32>) : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
  %k = kvq.make_cache data(%d : memref<?x16x8x128xf4E2M1FN>)
      scales(%s : memref<?x16x8x8xf8E4M3FN, strided<[2048, 64, 8, 1], offset: 3>>) global_scale(%g : memref<f32>)
      : !kn
  // CHECK: kvq.cache_data %[[K]] : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear> -> memref<?x16x8x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>
  %data = kvq.cache_data %k : !kn -> memref<?x16x8x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>
  // CHECK: kvq.cache_scales %[[K]]
  %scales = kvq.cache_scales %k : !kn -> memref<?x16x8x8xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
  // CHECK: kvq.cache_global_scale %[[K]]
  %gs = kvq.cache_global_scale %k : !kn -> memref<f32>
  return
}

// CHECK-LABEL: func @append
func.func @append(%k: !kn, %d: tensor<?x8x128xf4E2M1FN>, %s: tensor<?x8x8xf8E4M3FN>, %slots: tensor<?xi64>,
    %bt: memref<?x?xi32>, %pos: memref<?xi32>, %bi: memref<?xi32>, %k8: !k8, %d8: memref<?x8x128xf8E4M3FN>) {
  // CHECK: kvq.append ins(%{{.*}}, %{{.*}} : tensor<?x8x128xf4E2M1FN>, tensor<?x8x8xf8E4M3FN>) into(%{{.*}} : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>) slot_mapping(%{{.*}} : tensor<?xi64>)
  kvq.append ins(%d, %s : tensor<?x8x128xf4E2M1FN>, tensor<?x8x8xf8E4M3FN>)
      into(%k : !kn) slot_mapping(%slots : tensor<?xi64>)
  // CHECK: kvq.append ins(%{{.*}} : memref<?x8x128xf8E4M3FN>) into(%{{.*}} : !kvq.cache<key, 16x8x128, fp8, NHD>) block_table(%{{.*}} : memref<?x?xi32>) positions(%{{.*}} : memref<?xi32>) batch_indices(%{{.*}} : memref<?xi32>)
  kvq.append ins(%d8 : memref<?x8x128xf8E4M3FN>) into(%k8 : !k8)
      block_table(%bt : memref<?x?xi32>) positions(%pos : memref<?xi32>) batch_indices(%bi : memref<?xi32>)
  return
}

// CHECK-LABEL: func @quantize_append
func.func @quantize_append(%k: !kn, %x: tensor<?x8x128xbf16>, %slots: memref<?xi32>, %bt: tensor<4x?xi32>, %pos: tensor<4xi32>, %y: tensor<4x8x128xf32>) {
  // CHECK: kvq.quantize_append ins(%{{.*}} : tensor<?x8x128xbf16>) into(%{{.*}} : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>) slot_mapping(%{{.*}} : memref<?xi32>)
  kvq.quantize_append ins(%x : tensor<?x8x128xbf16>) into(%k : !kn) slot_mapping(%slots : memref<?xi32>)
  // CHECK: positions(%{{.*}} : tensor<4xi32>) {four_over_six}
  kvq.quantize_append ins(%y : tensor<4x8x128xf32>) into(%k : !kn) block_table(%bt : tensor<4x?xi32>) positions(%pos : tensor<4xi32>) {four_over_six}
  return
}

// CHECK-LABEL: func @rope
func.func @rope(%k: !kn, %x: tensor<?x8x128xbf16>, %slots: memref<?xi32>, %cos: tensor<?x64xf32>, %sin: memref<?x64xf32>, %c: memref<4x8xf32>, %y: tensor<4x8x128xf32>) {
  // CHECK: slot_mapping(%{{.*}} : memref<?xi32>) rope(%{{.*}}, %{{.*}} : tensor<?x64xf32>, memref<?x64xf32>)
  // CHECK-NOT: rope_style
  kvq.quantize_append ins(%x : tensor<?x8x128xbf16>) into(%k : !kn) slot_mapping(%slots : memref<?xi32>) rope(%cos, %sin : tensor<?x64xf32>, memref<?x64xf32>)
  // CHECK: rope(%[[C:.*]], %[[C]] : memref<4x8xf32>, memref<4x8xf32>) {rope_style = #kvq<rope_style interleaved>}
  kvq.quantize_append ins(%y : tensor<4x8x128xf32>) into(%k : !kn) slot_mapping(%slots : memref<?xi32>) rope(%c, %c : memref<4x8xf32>, memref<4x8xf32>) {rope_style = #kvq<rope_style interleaved>}
  return
}

// CHECK-LABEL: func @copy_pages
func.func @copy_pages(%k: !kn, %i: tensor<?xi32>, %j: tensor<?xi32>) {
  // CHECK: kvq.copy_pages from(%{{.*}}) to(%{{.*}}) src_pages(%{{.*}} : tensor<?xi32>) dst_pages(%{{.*}} : tensor<?xi32>) : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
  kvq.copy_pages from(%k) to(%k) src_pages(%i : tensor<?xi32>) dst_pages(%j : tensor<?xi32>) : !kn
  return
}

// CHECK-LABEL: func @gather
func.func @gather(%k: !kn, %bt: tensor<?x?xi32>, %len: tensor<?xi32>, %d0: tensor<?x?x8x128xf4E2M1FN>, %s0: tensor<?x?x8x8xf8E4M3FN>) -> tensor<?x?x8x128xf4E2M1FN> {
  // CHECK: kvq.gather cache(%{{.*}} : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>) block_table(%{{.*}} : tensor<?x?xi32>) seq_lens(%{{.*}} : tensor<?xi32>) outs(%{{.*}}, %{{.*}} : tensor<?x?x8x128xf4E2M1FN>, tensor<?x?x8x8xf8E4M3FN>) -> tensor<?x?x8x128xf4E2M1FN>, tensor<?x?x8x8xf8E4M3FN>
  %d, %s = kvq.gather cache(%k : !kn) block_table(%bt : tensor<?x?xi32>) seq_lens(%len : tensor<?xi32>)
      outs(%d0, %s0 : tensor<?x?x8x128xf4E2M1FN>, tensor<?x?x8x8xf8E4M3FN>)
      -> tensor<?x?x8x128xf4E2M1FN>, tensor<?x?x8x8xf8E4M3FN>
  return %d : tensor<?x?x8x128xf4E2M1FN>
}

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<2x1x8x64xf16>, %k: tensor<2x?x2x64xf32>, %v: tensor<2x?x2x32xf32>, %len: tensor<2xi32>, %scale: f32,
    %mask: tensor<1x8x1x?xi1>, %sinks: tensor<8xf32>, %o0: tensor<2x1x8x32xf16>, %lse0: tensor<2x1x8xf32>) -> (tensor<2x1x8x32xf16>, tensor<2x1x8xf32>) {
  // CHECK: kvq.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x1x8x64xf16>, tensor<2x?x2x64xf32>, tensor<2x?x2x32xf32>) seq_lens(%{{.*}} : tensor<2xi32>) scale(%{{.*}}) mask(%{{.*}} : tensor<1x8x1x?xi1>) sinks(%{{.*}} : tensor<8xf32>) outs(%{{.*}}, %{{.*}} : tensor<2x1x8x32xf16>, tensor<2x1x8xf32>) {options = #kvq.attention<causal, window_left = 5, window_right = 0, softcap = 3.000000e+01>} -> tensor<2x1x8x32xf16>, tensor<2x1x8xf32>
  %o, %lse = kvq.attention ins(%q, %k, %v : tensor<2x1x8x64xf16>, tensor<2x?x2x64xf32>, tensor<2x?x2x32xf32>)
      seq_lens(%len : tensor<2xi32>) scale(%scale) mask(%mask : tensor<1x8x1x?xi1>) sinks(%sinks : tensor<8xf32>)
      outs(%o0, %lse0 : tensor<2x1x8x32xf16>, tensor<2x1x8xf32>)
      {options = #kvq.attention<causal, window_left = 5, window_right = 0, softcap = 3.0e1>}
      -> tensor<2x1x8x32xf16>, tensor<2x1x8xf32>
  return %o, %lse : tensor<2x1x8x32xf16>, tensor<2x1x8xf32>
}

// CHECK-LABEL: func @part_of_attention
func.func @part_of_attention(%q: memref<2x3x8x64xf16>, %k: memref<2x?x2x64xf32>, %len: memref<2xi32>, %scale: f32, %first: index, %shift: index, %o: memref<2x3x8x64xf32>, %lse: memref<2x3x8xf32>) {
  // CHECK: kvq.attention {{.*}} seq_lens(%{{.*}} : memref<2xi32>) scale(%{{.*}}) kv_offset(%{{.*}}) query_shift(%{{.*}}) outs
  kvq.attention ins(%q, %k, %k : memref<2x3x8x64xf16>, memref<2x?x2x64xf32>, memref<2x?x2x64xf32>) seq_lens(%len : memref<2xi32>) scale(%scale)
      kv_offset(%first) query_shift(%shift) outs(%o, %lse : memref<2x3x8x64xf32>, memref<2x3x8xf32>)
  return
}

// CHECK-LABEL: func @dequant_attention
func.func @dequant_attention(%q: tensor<?x32x128xbf16>, %k: !kh, %v: !vh, %bt: tensor<?x?xi32>, %len: tensor<?xi32>, %qo: tensor<?xi32>,
    %scale: f32, %o0: tensor<?x32x128xbf16>) -> tensor<?x32x128xbf16> {
  // CHECK: kvq.dequant_attention ins(%{{.*}} : tensor<?x32x128xbf16>) caches(%{{.*}}, %{{.*}} : !kvq.cache<key, 16x8x128, nvfp4, HND, linear>, !kvq.cache<value, 16x8x128, nvfp4, HND, interleaved_4>) block_table(%{{.*}} : tensor<?x?xi32>) seq_lens(%{{.*}} : tensor<?xi32>) qo_indptr(%{{.*}} : tensor<?xi32>) scale(%{{.*}}) outs(%{{.*}} : tensor<?x32x128xbf16>)
  // CHECK-SAME: {options = #kvq.attention<causal>, pv = #kvq.mma_kind<f16>, qk = #kvq.mma_kind<block_scaled, terms = 2>} -> tensor<?x32x128xbf16>
  %o = kvq.dequant_attention ins(%q : tensor<?x32x128xbf16>) caches(%k, %v : !kh, !vh)
      block_table(%bt : tensor<?x?xi32>) seq_lens(%len : tensor<?xi32>) qo_indptr(%qo : tensor<?xi32>) scale(%scale)
      outs(%o0 : tensor<?x32x128xbf16>)
      {options = #kvq.attention<causal>, qk = #kvq.mma_kind<block_scaled, terms = 2>, pv = #kvq.mma_kind<f16>} -> tensor<?x32x128xbf16>
  return %o : tensor<?x32x128xbf16>
}

// CHECK-LABEL: func @split_and_merge
func.func @split_and_merge(%q: memref<3x1x32x128xf16>, %k: !kh, %v: !vh, %bt: memref<3x?xi32>, %len: memref<3xi32>, %scale: f32, %sinks: memref<32xf32>,
    %po: memref<4x3x1x32x128xf32>, %pl: memref<4x3x1x32xf32>, %o: memref<3x1x32x128xf16>, %lse: memref<3x1x32xf32>) {
  // CHECK: kvq.dequant_attention {{.*}} sinks(%{{.*}} : memref<32xf32>) outs(%{{.*}}, %{{.*}} : memref<4x3x1x32x128xf32>, memref<4x3x1x32xf32>) {kv_split = 256 : i64}
  kvq.dequant_attention ins(%q : memref<3x1x32x128xf16>) caches(%k, %v : !kh, !vh)
      block_table(%bt : memref<3x?xi32>) seq_lens(%len : memref<3xi32>) scale(%scale) sinks(%sinks : memref<32xf32>)
      outs(%po, %pl : memref<4x3x1x32x128xf32>, memref<4x3x1x32xf32>) {kv_split = 256 : i64}
  // CHECK: kvq.merge_states ins(%{{.*}}, %{{.*}} : memref<4x3x1x32x128xf32>, memref<4x3x1x32xf32>) outs(%{{.*}}, %{{.*}} : memref<3x1x32x128xf16>, memref<3x1x32xf32>)
  kvq.merge_states ins(%po, %pl : memref<4x3x1x32x128xf32>, memref<4x3x1x32xf32>)
      outs(%o, %lse : memref<3x1x32x128xf16>, memref<3x1x32xf32>)
  return
}
