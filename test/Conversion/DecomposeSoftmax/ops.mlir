// RUN: kvq-opt %s --kvq-decompose-softmax | FileCheck %s
// RUN: kvq-opt %s --kvq-to-cpu=reference | FileCheck %s --check-prefix=CPU

// CHECK-LABEL: func @softmax
// CHECK-NOT: linalg.softmax
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: arith.max
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: linalg.generic
// CHECK: arith.divf

// Operations of arith and math on tensors are lowered too.
// CPU-LABEL: llvm.func @softmax
// CPU-NOT: linalg
// CPU-NOT: tensor<
func.func @softmax(%x: tensor<2x3x?xf32>, %y: tensor<2x3x?xf32>) -> tensor<2x3x?xf32> {
  %0 = arith.mulf %x, %y : tensor<2x3x?xf32>
  %1 = linalg.softmax dimension(2) ins(%0 : tensor<2x3x?xf32>) outs(%y : tensor<2x3x?xf32>) -> tensor<2x3x?xf32>
  %2 = math.sqrt %1 : tensor<2x3x?xf32>
  return %2 : tensor<2x3x?xf32>
}
