// One attention layer of SmolLM2 over a paged cache, for each format: append the
// new rows of K and V, quantized, then attend. The same functions serve a prefill
// and a decode step; qo_indptr says which rows of q belong to which sequence.

!k_bf16 = !kvq.cache<key, 16x3x64, bf16, HND>
!v_bf16 = !kvq.cache<value, 16x3x64, bf16, HND>
func.func @bf16(
    %q: tensor<?x9x64xf16>, %k: tensor<?x3x64xf16>, %v: tensor<?x3x64xf16>,
    %slot_mapping: tensor<?xi32>, %block_table: tensor<?x?xi32>,
    %seq_lens: tensor<?xi32>, %qo_indptr: tensor<?xi32>, %scale: f32,
    %k_data: memref<?x3x16x64xbf16>,
    %v_data: memref<?x3x16x64xbf16>)
    -> tensor<?x9x64xf32> {
  %k_cache = kvq.make_cache data(%k_data : memref<?x3x16x64xbf16>)
      : !k_bf16
  %v_cache = kvq.make_cache data(%v_data : memref<?x3x16x64xbf16>)
      : !v_bf16
  kvq.quantize_append ins(%k : tensor<?x3x64xf16>) into(%k_cache : !k_bf16)
      slot_mapping(%slot_mapping : tensor<?xi32>)
  kvq.quantize_append ins(%v : tensor<?x3x64xf16>) into(%v_cache : !v_bf16)
      slot_mapping(%slot_mapping : tensor<?xi32>)
  %c0 = arith.constant 0 : index
  %total_q = tensor.dim %q, %c0 : tensor<?x9x64xf16>
  %init = tensor.empty(%total_q) : tensor<?x9x64xf32>
  %o = kvq.dequant_attention ins(%q : tensor<?x9x64xf16>)
      caches(%k_cache, %v_cache : !k_bf16, !v_bf16)
      block_table(%block_table : tensor<?x?xi32>) seq_lens(%seq_lens : tensor<?xi32>)
      qo_indptr(%qo_indptr : tensor<?xi32>) scale(%scale)
      outs(%init : tensor<?x9x64xf32>)
      {options = #kvq.attention<causal>} -> tensor<?x9x64xf32>
  return %o : tensor<?x9x64xf32>
}

!k_fp8 = !kvq.cache<key, 16x3x64, fp8, HND>
!v_fp8 = !kvq.cache<value, 16x3x64, fp8, HND>
func.func @fp8(
    %q: tensor<?x9x64xf16>, %k: tensor<?x3x64xf16>, %v: tensor<?x3x64xf16>,
    %slot_mapping: tensor<?xi32>, %block_table: tensor<?x?xi32>,
    %seq_lens: tensor<?xi32>, %qo_indptr: tensor<?xi32>, %scale: f32,
    %k_data: memref<?x3x16x64xf8E4M3FN>, %k_global: memref<f32>,
    %v_data: memref<?x3x16x64xf8E4M3FN>, %v_global: memref<f32>)
    -> tensor<?x9x64xf32> {
  %k_cache = kvq.make_cache data(%k_data : memref<?x3x16x64xf8E4M3FN>)
      global_scale(%k_global : memref<f32>)
      : !k_fp8
  %v_cache = kvq.make_cache data(%v_data : memref<?x3x16x64xf8E4M3FN>)
      global_scale(%v_global : memref<f32>)
      : !v_fp8
  kvq.quantize_append ins(%k : tensor<?x3x64xf16>) into(%k_cache : !k_fp8)
      slot_mapping(%slot_mapping : tensor<?xi32>)
  kvq.quantize_append ins(%v : tensor<?x3x64xf16>) into(%v_cache : !v_fp8)
      slot_mapping(%slot_mapping : tensor<?xi32>)
  %c0 = arith.constant 0 : index
  %total_q = tensor.dim %q, %c0 : tensor<?x9x64xf16>
  %init = tensor.empty(%total_q) : tensor<?x9x64xf32>
  %o = kvq.dequant_attention ins(%q : tensor<?x9x64xf16>)
      caches(%k_cache, %v_cache : !k_fp8, !v_fp8)
      block_table(%block_table : tensor<?x?xi32>) seq_lens(%seq_lens : tensor<?xi32>)
      qo_indptr(%qo_indptr : tensor<?xi32>) scale(%scale)
      outs(%init : tensor<?x9x64xf32>)
      {options = #kvq.attention<causal>} -> tensor<?x9x64xf32>
  return %o : tensor<?x9x64xf32>
}

!k_nvfp4 = !kvq.cache<key, 16x3x64, nvfp4, HND, linear>
!v_nvfp4 = !kvq.cache<value, 16x3x64, nvfp4, HND, linear>
func.func @nvfp4(
    %q: tensor<?x9x64xf16>, %k: tensor<?x3x64xf16>, %v: tensor<?x3x64xf16>,
    %slot_mapping: tensor<?xi32>, %block_table: tensor<?x?xi32>,
    %seq_lens: tensor<?xi32>, %qo_indptr: tensor<?xi32>, %scale: f32,
    %k_data: memref<?x3x16x64xf4E2M1FN>, %k_scales: memref<?x3x16x4xf8E4M3FN>, %k_global: memref<f32>,
    %v_data: memref<?x3x16x64xf4E2M1FN>, %v_scales: memref<?x3x16x4xf8E4M3FN>, %v_global: memref<f32>)
    -> tensor<?x9x64xf32> {
  %k_cache = kvq.make_cache data(%k_data : memref<?x3x16x64xf4E2M1FN>)
      scales(%k_scales : memref<?x3x16x4xf8E4M3FN>)
      global_scale(%k_global : memref<f32>)
      : !k_nvfp4
  %v_cache = kvq.make_cache data(%v_data : memref<?x3x16x64xf4E2M1FN>)
      scales(%v_scales : memref<?x3x16x4xf8E4M3FN>)
      global_scale(%v_global : memref<f32>)
      : !v_nvfp4
  kvq.quantize_append ins(%k : tensor<?x3x64xf16>) into(%k_cache : !k_nvfp4)
      slot_mapping(%slot_mapping : tensor<?xi32>)
  kvq.quantize_append ins(%v : tensor<?x3x64xf16>) into(%v_cache : !v_nvfp4)
      slot_mapping(%slot_mapping : tensor<?xi32>)
  %c0 = arith.constant 0 : index
  %total_q = tensor.dim %q, %c0 : tensor<?x9x64xf16>
  %init = tensor.empty(%total_q) : tensor<?x9x64xf32>
  %o = kvq.dequant_attention ins(%q : tensor<?x9x64xf16>)
      caches(%k_cache, %v_cache : !k_nvfp4, !v_nvfp4)
      block_table(%block_table : tensor<?x?xi32>) seq_lens(%seq_lens : tensor<?xi32>)
      qo_indptr(%qo_indptr : tensor<?xi32>) scale(%scale)
      outs(%init : tensor<?x9x64xf32>)
      {options = #kvq.attention<causal>} -> tensor<?x9x64xf32>
  return %o : tensor<?x9x64xf32>
}

!k_mxfp4 = !kvq.cache<key, 16x3x64, mxfp4, HND, linear>
!v_mxfp4 = !kvq.cache<value, 16x3x64, mxfp4, HND, linear>
func.func @mxfp4(
    %q: tensor<?x9x64xf16>, %k: tensor<?x3x64xf16>, %v: tensor<?x3x64xf16>,
    %slot_mapping: tensor<?xi32>, %block_table: tensor<?x?xi32>,
    %seq_lens: tensor<?xi32>, %qo_indptr: tensor<?xi32>, %scale: f32,
    %k_data: memref<?x3x16x64xf4E2M1FN>, %k_scales: memref<?x3x16x2xf8E8M0FNU>,
    %v_data: memref<?x3x16x64xf4E2M1FN>, %v_scales: memref<?x3x16x2xf8E8M0FNU>)
    -> tensor<?x9x64xf32> {
  %k_cache = kvq.make_cache data(%k_data : memref<?x3x16x64xf4E2M1FN>)
      scales(%k_scales : memref<?x3x16x2xf8E8M0FNU>)
      : !k_mxfp4
  %v_cache = kvq.make_cache data(%v_data : memref<?x3x16x64xf4E2M1FN>)
      scales(%v_scales : memref<?x3x16x2xf8E8M0FNU>)
      : !v_mxfp4
  kvq.quantize_append ins(%k : tensor<?x3x64xf16>) into(%k_cache : !k_mxfp4)
      slot_mapping(%slot_mapping : tensor<?xi32>)
  kvq.quantize_append ins(%v : tensor<?x3x64xf16>) into(%v_cache : !v_mxfp4)
      slot_mapping(%slot_mapping : tensor<?xi32>)
  %c0 = arith.constant 0 : index
  %total_q = tensor.dim %q, %c0 : tensor<?x9x64xf16>
  %init = tensor.empty(%total_q) : tensor<?x9x64xf32>
  %o = kvq.dequant_attention ins(%q : tensor<?x9x64xf16>)
      caches(%k_cache, %v_cache : !k_mxfp4, !v_mxfp4)
      block_table(%block_table : tensor<?x?xi32>) seq_lens(%seq_lens : tensor<?xi32>)
      qo_indptr(%qo_indptr : tensor<?xi32>) scale(%scale)
      outs(%init : tensor<?x9x64xf32>)
      {options = #kvq.attention<causal>} -> tensor<?x9x64xf32>
  return %o : tensor<?x9x64xf32>
}
