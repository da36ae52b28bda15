// Near misses of attention with a returned logarithm of the sum, or with sinks.
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-raise-attention))' --split-input-file --verify-diagnostics --remarks-filter='kvq.*' -o %t.after
// RUN: kvq-opt %s --split-input-file | diff - %t.after

// Base 2 is not the natural logarithm.
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @log2(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>) {
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
  // expected-remark@+1 {{is not raised: the scores or weights have another use}}
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
    %l = math.log2 %x0 : f32
    %r = arith.addf %l, %x1 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  return %o, %l : tensor<2x3x4x8xf32>, tensor<2x3x4xf32>
}

// -----

// Without the maximum.
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @no_maximum(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>) {
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
  // expected-remark@+1 {{is not raised: the scores or weights have another use}}
  %o = linalg.generic {indexing_maps = [#s, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
      ins(%p, %v : tensor<2x3x4x6xf32>, tensor<2x3x6x8xf32>) outs(%fq : tensor<2x3x4x8xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x8xf32>
  %l = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t : tensor<2x3x4xf32>) outs(%er : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %r = math.log %x0 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  return %o, %l : tensor<2x3x4x8xf32>, tensor<2x3x4xf32>
}

// -----

// What uses it comes before the attention.
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @early(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>) {
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
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%l : tensor<2x3x4xf32>) outs(%er : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %r = arith.addf %x0, %x0 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  %p = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%w, %t : tensor<2x3x4x6xf32>, tensor<2x3x4xf32>) outs(%ew : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %r = arith.divf %x0, %x1 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  // expected-remark@+1 {{is not raised: the scores or weights have another use}}
  %o = linalg.generic {indexing_maps = [#s, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
      ins(%p, %v : tensor<2x3x4x6xf32>, tensor<2x3x6x8xf32>) outs(%fq : tensor<2x3x4x8xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x8xf32>
  return %o, %y : tensor<2x3x4x8xf32>, tensor<2x3x4xf32>
}

// -----

// The weights are returned, too.
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @weights(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4x6xf32>) {
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
  // expected-remark@+1 {{is not raised: the scores or weights have another use}}
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
  return %o, %l, %p : tensor<2x3x4x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4x6xf32>
}

// -----

// A sink for each sequence and head.
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @sink_per_sequence(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>, %z: tensor<2x3xf32>) -> tensor<2x3x4x8xf32> {
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
  %zb = linalg.broadcast ins(%z : tensor<2x3xf32>) outs(%ez : tensor<2x3x4x1xf32>) dimensions = [2, 3]
  %c = tensor.concat dim(3) %s, %zb : (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>) -> tensor<2x3x4x7xf32>
  %ec = tensor.empty() : tensor<2x3x4x7xf32>
  %pc = linalg.softmax dimension(3) ins(%c : tensor<2x3x4x7xf32>) outs(%ec : tensor<2x3x4x7xf32>) -> tensor<2x3x4x7xf32>
  %p = tensor.extract_slice %pc[0, 0, 0, 0] [2, 3, 4, 6] [1, 1, 1, 1] : tensor<2x3x4x7xf32> to tensor<2x3x4x6xf32>
  // expected-remark@+1 {{is not raised: the score that joins the sum of the weights differs along more than the query heads}}
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

// The weights of all keys but the last: their sum has one more.
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @cut_keys(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x7x8xf32>, %v: tensor<2x3x6x8xf32>) -> tensor<2x3x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x3x4x6xf32>
  %er = tensor.empty() : tensor<2x3x4xf32>
  %eq = tensor.empty() : tensor<2x3x4x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %fq = linalg.fill ins(%zero : f32) outs(%eq : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  %ec = tensor.empty() : tensor<2x3x4x7xf32>
  %fc = linalg.fill ins(%zero : f32) outs(%ec : tensor<2x3x4x7xf32>) -> tensor<2x3x4x7xf32>
  %c = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x3x4x8xf32>, tensor<2x3x7x8xf32>) outs(%fc : tensor<2x3x4x7xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %pp = arith.mulf %x0, %x1 : f32
    %r = arith.addf %out, %pp : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x7xf32>
  %pc = linalg.softmax dimension(3) ins(%c : tensor<2x3x4x7xf32>) outs(%ec : tensor<2x3x4x7xf32>) -> tensor<2x3x4x7xf32>
  %p = tensor.extract_slice %pc[0, 0, 0, 0] [2, 3, 4, 6] [1, 1, 1, 1] : tensor<2x3x4x7xf32> to tensor<2x3x4x6xf32>
  // expected-remark@+1 {{is not attention: the weights are not divided by the sum of the same weights along the keys}}
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

// Two more columns.
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @two_columns(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>, %z: tensor<3xf32>) -> tensor<2x3x4x8xf32> {
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
  %ez = tensor.empty() : tensor<2x3x4x2xf32>
  %zb = linalg.broadcast ins(%z : tensor<3xf32>) outs(%ez : tensor<2x3x4x2xf32>) dimensions = [0, 2, 3]
  %c = tensor.concat dim(3) %s, %zb : (tensor<2x3x4x6xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x8xf32>
  %ec = tensor.empty() : tensor<2x3x4x8xf32>
  %pc = linalg.softmax dimension(3) ins(%c : tensor<2x3x4x8xf32>) outs(%ec : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  %p = tensor.extract_slice %pc[0, 0, 0, 0] [2, 3, 4, 6] [1, 1, 1, 1] : tensor<2x3x4x8xf32> to tensor<2x3x4x6xf32>
  // expected-remark@+1 {{is not attention: the weights are not divided by the sum of the same weights along the keys}}
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

// A one is no sink: it stands for a score that is the maximum.
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#full = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (b, h, i)>
#head = affine_map<(b, h, i, j) -> (h)>
#all = affine_map<(b, h, i) -> (b, h, i)>
#heads = affine_map<(b, h, i) -> (h)>
func.func @plus_one(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>) -> tensor<2x3x4x8xf32> {
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
  %u = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t : tensor<2x3x4xf32>) outs(%er : tensor<2x3x4xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %one = arith.constant 1.0 : f32
    %r = arith.addf %x0, %one : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  %p = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%w, %u : tensor<2x3x4x6xf32>, tensor<2x3x4xf32>) outs(%ew : tensor<2x3x4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %r = arith.divf %x0, %x1 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  // expected-remark@+1 {{is not attention: the weights are not divided by the sum}}
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

// One key has the weight 1.
func.func @one_key(%q: tensor<4x8xf32>, %k: tensor<8x1xf32>, %v: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : tensor<4x1xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x1xf32>) -> tensor<4x1xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x1xf32>) outs(%fs : tensor<4x1xf32>) -> tensor<4x1xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x1xf32>) outs(%es : tensor<4x1xf32>) -> tensor<4x1xf32>
  // expected-remark@+1 {{is not raised: there is one key}}
  %o = linalg.matmul ins(%p, %v : tensor<4x1xf32>, tensor<1x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
