// RUN: kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-select-mma{chip=sm_100a}))" \
// RUN:   --split-input-file \
// RUN:   --remark-format=emitRemark --remarks-filter=.* --verify-diagnostics \
// RUN:   | FileCheck %s
// RUN: kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-select-mma{chip=sm_100a},kvq-select-mma{chip=sm_100a}))" \
// RUN:   --split-input-file \
// RUN:   | FileCheck %s

// Two terms of NVFP4 add less error than the bound and have half of the cost.
// CHECK-LABEL: @block_scaled
// CHECK: pv = #kvq.mma_kind<f16>
// CHECK-SAME: qk = #kvq.mma_kind<block_scaled, terms = 2>
func.func @block_scaled(%q: tensor<2x1x6x128xbf16>,
    %k: !kvq.cache<key, 16x3x128, nvfp4, NHD, linear>,
    %v: !kvq.cache<value, 16x3x64, nvfp4, NHD, linear>,
    %bt: tensor<2x?xi32>, %len: tensor<2xi32>, %scale: f32,
    %o: tensor<2x1x6x64xbf16>) -> tensor<2x1x6x64xbf16> {
  // expected-remark @below {{computes qk as block_scaled<terms = 2> (tcgen05.mma.kind::mxf4nvf4.block16, which adds 1.00% of error) and pv as f16 (tcgen05.mma.kind::f16, which adds 0.02% of error)}}
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x6x128xbf16>)
      caches(%k, %v : !kvq.cache<key, 16x3x128, nvfp4, NHD, linear>,
                      !kvq.cache<value, 16x3x64, nvfp4, NHD, linear>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x1x6x64xbf16>) -> tensor<2x1x6x64xbf16>
  return %0 : tensor<2x1x6x64xbf16>
}

// -----

// With a head_dim of 192 there is no kernel for that. Queries in bf16 may exceed
// f16.
// CHECK-LABEL: @bf16_queries
// CHECK: pv = #kvq.mma_kind<f16>
// CHECK-SAME: qk = #kvq.mma_kind<bf16>
func.func @bf16_queries(%q: tensor<2x1x6x192xbf16>,
    %k: !kvq.cache<key, 24x3x192, nvfp4, NHD, linear>,
    %v: !kvq.cache<value, 24x3x64, nvfp4, NHD, linear>,
    %bt: tensor<2x?xi32>, %len: tensor<2xi32>, %scale: f32,
    %o: tensor<2x1x6x64xbf16>) -> tensor<2x1x6x64xbf16> {
  // expected-remark @below {{computes qk as bf16: block_scaled<terms = 2> with tcgen05.mma.kind::mxf4nvf4.block16 would take 2.0 times fewer tensor-core clocks, but no kernel uses it yet}}
  // expected-remark @below {{computes qk as bf16 (mma.sync.m16n8k16.bf16, which adds 0.00% of error) and pv as f16 (mma.sync.m16n8k16.f16, which adds 0.02% of error)}}
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x6x192xbf16>)
      caches(%k, %v : !kvq.cache<key, 24x3x192, nvfp4, NHD, linear>,
                      !kvq.cache<value, 24x3x64, nvfp4, NHD, linear>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x1x6x64xbf16>) -> tensor<2x1x6x64xbf16>
  return %0 : tensor<2x1x6x64xbf16>
}

// -----

// An E8M0 scale may exceed f16, so that values of such caches are bf16. With a
// head_dim of 80 no block-scaled instruction applies.
// CHECK-LABEL: @f16_queries
// CHECK: pv = #kvq.mma_kind<bf16>
// CHECK-SAME: qk = #kvq.mma_kind<f16>
func.func @f16_queries(%q: tensor<3x5x80xf16>, %indptr: tensor<3xi32>,
    %k: !kvq.cache<key, 7x5x80, nvfp4, HND, linear>,
    %v: !kvq.cache<value, 7x5x96, mxfp8, HND, linear>,
    %bt: tensor<2x?xi32>, %len: tensor<2xi32>, %scale: f32,
    %o: tensor<3x5x96xf16>) -> tensor<3x5x96xf16> {
  // expected-remark @below {{computes qk as f16 (mma.sync.m16n8k16.f16, which adds 0.00% of error) and pv as bf16 (mma.sync.m16n8k16.bf16, which adds 0.17% of error)}}
  %0 = kvq.dequant_attention ins(%q : tensor<3x5x80xf16>)
      caches(%k, %v : !kvq.cache<key, 7x5x80, nvfp4, HND, linear>,
                      !kvq.cache<value, 7x5x96, mxfp8, HND, linear>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      qo_indptr(%indptr : tensor<3xi32>)
      scale(%scale) outs(%o : tensor<3x5x96xf16>)
      {qk = #kvq.mma_kind<f16>} -> tensor<3x5x96xf16>
  return %0 : tensor<3x5x96xf16>
}

// -----

// Two terms of E4M3 feed the instruction with fp8 keys as they lie. P in E4M3
// would be off by more than the bound.
// CHECK-LABEL: @fp8
// CHECK: pv = #kvq.mma_kind<f16>
// CHECK-SAME: qk = #kvq.mma_kind<f8>
func.func @fp8(%q: tensor<2x1x6x128xbf16>, %k: !kvq.cache<key, 16x3x128, fp8, NHD>,
    %v: !kvq.cache<value, 16x3x128, fp8, NHD>,
    %bt: tensor<2x?xi32>, %len: tensor<2xi32>, %scale: f32,
    %o: tensor<2x1x6x128xbf16>) -> tensor<2x1x6x128xbf16> {
  // expected-remark @below {{computes qk as f8 (tcgen05.mma.kind::f8f6f4, which adds 0.06% of error) and pv as f16 (tcgen05.mma.kind::f16, which adds 0.02% of error)}}
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x6x128xbf16>)
      caches(%k, %v : !kvq.cache<key, 16x3x128, fp8, NHD>,
                      !kvq.cache<value, 16x3x128, fp8, NHD>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x1x6x128xbf16>) -> tensor<2x1x6x128xbf16>
  return %0 : tensor<2x1x6x128xbf16>
}

// -----

// A format that the table does not know has no tensor-core kind.
// CHECK-LABEL: @odd_format
// CHECK: kvq.dequant_attention
// CHECK-NOT: mma_kind
func.func @odd_format(%q: tensor<2x1x4x32xf32>,
    %k: !kvq.cache<key, 16x2x32, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 8>, NHD, linear>,
    %v: !kvq.cache<value, 16x2x32, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 8>, NHD, linear>,
    %bt: tensor<2x?xi32>, %len: tensor<2xi32>, %scale: f32,
    %o: tensor<2x1x4x32xf32>) -> tensor<2x1x4x32xf32> {
  // expected-remark @below {{leaves qk undecided: sm_100a has no tensor-core kind with a kernel for the format #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 8> with head_dim 32}}
  // expected-remark @below {{leaves pv undecided: sm_100a has no tensor-core kind with a kernel for the format}}
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x4x32xf32>)
      caches(%k, %v : !kvq.cache<key, 16x2x32, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 8>, NHD, linear>,
                      !kvq.cache<value, 16x2x32, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 8>, NHD, linear>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x1x4x32xf32>) -> tensor<2x1x4x32xf32>
  return %0 : tensor<2x1x4x32xf32>
}
