// RUN: kvq-opt %s --convert-kvq-to-gpu=chip=sm_100a --split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-insert-runtime-checks=device --convert-kvq-to-gpu=chip=sm_100a --split-input-file | FileCheck %s --check-prefix=CHECKED

!k = !kvq.cache<key, 16x2x128, nvfp4, HND, linear>
!v = !kvq.cache<value, 16x2x64, nvfp4, HND, interleaved_4>

// One launch for both sides of a layer: y is the side, and x is enough for the
// side with more to do, 16 threads a row.
// CHECK: #[[GRID:.*]] = affine_map<()[s0, s1, s2, s3] -> ((s2 * 16) ceildiv 256, 2, 1)>
// CHECK: gpu.func @[[NAME:quantize_append_nvfp4_16x2x128_HND_linear_rope_and_nvfp4_16x2x64_HND_interleaved_4]](
// CHECK-SAME: caches = [{prefix = "key_cache_", type = !kvq.cache<key, {{.*}}>}, {prefix = "value_cache_", type = !kvq.cache<value, {{.*}}>}]
// CHECK-SAME: grid = #[[GRID]]
// CHECK-SAME: name = "key_input"
// CHECK-SAME: name = "key_cos"
// CHECK-SAME: name = "value_input"
// Two blocks are stored together: on each side all lanes of a warp shuffle.
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<1>
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<1>
// CHECK-NOT: nvvm.shfl
// CHECK-NOT: gpu.func
// CHECK-LABEL: func.func @layer
// CHECK: gpu.launch_func @kvq_kernels::@[[NAME]]
// CHECK-NOT: gpu.launch_func
// CHECK: return

// The checks of both come first.
// CHECKED-LABEL: func.func @layer
// CHECKED-COUNT-4: call @kvq_check_size
// CHECKED-NOT: call @kvq_check_size
// CHECKED: gpu.launch_func
// CHECKED-NOT: gpu.launch_func
// CHECKED: call @kvq_check_error_word
// CHECKED-NOT: call @kvq_check_error_word
// CHECKED: return
func.func @layer(%x: memref<?x2x128xf16>, %y: memref<?x2x64xbf16>, %k: !k, %v: !v, %slots: memref<?xi32>,
                 %cos: memref<?x64xf32>) {
  kvq.quantize_append ins(%y : memref<?x2x64xbf16>) into(%v : !v) slot_mapping(%slots : memref<?xi32>)
  kvq.quantize_append ins(%x : memref<?x2x128xf16>) into(%k : !k) slot_mapping(%slots : memref<?xi32>)
      rope(%cos, %cos : memref<?x64xf32>, memref<?x64xf32>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x128, nvfp4, HND, linear>
!v = !kvq.cache<value, 16x2x128, nvfp4, HND, linear>
!w = !kvq.cache<value, 8x2x128, nvfp4, HND, linear>

// Appends stay apart that go to other slots, to one side, or to pages of
// another size, and where something between them touches memory.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-8: gpu.launch_func
// CHECK: return
func.func @apart(%x: memref<?x2x128xf16>, %k: !k, %l: !k, %v: !v, %w: !w, %slots: memref<?xi32>, %others: memref<?xi32>) {
  kvq.quantize_append ins(%x : memref<?x2x128xf16>) into(%k : !k) slot_mapping(%slots : memref<?xi32>)
  kvq.quantize_append ins(%x : memref<?x2x128xf16>) into(%v : !v) slot_mapping(%others : memref<?xi32>)
  %c0 = arith.constant 0 : index
  %0 = memref.load %slots[%c0] : memref<?xi32>
  kvq.quantize_append ins(%x : memref<?x2x128xf16>) into(%k : !k) slot_mapping(%slots : memref<?xi32>)
  kvq.quantize_append ins(%x : memref<?x2x128xf16>) into(%l : !k) slot_mapping(%slots : memref<?xi32>)
  %1 = memref.load %slots[%c0] : memref<?xi32>
  kvq.quantize_append ins(%x : memref<?x2x128xf16>) into(%k : !k) slot_mapping(%slots : memref<?xi32>)
  kvq.quantize_append ins(%x : memref<?x2x128xf16>) into(%w : !w) slot_mapping(%slots : memref<?xi32>)
  %2 = memref.load %slots[%c0] : memref<?xi32>
  kvq.quantize_append ins(%x : memref<?x2x128xf16>) into(%k : !k) slot_mapping(%slots : memref<?xi32>)
  memref.store %0, %slots[%c0] : memref<?xi32>
  kvq.quantize_append ins(%x : memref<?x2x128xf16>) into(%v : !v) slot_mapping(%slots : memref<?xi32>)
  return
}
