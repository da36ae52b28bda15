// RUN: mlir-opt --load-dialect-plugin=%kvq_lib_dir/KVQPlugin.so %s \
// RUN:   --pass-pipeline='builtin.module(gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm))' \
// RUN:   | FileCheck %s

// The conversion of everything else to LLVM takes the dialect along.

gpu.module @m {
  // CHECK-LABEL: llvm.func @k
  // CHECK-NOT: unrealized_conversion_cast
  // CHECK: nvvm.tcgen05.alloc %{{.*}} : !llvm.ptr<3>, i32
  // CHECK: nvvm.tcgen05.ld %{{.*}} : vector<16xi32>
  // CHECK-NOT: kvq_tcgen05
  gpu.func @k(%base: i32, %warp: i32, %p: i1, %out: !llvm.ptr)
      workgroup(%slot: memref<1xi32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    kvq_tcgen05.alloc %slot[%c0] columns(64)
        : memref<1xi32, #gpu.address_space<workgroup>>
    %s = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x16xf32>
    %o = kvq_tcgen05.region %base at 16 : !kvq_tcgen05.tmem<128x16xf32>
    %z = scf.if %p -> !kvq_tcgen05.tmem<128x16xf32> {
      scf.yield %s : !kvq_tcgen05.tmem<128x16xf32>
    } else {
      scf.yield %o : !kvq_tcgen05.tmem<128x16xf32>
    }
    %v = kvq_tcgen05.load shape_32x32b %z warp(%warp)
        : !kvq_tcgen05.tmem<128x16xf32> -> vector<16xf32>
    llvm.store %v, %out : vector<16xf32>, !llvm.ptr
    kvq_tcgen05.dealloc %base columns(64)
    gpu.return
  }
}
