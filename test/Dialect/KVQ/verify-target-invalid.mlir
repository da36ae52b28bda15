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
  // expected-note @below {{the rule: sm_90 has f16 as mma.sync.m16n8k16.f16 for other formats, or multiples of 16 as head_dim; source: H100 SXM data sheet}}
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
  // expected-error @below {{has operand #1 of type !kvq.cache<key, 24x3x64, nvfp4, NHD, ?>, whose scale layout is not decided}}
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x6x64xf32>)
      caches(%k, %v : !kvq.cache<key, 24x3x64, nvfp4, NHD, ?>,
                      !kvq.cache<value, 24x3x64, fp8, NHD>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x1x6x64xf32>)
      {qk = #kvq.mma_kind<f16>} -> tensor<2x1x6x64xf32>
  return %0 : tensor<2x1x6x64xf32>
}

// -----

func.func @f(%q: tensor<2x1x6x24xf32>,
    %k: !kvq.cache<key, 24x3x24, fp8, NHD>,
    %v: !kvq.cache<value, 24x3x24, fp8, NHD>,
    %bt: tensor<2x?xi32>, %len: tensor<2xi32>, %scale: f32,
    %o: tensor<2x1x6x24xf32>) -> tensor<2x1x6x24xf32> {
  // expected-error @below {{has a key cache with head_dim 24, expected a multiple of 16 on sm_90}}
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x6x24xf32>)
      caches(%k, %v : !kvq.cache<key, 24x3x24, fp8, NHD>,
                      !kvq.cache<value, 24x3x24, fp8, NHD>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x1x6x24xf32>)
      {qk = #kvq.mma_kind<f8>} -> tensor<2x1x6x24xf32>
  return %0 : tensor<2x1x6x24xf32>
}
