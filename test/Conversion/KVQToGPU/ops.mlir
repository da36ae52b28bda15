// RUN: kvq-opt %s --convert-kvq-to-gpu=chip=sm_100a | FileCheck %s
// RUN: kvq-opt %s --convert-kvq-to-gpu="chip=sm_90 features=+ptx85" | FileCheck %s --check-prefix=OTHER

// One kernel for equal operations, with a target and a signature. Sizes and
// strides that the types give are no parameters.
// CHECK: #[[GRID:.*]] = affine_map<()[s0] -> ((s0 * 64) ceildiv 256, 1, 1)>
// CHECK: module attributes {gpu.container_module}
// CHECK: gpu.module @kvq_kernels [#nvvm.target<O = 3, chip = "sm_100a", features = "+ptx88">]
// OTHER: gpu.module @kvq_kernels [#nvvm.target<O = 3, chip = "sm_90", features = "+ptx85">]
// CHECK: gpu.func @dequantize_nvfp4(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i32, %{{.*}}: f32) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-SAME: kvq.kernel = {block = array<i32: 256, 1, 1>, grid = #[[GRID]], operation = "kvq.dequantize",
// CHECK-SAME: {align = 1 : i64, kind = "pointer", name = "data", read, type = memref<
// CHECK-SAME: {align = 4 : i64, kind = "pointer", name = "output", type = memref<?x
// CHECK-SAME: {align = 8 : i64, kind = "error_word", name = "error_word", read, write}
// CHECK-SAME: {dim = 0 : i64, kind = "size", name = "output_size0", of = "output"}
// CHECK-SAME: {kind = "scalar", name = "global_scale"}
// CHECK: llvm.inline_asm {{.*}}cvt.rn.f16x2.e2m1x2
// OTHER-NOT: e2m1x2
// OTHER: nvvm.convert.f8x2.to.f16x2
// CHECK: gpu.func @dequantize_nvfp4_1(

// CHECK-LABEL: func.func @equal
// CHECK-NOT: kvq.dequantize
// CHECK: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: gpu.launch_func @kvq_kernels::@dequantize_nvfp4 blocks in (%{{.*}}) threads in (%{{.*}}) args(%{{.*}}%[[NULL]] : !llvm.ptr
// CHECK: gpu.launch_func @kvq_kernels::@dequantize_nvfp4 blocks
func.func @equal(%d: memref<?x8x128xf4E2M1FN>, %s: memref<?x8x8xf8E4M3FN>, %g: f32,
                 %o: memref<?x8x128xf32>) {
  kvq.dequantize ins(%d, %s : memref<?x8x128xf4E2M1FN>, memref<?x8x8xf8E4M3FN>)
      global_scale(%g) outs(%o : memref<?x8x128xf32>) {format = #kvq.format<nvfp4>}
  kvq.dequantize ins(%d, %s : memref<?x8x128xf4E2M1FN>, memref<?x8x8xf8E4M3FN>)
      global_scale(%g) outs(%o : memref<?x8x128xf32>) {format = #kvq.format<nvfp4>}
  return
}

// Another type is another kernel.
// CHECK-LABEL: func.func @different
// CHECK: gpu.launch_func @kvq_kernels::@dequantize_nvfp4_1 blocks
func.func @different(%d: memref<?x8x64xf4E2M1FN>, %s: memref<?x8x4xf8E4M3FN>, %g: f32,
                     %o: memref<?x8x64xbf16>) {
  kvq.dequantize ins(%d, %s : memref<?x8x64xf4E2M1FN>, memref<?x8x4xf8E4M3FN>)
      global_scale(%g) outs(%o : memref<?x8x64xbf16>) {format = #kvq.format<nvfp4>}
  return
}

// Strides are bytes: half as many as there are 4-bit elements.
// CHECK-LABEL: func.func @strides
// CHECK: %{{.*}}, %[[OFFSET:.*]], %{{.*}}, %[[STRIDES:.*]]:4 = memref.extract_strided_metadata
// CHECK: %[[STRIDE:.*]] = arith.index_cast %[[STRIDES]]#0 : index to i64
// CHECK: %[[TWO:.*]] = arith.constant 2 : i64
// CHECK: arith.divsi %[[STRIDE]], %[[TWO]] : i64
// CHECK: gpu.launch_func @kvq_kernels::@quantize_append_nvfp4_16x8x128_NHD_linear
func.func @strides(%x: memref<?x8x128xf16>, %slots: memref<?xi64>,
                   %k: !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>) {
  kvq.quantize_append ins(%x : memref<?x8x128xf16>)
      into(%k : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>)
      slot_mapping(%slots : memref<?xi64>)
  return
}

// The error word of run-time checks is passed to kernels, and freed.
// CHECK-LABEL: func.func @error_word
// CHECK: %[[WORD:.*]] = gpu.alloc host_shared () {kvq.error_word} : memref<4xi64>
// CHECK: memref.extract_aligned_pointer_as_index %[[WORD]]
// CHECK-NOT: llvm.mlir.zero
// CHECK: gpu.launch_func @kvq_kernels::@append_fp8_1x1x32_HND
// CHECK: %[[BEGIN:.*]] = gpu.wait async
// CHECK: %[[END:.*]] = gpu.dealloc async [%[[BEGIN]]] %[[WORD]]
// CHECK: gpu.wait [%[[END]]]
func.func @error_word(%d: memref<4x1x32xf8E4M3FN>, %slots: memref<4xi32>,
                      %k: !kvq.cache<key, 1x1x32, fp8, HND>) {
  %word = gpu.alloc host_shared () {kvq.error_word} : memref<4xi64>
  kvq.append ins(%d : memref<4x1x32xf8E4M3FN>)
      into(%k : !kvq.cache<key, 1x1x32, fp8, HND>)
      slot_mapping(%slots : memref<4xi32>)
  return
}
