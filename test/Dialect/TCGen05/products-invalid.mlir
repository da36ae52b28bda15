// RUN: kvq-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: !kvq_tcgen05.tile<128x64xf8E4M3FN, k, b64>, %b: !kvq_tcgen05.tile<16x64xf8E4M3FN, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: elements of A are f16 or bf16, found 'f8E4M3FN'}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x64xf8E4M3FN, k, b64>, !kvq_tcgen05.tile<16x64xf8E4M3FN, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x64xf8E4M3FN, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: elements of B are f16 or bf16, found 'f8E4M3FN'}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x64xf8E4M3FN, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x16xf32, k, b64>, %b: !kvq_tcgen05.tile<16x16xf32, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op tf32: elements of A are tf32, found 'f32'}}
  kvq_tcgen05.mma tf32 ins(%a, %b : !kvq_tcgen05.tile<128x16xf32, k, b64>, !kvq_tcgen05.tile<16x16xf32, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f8f6f4: elements of A are f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN or f4E2M1FN, found 'f16'}}
  kvq_tcgen05.mma f8f6f4 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x64xi8, k, b64>, %b: !kvq_tcgen05.tile<16x64xi8, k, b64>, %d: !kvq_tcgen05.tmem<128x16xi32>) {
  // expected-error @+1 {{op i8: elements of A are si8 or ui8, found 'i8'}}
  kvq_tcgen05.mma i8 ins(%a, %b : !kvq_tcgen05.tile<128x64xi8, k, b64>, !kvq_tcgen05.tile<16x64xi8, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xi32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xbf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: A and B have the same elements, found 'f16' and 'bf16'}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xbf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xi32>) {
  // expected-error @+1 {{op f16: elements of D are f32 or f16, found 'i32'}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xi32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x16xtf32, k, b64>, %b: !kvq_tcgen05.tile<16x16xtf32, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf16, word>) {
  // expected-error @+1 {{op tf32: elements of D are f32, found 'f16'}}
  kvq_tcgen05.mma tf32 ins(%a, %b : !kvq_tcgen05.tile<128x16xtf32, k, b64>, !kvq_tcgen05.tile<16x16xtf32, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf16, word>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x64xsi8, k, b64>, %b: !kvq_tcgen05.tile<16x64xsi8, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op i8: elements of D are i32, found 'f32'}}
  kvq_tcgen05.mma i8 ins(%a, %b : !kvq_tcgen05.tile<128x64xsi8, k, b64>, !kvq_tcgen05.tile<16x64xsi8, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xbf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xbf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf16, word>) {
  // expected-error @+1 {{op f16: an f16 D needs f16 A and B, found 'bf16'}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xbf16, k, b64>, !kvq_tcgen05.tile<16x32xbf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf16, word>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x64xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: A and B have the same K, found 32 and 64}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x64xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x24xf16, k, none>, %b: !kvq_tcgen05.tile<16x24xf16, k, none>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: K is a multiple of 16, found 24}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x24xf16, k, none>, !kvq_tcgen05.tile<16x24xf16, k, none>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x16xf8E4M3FN, k, none>, %b: !kvq_tcgen05.tile<16x16xf8E4M3FN, k, none>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f8f6f4: K is a multiple of 32, found 16}}
  kvq_tcgen05.mma f8f6f4 ins(%a, %b : !kvq_tcgen05.tile<128x16xf8E4M3FN, k, none>, !kvq_tcgen05.tile<16x16xf8E4M3FN, k, none>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<32x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<32x16xf32>) {
  // expected-error @+1 {{op f16: M is 64 or 128, found 32}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<32x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<32x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<256x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: M is 64 or 128, found 256}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<256x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<32x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<32x32xf32>) {
  // expected-error @+1 {{op f16: M is 128 or 256 with cta_group = 2, found 64}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<32x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<32x32xf32>)  {cta_group = 2 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<256x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x512xf32>) {
  // expected-error @+1 {{op f16: N is a multiple of 16 up to 256 with cta_group = 2, found 512}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<256x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x512xf32>)  {cta_group = 2 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x64xsi8, k, b64>, %b: !kvq_tcgen05.tile<40x64xsi8, k, b64>, %d: !kvq_tcgen05.tmem<128x40xi32>) {
  // expected-error @+1 {{op i8: N is a multiple of 16 up to 256, or 8 or 24, found 40}}
  kvq_tcgen05.mma i8 ins(%a, %b : !kvq_tcgen05.tile<128x64xsi8, k, b64>, !kvq_tcgen05.tile<40x64xsi8, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x40xi32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x64xsi8, k, b64>, %b: !kvq_tcgen05.tile<8x64xsi8, k, b64>, %d: !kvq_tcgen05.tmem<128x16xi32>) {
  // expected-error @+1 {{op i8: N is a multiple of 32 up to 256 with cta_group = 2, found 16}}
  kvq_tcgen05.mma i8 ins(%a, %b : !kvq_tcgen05.tile<128x64xsi8, k, b64>, !kvq_tcgen05.tile<8x64xsi8, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xi32>)  {cta_group = 2 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<4x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x4xf32>) {
  // expected-error @+1 {{op f16: N is a multiple of 8 up to 256, found 4}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<4x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x4xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<64x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x64xf32>) {
  // expected-error @+1 {{op f16: a weight-stationary product has cta_group = 1}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<64x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x64xf32>)  {weight_stationary, cta_group = 2 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<96x32xf16, k, b64>, %b: !kvq_tcgen05.tile<64x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<96x64xf32>) {
  // expected-error @+1 {{op f16: M of a weight-stationary product is 32, 64 or 128, found 96}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<96x32xf16, k, b64>, !kvq_tcgen05.tile<64x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<96x64xf32>)  {weight_stationary}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<32x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x32xf32>) {
  // expected-error @+1 {{op f16: N of a weight-stationary product is 64, 128 or 256, found 32}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<32x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x32xf32>)  {weight_stationary}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x32xf32>) {
  // expected-error @+1 {{op f16: D has N = 16 columns, found 32}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x32xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf16>) {
  // expected-error @+1 {{op f16: an f16 D has a column for each element (word), found '!kvq_tcgen05.tmem<128x16xf16>'}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf16>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<64x16xf32>) {
  // expected-error @+1 {{op f16: D is a straight region of 128 rows, found '!kvq_tcgen05.tmem<64x16xf32>'}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<64x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<64x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<64x16xf32>) {
  // expected-error @+1 {{op f16: D is a scattered region of 64 rows, found '!kvq_tcgen05.tmem<64x16xf32>'}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<64x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<64x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<64x32xf16, k, b64>, %b: !kvq_tcgen05.tile<64x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<64x64xf32, scattered>) {
  // expected-error @+1 {{op f16: D is a folded region of 64 rows, found '!kvq_tcgen05.tmem<64x64xf32, scattered>'}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<64x32xf16, k, b64>, !kvq_tcgen05.tile<64x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<64x64xf32, scattered>)  {weight_stationary}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<64x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<64x32xf32, scattered>) {
  // expected-error @+1 {{op f16: D is a folded region of 64 rows, found '!kvq_tcgen05.tmem<64x32xf32, scattered>'}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<64x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<64x32xf32, scattered>)  {cta_group = 2 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tmem<64x32xf16>, %b: !kvq_tcgen05.tile<64x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<64x64xf32, folded>) {
  // expected-error @+1 {{op f16: A in tensor memory has 128 rows in a weight-stationary product, found 64}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tmem<64x32xf16>, !kvq_tcgen05.tile<64x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<64x64xf32, folded>)  {weight_stationary}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tmem<64x32xf16>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<64x32xf32, folded>) {
  // expected-error @+1 {{op f16: A in tensor memory has 128 rows with cta_group = 2, found 64}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tmem<64x32xf16>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<64x32xf32, folded>)  {cta_group = 2 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tmem<64x32xf16, scattered, lane = 16>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<64x16xf32, scattered>) {
  // expected-error @+1 {{op f16: A in tensor memory and D have the same lanes, found '!kvq_tcgen05.tmem<64x32xf16, scattered, lane = 16>' and '!kvq_tcgen05.tmem<64x16xf32, scattered>'}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tmem<64x32xf16, scattered, lane = 16>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<64x16xf32, scattered>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tmem<128x32xf4E2M1FN>, %b: !kvq_tcgen05.tile<16x32xf8E4M3FN, k, b32>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f8f6f4: A in tensor memory has byte packing, found dense}}
  kvq_tcgen05.mma f8f6f4 ins(%a, %b : !kvq_tcgen05.tmem<128x32xf4E2M1FN>, !kvq_tcgen05.tile<16x32xf8E4M3FN, k, b32>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tmem<128x32xf16, word>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: A in tensor memory has dense packing, found word}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tmem<128x32xf16, word>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tmem<128x32xf16>, %b: !kvq_tcgen05.tile<8x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x8xf32>) {
  // expected-error @+1 {{op f16: N is a multiple of 16 with 128 rows of A in tensor memory, found 8}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tmem<128x32xf16>, !kvq_tcgen05.tile<8x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x8xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x64xf8E4M3FN, k, b64>, %b: !kvq_tcgen05.tile<16x64xf4E2M1FN, k, b32>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f8f6f4: B is padded, found '!kvq_tcgen05.tile<16x64xf4E2M1FN, k, b32>'}}
  kvq_tcgen05.mma f8f6f4 ins(%a, %b : !kvq_tcgen05.tile<128x64xf8E4M3FN, k, b64>, !kvq_tcgen05.tile<16x64xf4E2M1FN, k, b32>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x64xf4E2M1FN, k, b32>, %b: !kvq_tcgen05.tile<16x64xf8E4M3FN, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f8f6f4: A is padded, found '!kvq_tcgen05.tile<128x64xf4E2M1FN, k, b32>'}}
  kvq_tcgen05.mma f8f6f4 ins(%a, %b : !kvq_tcgen05.tile<128x64xf4E2M1FN, k, b32>, !kvq_tcgen05.tile<16x64xf8E4M3FN, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x64xsi8, k, b64>, %b: !kvq_tcgen05.tile<16x64xsi8, k, b64>, %d: !kvq_tcgen05.tmem<128x16xi32>) {
  // expected-error @+1 {{op i8: integers are not negated}}
  kvq_tcgen05.mma i8 ins(%a, %b : !kvq_tcgen05.tile<128x64xsi8, k, b64>, !kvq_tcgen05.tile<16x64xsi8, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xi32>)  {negate_a}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: saturation is for kind i8}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {saturate}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x64xf8E4M3FN, k, b64>, %b: !kvq_tcgen05.tile<16x64xf8E4M3FN, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>, %p: i1) {
  // expected-error @+1 {{op f8f6f4: scale_d is for kinds f16 and tf32}}
  kvq_tcgen05.mma f8f6f4 ins(%a, %b : !kvq_tcgen05.tile<128x64xf8E4M3FN, k, b64>, !kvq_tcgen05.tile<16x64xf8E4M3FN, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) accumulate(%p) {scale_d = 1 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<64x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x64xf32>, %p: i1) {
  // expected-error @+1 {{op f16: scale_d is not for weight-stationary products}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<64x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x64xf32>) accumulate(%p) {scale_d = 1 : i64, weight_stationary}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>, %p: i1) {
  // expected-error @+1 {{op f16: scale_d is 0 to 15, found 16}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) accumulate(%p) {scale_d = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: scale_d needs accumulate}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {scale_d = 1 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: shift_a needs A in tensor memory}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {shift_a}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tmem<64x32xf16, scattered>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<64x16xf32, scattered>) {
  // expected-error @+1 {{op f16: shift_a needs M = 128 or 256, found 64}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tmem<64x32xf16, scattered>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<64x16xf32, scattered>)  {shift_a}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tmem<128x32xf16>, %b: !kvq_tcgen05.tile<64x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x64xf32>) {
  // expected-error @+1 {{op f16: shift_a is not for weight-stationary products}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tmem<128x32xf16>, !kvq_tcgen05.tile<64x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x64xf32>)  {shift_a, weight_stationary}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tmem<128x32xf16>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: shift_a does not go with the collector's fill}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tmem<128x32xf16>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {shift_a, collector = #kvq_tcgen05<collector fill>}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<64x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x64xf32>, %m: vector<4xi32>) {
  // expected-error @+1 {{op f16: disable_lanes is not for weight-stationary products}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<64x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x64xf32>) disable_lanes(%m : vector<4xi32>) {weight_stationary}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>, %m: vector<8xi32>) {
  // expected-error @+1 {{op f16: disable_lanes has 4 words, found 8}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) disable_lanes(%m : vector<8xi32>) {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x32xf32>, %m: vector<4xi32>) {
  // expected-error @+1 {{op f16: disable_lanes has 8 words, found 4}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x32xf32>) disable_lanes(%m : vector<4xi32>) {cta_group = 2 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>, %z: i64) {
  // expected-error @+1 {{op f16: zero_columns is for weight-stationary products}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) zero_columns(%z) {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: collector_b is for weight-stationary products}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {collector_b = 0 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<64x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x64xf32>) {
  // expected-error @+1 {{op f16: collector_b is 0 to 3, found 4}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<64x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x64xf32>)  {collector_b = 4 : i64, weight_stationary}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<64x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x64xf32>, %z: i64) {
  // expected-error @+1 {{op f16: max_shift goes with zero_columns}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<64x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x64xf32>) {max_shift = 8 : i64, weight_stationary}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<64x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<128x64xf32>, %z: i64) {
  // expected-error @+1 {{op f16: max_shift is 8, 16 or 32 where M is 128, found 24}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<64x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<128x64xf32>) zero_columns(%z) {max_shift = 24 : i64, weight_stationary}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<32x32xf16, k, b64>, %b: !kvq_tcgen05.tile<64x32xf16, k, b64>, %d: !kvq_tcgen05.tmem<32x64xf32, folded>, %z: i64) {
  // expected-error @+1 {{op f16: max_shift is 8 or 16 where M is 32, found 32}}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<32x32xf16, k, b64>, !kvq_tcgen05.tile<64x32xf16, k, b64>) outs(%d : !kvq_tcgen05.tmem<32x64xf32, folded>) zero_columns(%z) {max_shift = 32 : i64, weight_stationary}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x64xf4E2M1FN, k, b32>, %b: !kvq_tcgen05.tile<16x64xf4E2M1FN, k, b32>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4: is a kind of kvq_tcgen05.mma_block_scaled; accepted are f16, tf32, f8f6f4 and i8}}
  kvq_tcgen05.mma mxf4 ins(%a, %b : !kvq_tcgen05.tile<128x64xf4E2M1FN, k, b32>, !kvq_tcgen05.tile<16x64xf4E2M1FN, k, b32>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>)  {}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf16, k, b64>, %b: !kvq_tcgen05.tile<16x32xf16, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op f16: is a kind of kvq_tcgen05.mma; accepted are mxf8f6f4, mxf4 and mxf4nvf4}}
  kvq_tcgen05.mma_block_scaled f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<16x32xf16, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x64xf8E4M3FN, k, b64>, %b: !kvq_tcgen05.tile<16x64xf8E4M3FN, k, b64>, %s: !kvq_tcgen05.scales<128x4xf8E8M0FNU>, %t: !kvq_tcgen05.scales<128x4xf8E8M0FNU>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4: elements of A are f4E2M1FN, found 'f8E4M3FN'}}
  kvq_tcgen05.mma_block_scaled mxf4 ins(%a, %b : !kvq_tcgen05.tile<128x64xf8E4M3FN, k, b64>, !kvq_tcgen05.tile<16x64xf8E4M3FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x4xf8E8M0FNU>, !kvq_tcgen05.scales<128x4xf8E8M0FNU>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 32 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf16, word>) {
  // expected-error @+1 {{op mxf4nvf4: elements of D are f32, found 'f16'}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf16, word>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x32xf4E2M1FN, k, none>, %b: !kvq_tcgen05.tile<16x32xf4E2M1FN, k, none>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4nvf4: K is a multiple of 64, found 32}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x32xf4E2M1FN, k, none>, !kvq_tcgen05.tile<16x32xf4E2M1FN, k, none>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<64x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<64x16xf32, scattered>) {
  // expected-error @+1 {{op mxf4nvf4: M is 128, found 64}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<64x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<64x16xf32, scattered>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<64x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<64x32xf32, folded>) {
  // expected-error @+1 {{op mxf4nvf4: M is 256 with cta_group = 2, found 128}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<64x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<64x32xf32, folded>) {block = 16 : i64, cta_group = 2 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b128, padded>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4nvf4: A is not padded, found '!kvq_tcgen05.tile<128x128xf4E2M1FN, k, b128, padded>'}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b128, padded>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b128, padded>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4nvf4: B is not padded, found '!kvq_tcgen05.tile<16x128xf4E2M1FN, k, b128, padded>'}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b128, padded>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tmem<128x128xf4E2M1FN, byte>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4nvf4: A in tensor memory has dense packing, found byte}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tmem<128x128xf4E2M1FN, byte>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tmem<128x128xf4E2M1FN>, %b: !kvq_tcgen05.tile<16x128xf8E4M3FN, k, b64>, %s: !kvq_tcgen05.scales<128x4xf8E8M0FNU>, %t: !kvq_tcgen05.scales<128x4xf8E8M0FNU>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf8f6f4: A in tensor memory has byte packing, found dense}}
  kvq_tcgen05.mma_block_scaled mxf8f6f4 ins(%a, %b : !kvq_tcgen05.tmem<128x128xf4E2M1FN>, !kvq_tcgen05.tile<16x128xf8E4M3FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x4xf8E8M0FNU>, !kvq_tcgen05.scales<128x4xf8E8M0FNU>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 32 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4nvf4: a block has 16 or 32 elements, found 64}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 64 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x4xf8E8M0FNU>, %t: !kvq_tcgen05.scales<128x4xf8E8M0FNU>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4: a block has 32 elements, found 16}}
  kvq_tcgen05.mma_block_scaled mxf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x4xf8E8M0FNU>, !kvq_tcgen05.scales<128x4xf8E8M0FNU>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf8E4M3FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf8E4M3FN, k, b64>, %s: !kvq_tcgen05.scales<128x4xf8E8M0FNU>, %t: !kvq_tcgen05.scales<128x4xf8E8M0FNU>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf8f6f4: a block has 32 elements, found 16}}
  kvq_tcgen05.mma_block_scaled mxf8f6f4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf8E4M3FN, k, b64>, !kvq_tcgen05.tile<16x128xf8E4M3FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x4xf8E8M0FNU>, !kvq_tcgen05.scales<128x4xf8E8M0FNU>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E8M0FNU>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4nvf4: A and B have the same type of scales, found 'f8E4M3FN' and 'f8E8M0FNU'}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E8M0FNU>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4nvf4: blocks of 32 have scales of f8E8M0FNU, found 'f8E4M3FN'}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 32 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4: blocks of 32 have scales of f8E8M0FNU, found 'f8E4M3FN'}}
  kvq_tcgen05.mma_block_scaled mxf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 32 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x4xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4nvf4: a K of 128 has 8 scales of A, found 4}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x4xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x4xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4nvf4: a K of 128 has 8 scales of B, found 4}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x4xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<64x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4nvf4: scales of A have at least 128 rows, found 64}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<64x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<40x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<32x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x40xf32>) {
  // expected-error @+1 {{op mxf4nvf4: scales of B have at least 64 rows, found 32}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<40x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<32x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x40xf32>) {block = 16 : i64}
  return
}

// -----

func.func @f(%a: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, %b: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>, %s: !kvq_tcgen05.scales<128x8xf8E4M3FN>, %t: !kvq_tcgen05.scales<32x8xf8E4M3FN>, %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op mxf4nvf4: scales of B of more than one word along K have a multiple of 64 rows, found 32}}
  kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>, !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>) scales(%s, %t : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<32x8xf8E4M3FN>) outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}
