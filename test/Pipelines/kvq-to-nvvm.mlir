// RUN: kvq-opt %s --kvq-to-nvvm="chip=sm_100a features=+ptx90" --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,NVVM
// RUN: kvq-opt %s --kvq-to-ptx="chip=sm_100a features=+ptx90" --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,PTX
// RUN: kvq-opt %s --kvq-to-nvvm="chip=sm_100a require-tensor-cores" --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=REQUIRE
// REQUIRE: convert-kvq-to-gpu{chip=sm_100a features= require-tensor-cores=true},

// The order matters: checks before deallocation, kernels from buffers, storage
// and conversions of low-bit floats before nvvm.
// CHECK: builtin.module(
// CHECK-NEXT: kvq-verify-handles,
// CHECK-NEXT: kvq-decompose-softmax,
// CHECK-NEXT: convert-elementwise-to-linalg,
// CHECK-NEXT: one-shot-bufferize{
// CHECK-SAME: bufferize-function-boundaries=true
// CHECK-SAME: function-boundary-type-conversion=identity-layout-map
// CHECK-NEXT: kvq-insert-runtime-checks{device=true},
// CHECK: ownership-based-buffer-deallocation
// CHECK: convert-bufferization-to-memref,
// CHECK-NEXT: convert-kvq-to-gpu{chip=sm_100a features=+ptx90 require-tensor-cores=false},
// CHECK-NEXT: kvq-expand-handles,
// CHECK-NEXT: kvq-lower-fp-conversions,
// CHECK-NEXT: kvq-legalize-storage,
// CHECK-NEXT: canonicalize{
// CHECK-NEXT: cse,
// CHECK-NEXT: gpu.module(
// CHECK-NEXT: loop-invariant-code-motion,
// CHECK-NEXT: gpu.func(
// CHECK-NEXT: kvq-tcgen05-allocate-tmem
// CHECK-NEXT: ),
// CHECK-NEXT: convert-kvq-tcgen05-to-nvvm,
// CHECK-NEXT: convert-nvgpu-to-nvvm,
// CHECK-NEXT: convert-scf-to-cf{
// CHECK-NEXT: convert-gpu-to-nvvm{
// CHECK-NEXT: convert-nvvm-to-llvm,
// CHECK-NEXT: reconcile-unrealized-casts
// CHECK-NEXT: ),
// CHECK: convert-linalg-to-loops
// CHECK: convert-vector-to-scf{
// CHECK: expand-strided-metadata,
// CHECK-NEXT: lower-affine,
// CHECK-NEXT: convert-scf-to-cf{
// CHECK-NEXT: convert-math-to-llvm{
// CHECK-NEXT: convert-math-to-libm,
// CHECK-NEXT: convert-vector-to-llvm{
// CHECK-NEXT: convert-index-to-llvm{
// CHECK-NEXT: gpu-to-llvm{
// CHECK-NEXT: convert-arith-to-llvm{
// CHECK-NEXT: finalize-memref-to-llvm{
// CHECK-NEXT: convert-cf-to-llvm{
// CHECK-NEXT: convert-func-to-llvm{
// CHECK-NEXT: convert-ub-to-llvm{
// CHECK-NEXT: reconcile-unrealized-casts,
// CHECK-NEXT: canonicalize{
// CHECK-NEXT: cse
// NVVM-NOT: convert-kernels-to-ptx
// PTX-NEXT: convert-kernels-to-ptx
