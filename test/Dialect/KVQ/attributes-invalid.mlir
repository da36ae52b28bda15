// RUN: kvq-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error @+1 {{unknown format 'nvfp5', the presets are nvfp4, mxfp4, mxfp8, fp8, bf16, f16}}
"test.op"() {a = #kvq.format<nvfp5>} : () -> ()

// -----

// expected-error @+1 {{expected a float type or one of nvfp4, mxfp4, mxfp8, fp8, bf16, f16, found 'i8'}}
"test.op"() {a = #kvq.format<i8>} : () -> ()

// -----

// expected-error @+1 {{preset 'nvfp4' has block = 16, found 32; spell other formats out by their element type}}
"test.op"() {a = #kvq.format<nvfp4, block = 32>} : () -> ()

// -----

// expected-error @+1 {{preset 'nvfp4' has scale = 'f8E4M3FN', found 'f8E8M0FNU'; spell other formats out by their element type}}
"test.op"() {a = #kvq.format<nvfp4, scale = f8E8M0FNU>} : () -> ()

// -----

// expected-error @+1 {{preset 'fp8' has scale = none, found 'f8E8M0FNU'}}
"test.op"() {a = #kvq.format<fp8, scale = f8E8M0FNU>} : () -> ()

// -----

// expected-error @+1 {{preset 'nvfp4' has axis = head_dim, found token}}
"test.op"() {a = #kvq.format<nvfp4, axis = token>} : () -> ()

// -----

// expected-error @+1 {{preset 'mxfp4' has no global scale}}
"test.op"() {a = #kvq.format<mxfp4, global_scale>} : () -> ()

// -----

// expected-error @+1 {{unknown format parameter 'size', expected scale, block, axis or global_scale}}
"test.op"() {a = #kvq.format<f4E2M1FN, size = 16>} : () -> ()

// -----

// expected-error @+1 {{unknown axis 'heads', expected head_dim or token}}
"test.op"() {a = #kvq.format<f4E2M1FN, axis = heads>} : () -> ()

// -----

// expected-error @+1 {{format has element type 'f32', accepted are f4E2M1FN, f8E4M3FN, bf16 and f16}}
"test.op"() {a = #kvq.format<f32>} : () -> ()

// -----

// expected-error @+1 {{format has block = 16 but no scale type}}
"test.op"() {a = #kvq.format<f4E2M1FN, block = 16>} : () -> ()

// -----

// expected-error @+1 {{format has axis = token but no block scales}}
"test.op"() {a = #kvq.format<f4E2M1FN, axis = token>} : () -> ()

// -----

// expected-error @+1 {{format has scale type 'f16', accepted are f8E4M3FN and f8E8M0FNU}}
"test.op"() {a = #kvq.format<f4E2M1FN, scale = f16, block = 16>} : () -> ()

// -----

// expected-error @+1 {{format has block = 24, accepted are powers of two from 2 to 256}}
"test.op"() {a = #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 24>} : () -> ()

// -----

// expected-error @+1 {{format has a global scale on elements of type 'bf16', which are stored as they are}}
"test.op"() {a = #kvq.format<bf16, global_scale>} : () -> ()

// -----

// expected-error @+1 {{format has a block scale on elements of type 'f16', which are stored as they are}}
"test.op"() {a = #kvq.format<f16, scale = f8E4M3FN, block = 16>} : () -> ()

// -----

// expected-error @+1 {{unknown attention option 'window', expected causal, window_left, window_right or softcap}}
"test.op"() {a = #kvq.attention<window = 3>} : () -> ()

// -----

// expected-error @+1 {{window_left is -2, expected 0 or more}}
"test.op"() {a = #kvq.attention<window_left = -2>} : () -> ()

// -----

// expected-error @+1 {{softcap is 0.000000e+00, expected a positive finite number}}
"test.op"() {a = #kvq.attention<softcap = 0.0>} : () -> ()

// -----

// expected-error @+1 {{block_scaled has terms = 4, accepted are 1 to 3}}
"test.op"() {a = #kvq.mma_kind<block_scaled, terms = 4>} : () -> ()

// -----

// expected-error @+1 {{terms belong to block_scaled, found terms = 2 on f16}}
"test.op"() {a = #kvq.mma_kind<f16, terms = 2>} : () -> ()

// -----

// expected-error @+1 {{attribute 'kvq.may_alias' is not an attribute of an operation}}
"test.op"() {kvq.may_alias} : () -> ()

// -----

// expected-error @+1 {{argument attribute 'kvq.other' is not one of the kvq dialect; it has 'kvq.may_alias'}}
func.func private @f(memref<4xf32> {kvq.other})

// -----

// expected-error @+1 {{'kvq.may_alias' is a unit attribute, found 1 : i64}}
func.func private @f(memref<4xf32> {kvq.may_alias = 1})

// -----

// expected-error @+1 {{'kvq.may_alias' belongs on a cache handle or a memref, argument #1 is of type 'i32'}}
func.func private @f(memref<4xf32>, i32 {kvq.may_alias})
