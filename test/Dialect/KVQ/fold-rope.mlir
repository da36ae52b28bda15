// A rotary position embedding of the keys goes into the append.
// RUN: kvq-opt %s --kvq-fuse-quantize-append --split-input-file --verify-diagnostics --remarks-filter='kvq.*' | FileCheck %s
// Running the pass again changes nothing.
// RUN: kvq-opt %s --kvq-fuse-quantize-append --split-input-file -o %t.once
// RUN: kvq-opt %t.once --kvq-fuse-quantize-append --split-input-file | diff %t.once -

// Halves, with tables that repeat.
// CHECK-LABEL: func @halves
// CHECK-SAME: %[[X:.*]]: tensor<5x2x64xf32>, %[[C:.*]]: tensor<5x32xf32>, %[[S:.*]]: tensor<5x32xf32>
// CHECK-NOT: concat
// CHECK: kvq.quantize_append ins(%[[X]] : tensor<5x2x64xf32>)
// CHECK-SAME: rope(%{{.*}}, %{{.*}} : tensor<5x32xf32>, tensor<5x32xf32>)
// CHECK-NEXT: return
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @halves(%x: tensor<5x2x64xf32>, %cos: tensor<5x32xf32>, %sin: tensor<5x32xf32>, %k: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) {
  %c = tensor.concat dim(1) %cos, %cos : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x64xf32>
  %s = tensor.concat dim(1) %sin, %sin : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x64xf32>
  %lo = tensor.extract_slice %x[0, 0, 0] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %hi = tensor.extract_slice %x[0, 0, 32] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %n = arith.negf %hi : tensor<5x2x32xf32>
  %rot = tensor.concat dim(2) %n, %lo : (tensor<5x2x32xf32>, tensor<5x2x32xf32>) -> tensor<5x2x64xf32>
  %ea = tensor.empty() : tensor<5x2x64xf32>
  %a = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %c : tensor<5x2x64xf32>, tensor<5x64xf32>) outs(%ea : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  %eb = tensor.empty() : tensor<5x2x64xf32>
  %b = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%rot, %s : tensor<5x2x64xf32>, tensor<5x64xf32>) outs(%eb : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  %ey = tensor.empty() : tensor<5x2x64xf32>
  %y = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<5x2x64xf32>, tensor<5x2x64xf32>) outs(%ey : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.addf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  // expected-remark@+1 {{'kvq.quantize_append' op rotates the keys that it writes: rotate_half, 64 channels}}
  kvq.quantize_append ins(%y : tensor<5x2x64xf32>) into(%k : !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return
}

// -----

// The cosine and the sine of angles that repeat: their first halves.
// CHECK-LABEL: func @angles
// CHECK: %[[COS:.*]] = math.cos
// CHECK: tensor.extract_slice %[[COS]][0, 0] [5, 32] [1, 1]
// CHECK: kvq.quantize_append {{.*}} rope(
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @angles(%x: tensor<5x2x64xf32>, %f: tensor<5x32xf32>, %k: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) {
  %g = tensor.concat dim(1) %f, %f : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x64xf32>
  %c = math.cos %g : tensor<5x64xf32>
  %s = math.sin %g : tensor<5x64xf32>
  %lo = tensor.extract_slice %x[0, 0, 0] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %hi = tensor.extract_slice %x[0, 0, 32] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %n = arith.negf %hi : tensor<5x2x32xf32>
  %rot = tensor.concat dim(2) %n, %lo : (tensor<5x2x32xf32>, tensor<5x2x32xf32>) -> tensor<5x2x64xf32>
  %ea = tensor.empty() : tensor<5x2x64xf32>
  %a = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %c : tensor<5x2x64xf32>, tensor<5x64xf32>) outs(%ea : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  %eb = tensor.empty() : tensor<5x2x64xf32>
  %b = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%rot, %s : tensor<5x2x64xf32>, tensor<5x64xf32>) outs(%eb : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  %ey = tensor.empty() : tensor<5x2x64xf32>
  %y = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<5x2x64xf32>, tensor<5x2x64xf32>) outs(%ey : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.addf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  // expected-remark@+1 {{'kvq.quantize_append' op rotates the keys that it writes: rotate_half, 64 channels}}
  kvq.quantize_append ins(%y : tensor<5x2x64xf32>) into(%k : !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return
}

// -----

// bf16 keys in another order, rotated in f32.
// CHECK-LABEL: func @widened
// CHECK-SAME: %[[X:.*]]: tensor<2x5x64xbf16>
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[X]] : tensor<2x5x64xbf16>)
// CHECK: kvq.quantize_append ins(%[[T]] : tensor<5x2x64xbf16>)
// CHECK-SAME: rope(
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @widened(%x: tensor<2x5x64xbf16>, %cos: tensor<5x32xf32>, %sin: tensor<5x32xf32>, %k: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) {
  %w32 = arith.extf %x : tensor<2x5x64xbf16> to tensor<2x5x64xf32>
  %et = tensor.empty() : tensor<5x2x64xf32>
  %xt = linalg.transpose ins(%w32 : tensor<2x5x64xf32>) outs(%et : tensor<5x2x64xf32>) permutation = [1, 0, 2]
  %c = tensor.concat dim(1) %cos, %cos : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x64xf32>
  %s = tensor.concat dim(1) %sin, %sin : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x64xf32>
  %lo = tensor.extract_slice %xt[0, 0, 0] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %hi = tensor.extract_slice %xt[0, 0, 32] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %n = arith.negf %hi : tensor<5x2x32xf32>
  %rot = tensor.concat dim(2) %n, %lo : (tensor<5x2x32xf32>, tensor<5x2x32xf32>) -> tensor<5x2x64xf32>
  %ea = tensor.empty() : tensor<5x2x64xf32>
  %a = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%xt, %c : tensor<5x2x64xf32>, tensor<5x64xf32>) outs(%ea : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  %eb = tensor.empty() : tensor<5x2x64xf32>
  %b = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%rot, %s : tensor<5x2x64xf32>, tensor<5x64xf32>) outs(%eb : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  %ey = tensor.empty() : tensor<5x2x64xf32>
  %y = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<5x2x64xf32>, tensor<5x2x64xf32>) outs(%ey : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.addf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  // expected-remark@+1 {{'kvq.quantize_append' op rotates the keys that it writes: rotate_half, 64 channels}}
  kvq.quantize_append ins(%y : tensor<5x2x64xf32>) into(%k : !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return
}

// -----

// Neighbours, by a reshape.
// CHECK-LABEL: func @neighbours
// CHECK-SAME: %[[X:.*]]: tensor<5x2x64xf32>
// CHECK: kvq.quantize_append ins(%[[X]] : tensor<5x2x64xf32>)
// CHECK-SAME: rope(%{{.*}}, %{{.*}} : tensor<5x32xf32>, tensor<5x32xf32>) {rope_style = #kvq<rope_style interleaved>}
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @neighbours(%x: tensor<5x2x64xf32>, %cos: tensor<5x32xf32>, %sin: tensor<5x32xf32>, %k: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) {
  %p = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [5, 2, 32, 2] : tensor<5x2x64xf32> into tensor<5x2x32x2xf32>
  %lo = tensor.extract_slice %p[0, 0, 0, 0] [5, 2, 32, 1] [1, 1, 1, 1] : tensor<5x2x32x2xf32> to tensor<5x2x32xf32>
  %hi = tensor.extract_slice %p[0, 0, 0, 1] [5, 2, 32, 1] [1, 1, 1, 1] : tensor<5x2x32x2xf32> to tensor<5x2x32xf32>
  %ea = tensor.empty() : tensor<5x2x32xf32>
  %a = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%lo, %cos : tensor<5x2x32xf32>, tensor<5x32xf32>) outs(%ea : tensor<5x2x32xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x32xf32>
  %eb = tensor.empty() : tensor<5x2x32xf32>
  %b = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%hi, %sin : tensor<5x2x32xf32>, tensor<5x32xf32>) outs(%eb : tensor<5x2x32xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x32xf32>
  %ey0 = tensor.empty() : tensor<5x2x32xf32>
  %y0 = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<5x2x32xf32>, tensor<5x2x32xf32>) outs(%ey0 : tensor<5x2x32xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.subf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x32xf32>
  %ec0 = tensor.empty() : tensor<5x2x32xf32>
  %c0 = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%hi, %cos : tensor<5x2x32xf32>, tensor<5x32xf32>) outs(%ec0 : tensor<5x2x32xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x32xf32>
  %ed0 = tensor.empty() : tensor<5x2x32xf32>
  %d0 = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%lo, %sin : tensor<5x2x32xf32>, tensor<5x32xf32>) outs(%ed0 : tensor<5x2x32xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x32xf32>
  %ey1 = tensor.empty() : tensor<5x2x32xf32>
  %y1 = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%d0, %c0 : tensor<5x2x32xf32>, tensor<5x2x32xf32>) outs(%ey1 : tensor<5x2x32xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.addf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x32xf32>
  %z0 = tensor.empty() : tensor<5x2x32x2xf32>
  %z1 = tensor.insert_slice %y0 into %z0[0, 0, 0, 0] [5, 2, 32, 1] [1, 1, 1, 1] : tensor<5x2x32xf32> into tensor<5x2x32x2xf32>
  %z2 = tensor.insert_slice %y1 into %z1[0, 0, 0, 1] [5, 2, 32, 1] [1, 1, 1, 1] : tensor<5x2x32xf32> into tensor<5x2x32x2xf32>
  %y = tensor.collapse_shape %z2 [[0], [1], [2, 3]] : tensor<5x2x32x2xf32> into tensor<5x2x64xf32>
  // expected-remark@+1 {{'kvq.quantize_append' op rotates the keys that it writes: interleaved, 64 channels}}
  kvq.quantize_append ins(%y : tensor<5x2x64xf32>) into(%k : !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return
}

// -----

// The first half of the channels.
// CHECK-LABEL: func @partial
// CHECK-SAME: %[[X:.*]]: tensor<5x2x64xf32>
// CHECK: kvq.quantize_append ins(%[[X]] : tensor<5x2x64xf32>)
// CHECK-SAME: rope(%{{.*}}, %{{.*}} : tensor<5x16xf32>, tensor<5x16xf32>)
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @partial(%x: tensor<5x2x64xf32>, %cos: tensor<5x16xf32>, %sin: tensor<5x16xf32>, %k: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) {
  %first = tensor.extract_slice %x[0, 0, 0] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %pass = tensor.extract_slice %x[0, 0, 32] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %lo = tensor.extract_slice %first[0, 0, 0] [5, 2, 16] [1, 1, 1] : tensor<5x2x32xf32> to tensor<5x2x16xf32>
  %hi = tensor.extract_slice %first[0, 0, 16] [5, 2, 16] [1, 1, 1] : tensor<5x2x32xf32> to tensor<5x2x16xf32>
  %n = arith.negf %hi : tensor<5x2x16xf32>
  %rot = tensor.concat dim(2) %n, %lo : (tensor<5x2x16xf32>, tensor<5x2x16xf32>) -> tensor<5x2x32xf32>
  %c = tensor.concat dim(1) %cos, %cos : (tensor<5x16xf32>, tensor<5x16xf32>) -> tensor<5x32xf32>
  %s = tensor.concat dim(1) %sin, %sin : (tensor<5x16xf32>, tensor<5x16xf32>) -> tensor<5x32xf32>
  %ea = tensor.empty() : tensor<5x2x32xf32>
  %a = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%first, %c : tensor<5x2x32xf32>, tensor<5x32xf32>) outs(%ea : tensor<5x2x32xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x32xf32>
  %eb = tensor.empty() : tensor<5x2x32xf32>
  %b = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%rot, %s : tensor<5x2x32xf32>, tensor<5x32xf32>) outs(%eb : tensor<5x2x32xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x32xf32>
  %ey0 = tensor.empty() : tensor<5x2x32xf32>
  %y0 = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<5x2x32xf32>, tensor<5x2x32xf32>) outs(%ey0 : tensor<5x2x32xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.addf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x32xf32>
  %y = tensor.concat dim(2) %y0, %pass : (tensor<5x2x32xf32>, tensor<5x2x32xf32>) -> tensor<5x2x64xf32>
  // expected-remark@+1 {{'kvq.quantize_append' op rotates the keys that it writes: rotate_half, 32 channels}}
  kvq.quantize_append ins(%y : tensor<5x2x64xf32>) into(%k : !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return
}

// -----

// Rows that are quantized on the way, and rotated rows that something else uses.
// CHECK-LABEL: func @quantized
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<5x2x64xf32>, tensor<5x2x64xf32>)
// CHECK: kvq.quantize_append {{.*}} rope(
// CHECK: return %[[Y]]
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @quantized(%x: tensor<5x2x64xf32>, %cos: tensor<5x32xf32>, %sin: tensor<5x32xf32>, %k: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) -> tensor<5x2x64xf32> {
  %c = tensor.concat dim(1) %cos, %cos : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x64xf32>
  %s = tensor.concat dim(1) %sin, %sin : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x64xf32>
  %lo = tensor.extract_slice %x[0, 0, 0] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %hi = tensor.extract_slice %x[0, 0, 32] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %n = arith.negf %hi : tensor<5x2x32xf32>
  %rot = tensor.concat dim(2) %n, %lo : (tensor<5x2x32xf32>, tensor<5x2x32xf32>) -> tensor<5x2x64xf32>
  %ea = tensor.empty() : tensor<5x2x64xf32>
  %a = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %c : tensor<5x2x64xf32>, tensor<5x64xf32>) outs(%ea : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  %eb = tensor.empty() : tensor<5x2x64xf32>
  %b = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%rot, %s : tensor<5x2x64xf32>, tensor<5x64xf32>) outs(%eb : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  %ey = tensor.empty() : tensor<5x2x64xf32>
  %y = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<5x2x64xf32>, tensor<5x2x64xf32>) outs(%ey : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.addf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  %d = tensor.empty() : tensor<5x2x64xf4E2M1FN>
  %e = tensor.empty() : tensor<5x2x2xf8E8M0FNU>
  %q:2 = kvq.quantize ins(%y : tensor<5x2x64xf32>) outs(%d, %e : tensor<5x2x64xf4E2M1FN>, tensor<5x2x2xf8E8M0FNU>) {format = #kvq.format<mxfp4>} -> tensor<5x2x64xf4E2M1FN>, tensor<5x2x2xf8E8M0FNU>
  // expected-remark@+2 {{quantizes the rows that it writes}}
  // expected-remark@+1 {{rotates the keys that it writes: rotate_half, 64 channels}}
  kvq.append ins(%q#0, %q#1 : tensor<5x2x64xf4E2M1FN>, tensor<5x2x2xf8E8M0FNU>) into(%k : !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return %y : tensor<5x2x64xf32>
}
