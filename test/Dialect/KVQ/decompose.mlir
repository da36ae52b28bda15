// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-decompose,canonicalize,cse))' | FileCheck %s

!kn = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!kh = !kvq.cache<key, 16x8x128, nvfp4, HND, linear>
!vh = !kvq.cache<value, 16x8x128, nvfp4, HND, interleaved_4>
!vb = !kvq.cache<value, 128x8x128, nvfp4, NHD, blocked_128x4>
!k8 = !kvq.cache<key, 16x8x128, fp8, NHD>

// The largest magnitude is taken on bits, so that NaN drops out.
// CHECK-LABEL: func @quantize(
// CHECK-SAME:    %[[X:.*]]: memref<7x64xf16>, %[[G:.*]]: f32, %[[D:.*]]: memref<7x64xf4E2M1FN>, %[[S:.*]]: memref<7x4xf8E4M3FN>
func.func @quantize(%x: memref<7x64xf16>, %g: f32, %d: memref<7x64xf4E2M1FN>, %s: memref<7x4xf8E4M3FN>) {
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C4:.*]] = arith.constant 4 : index
  // CHECK-DAG: %[[C7:.*]] = arith.constant 7 : index
  // CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
  // CHECK: scf.for %[[ROW:.*]] = %[[C0]] to %[[C7]]
  // CHECK:   scf.for %[[BLOCK:.*]] = %[[C0]] to %[[C4]]
  // CHECK:     %[[BEGIN:.*]] = arith.muli %[[BLOCK]], %[[C16]]
  // CHECK:     %[[END:.*]] = arith.addi %[[BEGIN]], %[[C16]]
  // CHECK:     scf.for %{{.*}} = %[[BEGIN]] to %[[END]] {{.*}} -> (i32)
  // CHECK:       arith.extf {{.*}} : f16 to f32
  // CHECK:       arith.maxui
  // CHECK:     %[[SCALE:.*]] = arith.truncf {{.*}} : f32 to f8E4M3FN
  // CHECK:     memref.store %[[SCALE]], %[[S]][%[[ROW]], %[[BLOCK]]]
  // CHECK:     scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]]
  // CHECK:       %[[E:.*]] = arith.truncf {{.*}} : f32 to f4E2M1FN
  // CHECK:       memref.store %[[E]], %[[D]][%[[ROW]], %[[I]]]
  kvq.quantize ins(%x : memref<7x64xf16>) global_scale(%g) outs(%d, %s : memref<7x64xf4E2M1FN>, memref<7x4xf8E4M3FN>) {format = #kvq.format<nvfp4>}
  return
}

// Two candidates, of which the second one must be better.
// CHECK-LABEL: func @four_over_six
func.func @four_over_six(%x: memref<?x64xf32>, %g: f32, %d: memref<?x64xf4E2M1FN>, %s: memref<?x4xf8E4M3FN>) {
  // CHECK: %[[SIX:.*]] = arith.truncf {{.*}} : f32 to f8E4M3FN
  // CHECK: %[[FOUR:.*]] = arith.truncf {{.*}} : f32 to f8E4M3FN
  // CHECK: %[[ERROR6:.*]] = scf.for
  // CHECK:   arith.extf %[[SIX]]
  // CHECK: %[[ERROR4:.*]] = scf.for
  // CHECK:   arith.extf %[[FOUR]]
  // CHECK: %[[BETTER:.*]] = arith.cmpf olt, %[[ERROR4]], %[[ERROR6]]
  // CHECK: arith.select %[[BETTER]], %[[FOUR]], %[[SIX]] : f8E4M3FN
  kvq.quantize ins(%x : memref<?x64xf32>) global_scale(%g) outs(%d, %s : memref<?x64xf4E2M1FN>, memref<?x4xf8E4M3FN>) {format = #kvq.format<nvfp4>, four_over_six}
  return
}

// CHECK-LABEL: func @dequantize
func.func @dequantize(%d: memref<4x128xf4E2M1FN>, %s: memref<4x4xf8E8M0FNU>, %y: memref<4x128xf16>) {
  // CHECK: scf.for %[[ROW:[^ ]*]]
  // CHECK:   scf.for %[[I:[^ ]*]]
  // CHECK:     %[[BLOCK:.*]] = arith.divui %[[I]], %c32
  // CHECK:     memref.load %{{.*}}[%[[ROW]], %[[BLOCK]]] : memref<4x4xf8E8M0FNU>
  // CHECK:     memref.load %{{.*}}[%[[ROW]], %[[I]]] : memref<4x128xf4E2M1FN>
  // CHECK:     arith.truncf {{.*}} : f32 to f16
  kvq.dequantize ins(%d, %s : memref<4x128xf4E2M1FN>, memref<4x4xf8E8M0FNU>) outs(%y : memref<4x128xf16>) {format = #kvq.format<mxfp4>}
  return
}

// CHECK-LABEL: func @convert_scale_layout
// CHECK-SAME:    %[[S:.*]]: memref<?x16x8x8xf8E4M3FN>, %[[T:.*]]: memref<?x16x8x8xf8E4M3FN>
func.func @convert_scale_layout(%s: memref<?x16x8x8xf8E4M3FN>, %t: memref<?x16x8x8xf8E4M3FN>) {
  // CHECK: scf.for %[[PAGE:[^ ]*]] = %c0 to %dim
  // CHECK:   scf.for %[[HEAD:[^ ]*]] = %c0 to %c8
  // CHECK:     scf.for %[[ROW:[^ ]*]] = %c0 to %c16
  // CHECK:       scf.for %[[COLUMN:[^ ]*]] = %c0 to %c8
  // CHECK:         %[[SCALE:.*]] = memref.load %[[S]][%[[PAGE]], %[[ROW]], %[[HEAD]], %[[COLUMN]]]
  // CHECK:         %[[TO_ROW:.*]] = arith.divui %{{.*}}, %c8
  // CHECK:         %[[TO_COLUMN:.*]] = arith.remui %{{.*}}, %c8
  // CHECK:         memref.store %[[SCALE]], %[[T]][%[[PAGE]], %[[TO_ROW]], %[[HEAD]], %[[TO_COLUMN]]]
  kvq.convert_scale_layout ins(%s : memref<?x16x8x8xf8E4M3FN>) outs(%t : memref<?x16x8x8xf8E4M3FN>) from linear to interleaved_4 NHD
  return
}

// Padding is skipped, and scales go where the layout keeps them.
// CHECK-LABEL: func @append
// CHECK-SAME:    %[[K:.*]]: !kvq.cache
func.func @append(%k: !vb, %d: memref<?x8x128xf4E2M1FN>, %s: memref<?x8x8xf8E4M3FN>, %slots: memref<?xi64>) {
  // CHECK-DAG: %[[DATA:.*]] = kvq.cache_data %[[K]]
  // CHECK-DAG: %[[SCALES:.*]] = kvq.cache_scales %[[K]]
  // CHECK: scf.for %[[ROW:[^ ]*]]
  // CHECK:   %[[SLOT:.*]] = arith.index_cast {{.*}} : i64 to index
  // CHECK:   %[[IS_ROW:.*]] = arith.cmpi sge, %[[SLOT]], %c0
  // CHECK:   scf.if %[[IS_ROW]] {
  // CHECK:     %[[PAGE:.*]] = arith.divui %[[SLOT]], %c128
  // CHECK:     %[[OFFSET:.*]] = arith.remui %[[SLOT]], %c128
  // CHECK:     memref.store %{{.*}}, %[[DATA]][%[[PAGE]], %[[OFFSET]], %{{.*}}, %{{.*}}]
  // CHECK:     arith.remui %[[OFFSET]], %c32
  // CHECK:     memref.store %{{.*}}, %[[SCALES]][%[[PAGE]], %{{.*}}, %{{.*}}, %{{.*}}]
  // CHECK:   }
  kvq.append ins(%d, %s : memref<?x8x128xf4E2M1FN>, memref<?x8x8xf8E4M3FN>) into(%k : !vb) slot_mapping(%slots : memref<?xi64>)
  return
}

// The table is read for rows that are not padding only.
// CHECK-LABEL: func @quantize_append
func.func @quantize_append(%k: !k8, %x: memref<?x8x128xbf16>, %bt: memref<?x?xi32>, %pos: memref<?xi32>, %bi: memref<?xi32>) {
  // CHECK: %[[GM:.*]] = kvq.cache_global_scale
  // CHECK: memref.load %[[GM]][]
  // CHECK: scf.for %[[ROW:[^ ]*]]
  // CHECK:   memref.load %{{.*}}[%[[ROW]]] : memref<?xi32>
  // CHECK:   %[[POSITION:.*]] = arith.index_cast
  // CHECK:   scf.if
  // CHECK:     memref.load %{{.*}}[%[[ROW]]] : memref<?xi32>
  // CHECK:     %[[SEQUENCE:.*]] = arith.index_cast
  // CHECK:     %[[ENTRY:.*]] = arith.divui %[[POSITION]], %c16
  // CHECK:     memref.load %{{.*}}[%[[SEQUENCE]], %[[ENTRY]]] : memref<?x?xi32>
  // CHECK:     arith.truncf {{.*}} : f32 to f8E4M3FN
  kvq.quantize_append ins(%x : memref<?x8x128xbf16>) into(%k : !k8) block_table(%bt : memref<?x?xi32>) positions(%pos : memref<?xi32>) batch_indices(%bi : memref<?xi32>)
  return
}

// The channels below 32 rotate, in pairs of neighbours.
// CHECK-LABEL: func @rope
func.func @rope(%k: !k8, %x: memref<?x8x128xbf16>, %slots: memref<?xi32>, %cos: memref<?x16xf32>, %sin: memref<?x16xf32>) {
  // CHECK: arith.cmpi slt, %{{.*}}, %c32
  // CHECK: scf.if %{{.*}} -> (f32) {
  // CHECK:   %[[PAIR:.*]] = arith.divui %{{.*}}, %c2
  // CHECK:   %[[FIRST:.*]] = arith.muli %[[PAIR]], %c2
  // CHECK:   %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1
  // CHECK:   memref.load %{{.*}}[%{{.*}}, %{{.*}}, %[[FIRST]]] : memref<?x8x128xbf16>
  // CHECK:   memref.load %{{.*}}[%{{.*}}, %{{.*}}, %[[SECOND]]] : memref<?x8x128xbf16>
  // CHECK:   memref.load %{{.*}}[%{{.*}}, %[[PAIR]]] : memref<?x16xf32>
  // CHECK:   memref.load %{{.*}}[%{{.*}}, %[[PAIR]]] : memref<?x16xf32>
  // CHECK: } else {
  // CHECK:   memref.load %{{.*}} : memref<?x8x128xbf16>
  kvq.quantize_append ins(%x : memref<?x8x128xbf16>) into(%k : !k8) slot_mapping(%slots : memref<?xi32>) rope(%cos, %sin : memref<?x16xf32>, memref<?x16xf32>) {rope_style = #kvq<rope_style interleaved>}
  return
}

// A handle that is made here is looked through.
// CHECK-LABEL: func @copy_pages
// CHECK-SAME:    %[[D:.*]]: memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
func.func @copy_pages(%d: memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>, %g: memref<f32>, %i: memref<?xi32>, %j: memref<?xi32>) {
  // CHECK-NOT: kvq.
  // CHECK: %[[V:.*]] = memref.load %[[D]]
  // CHECK: memref.store %[[V]], %[[D]]
  %k = kvq.make_cache data(%d : memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>) global_scale(%g : memref<f32>) : !k8
  kvq.copy_pages from(%k) to(%k) src_pages(%i : memref<?xi32>) dst_pages(%j : memref<?xi32>) : !k8
  return
}

// CHECK-LABEL: func @gather
func.func @gather(%k: !kn, %bt: memref<?x?xi32>, %len: memref<?xi32>, %d: memref<?x?x8x128xf4E2M1FN>, %s: memref<?x?x8x8xf8E4M3FN>) {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f4E2M1FN
  // CHECK-DAG: %[[ZERO_SCALE:.*]] = arith.constant 0.000000e+00 : f8E4M3FN
  // CHECK: %[[COVERED:.*]] = arith.cmpi slt
  // CHECK: scf.if %[[COVERED]] {
  // CHECK:   memref.load {{.*}} : memref<?x?xi32>
  // CHECK: } else {
  // CHECK-NOT: memref.load
  // CHECK:   memref.store %[[ZERO]],
  // CHECK:   memref.store %[[ZERO_SCALE]],
  kvq.gather cache(%k : !kn) block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>) outs(%d, %s : memref<?x?x8x128xf4E2M1FN>, memref<?x?x8x8xf8E4M3FN>)
  return
}

// Masked keys are not loaded.
// CHECK-LABEL: func @attention
func.func @attention(%q: memref<2x1x8x64xf16>, %k: memref<2x?x2x64xf32>, %v: memref<2x?x2x32xf32>, %len: memref<2xi32>, %scale: f32, %mask: memref<1x8x1x?xi1>, %o: memref<2x1x8x32xf16>) {
  // CHECK: %[[SUMS:.*]] = memref.alloc() : memref<32xf64>
  // CHECK: %[[LARGEST:.*]] = scf.for
  // CHECK:   %[[ADMITTED:.*]] = memref.load {{.*}} : memref<1x8x1x?xi1>
  // CHECK:   scf.if %[[ADMITTED]] -> (f64) {
  // CHECK:     memref.load {{.*}} : memref<2x?x2x64xf32>
  // CHECK:   } else {
  // CHECK-NOT: memref.load
  // CHECK: %[[DENOMINATOR:.*]] = scf.for
  // CHECK:   scf.if
  // CHECK:     memref.load {{.*}} : memref<2x?x2x64xf32>
  // CHECK:     math.exp
  // CHECK:     memref.load {{.*}} : memref<2x?x2x32xf32>
  // CHECK:     memref.store %{{.*}}, %[[SUMS]]
  // CHECK: memref.dealloc %[[SUMS]]
  kvq.attention ins(%q, %k, %v : memref<2x1x8x64xf16>, memref<2x?x2x64xf32>, memref<2x?x2x32xf32>) seq_lens(%len : memref<2xi32>) scale(%scale) mask(%mask : memref<1x8x1x?xi1>) outs(%o : memref<2x1x8x32xf16>)
  return
}

// Position, window and chunk bound the loop over keys.
// CHECK-LABEL: func @dequant_attention
func.func @dequant_attention(%q: memref<?x32x128xbf16>, %k: !kh, %v: !vh, %bt: memref<?x?xi32>, %len: memref<?xi32>, %qo: memref<?xi32>,
    %scale: f32, %sinks: memref<32xf32>, %o: memref<4x?x32x128xf32>, %lse: memref<4x?x32xf32>) {
  // CHECK: scf.for
  // CHECK:   %[[LENGTH:.*]] = arith.index_cast
  // CHECK:   %[[COUNT:.*]] = arith.subi
  // CHECK:   scf.for %[[QUERY:[^ ]*]] = %c0 to %[[COUNT]]
  // CHECK:     %[[FIRST:.*]] = arith.subi %[[LENGTH]], %[[COUNT]]
  // CHECK:     %[[POSITION:.*]] = arith.addi %[[FIRST]], %[[QUERY]]
  // CHECK:     scf.for %[[HEAD:[^ ]*]] = %c0 to %c32
  // CHECK:       %[[KV_HEAD:.*]] = arith.divui %[[HEAD]], %c4
  // CHECK:       arith.subi %[[POSITION]], %c7
  // CHECK:       arith.maxsi
  // CHECK:       arith.addi %[[POSITION]], %c1
  // CHECK:       arith.minsi
  // CHECK:       scf.for %[[CHUNK:[^ ]*]] = %c0 to %c4
  // CHECK:         arith.muli %[[CHUNK]], %c256
  // CHECK:         %[[BEGIN:.*]] = arith.maxsi
  // CHECK:         %[[END:.*]] = arith.minsi
  // CHECK:         %[[SINK:.*]] = arith.select
  // CHECK:         scf.for %{{.*}} = %[[BEGIN]] to %[[END]] {{.*}} iter_args(%{{.*}} = %[[SINK]]) -> (f64)
  // CHECK:           math.tanh
  // CHECK:         scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
  // CHECK:         math.log
  kvq.dequant_attention ins(%q : memref<?x32x128xbf16>) caches(%k, %v : !kh, !vh)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>) qo_indptr(%qo : memref<?xi32>) scale(%scale) sinks(%sinks : memref<32xf32>)
      outs(%o, %lse : memref<4x?x32x128xf32>, memref<4x?x32xf32>)
      {options = #kvq.attention<causal, window_left = 7, softcap = 3.0e1>, kv_split = 256}
  return
}

// CHECK-LABEL: func @merge_states
func.func @merge_states(%po: memref<4x?x32x128xf32>, %pl: memref<4x?x32xf32>, %o: memref<?x32x128xbf16>, %lse: memref<?x32xf32>) {
  // CHECK: %[[LARGEST:.*]] = scf.for %{{.*}} = %c0 to %c4
  // CHECK: %[[DENOMINATOR:.*]] = scf.for %{{.*}} = %c0 to %c4
  // CHECK: scf.for %{{.*}} = %c0 to %c128
  // CHECK:   %[[NUMERATOR:.*]] = scf.for %{{.*}} = %c0 to %c4
  // CHECK:   arith.divf %[[NUMERATOR]], %[[DENOMINATOR]]
  // CHECK:   arith.truncf {{.*}} : f32 to bf16
  // CHECK: math.log %[[DENOMINATOR]]
  kvq.merge_states ins(%po, %pl : memref<4x?x32x128xf32>, memref<4x?x32xf32>) outs(%o, %lse : memref<?x32x128xbf16>, memref<?x32xf32>)
  return
}
