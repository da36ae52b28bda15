// RUN: kvq-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected side: key or value}}
func.func private @f(!kvq.cache<16x8x128, nvfp4, HND, linear>)

// -----

// expected-error @+1 {{unknown side 'keys', expected key or value}}
func.func private @f(!kvq.cache<keys, 16x8x128, nvfp4, HND, linear>)

// -----

// expected-error @+1 {{expected page x heads x head_dim, found 2 dimensions}}
func.func private @f(!kvq.cache<key, 16x8, nvfp4, HND, linear>)

// -----

// expected-error @+1 {{expected a format: one of nvfp4, mxfp4, mxfp8, fp8, bf16, f16, fp4 or an attribute that implements KVFormatInterface}}
func.func private @f(!kvq.cache<key, 16x8x128, nvfp5, HND, linear>)

// -----

// expected-error @+1 {{expected a format}}
func.func private @f(!kvq.cache<key, 16x8x128, f32, HND>)

// -----

// expected-error @+1 {{unknown page layout 'BHND', expected NHD or HND}}
func.func private @f(!kvq.cache<key, 16x8x128, nvfp4, BHND, linear>)

// -----

// expected-error @+1 {{unknown scale layout 'swizzled', expected linear, interleaved_4, blocked_128x4 or ?}}
func.func private @f(!kvq.cache<key, 16x8x128, nvfp4, HND, swizzled>)

// -----

// expected-error @+1 {{cache has page x heads x head_dim = 16x0x128, expected sizes of at least 1}}
func.func private @f(!kvq.cache<key, 16x0x128, nvfp4, HND, linear>)

// -----

// expected-error @+1 {{cache has a page too large to address}}
func.func private @f(!kvq.cache<key, 2147483648x8x128, fp8, HND>)

// -----

// expected-error @+1 {{head_dim is 15, expected an even one for elements of type 'f4E2M1FN'}}
func.func private @f(!kvq.cache<key, 16x8x15, #kvq.format<f4E2M1FN>, HND>)

// -----

// expected-error @+1 {{head_dim is 80, expected a multiple of the block size 32}}
func.func private @f(!kvq.cache<key, 16x8x80, mxfp4, HND, linear>)

// -----

// expected-error @+1 {{page size is 24, expected a multiple of the block size 16 with blocks along the tokens}}
func.func private @f(!kvq.cache<value, 24x8x128, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, axis = token>, HND, linear>)

// -----

// expected-error @+1 {{scale layout interleaved_4 with blocks along the tokens, accepted is linear}}
func.func private @f(!kvq.cache<value, 32x8x128, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, axis = token>, HND, interleaved_4>)

// -----

// expected-error @+1 {{scale layout given for a format without block scales}}
func.func private @f(!kvq.cache<key, 16x8x128, fp8, HND, linear>)

// -----

// expected-error @+1 {{format has block scales but no scale layout is given, expected linear, interleaved_4, blocked_128x4 or ?}}
func.func private @f(!kvq.cache<key, 16x8x128, nvfp4, HND>)

// -----

// expected-error @+1 {{scale layout interleaved_4 is of the value side, found side key; accepted are linear and blocked_128x4}}
func.func private @f(!kvq.cache<key, 16x8x128, nvfp4, HND, interleaved_4>)

// -----

// expected-error @+1 {{scale layout interleaved_4 needs a multiple of 4 rows of scales per page, found 6}}
func.func private @f(!kvq.cache<value, 6x8x128, nvfp4, HND, interleaved_4>)

// -----

// expected-error @+1 {{scale layout interleaved_4 needs a multiple of 4 scales per row, found 5}}
func.func private @f(!kvq.cache<value, 16x8x80, nvfp4, HND, interleaved_4>)

// -----

// expected-error @+1 {{scale layout blocked_128x4 needs a multiple of 128 rows of scales per page, found 64}}
func.func private @f(!kvq.cache<key, 64x8x128, nvfp4, HND, blocked_128x4>)

// -----

// expected-error @+1 {{scale layout blocked_128x4 needs a multiple of 4 scales per row, found 6}}
func.func private @f(!kvq.cache<key, 128x8x96, nvfp4, HND, blocked_128x4>)
