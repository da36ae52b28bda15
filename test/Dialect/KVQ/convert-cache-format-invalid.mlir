// RUN: kvq-opt %s --kvq-convert-cache-format --split-input-file --verify-diagnostics

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

func.func @shared(%d: memref<?x16x2x64xbf16>, %i: index) -> bf16 {
  // expected-error@+1 {{'kvq.make_cache' op cannot be converted: its memref has other uses}}
  %k = kvq.make_cache data(%d : memref<?x16x2x64xbf16>) : !k
  // expected-note@+1 {{memref.load uses it here}}
  %0 = memref.load %d[%i, %i, %i, %i] : memref<?x16x2x64xbf16>
  return %0 : bf16
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

// The use is in the caller, of a view.
func.func private @callee(%d: memref<4x16x2x64xbf16>) {
  // expected-error@+1 {{cannot be converted: its memref has other uses}}
  %k = kvq.make_cache data(%d : memref<4x16x2x64xbf16>) : !k
  return
}
func.func private @other(memref<4x16x2x64xbf16>)
func.func @caller(%d: memref<4x16x2x64xbf16>) {
  call @callee(%d) : (memref<4x16x2x64xbf16>) -> ()
  // expected-note@+1 {{func.call uses it here}}
  call @other(%d) : (memref<4x16x2x64xbf16>) -> ()
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

func.func private @get() -> memref<?x16x2x64xbf16>
func.func @unknown_root() {
  // expected-note@+1 {{the memref comes from here}}
  %d = call @get() : () -> memref<?x16x2x64xbf16>
  // expected-error@+1 {{cannot be converted: its memref is neither an argument nor an allocation, seen through casts and subviews of whole rows}}
  %k = kvq.make_cache data(%d : memref<?x16x2x64xbf16>) : !k
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

// Half of each row.
func.func @part_of_rows(%d: memref<4x16x2x128xbf16>) {
  // expected-note@+1 {{the memref comes from here}}
  %0 = memref.subview %d[0, 0, 0, 64] [4, 16, 2, 64] [1, 1, 1, 1] : memref<4x16x2x128xbf16> to memref<4x16x2x64xbf16, strided<[4096, 256, 128, 1], offset: 64>>
  // expected-error@+1 {{cannot be converted: its memref is neither an argument nor an allocation, seen through casts and subviews of whole rows}}
  %k = kvq.make_cache data(%0 : memref<4x16x2x64xbf16, strided<[4096, 256, 128, 1], offset: 64>>) : !k
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

// A function that something else than a call names.
// expected-note@+1 {{the memref comes from here}}
func.func private @table() attributes {entry = @named}
func.func @named(%d: memref<?x16x2x64xbf16>) {
  // expected-error@+1 {{cannot be converted: its memref is neither an argument nor an allocation}}
  %k = kvq.make_cache data(%d : memref<?x16x2x64xbf16>) : !k
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!layer = memref<8x16x2x64xbf16, strided<[2048, 128, 64, 1], offset: ?>>

func.func @two_formats(%pool: memref<2x8x16x2x64xbf16>) {
  %0 = memref.subview %pool[0, 0, 0, 0, 0] [1, 8, 16, 2, 64] [1, 1, 1, 1, 1] : memref<2x8x16x2x64xbf16> to memref<8x16x2x64xbf16, strided<[2048, 128, 64, 1]>>
  %1 = memref.subview %pool[1, 0, 0, 0, 0] [1, 8, 16, 2, 64] [1, 1, 1, 1, 1] : memref<2x8x16x2x64xbf16> to memref<8x16x2x64xbf16, strided<[2048, 128, 64, 1], offset: 16384>>
  // expected-note@+1 {{the other cache is made here}}
  %2 = kvq.make_cache data(%0 : memref<8x16x2x64xbf16, strided<[2048, 128, 64, 1]>>) {kvq.cache_format = "fp8"} : !k
  // expected-error@+1 {{cannot be converted: its memref would hold caches of #kvq.format<fp8> and of #kvq.format<nvfp4>}}
  %3 = kvq.make_cache data(%1 : memref<8x16x2x64xbf16, strided<[2048, 128, 64, 1], offset: 16384>>) : !k
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

// Two layers through one function.
func.func private @callee(%k: !k) {
  return
}
func.func @disagree(%a: memref<?x16x2x64xbf16>, %b: memref<?x16x2x64xbf16>) {
  // expected-error@+1 {{cannot have the formats #kvq.format<fp8> and #kvq.format<nvfp4>}}
  %0 = kvq.make_cache data(%a : memref<?x16x2x64xbf16>) {kvq.cache_format = "fp8"} : !k
  // expected-note@+1 {{the other handle comes from here}}
  %1 = kvq.make_cache data(%b : memref<?x16x2x64xbf16>) : !k
  call @callee(%0) : (!k) -> ()
  call @callee(%1) : (!k) -> ()
  return
}

// -----

// expected-error@+1 {{'func.func' op cannot be converted to #kvq.format<nvfp4>: head_dim is 40, expected a multiple of the block size 16}}
func.func @illegal(%k: !kvq.cache<key, 16x2x40, bf16, NHD>) {
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, bf16, NHD>

func.func @token_blocks(%a: memref<?x16x2x64xbf16>) {
  // expected-error@+1 {{cannot be converted to #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, axis = token, global_scale>: blocks lie along the tokens, and rows are written one at a time}}
  %0 = kvq.make_cache data(%a : memref<?x16x2x64xbf16>) {kvq.cache_format = #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, axis = token, global_scale>} : !k
  return
}

// -----

func.func @bad_format(%a: memref<?x16x2x64xbf16>) {
  // expected-error@+1 {{attribute 'kvq.cache_format' is "int8", expected a format, or the name of one}}
  %0 = kvq.make_cache data(%a : memref<?x16x2x64xbf16>) {kvq.cache_format = "int8"} : !kvq.cache<key, 16x2x64, bf16, NHD>
  return
}

// -----

func.func @bad_scale(%a: memref<?x16x2x64xbf16>) {
  // expected-error@+1 {{attribute 'kvq.global_scale' is 0.000000e+00 : f32, expected a finite and positive f32}}
  %0 = kvq.make_cache data(%a : memref<?x16x2x64xbf16>) {kvq.global_scale = 0.0 : f32} : !kvq.cache<key, 16x2x64, bf16, NHD>
  return
}

// -----

// expected-error@+1 {{attribute 'kvq.layer' is -1 : i64, expected an integer that is not negative}}
func.func @bad_layer(%k: !kvq.cache<key, 16x2x64, bf16, NHD> {kvq.layer = -1}) {
  return
}

// -----

// Callers would have to know what the block scales are.
// expected-error@+1 {{'func.func' op cannot be converted to #kvq.fp4: a public function takes the handle, and its callers cannot see what is decided; name the format}}
func.func @public_fp4(%k: !kvq.cache<key, 16x2x64, bf16, NHD> {kvq.cache_format = "fp4"}) {
  return
}
