// RUN: kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-select-mma{chip=sm_100a qk=block_scaled:3 pv=bf16},kvq-verify-target{chip=sm_100a}))" \
// RUN:   | FileCheck %s
// RUN: kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-select-mma{chip=sm_120a qk=block_scaled},kvq-verify-target{chip=sm_120a}))" \
// RUN:   | FileCheck %s --check-prefix=TWO
// RUN: not kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-select-mma{chip=sm_75}))" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHIP
// RUN: not kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-verify-target{chip=gfx942}))" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TARGET
// RUN: not kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-select-mma{qk=int8}))" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OPTION
// RUN: not kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-select-mma{pv=f16:2}))" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TERMS
// RUN: not kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-select-mma{chip=sm_90 qk=block_scaled:2}))" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ILLEGAL
// RUN: kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-select-mma{chip=sm_100a max-error=0.0001}))" \
// RUN:   | FileCheck %s --check-prefix=LEAST

// CHECK: pv = #kvq.mma_kind<bf16>
// CHECK-SAME: qk = #kvq.mma_kind<block_scaled, terms = 3>

// TWO: qk = #kvq.mma_kind<block_scaled, terms = 2>

// CHIP: error: 'func.func' op is compiled for the chip "sm_75", accepted are sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100a, sm_120a
// TARGET: error: 'func.func' op is compiled for the chip "gfx942", accepted are cpu, sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100a, sm_120a
// OPTION: error: 'func.func' op has option qk = "int8", accepted are f16, bf16, f8, block_scaled and block_scaled:TERMS with 1 to 3 terms
// TERMS: error: 'func.func' op has option pv = "f16:2", accepted are
// ILLEGAL: error: 'kvq.dequant_attention' op has qk = block_scaled<terms = 2>, which sm_90 does not have for the format #kvq.format<nvfp4> with head_dim 64; accepted are f16, bf16, f8
// ILLEGAL: note: the rule: no instruction of sm_90 is block_scaled; source: H100 SXM data sheet

// Nothing is that accurate, so the least error is taken.
// LEAST: pv = #kvq.mma_kind<f16>
// LEAST-SAME: qk = #kvq.mma_kind<block_scaled, terms = 3>
func.func @f(%q: tensor<2x1x6x64xf32>,
    %k: !kvq.cache<key, 24x3x64, nvfp4, NHD, linear>,
    %v: !kvq.cache<value, 24x3x64, nvfp4, NHD, linear>,
    %bt: tensor<2x?xi32>, %len: tensor<2xi32>, %scale: f32,
    %o: tensor<2x1x6x64xf32>) -> tensor<2x1x6x64xf32> {
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x6x64xf32>)
      caches(%k, %v : !kvq.cache<key, 24x3x64, nvfp4, NHD, linear>,
                      !kvq.cache<value, 24x3x64, nvfp4, NHD, linear>)
      block_table(%bt : tensor<2x?xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x1x6x64xf32>)
      {some_attribute} -> tensor<2x1x6x64xf32>
  return %0 : tensor<2x1x6x64xf32>
}
