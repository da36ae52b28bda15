// RUN: kvq-opt %s --kvq-convert-cache-format='key-format=nvfp4 value-format=fp8' --split-input-file -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: kvq-opt %t.once --kvq-convert-cache-format='key-format=nvfp4 value-format=fp8' --split-input-file | diff %t.once -
// RUN: kvq-opt %s --kvq-convert-cache-format='value-format= scale-layout=undecided global-scale=one' --split-input-file | FileCheck %s --check-prefix=OTHER

!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!v = !kvq.cache<value, 16x2x64, bf16, NHD>
!pool = memref<4x?x16x2x64xbf16>
!layer = memref<?x16x2x64xbf16, strided<[2048, 128, 64, 1], offset: ?>>

// The layers of a pool, whose function makes the handle: the data keep their
// place, scales and a global scale come at the end, and the caller passes views
// of its own.
// CHECK-LABEL: func private @layer
// CHECK-SAME: (%[[D:.*]]: memref<?x16x2x64xf4E2M1FN, strided<[2048, 128, 64, 1], offset: ?>>, %[[V:.*]]: !kvq.cache<value, 16x2x64, fp8, NHD>, %[[X:.*]]: tensor<3x2x64xbf16>, {{.*}}, %[[S:.*]]: memref<?x16x2x4xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>, %[[G:.*]]: memref<f32>) -> tensor<1x64x2x64xbf16>
// CHECK: %[[K:.*]] = kvq.make_cache data(%[[D]] : {{.*}}) scales(%[[S]] : {{.*}}) global_scale(%[[G]] : memref<f32>) : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK: %[[GM:.*]] = kvq.cache_global_scale %[[K]]
// CHECK: %[[GV:.*]] = memref.load %[[GM]][]
// CHECK: %[[Q:.*]]:2 = kvq.quantize ins(%[[X]] : tensor<3x2x64xbf16>) global_scale(%[[GV]]) outs(%{{.*}}, %{{.*}} : tensor<3x2x64xf4E2M1FN>, tensor<3x2x4xf8E4M3FN>) {format = #kvq.format<nvfp4>}
// CHECK: kvq.append ins(%[[Q]]#0, %[[Q]]#1 : {{.*}}) into(%[[K]] : {{.*}}) slot_mapping
// CHECK: %[[QV:.*]] = kvq.quantize ins(%[[X]] {{.*}} {format = #kvq.format<fp8>}
// CHECK: kvq.append ins(%[[QV]] : tensor<3x2x64xf8E4M3FN>) into(%[[V]] :
// CHECK: %[[OUT:.*]] = tensor.empty() : tensor<1x64x2x64xbf16>
// CHECK: %[[R:.*]]:2 = kvq.gather cache(%[[K]] : {{.*}} -> tensor<1x64x2x64xf4E2M1FN>, tensor<1x64x2x4xf8E4M3FN>
// CHECK: %[[Y:.*]] = kvq.dequantize ins(%[[R]]#0, %[[R]]#1 : {{.*}}) global_scale(%{{.*}}) outs(%[[OUT]] : tensor<1x64x2x64xbf16>) {format = #kvq.format<nvfp4>} -> tensor<1x64x2x64xbf16>
// CHECK: return %[[Y]]
// CHECK-LABEL: func @main
// CHECK-SAME: (%[[P:.*]]: memref<4x?x16x2x64xf4E2M1FN>, %[[V:.*]]: !kvq.cache<value, 16x2x64, fp8, NHD>, {{.*}}, %[[N:.*]]: index, %[[PS:.*]]: memref<4x?x16x2x4xf8E4M3FN>, %[[G:.*]]: memref<f32>)
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[H:.*]] = %[[V]]) -> (!kvq.cache<value, 16x2x64, fp8, NHD>)
// CHECK: %[[L:.*]] = memref.subview %[[P]][%[[I]], 0, 0, 0, 0] [1, %[[N]], 16, 2, 64]
// CHECK: %[[LS:.*]] = memref.subview %[[PS]][%[[I]], 0, 0, 0, 0] [1, %[[N]], 16, 2, 4] [1, 1, 1, 1, 1] : memref<4x?x16x2x4xf8E4M3FN> to memref<?x16x2x4xf8E4M3FN, strided<[128, 8, 4, 1], offset: ?>>
// CHECK: %[[C:.*]] = memref.cast %[[LS]]
// CHECK: call @layer(%[[L]], %[[H]], {{.*}}, %[[C]], %[[G]])

// With no format for values they keep theirs. A handle that no public function
// takes may leave its layout open, and 1 is a constant.
// OTHER: memref.global "private" constant @kvq_global_scale : memref<f32> = dense<1.000000e+00>
// OTHER-LABEL: func private @layer
// OTHER: %[[G:.*]] = memref.get_global @kvq_global_scale : memref<f32>
// OTHER: kvq.make_cache {{.*}} global_scale(%[[G]] : memref<f32>) : !kvq.cache<key, 16x2x64, nvfp4, NHD, ?>
// OTHER: kvq.append {{.*}} !kvq.cache<value, 16x2x64, bf16, NHD>
// OTHER-LABEL: func @main
// OTHER-SAME: %[[PS:[a-z0-9]+]]: memref<4x?x16x2x4xf8E4M3FN>)
func.func private @layer(%kd: !layer, %v: !v, %x: tensor<3x2x64xbf16>, %slots: tensor<3xi32>, %bt: tensor<1x4xi32>, %len: tensor<1xi32>) -> tensor<1x64x2x64xbf16> {
  %k = kvq.make_cache data(%kd : !layer) : !k
  kvq.append ins(%x : tensor<3x2x64xbf16>) into(%k : !k) slot_mapping(%slots : tensor<3xi32>)
  kvq.append ins(%x : tensor<3x2x64xbf16>) into(%v : !v) slot_mapping(%slots : tensor<3xi32>)
  %e = tensor.empty() : tensor<1x64x2x64xbf16>
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<1x4xi32>) seq_lens(%len : tensor<1xi32>) outs(%e : tensor<1x64x2x64xbf16>) -> tensor<1x64x2x64xbf16>
  return %0 : tensor<1x64x2x64xbf16>
}
func.func @main(%pool: !pool, %v: !v, %x: tensor<3x2x64xbf16>, %slots: tensor<3xi32>, %bt: tensor<1x4xi32>, %len: tensor<1xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%h = %v) -> !v {
    %l = memref.subview %pool[%i, 0, 0, 0, 0] [1, %n, 16, 2, 64] [1, 1, 1, 1, 1] : !pool to !layer
    %0 = func.call @layer(%l, %h, %x, %slots, %bt, %len) : (!layer, !v, tensor<3x2x64xbf16>, tensor<3xi32>, tensor<1x4xi32>, tensor<1xi32>) -> tensor<1x64x2x64xbf16>
    scf.yield %h : !v
  }
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, HND>

// Through branches, selects and blocks; copies of pages. A handle that a public
// function takes has a layout that its callers know.
// CHECK-LABEL: func @flow
// CHECK-SAME: %[[A:.*]]: !kvq.cache<key, 16x2x64, nvfp4, HND, linear>, %[[B:.*]]: !kvq.cache<key, 16x2x64, nvfp4, HND, linear>
// CHECK: arith.select %{{.*}}, %[[A]], %[[B]] : !kvq.cache<key, 16x2x64, nvfp4, HND, linear>
// CHECK: scf.if {{.*}} -> (!kvq.cache<key, 16x2x64, nvfp4, HND, linear>)
// CHECK: cf.br ^bb1(%{{.*}} : !kvq.cache<key, 16x2x64, nvfp4, HND, linear>)
// CHECK: ^bb1(%[[H:.*]]: !kvq.cache<key, 16x2x64, nvfp4, HND, linear>)
// CHECK: kvq.copy_pages from(%[[H]]) to(%[[A]]) {{.*}} : !kvq.cache<key, 16x2x64, nvfp4, HND, linear>
// OTHER-LABEL: func @flow
// OTHER-SAME: !kvq.cache<key, 16x2x64, nvfp4, HND, linear>
func.func @flow(%a: !k, %b: !k, %c: i1, %pages: tensor<2xi32>) {
  %0 = arith.select %c, %a, %b : !k
  %1 = scf.if %c -> !k {
    scf.yield %0 : !k
  } else {
    scf.yield %b : !k
  }
  cf.br ^bb1(%1 : !k)
^bb1(%h: !k):
  kvq.copy_pages from(%h) to(%a) src_pages(%pages : tensor<2xi32>) dst_pages(%pages : tensor<2xi32>) : !k
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>

// Rows in memrefs: they are quantized where they are written, and read through a
// buffer.
// CHECK-LABEL: func @memrefs
// CHECK: kvq.quantize_append ins(%{{.*}} : memref<3x2x64xf16>) into(%{{.*}} : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>)
// CHECK: %[[N:.*]] = memref.dim %[[OUT:.*]], %{{.*}} : memref<1x?x2x64xf16>
// CHECK: %[[D:.*]] = memref.alloc(%[[N]]) : memref<1x?x2x64xf4E2M1FN>
// CHECK: %[[S:.*]] = memref.alloc(%[[N]]) : memref<1x?x2x4xf8E4M3FN>
// CHECK: kvq.gather {{.*}} outs(%[[D]], %[[S]] :
// CHECK: kvq.dequantize ins(%[[D]], %[[S]] : {{.*}}) global_scale(%{{.*}}) outs(%[[OUT]] : memref<1x?x2x64xf16>)
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func @memrefs(%k: !k, %x: memref<3x2x64xf16>, %slots: memref<3xi64>, %bt: memref<1x4xi32>, %len: memref<1xi32>, %out: memref<1x?x2x64xf16>) {
  kvq.append ins(%x : memref<3x2x64xf16>) into(%k : !k) slot_mapping(%slots : memref<3xi64>)
  kvq.gather cache(%k : !k) block_table(%bt : memref<1x4xi32>) seq_lens(%len : memref<1xi32>) outs(%out : memref<1x?x2x64xf16>)
  return
}

// -----

!v = !kvq.cache<value, 16x2x64, mxfp4, NHD, linear>
!d = tensor<3x2x64xf4E2M1FN>
!s = tensor<3x2x2xf8E8M0FNU>
!rd = tensor<1x64x2x64xf4E2M1FN>
!rs = tensor<1x64x2x2xf8E8M0FNU>

// From another quantized format: what was quantized to it is quantized to the
// new one, other rows are decoded first; what decoded rows decodes the new ones.
// CHECK-LABEL: func @requantize
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x2x64xf32>, %[[D:[a-z0-9]+]]: tensor<3x2x64xf4E2M1FN>, %[[S:[a-z0-9]+]]: tensor<3x2x2xf8E8M0FNU>
// CHECK-NOT: mxfp4
// CHECK: %[[Q:.*]] = kvq.quantize ins(%[[X]] : tensor<3x2x64xf32>) global_scale(%{{.*}}) {{.*}} {format = #kvq.format<fp8>, rounding = #kvq<rounding fast>}
// CHECK: kvq.append ins(%[[Q]] : tensor<3x2x64xf8E4M3FN>)
// CHECK: %[[Y:.*]] = kvq.dequantize ins(%[[D]], %[[S]] : {{.*}}) outs(%{{.*}} : tensor<3x2x64xf32>) {format = #kvq.format<mxfp4>}
// CHECK: %[[R:.*]] = kvq.quantize ins(%[[Y]] : tensor<3x2x64xf32>) global_scale(%{{.*}}) {{.*}} {format = #kvq.format<fp8>}
// CHECK: kvq.append ins(%[[R]] : tensor<3x2x64xf8E4M3FN>)
// CHECK: kvq.gather {{.*}} -> tensor<1x64x2x64xf8E4M3FN>
// CHECK: %[[O:.*]] = kvq.dequantize {{.*}} outs(%{{.*}} : tensor<1x64x2x64xbf16>) {format = #kvq.format<fp8>}
// CHECK: return %[[O]]
func.func @requantize(%x: tensor<3x2x64xf32>, %d: !d, %s: !s, %slots: tensor<3xi64>, %v: !v, %bt: tensor<1x4xi32>, %len: tensor<1xi32>, %rd: !rd, %rs: !rs, %out: tensor<1x64x2x64xbf16>) -> tensor<1x64x2x64xbf16> {
  %0:2 = kvq.quantize ins(%x : tensor<3x2x64xf32>) outs(%d, %s : !d, !s) {format = #kvq.format<mxfp4>, rounding = #kvq<rounding fast>} -> !d, !s
  kvq.append ins(%0#0, %0#1 : !d, !s) into(%v : !v) slot_mapping(%slots : tensor<3xi64>)
  kvq.append ins(%d, %s : !d, !s) into(%v : !v) slot_mapping(%slots : tensor<3xi64>)
  %1:2 = kvq.gather cache(%v : !v) block_table(%bt : tensor<1x4xi32>) seq_lens(%len : tensor<1xi32>) outs(%rd, %rs : !rd, !rs) -> !rd, !rs
  %2 = kvq.dequantize ins(%1#0, %1#1 : !rd, !rs) outs(%out : tensor<1x64x2x64xbf16>) {format = #kvq.format<mxfp4>} -> tensor<1x64x2x64xbf16>
  return %2 : tensor<1x64x2x64xbf16>
}

// -----

!k = !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
!v = !kvq.cache<value, 16x2x64, nvfp4, NHD, linear>

// What holds for the old formats alone is gone.
// CHECK-LABEL: func @fused
// CHECK: kvq.quantize_append {{.*}} {four_over_six}
// CHECK: kvq.quantize_append
// CHECK-NOT: four_over_six
// CHECK: kvq.dequant_attention {{.*}} outs(%{{.*}} : tensor<2x1x8x64xf32>) ->
func.func @fused(%k: !k, %v: !v, %x: tensor<3x2x64xf32>, %slots: tensor<3xi64>, %q: tensor<2x1x8x64xf32>, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32) -> tensor<2x1x8x64xf32> {
  kvq.quantize_append ins(%x : tensor<3x2x64xf32>) into(%k : !k) slot_mapping(%slots : tensor<3xi64>) {four_over_six}
  kvq.quantize_append ins(%x : tensor<3x2x64xf32>) into(%v : !v) slot_mapping(%slots : tensor<3xi64>) {four_over_six}
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x8x64xf32>) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : tensor<2x1x8x64xf32>) {qk = #kvq.mma_kind<block_scaled, terms = 2>, pv = #kvq.mma_kind<f16>} -> tensor<2x1x8x64xf32>
  return %0 : tensor<2x1x8x64xf32>
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

// Attributes say the format of a layer and its global scale; equal constants are
// one. An allocation gets scales beside it and a global scale of 1.
// CHECK-DAG: memref.global "private" constant @[[HALF:.*]] : memref<f32> = dense<5.000000e-01>
// CHECK-DAG: memref.global "private" constant @[[ONE:.*]] : memref<f32> = dense<1.000000e+00>
// CHECK-LABEL: func @attributes
// CHECK-SAME: (%[[A:.*]]: memref<?x16x2x64xf8E4M3FN>, %[[B:.*]]: memref<?x16x2x64xf4E2M1FN>, %[[N:.*]]: index, %[[BS:.*]]: memref<?x16x2x4xf8E4M3FN>)
// CHECK: %[[G:.*]] = memref.get_global @[[HALF]]
// CHECK: kvq.make_cache data(%[[A]] : {{.*}}) global_scale(%[[G]] : memref<f32>) {kvq.cache_format = "fp8", kvq.global_scale = 5.000000e-01 : f32} : !kvq.cache<key, 16x2x64, fp8, NHD>
// CHECK: %[[G:.*]] = memref.get_global @[[HALF]]
// CHECK: kvq.make_cache data(%[[B]] : {{.*}}) scales(%[[BS]] : {{.*}}) global_scale(%[[G]] : memref<f32>)
// CHECK: %[[D:.*]] = memref.alloc(%[[N]]) : memref<?x16x2x64xf4E2M1FN>
// CHECK: %[[ONEG:.*]] = memref.get_global @[[ONE]]
// CHECK: %[[S:.*]] = memref.alloc(%[[N]]) : memref<?x16x2x4xf8E4M3FN>
// CHECK: kvq.make_cache data(%[[D]] : {{.*}}) scales(%[[S]] : {{.*}}) global_scale(%[[ONEG]] : memref<f32>)
// CHECK: memref.dealloc %[[D]]
// CHECK: memref.dealloc %[[S]]
func.func @attributes(%a: memref<?x16x2x64xbf16>, %b: memref<?x16x2x64xbf16>, %n: index) {
  %0 = kvq.make_cache data(%a : memref<?x16x2x64xbf16>) {kvq.cache_format = "fp8", kvq.global_scale = 0.5 : f32} : !k
  %1 = kvq.make_cache data(%b : memref<?x16x2x64xbf16>) {kvq.global_scale = 0.5 : f32} : !k
  %c = memref.alloc(%n) : memref<?x16x2x64xbf16>
  %2 = kvq.make_cache data(%c : memref<?x16x2x64xbf16>) : !k
  memref.dealloc %c : memref<?x16x2x64xbf16>
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>

// A global scale that is there stays.
// CHECK-LABEL: func @keeps_global_scale
// CHECK-SAME: (%[[D:.*]]: memref<?x16x2x64xf4E2M1FN>, %[[G:.*]]: memref<f32>, %[[S:.*]]: memref<?x16x2x4xf8E4M3FN>)
// CHECK: kvq.make_cache data(%[[D]] : {{.*}}) scales(%[[S]] : {{.*}}) global_scale(%[[G]] : memref<f32>)
func.func @keeps_global_scale(%d: memref<?x16x2x64xf8E4M3FN>, %g: memref<f32>) {
  %0 = kvq.make_cache data(%d : memref<?x16x2x64xf8E4M3FN>) global_scale(%g : memref<f32>) : !k
  return
}
