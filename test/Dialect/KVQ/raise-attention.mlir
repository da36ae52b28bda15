// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-raise-attention,canonicalize,cse))' --split-input-file | FileCheck %s
// Running the pass again changes nothing.
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-raise-attention))' --split-input-file -o %t.once
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-raise-attention,kvq-raise-attention))' --split-input-file | diff - %t.once
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-raise-attention))' --split-input-file --remarks-filter='kvq.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-raise-attention,canonicalize,cse),kvq-fuse-dequant-attention)' --split-input-file | FileCheck %s --check-prefix=FUSE

// REMARK: remark: [Passed] RaisedAttention {{.*}} Function=plain {{.*}}'kvq.attention' op replaces attention in linalg

// Two dimensions: one sequence, one head.
// CHECK-LABEL: @plain
// CHECK-SAME: %[[Q:.*]]: tensor<4x8xf32>, %[[K:.*]]: tensor<8x16xf32>, %[[V:.*]]: tensor<16x6xf32>
func.func @plain(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x6xf32>) -> tensor<4x6xf32> {
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
  // CHECK-DAG: %[[Q4:.*]] = tensor.expand_shape %[[Q]] {{.*}} into tensor<1x4x1x8xf32>
  // CHECK-DAG: %[[KT:.*]] = linalg.transpose ins(%[[K]] : tensor<8x16xf32>)
  // CHECK-DAG: %[[K4:.*]] = tensor.expand_shape %[[KT]] {{.*}} into tensor<1x16x1x8xf32>
  // CHECK-DAG: %[[V4:.*]] = tensor.expand_shape %[[V]] {{.*}} into tensor<1x16x1x6xf32>
  // CHECK: %[[O:.*]] = kvq.attention ins(%[[Q4]], %[[K4]], %[[V4]] : {{.*}}) scale(%[[ONE]]) outs({{.*}} : tensor<1x4x1x6xf32>) -> tensor<1x4x1x6xf32>
  // CHECK: %[[R:.*]] = tensor.collapse_shape %[[O]] {{.*}} into tensor<4x6xf32>
  // CHECK: return %[[R]]
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x6xf32>) outs(%fo : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %o : tensor<4x6xf32>
}

// -----

// Attention over arrays in the order of kvq.attention needs no view; the scale
// is a value.
// CHECK-LABEL: @in_order
// CHECK-SAME: %[[Q:[a-z0-9]*]]: tensor<2x1x8x64xf16>, %[[K:[a-z0-9]*]]: tensor<2x48x2x64xf32>, %[[V:[a-z0-9]*]]: tensor<2x48x2x64xf32>, %[[SCALE:[a-z0-9]*]]: f32
// CHECK-NOT: linalg
// CHECK: kvq.attention ins(%[[Q]], %[[K]], %[[V]] : {{.*}}) scale(%[[SCALE]])
// CHECK-SAME: -> tensor<2x1x8x64xf32>
// CHECK-NEXT: return
#q = affine_map<(b, i, h, g, d, j) -> (b, i, h, g, d)>
#k = affine_map<(b, i, h, g, d, j) -> (b, j, h, d)>
#s = affine_map<(b, i, h, g, d, j) -> (b, h, g, i, j)>
func.func @in_order(%q: tensor<2x1x8x64xf16>, %k: tensor<2x48x2x64xf32>, %v: tensor<2x48x2x64xf32>, %scale: f32) -> tensor<2x1x8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %q5 = tensor.expand_shape %q [[0], [1], [2, 3], [4]] output_shape [2, 1, 2, 4, 64] : tensor<2x1x8x64xf16> into tensor<2x1x2x4x64xf16>
  %es = tensor.empty() : tensor<2x2x4x1x48xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x2x4x1x48xf32>) -> tensor<2x2x4x1x48xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "parallel"]}
      ins(%q5, %k : tensor<2x1x2x4x64xf16>, tensor<2x48x2x64xf32>) outs(%fs : tensor<2x2x4x1x48xf32>) {
  ^bb0(%a: f16, %b: f32, %out: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.mulf %x, %b : f32
    %z = arith.mulf %y, %scale : f32
    %w = arith.addf %out, %z : f32
    linalg.yield %w : f32
  } -> tensor<2x2x4x1x48xf32>
  %p = linalg.softmax dimension(4) ins(%s : tensor<2x2x4x1x48xf32>) outs(%es : tensor<2x2x4x1x48xf32>) -> tensor<2x2x4x1x48xf32>
  %eo = tensor.empty() : tensor<2x1x2x4x64xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x1x2x4x64xf32>) -> tensor<2x1x2x4x64xf32>
  %o = linalg.generic {indexing_maps = [#s, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<2x2x4x1x48xf32>, tensor<2x48x2x64xf32>) outs(%fo : tensor<2x1x2x4x64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %out, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x1x2x4x64xf32>
  %r = tensor.collapse_shape %o [[0], [1], [2, 3], [4]] : tensor<2x1x2x4x64xf32> into tensor<2x1x8x64xf32>
  return %r : tensor<2x1x8x64xf32>
}

// -----

// Query head h reads KV head h mod 2, which is not the order of kvq.attention:
// the queries' heads are brought into it.
// CHECK-LABEL: @interleaved_heads
// CHECK-SAME: %[[Q:.*]]: tensor<4x3x8xf32>, %[[K:.*]]: tensor<2x8x16xf32>
// CHECK: %[[Q4:.*]] = tensor.expand_shape %[[Q]] {{\[}}[0, 1], [2], [3]] output_shape [2, 2, 3, 8]
// CHECK: %[[QT:.*]] = linalg.transpose ins(%[[Q4]] : tensor<2x2x3x8xf32>) outs({{.*}}) permutation = [2, 1, 0, 3]
// CHECK: kvq.attention ins({{.*}} : tensor<1x3x4x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>)
func.func @interleaved_heads(%q: tensor<4x3x8xf32>, %k: tensor<2x8x16xf32>, %v: tensor<2x16x8xf32>) -> tensor<4x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %k2 = tensor.concat dim(0) %k, %k : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<4x8x16xf32>
  %v2 = tensor.concat dim(0) %v, %v : (tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<4x16x8xf32>
  %es = tensor.empty() : tensor<4x3x16xf32>
  %eo = tensor.empty() : tensor<4x3x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x3x16xf32>) -> tensor<4x3x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x3x8xf32>) -> tensor<4x3x8xf32>
  %s = linalg.batch_matmul ins(%q, %k2 : tensor<4x3x8xf32>, tensor<4x8x16xf32>) outs(%fs : tensor<4x3x16xf32>) -> tensor<4x3x16xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<4x3x16xf32>) outs(%es : tensor<4x3x16xf32>) -> tensor<4x3x16xf32>
  %o = linalg.batch_matmul ins(%p, %v2 : tensor<4x3x16xf32>, tensor<4x16x8xf32>) outs(%fo : tensor<4x3x8xf32>) -> tensor<4x3x8xf32>
  return %o : tensor<4x3x8xf32>
}

// -----

// Lengths that are not known; a bias that each head has one of, multiplied by
// the scale that follows it.
// CHECK-LABEL: @dynamic
// CHECK-DAG: %[[SCALE:.*]] = arith.constant 2.500000e-01 : f32
// CHECK: kvq.attention ins({{.*}} : tensor<?x?x1x8xf32>, tensor<?x?x1x8xf32>, tensor<?x?x1x8xf32>) scale(%[[SCALE]]) mask({{.*}} : tensor<1x1x?x?xf32>) outs({{.*}} : tensor<?x?x1x8xf32>)
func.func @dynamic(%q: tensor<?x?x8xf32>, %k: tensor<?x8x?xf32>, %v: tensor<?x?x8xf32>, %bias: tensor<?x?xf32>,
                   %es: tensor<?x?x?xf32>, %eo: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<?x?x8xf32>, tensor<?x8x?xf32>) outs(%fs : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %s1 = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (i, j)>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %bias : tensor<?x?x?xf32>, tensor<?x?xf32>) outs(%es : tensor<?x?x?xf32>) {
  ^bb0(%a: f32, %m: f32, %out: f32):
    %c = arith.constant 0.25 : f32
    %x = arith.addf %a, %m : f32
    %y = arith.mulf %x, %c : f32
    linalg.yield %y : f32
  } -> tensor<?x?x?xf32>
  %p = linalg.softmax dimension(2) ins(%s1 : tensor<?x?x?xf32>) outs(%es : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<?x?x?xf32>, tensor<?x?x8xf32>) outs(%fo : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %o : tensor<?x?x8xf32>
}

// -----

// Keys past the length of a sequence are masked, over a gathered cache: the
// gather is read as it lies.
// FUSE-LABEL: @lengths
// FUSE-NOT: kvq.gather
// FUSE: kvq.dequant_attention ins(%{{.*}} : tensor<2x1x4x8xf32>) caches({{.*}}) block_table({{.*}}) seq_lens({{.*}})
// FUSE-NOT: kvq.gather
// CHECK-LABEL: @lengths
// CHECK-SAME: %[[LEN:[a-z0-9]*]]: tensor<2xi32>, %[[Q:[a-z0-9]*]]: tensor<2x1x4x8xf32>
// CHECK-DAG: %[[K:.*]] = kvq.gather
// CHECK-DAG: %[[V:.*]] = kvq.gather
// CHECK: kvq.attention ins(%[[Q]], %[[K]], %[[V]] : {{.*}}) seq_lens(%[[LEN]] : tensor<2xi32>) scale(%{{.*}}) outs(%{{.*}} : tensor<2x1x4x8xf32>) ->
func.func @lengths(%kc: !kvq.cache<key, 16x2x8, bf16, NHD>, %vc: !kvq.cache<value, 16x2x8, bf16, NHD>, %bt: tensor<2x3xi32>, %len: tensor<2xi32>,
                   %q: tensor<2x1x4x8xf32>, %kv: tensor<2x48x2x8xbf16>) -> tensor<2x1x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %k = kvq.gather cache(%kc : !kvq.cache<key, 16x2x8, bf16, NHD>) block_table(%bt : tensor<2x3xi32>) seq_lens(%len : tensor<2xi32>) outs(%kv : tensor<2x48x2x8xbf16>) -> tensor<2x48x2x8xbf16>
  %v = kvq.gather cache(%vc : !kvq.cache<value, 16x2x8, bf16, NHD>) block_table(%bt : tensor<2x3xi32>) seq_lens(%len : tensor<2xi32>) outs(%kv : tensor<2x48x2x8xbf16>) -> tensor<2x48x2x8xbf16>
  %q5 = tensor.expand_shape %q [[0], [1], [2, 3], [4]] output_shape [2, 1, 2, 2, 8] : tensor<2x1x4x8xf32> into tensor<2x1x2x2x8xf32>
  %es = tensor.empty() : tensor<2x2x2x48xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x2x2x48xf32>) -> tensor<2x2x2x48xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, g, j, d) -> (b, 0, h, g, d)>, affine_map<(b, h, g, j, d) -> (b, j, h, d)>, affine_map<(b, h, g, j, d) -> (b, h, g, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q5, %k : tensor<2x1x2x2x8xf32>, tensor<2x48x2x8xbf16>) outs(%fs : tensor<2x2x2x48xf32>) {
  ^bb0(%a: f32, %b: bf16, %out: f32):
    %x = arith.extf %b : bf16 to f32
    %y = arith.mulf %a, %x : f32
    %z = arith.addf %out, %y : f32
    linalg.yield %z : f32
  } -> tensor<2x2x2x48xf32>
  %s1 = linalg.generic {indexing_maps = [affine_map<(b, h, g, j) -> (b, h, g, j)>, affine_map<(b, h, g, j) -> (b)>, affine_map<(b, h, g, j) -> (b, h, g, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %len : tensor<2x2x2x48xf32>, tensor<2xi32>) outs(%es : tensor<2x2x2x48xf32>) {
  ^bb0(%a: f32, %n: i32, %out: f32):
    %j = linalg.index 3 : index
    %ji = arith.index_cast %j : index to i32
    %c = arith.cmpi slt, %ji, %n : i32
    %x = arith.select %c, %a, %ninf : f32
    linalg.yield %x : f32
  } -> tensor<2x2x2x48xf32>
  %p = linalg.softmax dimension(3) ins(%s1 : tensor<2x2x2x48xf32>) outs(%es : tensor<2x2x2x48xf32>) -> tensor<2x2x2x48xf32>
  %eo = tensor.empty() : tensor<2x2x2x8xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x2x2x8xf32>) -> tensor<2x2x2x8xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, g, d, j) -> (b, h, g, j)>, affine_map<(b, h, g, d, j) -> (b, j, h, d)>, affine_map<(b, h, g, d, j) -> (b, h, g, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<2x2x2x48xf32>, tensor<2x48x2x8xbf16>) outs(%fo : tensor<2x2x2x8xf32>) {
  ^bb0(%a: f32, %b: bf16, %out: f32):
    %x = arith.extf %b : bf16 to f32
    %y = arith.mulf %a, %x : f32
    %z = arith.addf %out, %y : f32
    linalg.yield %z : f32
  } -> tensor<2x2x2x8xf32>
  %r = tensor.expand_shape %o [[0], [1, 2], [3], [4]] output_shape [2, 1, 2, 2, 8] : tensor<2x2x2x8xf32> into tensor<2x1x2x2x8xf32>
  %r1 = tensor.collapse_shape %r [[0], [1], [2, 3], [4]] : tensor<2x1x2x2x8xf32> into tensor<2x1x4x8xf32>
  return %r1 : tensor<2x1x4x8xf32>
}
