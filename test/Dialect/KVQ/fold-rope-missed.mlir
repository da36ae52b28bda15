// A rotary position embedding that does not go into the append stays as it is,
// with the reason; what is none is not talked about.
// RUN: kvq-opt %s --kvq-fuse-quantize-append --split-input-file --verify-diagnostics --remarks-filter='kvq.*' -o %t.after
// RUN: kvq-opt %s --split-input-file | diff %t.after -

// Rounded to bf16 after the rotation.
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @rounded(%x: tensor<5x2x64xf32>, %cos: tensor<5x32xf32>, %sin: tensor<5x32xf32>, %k: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) {
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
  %z = arith.truncf %y : tensor<5x2x64xf32> to tensor<5x2x64xbf16>
  // expected-remark@+1 {{'kvq.quantize_append' op does not rotate the keys that it writes: what rotates them does not compute in f32, or rounds before they are written}}
  kvq.quantize_append ins(%z : tensor<5x2x64xbf16>) into(%k : !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return
}

// -----

// Rotated in bf16.
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @narrow(%x: tensor<5x2x64xbf16>, %cos: tensor<5x32xbf16>, %sin: tensor<5x32xbf16>, %k: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) {
  %c = tensor.concat dim(1) %cos, %cos : (tensor<5x32xbf16>, tensor<5x32xbf16>) -> tensor<5x64xbf16>
  %s = tensor.concat dim(1) %sin, %sin : (tensor<5x32xbf16>, tensor<5x32xbf16>) -> tensor<5x64xbf16>
  %lo = tensor.extract_slice %x[0, 0, 0] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xbf16> to tensor<5x2x32xbf16>
  %hi = tensor.extract_slice %x[0, 0, 32] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xbf16> to tensor<5x2x32xbf16>
  %n = arith.negf %hi : tensor<5x2x32xbf16>
  %rot = tensor.concat dim(2) %n, %lo : (tensor<5x2x32xbf16>, tensor<5x2x32xbf16>) -> tensor<5x2x64xbf16>
  %ea = tensor.empty() : tensor<5x2x64xbf16>
  %a = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %c : tensor<5x2x64xbf16>, tensor<5x64xbf16>) outs(%ea : tensor<5x2x64xbf16>) {
  ^bb0(%u: bf16, %w: bf16, %out: bf16):
    %r = arith.mulf %u, %w : bf16
    linalg.yield %r : bf16
  } -> tensor<5x2x64xbf16>
  %eb = tensor.empty() : tensor<5x2x64xbf16>
  %b = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%rot, %s : tensor<5x2x64xbf16>, tensor<5x64xbf16>) outs(%eb : tensor<5x2x64xbf16>) {
  ^bb0(%u: bf16, %w: bf16, %out: bf16):
    %r = arith.mulf %u, %w : bf16
    linalg.yield %r : bf16
  } -> tensor<5x2x64xbf16>
  %ey = tensor.empty() : tensor<5x2x64xbf16>
  %y = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<5x2x64xbf16>, tensor<5x2x64xbf16>) outs(%ey : tensor<5x2x64xbf16>) {
  ^bb0(%u: bf16, %w: bf16, %out: bf16):
    %r = arith.addf %u, %w : bf16
    linalg.yield %r : bf16
  } -> tensor<5x2x64xbf16>
  // expected-remark@+1 {{'kvq.quantize_append' op does not rotate the keys that it writes: what rotates them does not compute in f32, or rounds before they are written}}
  kvq.quantize_append ins(%y : tensor<5x2x64xbf16>) into(%k : !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return
}

// -----

// Tables for each channel, which may differ.
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @tables(%x: tensor<5x2x64xf32>, %cos: tensor<5x64xf32>, %sin: tensor<5x64xf32>, %k: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) {
  %lo = tensor.extract_slice %x[0, 0, 0] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %hi = tensor.extract_slice %x[0, 0, 32] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %n = arith.negf %hi : tensor<5x2x32xf32>
  %rot = tensor.concat dim(2) %n, %lo : (tensor<5x2x32xf32>, tensor<5x2x32xf32>) -> tensor<5x2x64xf32>
  %ea = tensor.empty() : tensor<5x2x64xf32>
  %a = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %cos : tensor<5x2x64xf32>, tensor<5x64xf32>) outs(%ea : tensor<5x2x64xf32>) {
  ^bb0(%u: f32, %w: f32, %out: f32):
    %r = arith.mulf %u, %w : f32
    linalg.yield %r : f32
  } -> tensor<5x2x64xf32>
  %eb = tensor.empty() : tensor<5x2x64xf32>
  %b = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%rot, %sin : tensor<5x2x64xf32>, tensor<5x64xf32>) outs(%eb : tensor<5x2x64xf32>) {
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
  // expected-remark@+1 {{'kvq.quantize_append' op does not rotate the keys that it writes: the two channels of a pair are not known to have one cosine and one sine}}
  kvq.quantize_append ins(%y : tensor<5x2x64xf32>) into(%k : !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return
}

// -----

// The other way round is a rotation by the opposite angle: the sine has to be
// negated. No pair of it is y0 = x0 cos - x1 sin.
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @backwards(%x: tensor<5x2x64xf32>, %cos: tensor<5x32xf32>, %sin: tensor<5x32xf32>, %k: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) {
  %c = tensor.concat dim(1) %cos, %cos : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x64xf32>
  %s = tensor.concat dim(1) %sin, %sin : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x64xf32>
  %lo = tensor.extract_slice %x[0, 0, 0] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %hi = tensor.extract_slice %x[0, 0, 32] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %n = arith.negf %lo : tensor<5x2x32xf32>
  %rot = tensor.concat dim(2) %hi, %n : (tensor<5x2x32xf32>, tensor<5x2x32xf32>) -> tensor<5x2x64xf32>
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
  kvq.quantize_append ins(%y : tensor<5x2x64xf32>) into(%k : !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return
}

// -----

// Values are not rotated.
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @values(%x: tensor<5x2x64xf32>, %cos: tensor<5x32xf32>, %sin: tensor<5x32xf32>, %k: !kvq.cache<value, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) {
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
  kvq.quantize_append ins(%y : tensor<5x2x64xf32>) into(%k : !kvq.cache<value, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return
}

// -----

// Other rows are added.
#rows = affine_map<(n, h, d) -> (n, h, d)>
#table = affine_map<(n, h, d) -> (n, d)>
func.func @others(%x: tensor<5x2x64xf32>, %z: tensor<5x2x64xf32>, %cos: tensor<5x32xf32>, %sin: tensor<5x32xf32>, %k: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>, %slots: tensor<5xi64>) {
  %c = tensor.concat dim(1) %cos, %cos : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x64xf32>
  %s = tensor.concat dim(1) %sin, %sin : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x64xf32>
  %lo = tensor.extract_slice %x[0, 0, 0] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %hi = tensor.extract_slice %x[0, 0, 32] [5, 2, 32] [1, 1, 1] : tensor<5x2x64xf32> to tensor<5x2x32xf32>
  %n = arith.negf %hi : tensor<5x2x32xf32>
  %rot = tensor.concat dim(2) %n, %lo : (tensor<5x2x32xf32>, tensor<5x2x32xf32>) -> tensor<5x2x64xf32>
  %ea = tensor.empty() : tensor<5x2x64xf32>
  %a = linalg.generic {indexing_maps = [#rows, #table, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%z, %c : tensor<5x2x64xf32>, tensor<5x64xf32>) outs(%ea : tensor<5x2x64xf32>) {
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
  kvq.quantize_append ins(%y : tensor<5x2x64xf32>) into(%k : !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>) slot_mapping(%slots : tensor<5xi64>)
  return
}
