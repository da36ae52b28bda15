// RUN: kvq-opt %s --kvq-insert-runtime-checks --split-input-file | FileCheck %s

!k = !kvq.cache<key, 16x2x32, nvfp4, NHD, linear>

// The operation runs if its checks pass; the function returns the status.
// CHECK-LABEL: func @quantize_append
// CHECK-SAME: -> i32
// CHECK: %[[STATUS:.*]] = memref.alloca() : memref<i32>
// CHECK: memref.store %{{.*}}, %[[STATUS]][]
// CHECK: %[[S0:.*]] = memref.load %[[STATUS]][]
// CHECK: %[[S1:.*]] = scf.if %{{.*}} -> (i32) {
// CHECK:   %[[G:.*]] = kvq.cache_global_scale
// CHECK:   func.call @kvq_check_global_scale(%[[G]])
// CHECK: } else {
// CHECK:   scf.yield %[[S0]]
// CHECK: scf.if
// CHECK:   func.call @kvq_check_size
// CHECK: %[[LAST:.*]] = scf.if
// CHECK:   %[[PAGES:.*]] = memref.dim
// CHECK:   arith.muli
// CHECK:   func.call @kvq_check_slots_i32
// CHECK: memref.store %[[LAST]], %[[STATUS]][]
// CHECK: %[[OK:.*]] = arith.cmpi eq, %[[LAST]]
// CHECK: scf.if %[[OK]] {
// CHECK-NEXT: kvq.quantize_append
// CHECK: %[[END:.*]] = memref.load %[[STATUS]][]
// CHECK: return %[[END]] : i32
func.func @quantize_append(%x: memref<?x2x32xf32>, %k: !k, %slots: memref<?xi32>) {
  kvq.quantize_append ins(%x : memref<?x2x32xf32>) into(%k : !k) slot_mapping(%slots : memref<?xi32>)
  return
}

// CHECK-LABEL: func @rope
// CHECK-COUNT-3: func.call @kvq_check_size
// CHECK: kvq.quantize_append
func.func @rope(%x: memref<?x2x32xf32>, %k: !k, %slots: memref<?xi32>, %cos: memref<?x16xf32>, %sin: memref<?x16xf32>) {
  kvq.quantize_append ins(%x : memref<?x2x32xf32>) into(%k : !k) slot_mapping(%slots : memref<?xi32>) rope(%cos, %sin : memref<?x16xf32>, memref<?x16xf32>)
  return
}

// CHECK: func @kvq_report
// CHECK-SAME: #llvm.linkage<weak>
// CHECK: func private @kvq_check_slots_i32
// CHECK-SAME: #llvm.linkage<internal>

// -----

// Sizes that are static on both sides need no check, but the operation does
// not run after one that failed.
// CHECK-LABEL: func @static
// CHECK-NOT: kvq_check
// CHECK: scf.if
// CHECK-NEXT: kvq.merge_states
func.func @static(%p: memref<4x3x8x64xf32>, %l: memref<4x3x8xf32>, %o: memref<3x8x64xf32>) {
  kvq.merge_states ins(%p, %l : memref<4x3x8x64xf32>, memref<4x3x8xf32>) outs(%o : memref<3x8x64xf32>)
  return
}

// CHECK-NOT: kvq_report

// -----

!k = !kvq.cache<key, 16x2x32, fp8, NHD>

// Callers merge the status of what they call, and return it too.
// CHECK-LABEL: func private @callee
// CHECK-SAME: -> (f32, i32)
func.func private @callee(%d: memref<?x2x32xf8E4M3FN>, %k: !k, %slots: memref<?xi64>, %f: f32) -> f32 {
  // CHECK: func.call @kvq_check_slots_i64
  kvq.append ins(%d : memref<?x2x32xf8E4M3FN>) into(%k : !k) slot_mapping(%slots : memref<?xi64>)
  // CHECK: return %{{.*}}, %{{.*}} : f32, i32
  return %f : f32
}

// CHECK-LABEL: func @caller
// CHECK-SAME: -> (f32, i32)
func.func @caller(%d: memref<?x2x32xf8E4M3FN>, %k: !k, %slots: memref<?xi64>, %f: f32) -> f32 {
  // CHECK: %[[CALL:.*]]:2 = call @callee
  // CHECK: %[[MERGED:.*]] = arith.select %{{.*}}, %[[CALL]]#1
  // CHECK: memref.store %[[MERGED]]
  %r = call @callee(%d, %k, %slots, %f) : (memref<?x2x32xf8E4M3FN>, !k, memref<?xi64>, f32) -> f32
  // CHECK: return %[[CALL]]#0, %{{.*}} : f32, i32
  return %r : f32
}

// CHECK-LABEL: func @untouched
// CHECK-SAME: (%{{.*}}: f32) -> f32
func.func @untouched(%f: f32) -> f32 {
  return %f : f32
}

// -----

!k = !kvq.cache<key, 16x2x32, fp8, NHD>

// A call without results is left out after an error.
func.func private @callee(%d: memref<?x2x32xf8E4M3FN>, %k: !k, %slots: memref<?xi64>) {
  kvq.append ins(%d : memref<?x2x32xf8E4M3FN>) into(%k : !k) slot_mapping(%slots : memref<?xi64>)
  return
}

// CHECK-LABEL: func @caller
// CHECK: scf.if
// CHECK: func.call @callee
// CHECK: scf.if
// CHECK: func.call @callee
func.func @caller(%d: memref<?x2x32xf8E4M3FN>, %k: !k, %slots: memref<?xi64>) {
  call @callee(%d, %k, %slots) : (memref<?x2x32xf8E4M3FN>, !k, memref<?xi64>) -> ()
  call @callee(%d, %k, %slots) : (memref<?x2x32xf8E4M3FN>, !k, memref<?xi64>) -> ()
  return
}

// -----

!k = !kvq.cache<key, 16x2x32, fp8, NHD>
!v = !kvq.cache<value, 16x2x32, fp8, NHD>

// CHECK-LABEL: func @dequant_attention
// CHECK-COUNT-2: func.call @kvq_check_global_scale
// CHECK: func.call @kvq_check_size
// CHECK: func.call @kvq_check_indptr
// CHECK: arith.minsi
// CHECK: func.call @kvq_check_block_table
// CHECK: func.call @kvq_check_kv_chunks
func.func @dequant_attention(%q: memref<?x4x32xf32>, %k: !k, %v: !v, %bt: memref<?x?xi32>, %len: memref<?xi32>, %qo: memref<?xi32>, %s: f32, %o: memref<?x?x4x32xf32>, %l: memref<?x?x4xf32>) {
  kvq.dequant_attention ins(%q : memref<?x4x32xf32>) caches(%k, %v : !k, !v) block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      qo_indptr(%qo : memref<?xi32>) scale(%s) outs(%o, %l : memref<?x?x4x32xf32>, memref<?x?x4xf32>) {kv_split = 64 : i64}
  return
}

// CHECK-LABEL: func @copy_pages
// Two arguments are distinct pools: page numbers of one say nothing of the other.
// CHECK-COUNT-2: func.call @kvq_check_pages
// CHECK: func.call @kvq_check_duplicate_pages
// CHECK-NOT: kvq_check_disjoint_pages
// CHECK: func.call @kvq_check_same_global_scale
func.func @copy_pages(%a: !k, %b: !k, %i: memref<3xi32>, %j: memref<3xi32>) {
  kvq.copy_pages from(%a) to(%b) src_pages(%i : memref<3xi32>) dst_pages(%j : memref<3xi32>) : !k
  return
}

// CHECK-LABEL: func @copy_pages_in_place
// CHECK: func.call @kvq_check_disjoint_pages
// CHECK-NOT: kvq_check_same_global_scale
// CHECK: return
func.func @copy_pages_in_place(%a: !k, %i: memref<3xi32>, %j: memref<3xi32>) {
  kvq.copy_pages from(%a) to(%a) src_pages(%i : memref<3xi32>) dst_pages(%j : memref<3xi32>) : !k
  return
}

// CHECK-LABEL: func @copy_pages_may_alias
// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: func.call @kvq_check_disjoint_pages
func.func @copy_pages_may_alias(%a: !k {kvq.may_alias}, %b: !k, %i: memref<3xi32>, %j: memref<3xi32>) {
  kvq.copy_pages from(%a) to(%b) src_pages(%i : memref<3xi32>) dst_pages(%j : memref<3xi32>) : !k
  return
}

// CHECK-LABEL: func @gather
// CHECK: func.call @kvq_check_block_table
// CHECK: func.call @kvq_check_max_len
func.func @gather(%k: !k, %bt: memref<?x?xi32>, %len: memref<?xi32>, %d: memref<?x?x2x32xf8E4M3FN>) {
  kvq.gather cache(%k : !k) block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>) outs(%d : memref<?x?x2x32xf8E4M3FN>)
  return
}

// CHECK-LABEL: func @positions
// CHECK: func.call @kvq_check_positions_batched
// CHECK: func.call @kvq_check_positions(
func.func @positions(%k: !k, %d: memref<?x2x32xf8E4M3FN>, %bt: memref<?x?xi32>, %p: memref<?xi32>, %b: memref<?xi32>) {
  kvq.append ins(%d : memref<?x2x32xf8E4M3FN>) into(%k : !k) block_table(%bt : memref<?x?xi32>) positions(%p : memref<?xi32>) batch_indices(%b : memref<?xi32>)
  kvq.append ins(%d : memref<?x2x32xf8E4M3FN>) into(%k : !k) block_table(%bt : memref<?x?xi32>) positions(%p : memref<?xi32>)
  return
}

// CHECK-LABEL: func @layouts
// A page of a dynamic number of tokens must be a multiple of 4 of them.
// CHECK: arith.divui
// CHECK: func.call @kvq_check_size
func.func @layouts(%a: memref<?x?x2x4xf8E4M3FN>, %b: memref<?x?x2x4xf8E4M3FN>) {
  kvq.convert_scale_layout ins(%a : memref<?x?x2x4xf8E4M3FN>) outs(%b : memref<?x?x2x4xf8E4M3FN>) from linear to interleaved_4 NHD
  return
}

// CHECK-LABEL: func @quantize_in_loop
// CHECK-DAG: memref.alloca() : memref<i32>
// CHECK-DAG: memref.alloca() : memref<f32>
// CHECK: scf.for
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @quantize_in_loop(%x: memref<3x32xf32>, %g: f32, %d: memref<3x32xf8E4M3FN>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    kvq.quantize ins(%x : memref<3x32xf32>) global_scale(%g) outs(%d : memref<3x32xf8E4M3FN>) {format = #kvq.format<fp8>}
  }
  return
}

// -----

// The lengths of the whole go past a part, but none is negative.
// CHECK-LABEL: func @part_of_attention
// CHECK: %[[MOST:.*]] = arith.constant 2147483647 : i64
// CHECK: func.call @kvq_check_max_len(%{{.*}}, %[[MOST]])
// CHECK: kvq.attention
func.func @part_of_attention(%q: memref<2x3x8x64xf32>, %k: memref<2x5x2x64xf32>, %len: memref<2xi32>, %scale: f32, %first: index, %o: memref<2x3x8x64xf32>) {
  kvq.attention ins(%q, %k, %k : memref<2x3x8x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) seq_lens(%len : memref<2xi32>) scale(%scale) kv_offset(%first) outs(%o : memref<2x3x8x64xf32>)
  return
}
