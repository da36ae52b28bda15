// RUN: kvq-opt %s --kvq-decompose-softmax --verify-diagnostics

func.func @memrefs(%x: memref<2x3xf32>, %y: memref<2x3xf32>) {
  // expected-error @below {{'linalg.softmax' op has an operand of type 'memref<2x3xf32>' or 'memref<2x3xf32>', accepted are tensors}}
  linalg.softmax dimension(1) ins(%x : memref<2x3xf32>) outs(%y : memref<2x3xf32>)
  return
}
