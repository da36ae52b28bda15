// RUN: kvq-opt %s --canonicalize --split-input-file | FileCheck %s

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!v = !kvq.cache<value, 16x8x128, nvfp4, NHD, linear>
!k8 = !kvq.cache<key, 16x8x128, fp8, NHD>
!data = memref<?x16x8x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>
!scales = memref<?x16x8x8xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>

// A handle of the parts of a handle is that handle.
// CHECK-LABEL: func @remake
// CHECK-SAME: (%[[K:[a-z0-9]+]]: !kvq.cache<{{.*}}>, %[[I:[a-z0-9]+]]: memref<?xi32>)
func.func @remake(%k: !k, %i: memref<?xi32>) {
  %d = kvq.cache_data %k : !k -> !data
  %s = kvq.cache_scales %k : !k -> !scales
  %g = kvq.cache_global_scale %k : !k -> memref<f32>
  %r = kvq.make_cache data(%d : !data) scales(%s : !scales) global_scale(%g : memref<f32>) : !k
  // CHECK-NEXT: kvq.copy_pages from(%[[K]]) to(%[[K]])
  // CHECK-NEXT: return
  kvq.copy_pages from(%r) to(%k) src_pages(%i : memref<?xi32>) dst_pages(%i : memref<?xi32>) : !k
  return
}

// Not where a part is of another handle.
// CHECK-LABEL: func @remake_mixed
func.func @remake_mixed(%k: !k, %l: !k, %i: memref<?xi32>) {
  %d = kvq.cache_data %k : !k -> !data
  %s = kvq.cache_scales %l : !k -> !scales
  %g = kvq.cache_global_scale %k : !k -> memref<f32>
  // CHECK: %[[R:.*]] = kvq.make_cache
  %r = kvq.make_cache data(%d : !data) scales(%s : !scales) global_scale(%g : memref<f32>) : !k
  // CHECK: kvq.copy_pages from(%[[R]])
  kvq.copy_pages from(%r) to(%k) src_pages(%i : memref<?xi32>) dst_pages(%i : memref<?xi32>) : !k
  return
}

// Nor where the types differ: the bytes of a key read as a value.
// CHECK-LABEL: func @remake_other_type
func.func @remake_other_type(%k: !k, %v: !v, %i: memref<?xi32>) {
  %d = kvq.cache_data %k : !k -> !data
  %s = kvq.cache_scales %k : !k -> !scales
  %g = kvq.cache_global_scale %k : !k -> memref<f32>
  // CHECK: %[[R:.*]] = kvq.make_cache
  %r = kvq.make_cache data(%d : !data) scales(%s : !scales) global_scale(%g : memref<f32>) : !v
  // CHECK: kvq.copy_pages from(%[[R]])
  kvq.copy_pages from(%r) to(%v) src_pages(%i : memref<?xi32>) dst_pages(%i : memref<?xi32>) : !v
  return
}

// A cast that forgets static information is of no use to a handle.
// CHECK-LABEL: func @forgetting_cast
// CHECK-SAME: (%[[D:[a-z0-9]+]]: memref<4x16x8x128xf8E4M3FN>, %[[G:[a-z0-9]+]]: memref<f32>
func.func @forgetting_cast(%d: memref<4x16x8x128xf8E4M3FN>, %g: memref<f32>, %i: memref<?xi32>) {
  // CHECK-NEXT: kvq.make_cache data(%[[D]] : memref<4x16x8x128xf8E4M3FN>) global_scale(%[[G]] : memref<f32>)
  %c = memref.cast %d : memref<4x16x8x128xf8E4M3FN> to memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
  %k = kvq.make_cache data(%c : memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>) global_scale(%g : memref<f32>) : !k8
  kvq.copy_pages from(%k) to(%k) src_pages(%i : memref<?xi32>) dst_pages(%i : memref<?xi32>) : !k8
  return
}

// A cast that asserts static information stays.
// CHECK-LABEL: func @asserting_cast
func.func @asserting_cast(%d: memref<?x?x?x?xf8E4M3FN>, %g: memref<f32>, %i: memref<?xi32>) {
  // CHECK: %[[C:.*]] = memref.cast
  // CHECK: kvq.make_cache data(%[[C]] : memref<?x16x8x128xf8E4M3FN>)
  %c = memref.cast %d : memref<?x?x?x?xf8E4M3FN> to memref<?x16x8x128xf8E4M3FN>
  %k = kvq.make_cache data(%c : memref<?x16x8x128xf8E4M3FN>) global_scale(%g : memref<f32>) : !k8
  kvq.copy_pages from(%k) to(%k) src_pages(%i : memref<?xi32>) dst_pages(%i : memref<?xi32>) : !k8
  return
}

// Parts of a handle that is made here: the memrefs themselves where the types
// agree, casts of them otherwise.
// CHECK-LABEL: func @parts
// CHECK-SAME: (%[[D:[a-z0-9]+]]: memref<4x16x8x128xf4E2M1FN>, %[[S:[a-z0-9]+]]: memref<?x16x8x8xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>, %[[G:[a-z0-9]+]]: memref<f32>)
func.func @parts(%d: memref<4x16x8x128xf4E2M1FN>, %s: !scales, %g: memref<f32>) -> (!data, !scales, memref<f32>) {
  %k = kvq.make_cache data(%d : memref<4x16x8x128xf4E2M1FN>) scales(%s : !scales) global_scale(%g : memref<f32>) : !k
  %pd = kvq.cache_data %k : !k -> !data
  %ps = kvq.cache_scales %k : !k -> !scales
  %pg = kvq.cache_global_scale %k : !k -> memref<f32>
  // CHECK-NEXT: %[[C:.*]] = memref.cast %[[D]] : memref<4x16x8x128xf4E2M1FN> to memref<?x16x8x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>
  // CHECK-NEXT: return %[[C]], %[[S]], %[[G]]
  return %pd, %ps, %pg : !data, !scales, memref<f32>
}

// Parts of a handle from elsewhere stay as they are.
// CHECK-LABEL: func @parts_of_argument
func.func @parts_of_argument(%k: !k) -> (!data, !scales, memref<f32>) {
  // CHECK: kvq.cache_data
  // CHECK: kvq.cache_scales
  // CHECK: kvq.cache_global_scale
  %pd = kvq.cache_data %k : !k -> !data
  %ps = kvq.cache_scales %k : !k -> !scales
  %pg = kvq.cache_global_scale %k : !k -> memref<f32>
  return %pd, %ps, %pg : !data, !scales, memref<f32>
}

// Unused accessors and handles have no effects; a write to a handle has.
// CHECK-LABEL: func @unused
func.func @unused(%d: memref<?x16x8x128xf8E4M3FN>, %g: memref<f32>, %x: memref<?x8x128xf32>, %slots: memref<?xi32>) {
  %k = kvq.make_cache data(%d : memref<?x16x8x128xf8E4M3FN>) global_scale(%g : memref<f32>) : !k8
  // CHECK-NEXT: kvq.make_cache
  // CHECK-NEXT: kvq.quantize_append
  // CHECK-NEXT: return
  %p = kvq.cache_data %k : !k8 -> memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
  kvq.quantize_append ins(%x : memref<?x8x128xf32>) into(%k : !k8) slot_mapping(%slots : memref<?xi32>)
  return
}

// -----

!t = tensor<2x16x8x8xf8E4M3FN>
!m = memref<2x16x8x8xf8E4M3FN>

// A conversion to the same layout is nothing on tensors, a copy on memrefs.
// CHECK-LABEL: func @same_layout
// CHECK-SAME: (%[[X:[a-z0-9]+]]: {{[^ ]*}} %{{.*}}: {{[^ ]*}} %[[M:[a-z0-9]+]]: {{[^ ]*}} %[[N:[a-z0-9]+]]: {{[^ ]*}}
func.func @same_layout(%x: !t, %y0: !t, %m: !m, %n: !m) -> !t {
  %y = kvq.convert_scale_layout ins(%x : !t) outs(%y0 : !t) from linear to linear NHD -> !t
  // CHECK-NEXT: memref.copy %[[M]], %[[N]]
  kvq.convert_scale_layout ins(%m : !m) outs(%n : !m) from linear to linear NHD
  // CHECK-NEXT: return %[[X]]
  return %y : !t
}

// There and back again is nothing.
// CHECK-LABEL: func @there_and_back
// CHECK-SAME: (%[[X:[a-z0-9]+]]: {{[^ ]*}}
func.func @there_and_back(%x: !t, %y0: !t) -> !t {
  %y = kvq.convert_scale_layout ins(%x : !t) outs(%y0 : !t) from linear to interleaved_4 NHD -> !t
  %z = kvq.convert_scale_layout ins(%y : !t) outs(%y0 : !t) from interleaved_4 to linear NHD -> !t
  // CHECK-NEXT: return %[[X]]
  return %z : !t
}

// Not on memrefs: the first one wrote the buffer.
// CHECK-LABEL: func @there_and_back_memref
func.func @there_and_back_memref(%x: !m, %y: !m, %z: !m) {
  // CHECK-NEXT: kvq.convert_scale_layout {{.*}} from linear to interleaved_4
  // CHECK-NEXT: kvq.convert_scale_layout {{.*}} from interleaved_4 to linear
  kvq.convert_scale_layout ins(%x : !m) outs(%y : !m) from linear to interleaved_4 NHD
  kvq.convert_scale_layout ins(%y : !m) outs(%z : !m) from interleaved_4 to linear NHD
  return
}

// -----

!t = tensor<2x128x8x8xf8E4M3FN>
!u = tensor<2x128x128x8xf8E4M3FN>

// Two conversions in a row are one.
// CHECK-LABEL: func @chain
// CHECK-SAME: (%[[X:[a-z0-9]+]]: {{[^ ]*}} %[[Y:[a-z0-9]+]]: {{[^ ]*}} %[[Z:[a-z0-9]+]]: {{[^ ]*}}
func.func @chain(%x: !t, %y0: !t, %z0: !t) -> !t {
  // CHECK-NEXT: %[[R:.*]] = kvq.convert_scale_layout ins(%[[X]] : {{.*}}) outs(%[[Z]] : {{.*}}) from interleaved_4 to blocked_128x4 NHD
  // CHECK-NEXT: return %[[R]]
  %y = kvq.convert_scale_layout ins(%x : !t) outs(%y0 : !t) from interleaved_4 to linear NHD -> !t
  %z = kvq.convert_scale_layout ins(%y : !t) outs(%z0 : !t) from linear to blocked_128x4 NHD -> !t
  return %z : !t
}

// Not where the second reads another layout than the first writes, or another
// order of the page.
// CHECK-LABEL: func @no_chain
func.func @no_chain(%x: !u, %y0: !u, %z0: !u) -> (!u, !u) {
  // CHECK: from interleaved_4 to linear NHD
  // CHECK: from blocked_128x4 to interleaved_4 NHD
  // CHECK: from linear to blocked_128x4 HND
  %y = kvq.convert_scale_layout ins(%x : !u) outs(%y0 : !u) from interleaved_4 to linear NHD -> !u
  %z = kvq.convert_scale_layout ins(%y : !u) outs(%z0 : !u) from blocked_128x4 to interleaved_4 NHD -> !u
  %w = kvq.convert_scale_layout ins(%y : !u) outs(%z0 : !u) from linear to blocked_128x4 HND -> !u
  return %z, %w : !u, !u
}

// -----

// Where the static types differ, a conversion to the same layout stays.
// CHECK-LABEL: func @same_layout_other_type
func.func @same_layout_other_type(%x: tensor<?x16x8x8xf8E4M3FN>, %y0: tensor<2x16x8x8xf8E4M3FN>) -> tensor<2x16x8x8xf8E4M3FN> {
  // CHECK: kvq.convert_scale_layout
  %y = kvq.convert_scale_layout ins(%x : tensor<?x16x8x8xf8E4M3FN>) outs(%y0 : tensor<2x16x8x8xf8E4M3FN>) from linear to linear NHD -> tensor<2x16x8x8xf8E4M3FN>
  return %y : tensor<2x16x8x8xf8E4M3FN>
}
