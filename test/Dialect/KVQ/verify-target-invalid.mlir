// RUN: kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-verify-target{chip=sm_90}))" \
// RUN:   --split-input-file --verify-diagnostics

// What the chip has passes.
func.func @f(%q: tensor<2x1x6x64xf32>,
    %k: !kvq.cache<key, 24x3x64, nvfp4, NHD, linear>,
    %v: !kvq.cache<value, 24x3x64, mxfp8, HND, linear>,
    %bt: tensor<2x?xi32>, %len: tensor<2xi32>, %scale: f32,
    %o: tensor<2x1x6x64xf32>) -> tensor<2x1x6x64xf32> {
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x6x64xf32>)
      caches(%k, %v : !kvq.cache<key, 24x3x64, nvfp4, NHD, linear>,
                      !kvq.cache<value, 24x3x64, mxfp8, HND, linear>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x1x6x64xf32>)
      {qk = #kvq.mma_kind<f8>, pv = #kvq.mma_kind<bf16>} -> tensor<2x1x6x64xf32>
  return %0 : tensor<2x1x6x64xf32>
}

// -----

func.func @f(%q: tensor<2x1x6x64xf32>,
    %k: !kvq.cache<key, 24x3x64, nvfp4, NHD, linear>,
    %v: !kvq.cache<value, 24x3x64, mxfp8, HND, linear>,
    %bt: tensor<2x?xi32>, %len: tensor<2xi32>, %scale: f32,
    %o: tensor<2x1x6x64xf32>) -> tensor<2x1x6x64xf32> {
  // expected-error @below {{has pv = f16, which sm_90 does not have for the format #kvq.format<mxfp8> with head_dim 64; accepted are bf16}}
  // expected-note @below {{the rule: sm_90 has f16 as mma.sync.m16n8k16.f16 for other formats; source: H100 SXM data sheet}}
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x6x64xf32>)
      caches(%k, %v : !kvq.cache<key, 24x3x64, nvfp4, NHD, linear>,
                      !kvq.cache<value, 24x3x64, mxfp8, HND, linear>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x1x6x64xf32>)
      {pv = #kvq.mma_kind<f16>} -> tensor<2x1x6x64xf32>
  return %0 : tensor<2x1x6x64xf32>
}

// -----

func.func @f(%q: tensor<2x1x6x64xf32>,
    %k: !kvq.cache<key, 24x3x64, nvfp4, NHD, ?>,
    %v: !kvq.cache<value, 24x3x64, fp8, NHD>,
    %bt: tensor<2x?xi32>, %len: tensor<2xi32>, %scale: f32,
    %o: tensor<2x1x6x64xf32>) -> tensor<2x1x6x64xf32> {
  // expected-error @below {{'kvq.dequant_attention' op cannot be compiled: operand #1 is of type '!kvq.cache<key, 24x3x64, nvfp4, NHD, ?>', whose scale layout is not decided; kvq-assign-block-scales chooses one}}
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x6x64xf32>)
      caches(%k, %v : !kvq.cache<key, 24x3x64, nvfp4, NHD, ?>,
                      !kvq.cache<value, 24x3x64, fp8, NHD>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x1x6x64xf32>)
      {qk = #kvq.mma_kind<f16>} -> tensor<2x1x6x64xf32>
  return %0 : tensor<2x1x6x64xf32>
}

// -----

func.func @f(%q: tensor<2x1x6x48xf32>,
    %k: !kvq.cache<key, 24x3x48, fp8, NHD>,
    %v: !kvq.cache<value, 24x3x48, fp8, NHD>,
    %bt: tensor<2x?xi32>, %len: tensor<2xi32>, %scale: f32,
    %o: tensor<2x1x6x48xf32>) -> tensor<2x1x6x48xf32> {
  // expected-error @below {{has qk = f8, which sm_90 does not have for the format #kvq.format<fp8> with head_dim 48; accepted are f16, bf16}}
  // expected-note @below {{the rule: sm_90 has f8 as mma.sync.m16n8k32.e4m3 for other formats, and head_dim a multiple of 32; source: H100 SXM data sheet}}
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x6x48xf32>)
      caches(%k, %v : !kvq.cache<key, 24x3x48, fp8, NHD>,
                      !kvq.cache<value, 24x3x48, fp8, NHD>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x1x6x48xf32>)
      {qk = #kvq.mma_kind<f8>, pv = #kvq.mma_kind<bf16>} -> tensor<2x1x6x48xf32>
  return %0 : tensor<2x1x6x48xf32>
}

// -----

func.func @f(%x: tensor<2x64xf32>, %o: tensor<2x64xf4E2M1FN>) -> tensor<2x64xf4E2M1FN> {
  // expected-error @below {{'kvq.quantize' op cannot be compiled: the format is #kvq.fp4, whose block scales are not decided; kvq-assign-block-scales chooses them}}
  %0 = kvq.quantize ins(%x : tensor<2x64xf32>) outs(%o : tensor<2x64xf4E2M1FN>) {format = #kvq.fp4} -> tensor<2x64xf4E2M1FN>
  return %0 : tensor<2x64xf4E2M1FN>
}
