// RUN: kvq-opt %s --kvq-to-cpu --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,FAST
// RUN: kvq-opt %s --kvq-to-cpu=threads=none --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: kvq-opt %s --kvq-to-cpu=threads=openmp --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,OPENMP
// RUN: kvq-opt %s --kvq-to-cpu=reference --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,REFERENCE

// CHECK: builtin.module(
// CHECK-NEXT: kvq-verify-handles,
// CHECK-NEXT: kvq-decompose-softmax,
// CHECK-NEXT: convert-elementwise-to-linalg,
// CHECK-NEXT: one-shot-bufferize{
// CHECK-SAME: bufferize-function-boundaries=true
// CHECK-SAME: function-boundary-type-conversion=identity-layout-map
// CHECK-NEXT: kvq-insert-runtime-checks{device=false},
// CHECK: ownership-based-buffer-deallocation
// CHECK: convert-bufferization-to-memref,
// FAST-NOT: kvq-decompose
// FAST: convert-kvq-to-vector
// ONE-NOT: kvq-decompose
// ONE: convert-kvq-to-vector
// OPENMP: convert-kvq-to-vector
// REFERENCE-NOT: convert-kvq-to-vector
// REFERENCE: kvq-decompose
// CHECK: kvq-expand-handles,
// CHECK: convert-linalg-to-loops
// FAST: async-parallel-for{
// FAST-SAME: min-task-size=1 
// FAST: async-to-async-runtime
// OPENMP-NOT: async
// OPENMP: convert-scf-to-openmp
// OPENMP-NEXT: canonicalize
// ONE-NOT: {{async|openmp}}
// REFERENCE-NOT: {{async|openmp}}
// CHECK: kvq-lower-fp-conversions,
// CHECK: kvq-legalize-storage,
// CHECK: expand-strided-metadata,
// CHECK: convert-scf-to-cf
// FAST: convert-async-to-llvm,
// CHECK: finalize-memref-to-llvm
// CHECK: convert-func-to-llvm
// OPENMP: convert-openmp-to-llvm
// CHECK: reconcile-unrealized-casts,
// CHECK: kvq-isolate-float-mode
module {}
