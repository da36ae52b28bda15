// RUN: kvq-opt %s --convert-kernels-to-ptx | FileCheck %s

// Two targets, each with its PTX; what is not a module of kernels stays.
// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90">, properties = {O = 2 : i32}, assembly = "
// CHECK-SAME: .target sm_90
// CHECK-SAME: .entry store
// CHECK-SAME: fma.rn.f32
// CHECK-SAME: #gpu.object<#nvvm.target<O = 3, chip = "sm_100a", features = "+ptx88">
// CHECK-SAME: .version 8.8
// CHECK-SAME: .target sm_100a
// CHECK-SAME: .entry store
// CHECK-SAME: \00"
// CHECK-NOT: gpu.module
gpu.module @kernels [#nvvm.target<chip = "sm_90">,
                     #nvvm.target<O = 3, chip = "sm_100a", features = "+ptx88">] {
  llvm.func @store(%to: !llvm.ptr<1>, %x: f32)
      attributes {gpu.kernel, nvvm.kernel} {
    %y = llvm.intr.fma(%x, %x, %x) : (f32, f32, f32) -> f32
    llvm.store %y, %to : f32, !llvm.ptr<1>
    llvm.return
  }
}

// Sums of neighbours are left as they are, where vectors of two would do.
// CHECK: gpu.binary @scalars
// CHECK-COUNT-2: add.rn.f32
// CHECK-NOT: f32x2
// CHECK: func @host
gpu.module @scalars [#nvvm.target<O = 3, chip = "sm_100a", features = "+ptx88">] {
  llvm.func @sums(%to: !llvm.ptr<1>, %from: !llvm.ptr<1>)
      attributes {gpu.kernel, nvvm.kernel} {
    %next = llvm.getelementptr %from[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %a = llvm.load %from {alignment = 8 : i64} : !llvm.ptr<1> -> f32
    %b = llvm.load %next {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %c = llvm.fadd %a, %a : f32
    %d = llvm.fadd %b, %b : f32
    %second = llvm.getelementptr %to[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.store %c, %to {alignment = 8 : i64} : f32, !llvm.ptr<1>
    llvm.store %d, %second {alignment = 4 : i64} : f32, !llvm.ptr<1>
    llvm.return
  }
}

func.func @host() {
  return
}
