// Caches in fp4 that cannot be given block scales.
// RUN: kvq-opt %s --kvq-assign-block-scales --split-input-file --verify-diagnostics
// RUN: not kvq-opt %s --kvq-assign-block-scales=global-scale=two --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=GLOBAL

// GLOBAL: has global-scale=two, accepted are argument and one

!k = !kvq.cache<key, 16x2x40, fp4, NHD>
!d = memref<?x16x2x40xf4E2M1FN>
!x = tensor<2x2x40xbf16>

// The sizes allow blocks along tokens alone, and a writer has single rows.
func.func @conflict(%d: !d, %x: !x, %slots: tensor<2xi32>) {
  // expected-error@+1 {{'kvq.make_cache' op cannot give a cache block scales: nvfp4 (head_dim is 40, no multiple of 16), mxfp4 (head_dim is 40, no multiple of 32), nvfp4 along tokens (kvq.quantize_append handles single rows), mxfp4 along tokens (a page has 16, no multiple of 32)}}
  %k = kvq.make_cache data(%d : !d) : !k
  // expected-note@+1 {{kvq.quantize_append rejects nvfp4 along tokens}}
  kvq.quantize_append ins(%x : !x) into(%k : !k) slot_mapping(%slots : tensor<2xi32>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp4, NHD>

// expected-error@+1 {{'func.func' op has argument #0 of type !kvq.cache<key, 16x2x64, fp4, NHD>, which is not decided, and is public}}
func.func @public(%k: !k) {
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp4, NHD>

// expected-error@+1 {{'func.func' op has a handle of type !kvq.cache<key, 16x2x64, fp4, NHD>, which is not decided, that reaches something that cannot be changed here}}
func.func private @external(!k)
// expected-error@+1 {{reaches something that cannot be changed here}}
func.func private @calls(%k: !k) {
  // expected-note@+1 {{func.call is what it reaches}}
  call @external(%k) : (!k) -> ()
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp4, NHD>
!x = tensor<2x2x64xf4E2M1FN>

// Elements alone have no value.
// expected-error@+1 {{'func.func' op is not converted: rows in its old format are used}}
func.func private @elements(%k: !k, %x: !x, %slots: tensor<2xi32>) {
  // expected-note@+1 {{kvq.append}}
  kvq.append ins(%x : !x) into(%k : !k) slot_mapping(%slots : tensor<2xi32>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp4, NHD>

// expected-error@+1 {{'func.func' op is not converted: its parts are used as memrefs}}
func.func private @parts(%k: !k) {
  // expected-note@+1 {{kvq.cache_data}}
  %d = kvq.cache_data %k : !k -> memref<?x16x2x64xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp4, NHD>
!n = !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
!d = memref<?x16x2x64xf4E2M1FN>
!s = memref<?x16x2x4xf8E4M3FN>

// Another cache over the same data has scales in a memref already.
func.func @shared(%d: !d, %s: !s, %g: memref<f32>) {
  // expected-error@+1 {{cannot be converted: its memref has other uses}}
  %k = kvq.make_cache data(%d : !d) : !k
  // expected-note@+1 {{kvq.make_cache uses it here}}
  %n = kvq.make_cache data(%d : !d) scales(%s : !s) global_scale(%g : memref<f32>) : !n
  return
}

// -----

!v = !kvq.cache<value, 16x2x40, fp4, NHD>

// Blocks along tokens would be cut.
func.func @cut(%d: memref<9x32x2x40xf4E2M1FN>) {
  // expected-note@+1 {{the memref comes from here}}
  %s = memref.subview %d[0, 8, 0, 0] [9, 16, 2, 40] [1, 1, 1, 1] : memref<9x32x2x40xf4E2M1FN> to memref<9x16x2x40xf4E2M1FN, strided<[2560, 80, 40, 1], offset: 640>>
  // expected-error@+1 {{cannot be converted: its memref is neither an argument nor an allocation, seen through casts and subviews of whole rows}}
  %v = kvq.make_cache data(%s : memref<9x16x2x40xf4E2M1FN, strided<[2560, 80, 40, 1], offset: 640>>) : !v
  return
}
