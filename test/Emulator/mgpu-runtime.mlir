// A host program through upstream's own lowering, with the emulator in place
// of the CUDA runtime: launches with and without clusters, dynamic shared
// memory, streams, events, device and shared memory, registered host memory.
//
// REQUIRES: mlir-runner
// RUN: rm -f %t.json
// RUN: mlir-opt %s --convert-linalg-to-loops \
// RUN:   --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" -o %t.mlir
// RUN: env KVQ_EMU_REPORT=%t.json KVQ_EMU_CHECK=all KVQ_EMU_SCHEDULE=random:2,lazy \
// RUN: mlir-runner %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%kvq_lib_dir/libkvq_emu_runtime.so \
// RUN:   --shared-libs=%llvm_lib_dir/libmlir_runner_utils.so \
// RUN:   --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t.json
// RUN: not env KVQ_EMU_MAX_INSTRUCTIONS=3 \
// RUN: mlir-runner %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%kvq_lib_dir/libkvq_emu_runtime.so \
// RUN:   --shared-libs=%llvm_lib_dir/libmlir_runner_utils.so \
// RUN:   --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: not env KVQ_EMU_CHECK=some \
// RUN: mlir-runner %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%kvq_lib_dir/libkvq_emu_runtime.so \
// RUN:   --shared-libs=%llvm_lib_dir/libmlir_runner_utils.so \
// RUN:   --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so 2>&1 | FileCheck %s --check-prefix=ENVIRONMENT

// REPORT: {"kernel":"add","report":{"completed":true,{{.*}},"schedule":"random:2"}
// REPORT: {"kernel":"add","report":{"completed":true,{{.*}},"schedule":"lazy"}
// REPORT: {"kernel":"add","report":{"completed":true,{{.*}},"schedule":"random:2"}
// REPORT: {"kernel":"add","report":{"completed":true,{{.*}},"schedule":"lazy"}
// REPORT: {"kernel":"rank","report":{"completed":true,{{.*}},"schedule":"random:2"}
// LIMIT: kvq_emu_runtime: mgpuLaunchKernel: kernel 'add' did not complete
// ENVIRONMENT: kvq_emu_runtime: environment: KVQ_EMU_CHECK must be all or none, not 'some'

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add(%a: memref<?xf32>, %v: f32) kernel {
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %d = gpu.block_dim x
      %m = arith.muli %b, %d : index
      %i = arith.addi %m, %t : index
      %x = memref.load %a[%i] : memref<?xf32>
      %y = arith.addf %x, %v : f32
      memref.store %y, %a[%i] : memref<?xf32>
      gpu.return
    }
    // Ranks in the cluster, passed through dynamic shared memory.
    gpu.func @rank(%out: memref<?xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %values = memref.view %shared[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<2xi32, #gpu.address_space<workgroup>>
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %r = gpu.cluster_block_id x
      %c = gpu.cluster_id x
      %c10 = arith.constant 10 : index
      %s = arith.muli %c, %c10 : index
      %v = arith.addi %s, %r : index
      %w = arith.index_cast %v : index to i32
      memref.store %w, %values[%t] : memref<2xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      %other = arith.subi %c1, %t : index
      %x = memref.load %values[%other] : memref<2xi32, #gpu.address_space<workgroup>>
      %c2 = arith.constant 2 : index
      %m = arith.muli %b, %c2 : index
      %i = arith.addi %m, %t : index
      memref.store %x, %out[%i] : memref<?xi32>
      gpu.return
    }
  }

  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    call @registered() : () -> ()
    call @asynchronous() : () -> ()
    call @clusters() : () -> ()
    return
  }

  // CHECK: [4.5,  4.5,  4.5,  4.5,  4.5,  4.5,  4.5,  4.5]
  func.func @registered() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %v = arith.constant 1.5 : f32
    %three = arith.constant 3.0 : f32
    %host = memref.alloc() : memref<8xf32>
    linalg.fill ins(%three : f32) outs(%host : memref<8xf32>)
    %any = memref.cast %host : memref<8xf32> to memref<*xf32>
    %dynamic = memref.cast %host : memref<8xf32> to memref<?xf32>
    gpu.host_register %any : memref<*xf32>
    gpu.launch_func @kernels::@add blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%dynamic : memref<?xf32>, %v : f32)
    call @printMemrefF32(%any) : (memref<*xf32>) -> ()
    gpu.host_unregister %any : memref<*xf32>
    memref.dealloc %host : memref<8xf32>
    return
  }

  // CHECK: [9.5,  9.5,  9.5,  9.5,  9.5,  9.5,  9.5,  9.5]
  func.func @asynchronous() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %v = arith.constant 1.5 : f32
    %eight = arith.constant 8.0 : f32
    %host = memref.alloc() : memref<8xf32>
    %any = memref.cast %host : memref<8xf32> to memref<*xf32>
    %dynamic = memref.cast %host : memref<8xf32> to memref<?xf32>
    %t0 = gpu.wait async
    %device, %t1 = gpu.alloc async [%t0] (%c8) : memref<?xf32>
    %t2 = gpu.memset async [%t1] %device, %eight : memref<?xf32>, f32
    %t3 = gpu.launch_func async [%t2] @kernels::@add blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%device : memref<?xf32>, %v : f32)
    %t4 = gpu.memcpy async [%t3] %dynamic, %device : memref<?xf32>, memref<?xf32>
    %t5 = gpu.dealloc async [%t4] %device : memref<?xf32>
    gpu.wait [%t5]
    call @printMemrefF32(%any) : (memref<*xf32>) -> ()
    memref.dealloc %host : memref<8xf32>
    return
  }

  // CHECK: [0,  0,  1,  1,  10,  10,  11,  11]
  func.func @clusters() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %bytes = arith.constant 8 : i32
    %shared = gpu.alloc host_shared () : memref<8xi32>
    %dynamic = memref.cast %shared : memref<8xi32> to memref<?xi32>
    %any = memref.cast %shared : memref<8xi32> to memref<*xi32>
    gpu.launch_func @kernels::@rank clusters in (%c2, %c1, %c1) blocks in (%c4, %c1, %c1) threads in (%c2, %c1, %c1)
        dynamic_shared_memory_size %bytes args(%dynamic : memref<?xi32>)
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    %t = gpu.wait async
    %d = gpu.dealloc async [%t] %shared : memref<8xi32>
    gpu.wait [%d]
    return
  }
}
