// The interfaces and transform operations of kvq in the stock mlir-opt.
//
// DEFINE: %{load} = --load-dialect-plugin=%kvq_lib_dir/KVQPlugin.so --load-pass-plugin=%kvq_lib_dir/KVQPlugin.so
//
// RUN: mlir-opt %{load} %s --pass-pipeline="builtin.module(transform-interpreter)" | FileCheck %s
// RUN: mlir-opt %{load} %s --pass-pipeline="builtin.module(generate-runtime-verification)" | FileCheck %s --check-prefix=CHECKS

// CHECK-LABEL: func @dequantize
// CHECK: scf.for
// CHECK-NOT: kvq.
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x64xf32>)
// CHECK: return
func.func @dequantize(%d: tensor<3x64xf8E4M3FN>, %g: f32, %y: tensor<3x64xf32>) -> tensor<3x64xf32> {
  %0 = kvq.dequantize ins(%d : tensor<3x64xf8E4M3FN>) global_scale(%g) outs(%y : tensor<3x64xf32>) {format = #kvq.format<fp8>} -> tensor<3x64xf32>
  return %0 : tensor<3x64xf32>
}

// CHECKS-LABEL: func @merge
// CHECKS: call @kvq_check_size
// CHECKS: scf.if
// CHECKS-NEXT: kvq.merge_states
func.func @merge(%p: memref<?x3x8x64xf32>, %l: memref<4x3x8xf32>, %o: memref<3x8x64xf32>) {
  kvq.merge_states ins(%p, %l : memref<?x3x8x64xf32>, memref<4x3x8xf32>) outs(%o : memref<3x8x64xf32>)
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.dequantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.kvq.decompose %tiled : !transform.any_op
    transform.yield
  }
}
