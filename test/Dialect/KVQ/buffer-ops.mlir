// Each operation in buffer form lives through the passes that run between
// bufferization and lowering: none is erased, merged or moved.
//
// RUN: kvq-opt %s --canonicalize --cse --buffer-deallocation-pipeline | FileCheck %s

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!v = !kvq.cache<value, 16x8x128, nvfp4, NHD, linear>
!d = memref<5x8x128xf4E2M1FN>
!s = memref<5x8x8xf8E4M3FN>

// CHECK-LABEL: func @quantize
func.func @quantize(%x: memref<5x8x128xf32>, %g: f32, %d: !d, %s: !s) {
  // CHECK: kvq.quantize
  kvq.quantize ins(%x : memref<5x8x128xf32>) global_scale(%g) outs(%d, %s : !d, !s) {format = #kvq.format<nvfp4>}
  return
}

// CHECK-LABEL: func @dequantize
func.func @dequantize(%d: !d, %s: !s, %g: f32, %y: memref<5x8x128xf32>) {
  // CHECK: kvq.dequantize
  kvq.dequantize ins(%d, %s : !d, !s) global_scale(%g) outs(%y : memref<5x8x128xf32>) {format = #kvq.format<nvfp4>}
  return
}

// CHECK-LABEL: func @convert_scale_layout
func.func @convert_scale_layout(%x: memref<2x16x8x8xf8E4M3FN>, %y: memref<2x16x8x8xf8E4M3FN>) {
  // CHECK: kvq.convert_scale_layout
  kvq.convert_scale_layout ins(%x : memref<2x16x8x8xf8E4M3FN>) outs(%y : memref<2x16x8x8xf8E4M3FN>) from linear to interleaved_4 NHD
  return
}

// Equal appends, and what they read, are not equal: a slot may be written in
// between.
// CHECK-LABEL: func @append
func.func @append(%k: !k, %d: !d, %s: !s, %x: memref<5x8x128xf32>, %slots: memref<5xi32>) {
  // CHECK: kvq.append
  // CHECK: kvq.quantize_append
  // CHECK: kvq.append
  // CHECK: kvq.quantize_append
  kvq.append ins(%d, %s : !d, !s) into(%k : !k) slot_mapping(%slots : memref<5xi32>)
  kvq.quantize_append ins(%x : memref<5x8x128xf32>) into(%k : !k) slot_mapping(%slots : memref<5xi32>)
  kvq.append ins(%d, %s : !d, !s) into(%k : !k) slot_mapping(%slots : memref<5xi32>)
  kvq.quantize_append ins(%x : memref<5x8x128xf32>) into(%k : !k) slot_mapping(%slots : memref<5xi32>)
  return
}

// CHECK-LABEL: func @copy_pages
func.func @copy_pages(%k: !k, %l: !k, %i: memref<?xi32>, %j: memref<?xi32>) {
  // CHECK: kvq.copy_pages
  kvq.copy_pages from(%k) to(%l) src_pages(%i : memref<?xi32>) dst_pages(%j : memref<?xi32>) : !k
  return
}

// Reads around a write stay on their sides of it.
// CHECK-LABEL: func @gather
func.func @gather(%k: !k, %bt: memref<2x4xi32>, %len: memref<2xi32>, %d: memref<2x64x8x128xf4E2M1FN>, %s: memref<2x64x8x8xf8E4M3FN>, %x: memref<5x8x128xf32>, %slots: memref<5xi32>) {
  // CHECK: kvq.gather
  // CHECK: kvq.quantize_append
  // CHECK: kvq.gather
  kvq.gather cache(%k : !k) block_table(%bt : memref<2x4xi32>) seq_lens(%len : memref<2xi32>) outs(%d, %s : memref<2x64x8x128xf4E2M1FN>, memref<2x64x8x8xf8E4M3FN>)
  kvq.quantize_append ins(%x : memref<5x8x128xf32>) into(%k : !k) slot_mapping(%slots : memref<5xi32>)
  kvq.gather cache(%k : !k) block_table(%bt : memref<2x4xi32>) seq_lens(%len : memref<2xi32>) outs(%d, %s : memref<2x64x8x128xf4E2M1FN>, memref<2x64x8x8xf8E4M3FN>)
  return
}

// CHECK-LABEL: func @attention
func.func @attention(%q: memref<2x1x8x64xf16>, %k: memref<2x6x2x64xf32>, %v: memref<2x6x2x32xf32>, %scale: f32, %o: memref<2x1x8x32xf16>, %lse: memref<2x1x8xf32>) {
  // CHECK: kvq.attention
  kvq.attention ins(%q, %k, %v : memref<2x1x8x64xf16>, memref<2x6x2x64xf32>, memref<2x6x2x32xf32>) scale(%scale) outs(%o, %lse : memref<2x1x8x32xf16>, memref<2x1x8xf32>)
  return
}

// CHECK-LABEL: func @part_of_attention
func.func @part_of_attention(%q: memref<2x1x8x64xf16>, %k: memref<2x6x2x64xf32>, %len: memref<2xi32>, %scale: f32, %o: memref<2x1x8x64xf32>, %lse: memref<2x1x8xf32>) {
  // CHECK-DAG: %[[FIRST:.*]] = arith.constant 4
  // CHECK-DAG: %[[SHIFT:.*]] = arith.constant -1
  // CHECK: kvq.attention {{.*}} kv_offset(%[[FIRST]]) query_shift(%[[SHIFT]])
  %first = arith.constant 4 : index
  %shift = arith.constant -1 : index
  kvq.attention ins(%q, %k, %k : memref<2x1x8x64xf16>, memref<2x6x2x64xf32>, memref<2x6x2x64xf32>) seq_lens(%len : memref<2xi32>) scale(%scale) kv_offset(%first) query_shift(%shift)
      outs(%o, %lse : memref<2x1x8x64xf32>, memref<2x1x8xf32>)
  return
}

// The parts of a handle are views that stay while they are used: those of an
// argument have no maker to fold with.
// CHECK-LABEL: func @accessors
func.func @accessors(%k: !k, %i: index, %f: f32) {
  // CHECK-DAG: %[[D:.*]] = kvq.cache_data
  // CHECK-DAG: %[[S:.*]] = kvq.cache_scales
  // CHECK-DAG: %[[G:.*]] = kvq.cache_global_scale
  // CHECK: kvq.dequantize ins(%[[D]], %[[S]] : {{.*}}) global_scale(%{{.*}})
  // CHECK: memref.store %{{.*}}, %[[G]][]
  // CHECK-NOT: memref.dealloc %[[D]]
  %d = kvq.cache_data %k : !k -> memref<?x16x8x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>
  %s = kvq.cache_scales %k : !k -> memref<?x16x8x8xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
  %g = kvq.cache_global_scale %k : !k -> memref<f32>
  %y = memref.alloc(%i) : memref<?x16x8x128xf32>
  kvq.dequantize ins(%d, %s : memref<?x16x8x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>, memref<?x16x8x8xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>) global_scale(%f) outs(%y : memref<?x16x8x128xf32>) {format = #kvq.format<nvfp4>}
  %first = memref.load %y[%i, %i, %i, %i] : memref<?x16x8x128xf32>
  memref.store %first, %g[] : memref<f32>
  return
}

// Buffers that are allocated here are freed after their last use, and stay
// although nobody reads the partial results but merge_states.
// CHECK-LABEL: func @split
func.func @split(%q: memref<3x1x32x128xf16>, %k: !k, %v: !v, %bt: memref<3x4xi32>, %len: memref<3xi32>, %scale: f32, %o: memref<3x1x32x128xf16>) {
  // CHECK: %[[PO:.*]] = memref.alloc
  // CHECK: %[[PL:.*]] = memref.alloc
  %po = memref.alloc() : memref<4x3x1x32x128xf32>
  %pl = memref.alloc() : memref<4x3x1x32xf32>
  // CHECK: kvq.dequant_attention
  kvq.dequant_attention ins(%q : memref<3x1x32x128xf16>) caches(%k, %v : !k, !v) block_table(%bt : memref<3x4xi32>) seq_lens(%len : memref<3xi32>) scale(%scale)
      outs(%po, %pl : memref<4x3x1x32x128xf32>, memref<4x3x1x32xf32>) {kv_split = 16}
  // CHECK: kvq.merge_states
  kvq.merge_states ins(%po, %pl : memref<4x3x1x32x128xf32>, memref<4x3x1x32xf32>) outs(%o : memref<3x1x32x128xf16>)
  // CHECK: memref.dealloc
  // CHECK: memref.dealloc
  // CHECK: return
  return
}

// A handle does not keep deallocation from working around it: the pool that is
// allocated here outlives every use of its handle.
// CHECK-LABEL: func @handle_of_local_pool
func.func @handle_of_local_pool(%g: memref<f32>, %x: memref<5x8x128xf32>, %slots: memref<5xi32>, %bt: memref<2x4xi32>, %len: memref<2xi32>, %y: memref<2x64x8x128xf8E4M3FN>) {
  // CHECK: %[[P:.*]] = memref.alloc
  %p = memref.alloc() : memref<4x16x8x128xf8E4M3FN>
  // CHECK: kvq.make_cache data(%[[P]]
  // CHECK: kvq.quantize_append
  // CHECK: kvq.gather
  // CHECK: memref.dealloc %[[P]]
  // CHECK: return
  %k = kvq.make_cache data(%p : memref<4x16x8x128xf8E4M3FN>) global_scale(%g : memref<f32>) : !kvq.cache<key, 16x8x128, fp8, NHD>
  kvq.quantize_append ins(%x : memref<5x8x128xf32>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%slots : memref<5xi32>)
  kvq.gather cache(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) block_table(%bt : memref<2x4xi32>) seq_lens(%len : memref<2xi32>) outs(%y : memref<2x64x8x128xf8E4M3FN>)
  return
}
