// RUN: kvq-opt %s --verify-roundtrip --allow-unregistered-dialect | FileCheck %s

// CHECK: formats = [#kvq.format<nvfp4>, #kvq.format<mxfp4>, #kvq.format<mxfp8>, #kvq.format<fp8>, #kvq.format<bf16>, #kvq.format<f16>]
"test.op"() {formats = [#kvq.format<nvfp4>, #kvq.format<mxfp4>, #kvq.format<mxfp8>, #kvq.format<fp8>, #kvq.format<bf16>, #kvq.format<f16>]} : () -> ()

// A preset may repeat its own parameters.
// CHECK: repeated = #kvq.format<nvfp4>
"test.op"() {repeated = #kvq.format<nvfp4, scale = f8E4M3FN, block = 16, axis = head_dim, global_scale>} : () -> ()

// CHECK: spelled = #kvq.format<f8E4M3FN, scale = f8E8M0FNU, block = 16, axis = token>
"test.op"() {spelled = #kvq.format<f8E4M3FN, scale = f8E8M0FNU, block = 16, axis = token>} : () -> ()

// CHECK: options = [#kvq.attention<causal, window_left = 1023, softcap = 3.000000e+01>, #kvq.attention<>, #kvq.attention<window_left = 0, window_right = 7>]
"test.op"() {options = [#kvq.attention<causal, window_left = 1023, softcap = 3.0e1>, #kvq.attention<>, #kvq.attention<window_left = 0, window_right = 7>]} : () -> ()

// CHECK: mma = [#kvq.mma_kind<block_scaled, terms = 2>, #kvq.mma_kind<f8>, #kvq.mma_kind<f16>, #kvq.mma_kind<bf16>]
"test.op"() {mma = [#kvq.mma_kind<block_scaled, terms = 2>, #kvq.mma_kind<f8>, #kvq.mma_kind<f16>, #kvq.mma_kind<bf16>]} : () -> ()

// CHECK: enums = [#kvq<kv_layout HND>, #kvq<scale_layout interleaved_4>, #kvq<rounding exact>]
"test.op"() {enums = [#kvq<kv_layout HND>, #kvq<scale_layout interleaved_4>, #kvq<rounding exact>]} : () -> ()

// CHECK: func private @may_alias(!kvq.cache<key, 16x8x128, fp8, NHD> {kvq.may_alias}, memref<4xf32> {kvq.may_alias})
func.func private @may_alias(!kvq.cache<key, 16x8x128, fp8, NHD> {kvq.may_alias}, memref<4xf32> {kvq.may_alias})
