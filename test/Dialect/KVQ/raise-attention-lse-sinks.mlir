// The logarithm of the sum that is returned as well, and sinks.
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-raise-attention,canonicalize,cse))' --split-input-file | FileCheck %s --implicit-check-not=math. --implicit-check-not=linalg.softmax
// Running the pass again changes nothing.
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-raise-attention))' --split-input-file -o %t.once
// RUN: kvq-opt %t.once --pass-pipeline='builtin.module(func.func(kvq-raise-attention))' --split-input-file | diff - %t.once

// In the order of the heads.
// CHECK-LABEL: @lse
// CHECK: %[[O:.*]]:2 = kvq.attention {{.*}} outs(%{{.*}}, %{{.*}} : tensor<2x4x3x8xf32>, tensor<2x4x3xf32>)
// CHECK-DAG: linalg.transpose ins(%[[O]]#0
// CHECK-DAG: %[[L:.*]] = linalg.transpose ins(%[[O]]#1 : tensor<2x4x3xf32>)
// CHECK: return %{{.*}}, %[[L]]
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @lse(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x3x4x6xf32>
  %er = tensor.empty() : tensor<2x3x4xf32>
  %eq = tensor.empty() : tensor<2x3x4x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %fq = linalg.fill ins(%zero : f32) outs(%eq : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>) outs(%fs : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %m = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x3x4x6xf32>) outs(%fm : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %r = arith.maximumf %x0, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  %ew = tensor.empty() : tensor<2x3x4x6xf32>
  %w = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<2x3x4x6xf32>, tensor<2x3x4xf32>) outs(%ew : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %d = arith.subf %x0, %x1 : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %t = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%w : tensor<2x3x4x6xf32>) outs(%ft : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %r = arith.addf %x0, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  %p = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%w, %t : tensor<2x3x4x6xf32>, tensor<2x3x4xf32>) outs(%ew : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %r = arith.divf %x0, %x1 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %o = linalg.generic {indexing_maps = [#s, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
      ins(%p, %v : tensor<2x3x4x6xf32>, tensor<2x3x6x8xf32>) outs(%fq : tensor<2x3x4x8xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x8xf32>
  %l = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t, %m : tensor<2x3x4xf32>, tensor<2x3x4xf32>) outs(%er : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %l = math.log %x0 : f32
    %r = arith.addf %l, %x1 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  return %o, %l : tensor<2x3x4x8xf32>, tensor<2x3x4xf32>
}

// -----

// Narrowed, reshaped, and used by the weights themselves.
// CHECK-LABEL: @narrow_lse
// CHECK: %[[O:.*]]:2 = kvq.attention
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[O]]#1 : tensor<2x4x3xf32>)
// CHECK: %[[E:.*]] = tensor.collapse_shape %[[T]] {{.*}} : tensor<2x3x4xf32> into tensor<6x4xf32>
// CHECK: %[[N:.*]] = arith.truncf %[[E]] : tensor<6x4xf32> to tensor<6x4xf16>
// CHECK: return %{{.*}}, %[[N]]
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @narrow_lse(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<6x4xf16>) {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x3x4x6xf32>
  %er = tensor.empty() : tensor<2x3x4xf32>
  %eq = tensor.empty() : tensor<2x3x4x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %fq = linalg.fill ins(%zero : f32) outs(%eq : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>) outs(%fs : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %m = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x3x4x6xf32>) outs(%fm : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %r = arith.maximumf %x0, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  %ew = tensor.empty() : tensor<2x3x4x6xf32>
  %w = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<2x3x4x6xf32>, tensor<2x3x4xf32>) outs(%ew : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %d = arith.subf %x0, %x1 : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %t = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%w : tensor<2x3x4x6xf32>) outs(%ft : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %r = arith.addf %x0, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  %l = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t, %m : tensor<2x3x4xf32>, tensor<2x3x4xf32>) outs(%er : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %l = math.log %x0 : f32
    %r = arith.addf %l, %x1 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  %ep = tensor.empty() : tensor<2x3x4x6xf32>
  %p = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %l : tensor<2x3x4x6xf32>, tensor<2x3x4xf32>) outs(%ep : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %d = arith.subf %x0, %x1 : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %c = tensor.collapse_shape %l [[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
  %n = arith.truncf %c : tensor<6x4xf32> to tensor<6x4xf16>
  %o = linalg.generic {indexing_maps = [#s, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
      ins(%p, %v : tensor<2x3x4x6xf32>, tensor<2x3x6x8xf32>) outs(%fq : tensor<2x3x4x8xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x8xf32>
  return %o, %n : tensor<2x3x4x8xf32>, tensor<6x4xf16>
}

// -----

// A column of the scores that is cut off the weights.
// CHECK-LABEL: @sink_column
// CHECK-SAME: %[[Z:[a-z0-9]*]]: tensor<3xf32>)
// CHECK: kvq.attention {{.*}} sinks(%[[Z]] : tensor<3xf32>) outs
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @sink_column(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>, %z: tensor<3xf32>) -> tensor<2x3x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x3x4x6xf32>
  %er = tensor.empty() : tensor<2x3x4xf32>
  %eq = tensor.empty() : tensor<2x3x4x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %fq = linalg.fill ins(%zero : f32) outs(%eq : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>) outs(%fs : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %ez = tensor.empty() : tensor<2x3x4x1xf32>
  %zb = linalg.broadcast ins(%z : tensor<3xf32>) outs(%ez : tensor<2x3x4x1xf32>) dimensions = [0, 2, 3]
  %c = tensor.concat dim(3) %s, %zb : (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>) -> tensor<2x3x4x7xf32>
  %ec = tensor.empty() : tensor<2x3x4x7xf32>
  %pc = linalg.softmax dimension(3) ins(%c : tensor<2x3x4x7xf32>) outs(%ec : tensor<2x3x4x7xf32>) -> tensor<2x3x4x7xf32>
  %p = tensor.extract_slice %pc[0, 0, 0, 0] [2, 3, 4, 6] [1, 1, 1, 1] : tensor<2x3x4x7xf32> to tensor<2x3x4x6xf32>
  %o = linalg.generic {indexing_maps = [#s, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
      ins(%p, %v : tensor<2x3x4x6xf32>, tensor<2x3x6x8xf32>) outs(%fq : tensor<2x3x4x8xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x8xf32>
  return %o : tensor<2x3x4x8xf32>
}

// -----

// The first column, through insertions.
// CHECK-LABEL: @sink_inserted
// CHECK-SAME: %[[Z:[a-z0-9]*]]: tensor<3xf32>)
// CHECK: kvq.attention {{.*}} sinks(%[[Z]] : tensor<3xf32>) outs
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @sink_inserted(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>, %z: tensor<3xf32>) -> tensor<2x3x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x3x4x6xf32>
  %er = tensor.empty() : tensor<2x3x4xf32>
  %eq = tensor.empty() : tensor<2x3x4x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %fq = linalg.fill ins(%zero : f32) outs(%eq : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>) outs(%fs : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %ez = tensor.empty() : tensor<2x3x4x1xf32>
  %zb = linalg.broadcast ins(%z : tensor<3xf32>) outs(%ez : tensor<2x3x4x1xf32>) dimensions = [0, 2, 3]
  %i0 = tensor.empty() : tensor<2x3x4x7xf32>
  %i1 = tensor.insert_slice %zb into %i0[0, 0, 0, 0] [2, 3, 4, 1] [1, 1, 1, 1] : tensor<2x3x4x1xf32> into tensor<2x3x4x7xf32>
  %c = tensor.insert_slice %s into %i1[0, 0, 0, 1] [2, 3, 4, 6] [1, 1, 1, 1] : tensor<2x3x4x6xf32> into tensor<2x3x4x7xf32>
  %ec = tensor.empty() : tensor<2x3x4x7xf32>
  %pc = linalg.softmax dimension(3) ins(%c : tensor<2x3x4x7xf32>) outs(%ec : tensor<2x3x4x7xf32>) -> tensor<2x3x4x7xf32>
  %p = tensor.extract_slice %pc[0, 0, 0, 1] [2, 3, 4, 6] [1, 1, 1, 1] : tensor<2x3x4x7xf32> to tensor<2x3x4x6xf32>
  %o = linalg.generic {indexing_maps = [#s, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
      ins(%p, %v : tensor<2x3x4x6xf32>, tensor<2x3x6x8xf32>) outs(%fq : tensor<2x3x4x8xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x8xf32>
  return %o : tensor<2x3x4x8xf32>
}

// -----

// A term of the sum; lse has it as well.
// CHECK-LABEL: @sink_term
// CHECK-SAME: %[[Z:[a-z0-9]*]]: tensor<3xf32>)
// CHECK: %[[O:.*]]:2 = kvq.attention {{.*}} sinks(%[[Z]] : tensor<3xf32>) outs
// CHECK: linalg.transpose ins(%[[O]]#1
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @sink_term(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>, %z: tensor<3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x3x4x6xf32>
  %er = tensor.empty() : tensor<2x3x4xf32>
  %eq = tensor.empty() : tensor<2x3x4x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %fq = linalg.fill ins(%zero : f32) outs(%eq : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>) outs(%fs : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %m = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x3x4x6xf32>) outs(%fm : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %r = arith.maximumf %x0, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  %ew = tensor.empty() : tensor<2x3x4x6xf32>
  %w = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<2x3x4x6xf32>, tensor<2x3x4xf32>) outs(%ew : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %d = arith.subf %x0, %x1 : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %t = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%w : tensor<2x3x4x6xf32>) outs(%ft : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %r = arith.addf %x0, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  %u = linalg.generic {indexing_maps = [#all, #all, #heads, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t, %m, %z : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<3xf32>) outs(%er : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %x1: f32, %x2: f32, %out: f32):
    %d = arith.subf %x2, %x1 : f32
    %ex = math.exp %d : f32
    %r = arith.addf %x0, %ex : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  %p = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%w, %u : tensor<2x3x4x6xf32>, tensor<2x3x4xf32>) outs(%ew : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %r = arith.divf %x0, %x1 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %o = linalg.generic {indexing_maps = [#s, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
      ins(%p, %v : tensor<2x3x4x6xf32>, tensor<2x3x6x8xf32>) outs(%fq : tensor<2x3x4x8xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x8xf32>
  %l = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%u, %m : tensor<2x3x4xf32>, tensor<2x3x4xf32>) outs(%er : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %l = math.log %x0 : f32
    %r = arith.addf %l, %x1 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  return %o, %l : tensor<2x3x4x8xf32>, tensor<2x3x4xf32>
}
