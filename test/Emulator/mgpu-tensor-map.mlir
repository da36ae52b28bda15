// Tensor copies of a host program: the descriptor comes from the host through
// mgpuTensorMapEncodeTiledMemref, for a view with an offset and strides.
//
// REQUIRES: mlir-runner
// RUN: mlir-opt %s \
// RUN:   --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" -o %t.mlir
// RUN: env KVQ_EMU_CHECK=all KVQ_EMU_SCHEDULE=lazy \
// RUN: mlir-runner %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%kvq_lib_dir/libkvq_emu_runtime.so \
// RUN:   --shared-libs=%llvm_lib_dir/libmlir_runner_utils.so \
// RUN:   --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so | FileCheck %s

// The tile at column 4, row 2, of a view that begins at (2, 4): what lies
// outside of it is zero.
// CHECK: [408,   409,   410,   411]
// CHECK-NEXT: [508,   509,   510,   511]
// CHECK-NEXT: [608,   609,   610,   611]
// CHECK-NEXT: [0,   0,   0,   0]

!shared = memref<4x4xf32, 3>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!descriptor = !nvgpu.tensormap.descriptor<tensor = !shared, swizzle = none, l2promo = none, oob = zero, interleave = none>
!view = memref<5x8xf32, strided<[16, 1], offset: 36>>

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c100 = arith.constant 100 : index
  %host = memref.alloc() : memref<8x16xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      %r = arith.muli %i, %c100 : index
      %v = arith.addi %r, %j : index
      %w = arith.index_cast %v : index to i32
      %f = arith.sitofp %w : i32 to f32
      memref.store %f, %host[%i, %j] : memref<8x16xf32>
    }
  }
  %t0 = gpu.wait async
  %device, %t1 = gpu.alloc async [%t0] () : memref<8x16xf32>
  %out, %t2 = gpu.alloc async [%t1] () : memref<4x4xf32>
  %t3 = gpu.memcpy async [%t2] %device, %host : memref<8x16xf32>, memref<8x16xf32>
  gpu.wait [%t3]
  %view = memref.subview %device[2, 4] [5, 8] [1, 1] : memref<8x16xf32> to !view
  %any = memref.cast %view : !view to memref<*xf32>
  %map = nvgpu.tma.create.descriptor %any box[%c4, %c4] : memref<*xf32> -> !descriptor
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c16, %ny = %c1, %nz = %c1) {
    %k0 = arith.constant 0 : index
    %k1 = arith.constant 1 : index
    %k2 = arith.constant 2 : index
    %k4 = arith.constant 4 : index
    %bytes = arith.constant 64 : index
    %ticks = arith.constant 10000000 : index
    %phase = arith.constant 0 : i1
    %first = arith.cmpi eq, %tx, %k0 : index
    %tile = memref.get_global @tile : !shared
    %barrier = nvgpu.mbarrier.create -> !barriers
    nvgpu.mbarrier.init %barrier[%k0], %k1, predicate = %first : !barriers
    gpu.barrier
    nvgpu.mbarrier.arrive.expect_tx %barrier[%k0], %bytes, predicate = %first : !barriers
    nvgpu.tma.async.load %map[%k4, %k2], %barrier[%k0] to %tile, predicate = %first : !descriptor, !barriers -> !shared
    nvgpu.mbarrier.try_wait.parity %barrier[%k0], %phase, %ticks : !barriers
    %r = arith.divui %tx, %k4 : index
    %c = arith.remui %tx, %k4 : index
    %v = memref.load %tile[%r, %c] : !shared
    memref.store %v, %out[%r, %c] : memref<4x4xf32>
    gpu.terminator
  }
  %result = memref.alloc() : memref<4x4xf32>
  %s0 = gpu.wait async
  %s1 = gpu.memcpy async [%s0] %result, %out : memref<4x4xf32>, memref<4x4xf32>
  %s2 = gpu.dealloc async [%s1] %out : memref<4x4xf32>
  %s3 = gpu.dealloc async [%s2] %device : memref<8x16xf32>
  gpu.wait [%s3]
  %print = memref.cast %result : memref<4x4xf32> to memref<*xf32>
  call @printMemrefF32(%print) : (memref<*xf32>) -> ()
  return
}
memref.global "private" @tile : !shared {alignment = 128 : i64}
