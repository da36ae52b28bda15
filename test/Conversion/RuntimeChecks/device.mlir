// RUN: kvq-opt %s --kvq-insert-runtime-checks=device | FileCheck %s

// What the host need not be able to read is left to the kernels: sizes and
// scalars are checked, tables and global scales in memory are not.

// CHECK-LABEL: func.func @append
// CHECK: %[[WORD:.*]] = gpu.alloc host_shared () {bufferization.manual_deallocation, kvq.error_word} : memref<4xi64>
// CHECK-COUNT-4: memref.store %{{.*}}, %[[WORD]]
// CHECK-NOT: @kvq_check_slots
// CHECK-NOT: @kvq_check_global_scale
// CHECK: call @kvq_check_size
// CHECK-NOT: @kvq_check_slots
// CHECK-NOT: @kvq_check_global_scale
// CHECK: scf.if
// CHECK-NEXT: kvq.quantize_append
// CHECK: %[[CAST:.*]] = memref.cast %[[WORD]]
// CHECK-NEXT: %[[STATUS:.*]] = func.call @kvq_check_error_word(%[[CAST]])
// CHECK-NEXT: memref.store %[[STATUS]]
func.func @append(%x: memref<?x8x128xf16>, %slots: memref<?xi32>,
                  %k: !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>) {
  kvq.quantize_append ins(%x : memref<?x8x128xf16>)
      into(%k : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>)
      slot_mapping(%slots : memref<?xi32>)
  return
}

// CHECK-LABEL: func.func @dequantize
// CHECK: call @kvq_check_global_scale
// CHECK: kvq.dequantize
func.func @dequantize(%d: memref<4x32xf8E4M3FN>, %g: f32, %o: memref<4x32xf32>) {
  kvq.dequantize ins(%d : memref<4x32xf8E4M3FN>) global_scale(%g)
      outs(%o : memref<4x32xf32>) {format = #kvq.format<fp8>}
  return
}
