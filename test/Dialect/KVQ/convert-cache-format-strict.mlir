// What cannot be converted is an error with strict.
// RUN: kvq-opt %s --kvq-convert-cache-format=strict=true --split-input-file --verify-diagnostics

!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!kv = tensor<1x64x2x64xbf16>

// A function without a body keeps its type, and so does the handle.
func.func private @external(!k)
// expected-error@+1 {{'func.func' op is not converted: its handle reaches something that cannot be changed here}}
func.func @calls(%k: !k) {
  // expected-note@+1 {{func.call is in the way here}}
  call @external(%k) : (!k) -> ()
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!kv = tensor<1x64x2x64xbf16>

// Bytes that are used as they are.
// expected-error@+1 {{is not converted: its parts are used as memrefs}}
func.func @raw(%k: !k, %i: index) -> bf16 {
  // expected-note@+1 {{kvq.cache_data is in the way here}}
  %d = kvq.cache_data %k : !k -> memref<?x16x2x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
  %0 = memref.load %d[%i, %i, %i, %i] : memref<?x16x2x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
  return %0 : bf16
}

// -----

!k = !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>
!d = tensor<3x2x64xf4E2M1FN>
!s = tensor<3x2x2xf8E8M0FNU>
!rd = tensor<1x64x2x64xf4E2M1FN>
!rs = tensor<1x64x2x2xf8E8M0FNU>

// Stored rows that are not decoded.
// expected-error@+1 {{is not converted: rows in its old format are used}}
func.func @rows_returned(%k: !k, %bt: tensor<1x4xi32>, %len: tensor<1xi32>, %rd: !rd, %rs: !rs) -> !rd {
  %1:2 = kvq.gather cache(%k : !k) block_table(%bt : tensor<1x4xi32>) seq_lens(%len : tensor<1xi32>) outs(%rd, %rs : !rd, !rs) -> !rd, !rs
  // expected-note@+1 {{func.return is in the way here}}
  return %1#0 : !rd
}

// -----

!k = !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>
!d = tensor<3x2x64xf4E2M1FN>
!s = tensor<3x2x2xf8E8M0FNU>
!rd = tensor<1x64x2x64xf4E2M1FN>
!rs = tensor<1x64x2x2xf8E8M0FNU>

// Quantized rows in memrefs.
// expected-error@+1 {{is not converted: rows in its old format are used}}
func.func @rows_in_memrefs(%k: !k, %d: memref<3x2x64xf4E2M1FN>, %s: memref<3x2x2xf8E8M0FNU>, %slots: tensor<3xi64>) {
  // expected-note@+1 {{kvq.append is in the way here}}
  kvq.append ins(%d, %s : memref<3x2x64xf4E2M1FN>, memref<3x2x2xf8E8M0FNU>) into(%k : !k) slot_mapping(%slots : tensor<3xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>
!d = tensor<3x2x64xf4E2M1FN>
!s = tensor<3x2x2xf8E8M0FNU>
!rd = tensor<1x64x2x64xf4E2M1FN>
!rs = tensor<1x64x2x2xf8E8M0FNU>

func.func @memref_of_scales(%d: memref<?x16x2x64xf4E2M1FN>, %s: memref<?x16x2x2xf8E8M0FNU>) {
  // expected-note@+2 {{kvq.make_cache is in the way here}}
  // expected-error@+1 {{is not converted: it is made of a memref of block scales}}
  %k = kvq.make_cache data(%d : memref<?x16x2x64xf4E2M1FN>) scales(%s : memref<?x16x2x2xf8E8M0FNU>) : !k
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

// A function that returns a handle, and one that gets it.
func.func private @returns(%k: !k) -> !k {
  // expected-note@+1 {{func.return is in the way here}}
  return %k : !k
}
// expected-error@+1 {{is not converted: its handle reaches something that cannot be changed here}}
func.func @gets(%k: !k, %slots: tensor<3xi32>, %x: tensor<3x2x64xbf16>) {
  // expected-note@+2 {{func.call is in the way here}}
  // expected-error@+1 {{is not converted: its handle reaches something that cannot be changed here}}
  %0 = call @returns(%k) : (!k) -> !k
  kvq.append ins(%x : tensor<3x2x64xbf16>) into(%0 : !k) slot_mapping(%slots : tensor<3xi32>)
  return
}
