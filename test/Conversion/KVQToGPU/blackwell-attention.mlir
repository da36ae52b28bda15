// RUN: kvq-opt %s --convert-kvq-to-gpu=chip=sm_100a --split-input-file \
// RUN:   --remark-format=emitRemark --remarks-filter=.* --verify-diagnostics | FileCheck %s
// RUN: not kvq-opt %s --convert-kvq-to-gpu="chip=sm_100a require-tensor-cores" \
// RUN:   --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REQUIRE

// The kernel with tcgen05 computes attention whose scores are block-scaled.
// CHECK: gpu.func @blackwell_attention_nvfp4_16x1x128_HND_linear_nvfp4_16x1x128_NHD_interleaved_4(
// CHECK: kvq_tcgen05.alloc
// CHECK: kvq_tcgen05.mma_block_scaled mxf4nvf4 {{.*}}!kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>
// CHECK: kvq_tcgen05.mma f16
// REQUIRE-NOT: @blackwell
func.func @native(%q: memref<?x1x8x128xf16>,
                  %k: !kvq.cache<key, 16x1x128, nvfp4, HND, linear>,
                  %v: !kvq.cache<value, 16x1x128, nvfp4, NHD, interleaved_4>,
                  %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
                  %o: memref<?x1x8x128xf16>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x128, nvfp4, HND, linear>,
                      !kvq.cache<value, 16x1x128, nvfp4, NHD, interleaved_4>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>}
  return
}

// -----

// Two scales of a row are half a word of the tensor cores' order.
// CHECK: gpu.func @blackwell_attention_mxfp4_16x1x64_HND_linear_nvfp4_16x1x128_HND_linear(
// CHECK: kvq_tcgen05.mma_block_scaled mxf4 {{.*}}!kvq_tcgen05.tile<128x64xf4E2M1FN, k, b32>
// CHECK-SAME: !kvq_tcgen05.scales<128x4xf8E8M0FNU>
func.func @scale_pairs(%q: memref<?x1x8x64xf16>, %k: !kvq.cache<key, 16x1x64, mxfp4, HND, linear>, %v: !kvq.cache<value, 16x1x128, nvfp4, HND, linear>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x64xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x64, mxfp4, HND, linear>, !kvq.cache<value, 16x1x128, nvfp4, HND, linear>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>}
  return
}

// -----

// REQUIRE: error: 'kvq.dequant_attention' op is computed by the portable kernel: the values have the format #kvq.format<mxfp8>, accepted are nvfp4, mxfp4, fp8, f16 and bf16
func.func @value_format(%q: memref<?x1x8x128xf16>, %k: !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, %v: !kvq.cache<value, 16x1x128, mxfp8, HND, linear>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  // expected-remark @below {{is computed by the portable kernel: the values have the format #kvq.format<mxfp8>, accepted are nvfp4, mxfp4, fp8, f16 and bf16}}
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, !kvq.cache<value, 16x1x128, mxfp8, HND, linear>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>}
  return
}

// -----

// REQUIRE: error: 'kvq.dequant_attention' op is computed by the portable kernel: the keys have head_dim 192, accepted are 64, 128 and 256
func.func @head_dim(%q: memref<?x1x8x192xf16>, %k: !kvq.cache<key, 16x1x192, nvfp4, HND, linear>, %v: !kvq.cache<value, 16x1x128, nvfp4, HND, linear>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  // expected-remark @below {{is computed by the portable kernel: the keys have head_dim 192, accepted are 64, 128 and 256}}
  kvq.dequant_attention ins(%q : memref<?x1x8x192xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x192, nvfp4, HND, linear>, !kvq.cache<value, 16x1x128, nvfp4, HND, linear>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>}
  return
}

// -----

// REQUIRE: error: 'kvq.dequant_attention' op is computed by the portable kernel: the values have head_dim 96, accepted are 64, 128 and 256
func.func @value_head_dim(%q: memref<?x1x8x128xf16>, %k: !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, %v: !kvq.cache<value, 16x1x96, nvfp4, HND, linear>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x96xf16>) {
  // expected-remark @below {{is computed by the portable kernel: the values have head_dim 96, accepted are 64, 128 and 256}}
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, !kvq.cache<value, 16x1x96, nvfp4, HND, linear>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x96xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>}
  return
}

// -----

// REQUIRE: error: 'kvq.dequant_attention' op is computed by the portable kernel: the keys have the scale layout blocked_128x4
func.func @layout(%q: memref<?x1x8x128xf16>, %k: !kvq.cache<key, 128x1x128, nvfp4, HND, blocked_128x4>, %v: !kvq.cache<value, 128x1x128, nvfp4, HND, linear>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  // expected-remark @below {{is computed by the portable kernel: the keys have the scale layout blocked_128x4}}
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 128x1x128, nvfp4, HND, blocked_128x4>, !kvq.cache<value, 128x1x128, nvfp4, HND, linear>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>}
  return
}

// -----

// REQUIRE: error: 'kvq.dequant_attention' op is computed by the portable kernel: pages have 24 tokens, accepted are powers of two from 8 on and multiples of 128
func.func @page(%q: memref<?x1x8x128xf16>, %k: !kvq.cache<key, 24x1x128, nvfp4, HND, linear>, %v: !kvq.cache<value, 24x1x128, nvfp4, HND, linear>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  // expected-remark @below {{is computed by the portable kernel: pages have 24 tokens, accepted are powers of two from 8 on and multiples of 128}}
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 24x1x128, nvfp4, HND, linear>, !kvq.cache<value, 24x1x128, nvfp4, HND, linear>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>}
  return
}

// -----

// Values of nvfp4 in E4M3 are a word of four tokens.
// CHECK: gpu.func @blackwell_attention_nvfp4_16x1x128_HND_linear_nvfp4_16x1x128_HND_linear(
// CHECK: kvq_tcgen05.store shape_32x32b {{.*}}vector<32xi32>, !kvq_tcgen05.tmem<128x512xf8E4M3FN>
// CHECK: kvq_tcgen05.mma f8f6f4 {{.*}}!kvq_tcgen05.tmem<128x128xf8E4M3FN>
func.func @rounded_nvfp4(%q: memref<?x1x8x128xf16>, %k: !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, %v: !kvq.cache<value, 16x1x128, nvfp4, HND, linear>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, !kvq.cache<value, 16x1x128, nvfp4, HND, linear>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>, pv = #kvq.mma_kind<f8>}
  return
}

// -----

// E4M3 does not have the exponents of values of mxfp4.
// REQUIRE: error: 'kvq.dequant_attention' op is computed by the portable kernel: pv = #kvq.mma_kind<f8>, accepted are bf16 and f16
func.func @pv(%q: memref<?x1x8x128xf16>, %k: !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, %v: !kvq.cache<value, 16x1x128, mxfp4, HND, linear>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  // expected-remark @below {{is computed by the portable kernel: pv = #kvq.mma_kind<f8>, accepted are bf16 and f16}}
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, !kvq.cache<value, 16x1x128, mxfp4, HND, linear>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>, pv = #kvq.mma_kind<f8>}
  return
}

// -----

// REQUIRE: error: 'kvq.dequant_attention' op is computed by the portable kernel: the values have the scale layout blocked_128x4
func.func @value_layout(%q: memref<?x1x8x128xf16>, %k: !kvq.cache<key, 128x1x128, nvfp4, HND, linear>, %v: !kvq.cache<value, 128x1x128, mxfp4, HND, blocked_128x4>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  // expected-remark @below {{is computed by the portable kernel: the values have the scale layout blocked_128x4}}
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 128x1x128, nvfp4, HND, linear>, !kvq.cache<value, 128x1x128, mxfp4, HND, blocked_128x4>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>, pv = #kvq.mma_kind<bf16>}
  return
}

// -----

// CHECK: gpu.func @blackwell_attention_fp8_16x1x128_HND_fp8_16x1x128_HND(
// CHECK: kvq_tcgen05.mma f8f6f4 {{.*}}!kvq_tcgen05.tile<128x128xf8E4M3FN, k, b128>
// CHECK: kvq_tcgen05.mma f8f6f4 {{.*}}!kvq_tcgen05.tile<128x128xf8E4M3FN, mn, b128
func.func @fp8(%q: memref<?x1x8x128xf16>, %k: !kvq.cache<key, 16x1x128, fp8, HND>, %v: !kvq.cache<value, 16x1x128, fp8, HND>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x128, fp8, HND>, !kvq.cache<value, 16x1x128, fp8, HND>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<f8>, pv = #kvq.mma_kind<f8>}
  return
}

// -----

// CHECK: gpu.func @blackwell_attention_nvfp4_16x1x128_HND_linear_fp8_16x1x128_HND(
// CHECK: kvq_tcgen05.store shape_16x256b {{.*}}vector<32xi32>
// CHECK: kvq_tcgen05.mma f16 {{.*}}!kvq_tcgen05.tmem<128x128xf16>
func.func @expanded_fp8(%q: memref<?x1x8x128xf16>, %k: !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, %v: !kvq.cache<value, 16x1x128, fp8, HND>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, !kvq.cache<value, 16x1x128, fp8, HND>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>, pv = #kvq.mma_kind<f16>}
  return
}

// -----

// CHECK: gpu.func @blackwell_attention_bf16_16x1x128_HND_bf16_16x1x256_HND(
// CHECK: kvq_tcgen05.mma f16 {{.*}}!kvq_tcgen05.tile<128x128xbf16, k, b128>
// CHECK: kvq_tcgen05.mma f16 {{.*}}!kvq_tcgen05.tile<128x128xbf16, mn, b128, leading = 16384
// CHECK: kvq_tcgen05.mma f16 {{.*}}!kvq_tcgen05.tile<128x128xbf16, mn, b128, leading = 16384
func.func @wide(%q: memref<?x1x8x128xbf16>, %k: !kvq.cache<key, 16x1x128, bf16, HND>, %v: !kvq.cache<value, 16x1x256, bf16, HND>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x256xf16>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x128xbf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x128, bf16, HND>, !kvq.cache<value, 16x1x256, bf16, HND>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x256xf16>)
      {qk = #kvq.mma_kind<bf16>, pv = #kvq.mma_kind<bf16>}
  return
}

// -----

// 16-bit products are what the portable kernel has: no error.
func.func @key_format(%q: memref<?x1x8x128xf16>, %k: !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, %v: !kvq.cache<value, 16x1x128, f16, HND>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  // expected-remark @below {{is computed by the portable kernel: the keys have the format #kvq.format<nvfp4>, accepted with qk = #kvq.mma_kind<f16> are fp8 and f16}}
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x128, nvfp4, HND, linear>, !kvq.cache<value, 16x1x128, f16, HND>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<f16>, pv = #kvq.mma_kind<f16>}
  return
}

// -----

// The largest rows have one tile in shared memory at a time.
// CHECK: gpu.func @blackwell_attention_f16_16x1x256_HND_f16_16x1x256_HND({{.*}}shared = 148788 : i64
func.func @one_stage(%q: memref<?x1x8x256xf16>, %k: !kvq.cache<key, 16x1x256, f16, HND>, %v: !kvq.cache<value, 16x1x256, f16, HND>,
    %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x256xf16>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x256xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x256, f16, HND>, !kvq.cache<value, 16x1x256, f16, HND>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x256xf16>)
      {qk = #kvq.mma_kind<f16>, pv = #kvq.mma_kind<f16>}
  return
}

