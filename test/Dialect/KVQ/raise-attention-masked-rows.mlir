// With zero-masked-rows a finite number masks as -inf does.
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-raise-attention{zero-masked-rows=true},canonicalize,cse))' | FileCheck %s

// CHECK-LABEL: @masked_rows
// CHECK-SAME: %[[KEEP:[a-z0-9]*]]: tensor<4x16xi1>
// CHECK: %[[MASK:.*]] = tensor.expand_shape %[[KEEP]] {{.*}} into tensor<1x1x4x16xi1>
// CHECK: kvq.attention {{.*}} mask(%[[MASK]] : tensor<1x1x4x16xi1>)
func.func @masked_rows(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %keep: tensor<4x16xi1>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant dense<-1.0e9> : tensor<4x16xf32>
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %s1 = arith.select %keep, %s, %low : tensor<4x16xi1>, tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s1 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
