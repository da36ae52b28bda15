// Attention whose dimensions of size 1 are gone, as linalg-fold-unit-extent-dims
// leaves it.
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-raise-attention,canonicalize,cse))' | FileCheck %s --implicit-check-not=math.exp --implicit-check-not=linalg.softmax

#id = affine_map<(j) -> (j)>
#none = affine_map<(j) -> ()>
// One query of one head; the maximum and the sum have no dimension.
// CHECK-LABEL: @vectors
// CHECK: %[[O:.*]] = kvq.attention ins({{.*}} : tensor<1x1x1x8xf32>, tensor<1x16x1x8xf32>, tensor<1x16x1x6xf32>)
// CHECK: tensor.collapse_shape {{.*}} : tensor<1x1x1x6xf32> into tensor<6xf32>
func.func @vectors(%q: tensor<8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x6xf32>) -> tensor<6xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<16xf32>
  %er = tensor.empty() : tensor<f32>
  %eo = tensor.empty() : tensor<6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<16xf32>) -> tensor<16xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<f32>) -> tensor<f32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<f32>) -> tensor<f32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<6xf32>) -> tensor<6xf32>
  %s = linalg.matvec ins(%k, %q : tensor<16x8xf32>, tensor<8xf32>) outs(%fs : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%s : tensor<16xf32>) outs(%fm : tensor<f32>) {
  ^bb0(%a: f32, %out: f32):
    %r = arith.maximumf %a, %out : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %w = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]} ins(%s, %m : tensor<16xf32>, tensor<f32>) outs(%es : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<16xf32>
  %t = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%w : tensor<16xf32>) outs(%ft : tensor<f32>) {
  ^bb0(%a: f32, %out: f32):
    %r = arith.addf %a, %out : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %p = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]} ins(%w, %t : tensor<16xf32>, tensor<f32>) outs(%es : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<16xf32>
  %o = linalg.vecmat ins(%p, %v : tensor<16xf32>, tensor<16x6xf32>) outs(%fo : tensor<6xf32>) -> tensor<6xf32>
  return %o : tensor<6xf32>
}

// One query of each head.
// CHECK-LABEL: @heads
// CHECK: kvq.attention ins({{.*}} : tensor<3x1x1x8xf32>, tensor<3x16x1x8xf32>, tensor<3x16x1x6xf32>)
func.func @heads(%q: tensor<3x8xf32>, %k: tensor<3x16x8xf32>, %v: tensor<3x16x6xf32>) -> tensor<3x6xf32> {
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : tensor<3x16xf32>
  %eo = tensor.empty() : tensor<3x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<3x16xf32>) -> tensor<3x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<3x6xf32>) -> tensor<3x6xf32>
  %s = linalg.batch_matvec ins(%k, %q : tensor<3x16x8xf32>, tensor<3x8xf32>) outs(%fs : tensor<3x16xf32>) -> tensor<3x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<3x16xf32>) outs(%es : tensor<3x16xf32>) -> tensor<3x16xf32>
  %o = linalg.batch_vecmat ins(%p, %v : tensor<3x16xf32>, tensor<3x16x6xf32>) outs(%fo : tensor<3x6xf32>) -> tensor<3x6xf32>
  return %o : tensor<3x6xf32>
}

// One channel of the values: the result has no dimension.
// CHECK-LABEL: @scalar
// CHECK: kvq.attention ins({{.*}} : tensor<1x1x1x8xf32>, tensor<1x16x1x8xf32>, tensor<1x16x1x1xf32>)
// CHECK: tensor.collapse_shape {{.*}} : tensor<1x1x1x1xf32> into tensor<f32>
func.func @scalar(%q: tensor<8xf32>, %k: tensor<16x8xf32>, %v: tensor<16xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : tensor<16xf32>
  %eo = tensor.empty() : tensor<f32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<16xf32>) -> tensor<16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<f32>) -> tensor<f32>
  %s = linalg.matvec ins(%k, %q : tensor<16x8xf32>, tensor<8xf32>) outs(%fs : tensor<16xf32>) -> tensor<16xf32>
  %p = linalg.softmax dimension(0) ins(%s : tensor<16xf32>) outs(%es : tensor<16xf32>) -> tensor<16xf32>
  %o = linalg.dot ins(%p, %v : tensor<16xf32>, tensor<16xf32>) outs(%fo : tensor<f32>) -> tensor<f32>
  return %o : tensor<f32>
}

// One channel of queries and keys.
// CHECK-LABEL: @head_dim_one
// CHECK: kvq.attention ins({{.*}} : tensor<1x4x1x1xf32>, tensor<1x16x1x1xf32>, tensor<1x16x1x6xf32>)
func.func @head_dim_one(%q: tensor<4x1xf32>, %k: tensor<1x16xf32>, %v: tensor<16x6xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x1xf32>, tensor<1x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x6xf32>) outs(%fo : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %o : tensor<4x6xf32>
}
