// Near misses say why and change nothing.
// RUN: kvq-opt %s --kvq-fuse-quantize-append --split-input-file --verify-diagnostics --remarks-filter='kvq.*' -o %t.after
// RUN: kvq-opt %s --split-input-file | diff - %t.after

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!d = tensor<4x8x128xf4E2M1FN>
!s = tensor<4x8x8xf8E4M3FN>

// The global scale could be any number.
func.func @unknown_global_scale(%x: tensor<4x8x128xf32>, %d: !d, %s: !s, %slots: tensor<4xi64>, %k: !k, %g: f32) {
  %0:2 = kvq.quantize ins(%x : tensor<4x8x128xf32>) global_scale(%g) outs(%d, %s : !d, !s) {format = #kvq.format<nvfp4>} -> !d, !s
  // expected-remark@+1 {{is not fused: the global scale of kvq.quantize is not known to be that of the handle}}
  kvq.append ins(%0#0, %0#1 : !d, !s) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!d = tensor<4x8x128xf4E2M1FN>
!s = tensor<4x8x8xf8E4M3FN>

// The global scale is written after it was loaded.
func.func @global_scale_written(%x: tensor<4x8x128xf32>, %d: !d, %s: !s, %slots: tensor<4xi64>, %kd: memref<?x16x8x128xf4E2M1FN>, %ks: memref<?x16x8x8xf8E4M3FN>, %gm: memref<f32>, %new: f32) {
  %k = kvq.make_cache data(%kd : memref<?x16x8x128xf4E2M1FN>) scales(%ks : memref<?x16x8x8xf8E4M3FN>) global_scale(%gm : memref<f32>) : !k
  %g = memref.load %gm[] : memref<f32>
  %0:2 = kvq.quantize ins(%x : tensor<4x8x128xf32>) global_scale(%g) outs(%d, %s : !d, !s) {format = #kvq.format<nvfp4>} -> !d, !s
  memref.store %new, %gm[] : memref<f32>
  // expected-remark@+1 {{is not fused: the global scale of kvq.quantize is not known to be that of the handle}}
  kvq.append ins(%0#0, %0#1 : !d, !s) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!d = tensor<4x8x128xf4E2M1FN>
!s = tensor<4x8x8xf8E4M3FN>
func.func private @anything()

// A call may write anything.
func.func @call_between(%x: tensor<4x8x128xf32>, %d: !d, %s: !s, %slots: tensor<4xi64>, %k: !k) {
  %gm = kvq.cache_global_scale %k : !k -> memref<f32>
  %g = memref.load %gm[] : memref<f32>
  %0:2 = kvq.quantize ins(%x : tensor<4x8x128xf32>) global_scale(%g) outs(%d, %s : !d, !s) {format = #kvq.format<nvfp4>} -> !d, !s
  func.call @anything() : () -> ()
  // expected-remark@+1 {{is not fused: the global scale of kvq.quantize is not known to be that of the handle}}
  kvq.append ins(%0#0, %0#1 : !d, !s) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!d = tensor<4x8x128xf4E2M1FN>
!s = tensor<4x8x8xf8E4M3FN>

// The global scale is that of another handle.
func.func @other_global_scale(%x: tensor<4x8x128xf32>, %d: !d, %s: !s, %slots: tensor<4xi64>, %k: !k, %other: !k) {
  %gm = kvq.cache_global_scale %other : !k -> memref<f32>
  %g = memref.load %gm[] : memref<f32>
  %0:2 = kvq.quantize ins(%x : tensor<4x8x128xf32>) global_scale(%g) outs(%d, %s : !d, !s) {format = #kvq.format<nvfp4>} -> !d, !s
  // expected-remark@+1 {{is not fused: the global scale of kvq.quantize is not known to be that of the handle}}
  kvq.append ins(%0#0, %0#1 : !d, !s) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!d = tensor<4x8x128xf4E2M1FN>
!s = tensor<4x8x8xf8E4M3FN>

// The scales are those of other rows.
func.func @other_scales(%x: tensor<4x8x128xf32>, %d: !d, %s: !s, %slots: tensor<4xi64>, %k: !k) {
  %gm = kvq.cache_global_scale %k : !k -> memref<f32>
  %g = memref.load %gm[] : memref<f32>
  %0:2 = kvq.quantize ins(%x : tensor<4x8x128xf32>) global_scale(%g) outs(%d, %s : !d, !s) {format = #kvq.format<nvfp4>} -> !d, !s
  // expected-remark@+1 {{is not fused: data and scales do not come the same way from one kvq.quantize}}
  kvq.append ins(%0#0, %s : !d, !s) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!d = tensor<4x8x128xf4E2M1FN>
!s = tensor<4x8x8xf8E4M3FN>

// Data and scales are taken from different rows.
func.func @other_slices(%x: tensor<6x8x128xf32>, %d: tensor<6x8x128xf4E2M1FN>, %s: tensor<6x8x8xf8E4M3FN>, %slots: tensor<4xi64>, %k: !k) {
  %gm = kvq.cache_global_scale %k : !k -> memref<f32>
  %g = memref.load %gm[] : memref<f32>
  %0:2 = kvq.quantize ins(%x : tensor<6x8x128xf32>) global_scale(%g) outs(%d, %s : tensor<6x8x128xf4E2M1FN>, tensor<6x8x8xf8E4M3FN>) {format = #kvq.format<nvfp4>} -> tensor<6x8x128xf4E2M1FN>, tensor<6x8x8xf8E4M3FN>
  %1 = tensor.extract_slice %0#0[0, 0, 0] [4, 8, 128] [1, 1, 1] : tensor<6x8x128xf4E2M1FN> to !d
  %2 = tensor.extract_slice %0#1[2, 0, 0] [4, 8, 8] [1, 1, 1] : tensor<6x8x8xf8E4M3FN> to !s
  // expected-remark@+1 {{is not fused: data and scales do not come the same way from one kvq.quantize}}
  kvq.append ins(%1, %2 : !d, !s) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, mxfp4, NHD, linear>

// The data are transposed and the scales are not.
func.func @other_transpose(%x: tensor<8x8x128xf32>, %d: tensor<8x8x128xf4E2M1FN>, %s: tensor<8x8x4xf8E8M0FNU>, %slots: tensor<8xi64>, %k: !k) {
  %0:2 = kvq.quantize ins(%x : tensor<8x8x128xf32>) outs(%d, %s : tensor<8x8x128xf4E2M1FN>, tensor<8x8x4xf8E8M0FNU>) {format = #kvq.format<mxfp4>} -> tensor<8x8x128xf4E2M1FN>, tensor<8x8x4xf8E8M0FNU>
  %1 = linalg.transpose ins(%0#0 : tensor<8x8x128xf4E2M1FN>) outs(%d : tensor<8x8x128xf4E2M1FN>) permutation = [1, 0, 2]
  // expected-remark@+1 {{is not fused: data and scales do not come the same way from one kvq.quantize}}
  kvq.append ins(%1, %0#1 : tensor<8x8x128xf4E2M1FN>, tensor<8x8x4xf8E8M0FNU>) into(%k : !k) slot_mapping(%slots : tensor<8xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x128, mxfp4, NHD, linear>

// Blocks of 128 become rows of two of them: the rows are not whole.
func.func @split_rows(%x: tensor<4x256xf32>, %d: tensor<4x256xf4E2M1FN>, %s: tensor<4x8xf8E8M0FNU>, %slots: tensor<4xi64>, %k: !k) {
  %0:2 = kvq.quantize ins(%x : tensor<4x256xf32>) outs(%d, %s : tensor<4x256xf4E2M1FN>, tensor<4x8xf8E8M0FNU>) {format = #kvq.format<mxfp4>} -> tensor<4x256xf4E2M1FN>, tensor<4x8xf8E8M0FNU>
  %1 = tensor.expand_shape %0#0 [[0], [1, 2]] output_shape [4, 2, 128] : tensor<4x256xf4E2M1FN> into tensor<4x2x128xf4E2M1FN>
  %2 = tensor.expand_shape %0#1 [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf8E8M0FNU> into tensor<4x2x4xf8E8M0FNU>
  // expected-remark@+1 {{is not fused: between kvq.quantize and it an operation does not leave rows of head_dim whole}}
  kvq.append ins(%1, %2 : tensor<4x2x128xf4E2M1FN>, tensor<4x2x4xf8E8M0FNU>) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

// Rows from two arrays.
func.func @concatenated(%x: tensor<2x2x64xf32>, %y: tensor<2x2x64xbf16>, %d: tensor<2x2x64xbf16>, %slots: tensor<4xi64>, %k: !k) {
  %0 = kvq.quantize ins(%x : tensor<2x2x64xf32>) outs(%d : tensor<2x2x64xbf16>) {format = #kvq.format<bf16>} -> tensor<2x2x64xbf16>
  %1 = tensor.concat dim(0) %0, %y : (tensor<2x2x64xbf16>, tensor<2x2x64xbf16>) -> tensor<4x2x64xbf16>
  // expected-remark@+1 {{is not fused: its rows come from kvq.quantize through an operation that is no transpose, reshape, cast or slice}}
  kvq.append ins(%1 : tensor<4x2x64xbf16>) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

// Each iteration writes the rows of the one before.
func.func @loop_carried(%x: tensor<4x2x64xf32>, %d: tensor<4x2x64xbf16>, %slots: tensor<4xi64>, %k: !k) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%rows = %d) -> tensor<4x2x64xbf16> {
  // expected-remark@+1 {{is not fused: its rows come from kvq.quantize through an operation that is no transpose, reshape, cast or slice}}
  kvq.append ins(%rows : tensor<4x2x64xbf16>) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  %0 = kvq.quantize ins(%x : tensor<4x2x64xf32>) outs(%rows : tensor<4x2x64xbf16>) {format = #kvq.format<bf16>} -> tensor<4x2x64xbf16>
  scf.yield %0 : tensor<4x2x64xbf16>
  }
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>

// Elements of one type, in formats that differ.
func.func @other_format(%x: tensor<4x2x64xf32>, %d: tensor<4x2x64xf8E4M3FN>, %slots: tensor<4xi64>, %k: !k) {
  %0 = kvq.quantize ins(%x : tensor<4x2x64xf32>) outs(%d : tensor<4x2x64xf8E4M3FN>) {format = #kvq.format<f8E4M3FN>} -> tensor<4x2x64xf8E4M3FN>
  // expected-remark@+1 {{is not fused: kvq.quantize writes #kvq.format<f8E4M3FN> and the handle has #kvq.format<fp8>}}
  kvq.append ins(%0 : tensor<4x2x64xf8E4M3FN>) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

// After bufferization.
func.func @memrefs(%x: memref<6x2x64xf32>, %d: memref<6x2x64xbf16>, %slots: tensor<4xi64>, %k: !k) {
  %r = memref.subview %d[0, 0, 0] [4, 2, 64] [1, 1, 1] : memref<6x2x64xbf16> to memref<4x2x64xbf16, strided<[128, 64, 1]>>
  kvq.quantize ins(%x : memref<6x2x64xf32>) outs(%d : memref<6x2x64xbf16>) {format = #kvq.format<bf16>}
  // expected-remark@+1 {{is not fused: kvq.quantize works on memrefs}}
  kvq.append ins(%r : memref<4x2x64xbf16, strided<[128, 64, 1]>>) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

// Values that are a memref.
func.func @memref_values(%x: memref<4x2x64xf32>, %d: tensor<4x2x64xbf16>, %slots: tensor<4xi64>, %k: !k) {
  %0 = kvq.quantize ins(%x : memref<4x2x64xf32>) outs(%d : tensor<4x2x64xbf16>) {format = #kvq.format<bf16>} -> tensor<4x2x64xbf16>
  // expected-remark@+1 {{is not fused: kvq.quantize works on memrefs}}
  kvq.append ins(%0 : tensor<4x2x64xbf16>) into(%k : !k) slot_mapping(%slots : tensor<4xi64>)
  return
}
