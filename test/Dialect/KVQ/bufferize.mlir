// RUN: kvq-opt %s --one-shot-bufferize=bufferize-function-boundaries | FileCheck %s

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!v = !kvq.cache<value, 16x8x128, nvfp4, NHD, linear>
!d = tensor<5x8x128xf4E2M1FN>
!s = tensor<5x8x8xf8E4M3FN>

// Outs that nothing else reads are written in place, whatever they held.
// CHECK-LABEL: func @quantize
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<{{.*}}>, %[[D:[a-z0-9]+]]: memref<5x8x128xf4E2M1FN{{.*}}>, %[[S:[a-z0-9]+]]: memref<5x8x8xf8E4M3FN{{.*}}>, %[[G:[a-z0-9]+]]: f32)
func.func @quantize(%x: tensor<5x8x128xbf16>, %d0: !d {bufferization.writable = true}, %s0: !s {bufferization.writable = true}, %g: f32) -> (!d, !s) {
  // CHECK-NOT: memref.alloc
  // CHECK: kvq.quantize ins(%[[X]] : {{.*}}) global_scale(%[[G]]) outs(%[[D]], %[[S]] : {{.*}}) {format = #kvq.format<nvfp4>, four_over_six}
  // CHECK: return %[[D]], %[[S]]
  %d, %s = kvq.quantize ins(%x : tensor<5x8x128xbf16>) global_scale(%g) outs(%d0, %s0 : !d, !s) {format = #kvq.format<nvfp4>, four_over_six} -> !d, !s
  return %d, %s : !d, !s
}

// What is read afterwards is not overwritten, and not copied either, as outs
// are written whole.
// CHECK-LABEL: func @keep_outs
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<{{.*}}>, %[[Y:[a-z0-9]+]]: memref
func.func @keep_outs(%x: tensor<4x128xf8E4M3FN>, %y0: tensor<4x128xf32>, %g: f32) -> (tensor<4x128xf32>, tensor<4x128xf32>) {
  // CHECK: %[[A:.*]] = memref.alloc() {{.*}} : memref<4x128xf32>
  // CHECK-NOT: memref.copy
  // CHECK: kvq.dequantize ins(%[[X]] : {{.*}}) global_scale(%{{.*}}) outs(%[[A]] : memref<4x128xf32>)
  // CHECK: return %[[A]], %[[Y]]
  %y = kvq.dequantize ins(%x : tensor<4x128xf8E4M3FN>) global_scale(%g) outs(%y0 : tensor<4x128xf32>) {format = #kvq.format<fp8>} -> tensor<4x128xf32>
  return %y, %y0 : tensor<4x128xf32>, tensor<4x128xf32>
}

// The result of one op is the input of the next, in its buffer.
// CHECK-LABEL: func @chain
// CHECK-SAME: %[[K:[a-z0-9]+]]: !kvq.cache
func.func @chain(%x: tensor<5x8x128xf32>, %g: f32, %k: !k, %slots: tensor<5xi64>) {
  %d0 = tensor.empty() : !d
  %s0 = tensor.empty() : !s
  // CHECK-DAG: %[[D:.*]] = memref.alloc() {{.*}} : memref<5x8x128xf4E2M1FN>
  // CHECK-DAG: %[[S:.*]] = memref.alloc() {{.*}} : memref<5x8x8xf8E4M3FN>
  // CHECK: kvq.quantize {{.*}} outs(%[[D]], %[[S]] : memref<5x8x128xf4E2M1FN>, memref<5x8x8xf8E4M3FN>)
  // CHECK: kvq.append ins(%[[D]], %[[S]] : {{.*}}) into(%[[K]] : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>) slot_mapping(%{{.*}} : memref<5xi64
  %d, %s = kvq.quantize ins(%x : tensor<5x8x128xf32>) global_scale(%g) outs(%d0, %s0 : !d, !s) {format = #kvq.format<nvfp4>} -> !d, !s
  kvq.append ins(%d, %s : !d, !s) into(%k : !k) slot_mapping(%slots : tensor<5xi64>)
  return
}

// Attributes and segments survive on every op that writes a handle.
// CHECK-LABEL: func @writers
func.func @writers(%x: tensor<5x8x128xf32>, %k: !k, %bt: tensor<2x4xi32>, %pos: tensor<5xi32>, %seq: tensor<5xi32>, %src: tensor<2xi32>, %dst: memref<2xi32>, %cos: tensor<5x64xf32>, %sin: tensor<5x64xf32>) {
  // CHECK: kvq.quantize_append ins(%{{.*}} : memref<5x8x128xf32{{.*}}>) into(%{{.*}}) block_table(%{{.*}} : memref<2x4xi32{{.*}}>) positions(%{{.*}} : memref<5xi32{{.*}}>) batch_indices(%{{.*}} : memref<5xi32{{.*}}>) {four_over_six, keep = 1 : i64, rounding = #kvq<rounding fast>}
  kvq.quantize_append ins(%x : tensor<5x8x128xf32>) into(%k : !k) block_table(%bt : tensor<2x4xi32>) positions(%pos : tensor<5xi32>) batch_indices(%seq : tensor<5xi32>) {four_over_six, keep = 1 : i64, rounding = #kvq<rounding fast>}
  // CHECK: kvq.quantize_append ins(%{{.*}}) into(%{{.*}}) block_table(%{{.*}}) positions(%{{.*}}) batch_indices(%{{.*}}) rope(%{{.*}}, %{{.*}} : memref<5x64xf32{{.*}}>, memref<5x64xf32{{.*}}>) {rope_style = #kvq<rope_style interleaved>}
  kvq.quantize_append ins(%x : tensor<5x8x128xf32>) into(%k : !k) block_table(%bt : tensor<2x4xi32>) positions(%pos : tensor<5xi32>) batch_indices(%seq : tensor<5xi32>) rope(%cos, %sin : tensor<5x64xf32>, tensor<5x64xf32>) {rope_style = #kvq<rope_style interleaved>}
  // CHECK: kvq.copy_pages from(%{{.*}}) to(%{{.*}}) src_pages(%{{.*}} : memref<2xi32{{.*}}>) dst_pages(%{{.*}} : memref<2xi32>)
  kvq.copy_pages from(%k) to(%k) src_pages(%src : tensor<2xi32>) dst_pages(%dst : memref<2xi32>) : !k
  return
}

// CHECK-LABEL: func @readers
func.func @readers(%q: tensor<3x1x32x128xf16>, %k: !k, %v: !v, %bt: tensor<3x4xi32>, %len: tensor<3xi32>, %scale: f32, %sinks: tensor<32xf32>)
    -> (tensor<3x1x32x128xf16>, tensor<3x1x32xf32>, tensor<3x64x8x128xf4E2M1FN>) {
  %po0 = tensor.empty() : tensor<4x3x1x32x128xf32>
  %pl0 = tensor.empty() : tensor<4x3x1x32xf32>
  // CHECK: kvq.dequant_attention ins(%{{.*}} : memref<3x1x32x128xf16{{.*}}>) caches(%{{.*}}, %{{.*}} : !kvq.cache<key, {{.*}}>, !kvq.cache<value, {{.*}}>) block_table(%{{.*}} : memref<3x4xi32{{.*}}>) seq_lens(%{{.*}} : memref<3xi32{{.*}}>) scale(%{{.*}}) sinks(%{{.*}} : memref<32xf32{{.*}}>) outs(%[[PO:.*]], %[[PL:.*]] : memref<4x3x1x32x128xf32>, memref<4x3x1x32xf32>) {kv_split = 16 : i64, options = #kvq.attention<causal>}
  %po, %pl = kvq.dequant_attention ins(%q : tensor<3x1x32x128xf16>) caches(%k, %v : !k, !v) block_table(%bt : tensor<3x4xi32>) seq_lens(%len : tensor<3xi32>) scale(%scale) sinks(%sinks : tensor<32xf32>)
      outs(%po0, %pl0 : tensor<4x3x1x32x128xf32>, tensor<4x3x1x32xf32>) {kv_split = 16 : i64, options = #kvq.attention<causal>} -> tensor<4x3x1x32x128xf32>, tensor<4x3x1x32xf32>
  %o0 = tensor.empty() : tensor<3x1x32x128xf16>
  %l0 = tensor.empty() : tensor<3x1x32xf32>
  // CHECK: kvq.merge_states ins(%[[PO]], %[[PL]] : {{.*}}) outs(%[[O:.*]], %[[L:.*]] : memref<3x1x32x128xf16>, memref<3x1x32xf32>)
  %o, %l = kvq.merge_states ins(%po, %pl : tensor<4x3x1x32x128xf32>, tensor<4x3x1x32xf32>) outs(%o0, %l0 : tensor<3x1x32x128xf16>, tensor<3x1x32xf32>) -> tensor<3x1x32x128xf16>, tensor<3x1x32xf32>
  %d0 = tensor.empty() : tensor<3x64x8x128xf4E2M1FN>
  %s0 = tensor.empty() : tensor<3x64x8x8xf8E4M3FN>
  // CHECK: kvq.gather cache(%{{.*}}) block_table(%{{.*}}) seq_lens(%{{.*}}) outs(%[[D:.*]], %{{.*}} : memref<3x64x8x128xf4E2M1FN>, memref<3x64x8x8xf8E4M3FN>)
  %d, %s = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x4xi32>) seq_lens(%len : tensor<3xi32>) outs(%d0, %s0 : tensor<3x64x8x128xf4E2M1FN>, tensor<3x64x8x8xf8E4M3FN>) -> tensor<3x64x8x128xf4E2M1FN>, tensor<3x64x8x8xf8E4M3FN>
  // CHECK: return %[[O]], %[[L]], %[[D]]
  return %o, %l, %d : tensor<3x1x32x128xf16>, tensor<3x1x32xf32>, tensor<3x64x8x128xf4E2M1FN>
}

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<2x1x8x64xf16>, %k: tensor<2x6x2x64xf32>, %v: tensor<2x6x2x32xf32>, %scale: f32, %mask: tensor<1x8x1x6xi1>, %s: tensor<2x16x8x8xf8E4M3FN>)
    -> (tensor<2x1x8x32xf16>, tensor<2x16x8x8xf8E4M3FN>) {
  %o0 = tensor.empty() : tensor<2x1x8x32xf16>
  // CHECK: kvq.attention ins({{.*}}) scale(%{{.*}}) mask(%{{.*}} : memref<1x8x1x6xi1{{.*}}>) outs(%[[O:.*]] : memref<2x1x8x32xf16>)
  %o = kvq.attention ins(%q, %k, %v : tensor<2x1x8x64xf16>, tensor<2x6x2x64xf32>, tensor<2x6x2x32xf32>) scale(%scale) mask(%mask : tensor<1x8x1x6xi1>) outs(%o0 : tensor<2x1x8x32xf16>) -> tensor<2x1x8x32xf16>
  %t0 = tensor.empty() : tensor<2x16x8x8xf8E4M3FN>
  // CHECK: kvq.convert_scale_layout ins(%{{.*}}) outs(%[[T:.*]] : memref<2x16x8x8xf8E4M3FN>) from linear to interleaved_4 NHD
  %t = kvq.convert_scale_layout ins(%s : tensor<2x16x8x8xf8E4M3FN>) outs(%t0 : tensor<2x16x8x8xf8E4M3FN>) from linear to interleaved_4 NHD -> tensor<2x16x8x8xf8E4M3FN>
  // CHECK: return %[[O]], %[[T]]
  return %o, %t : tensor<2x1x8x32xf16>, tensor<2x16x8x8xf8E4M3FN>
}

// An output that is an input too gets a buffer of its own: the rows of a query
// are read for more than one row of the output.
// CHECK-LABEL: func @output_over_query
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: memref<2x1x8x64xf16
func.func @output_over_query(%q: tensor<2x1x8x64xf16> {bufferization.writable = true}, %k: tensor<2x6x2x64xf16>, %scale: f32) -> tensor<2x1x8x64xf16> {
  // CHECK: %[[A:.*]] = memref.alloc() {{.*}} : memref<2x1x8x64xf16>
  // CHECK: kvq.attention ins(%[[Q]], {{.*}}) scale(%{{.*}}) outs(%[[A]] : memref<2x1x8x64xf16>)
  %o = kvq.attention ins(%q, %k, %k : tensor<2x1x8x64xf16>, tensor<2x6x2x64xf16>, tensor<2x6x2x64xf16>) scale(%scale) outs(%q : tensor<2x1x8x64xf16>) -> tensor<2x1x8x64xf16>
  return %o : tensor<2x1x8x64xf16>
}
