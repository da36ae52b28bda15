// RUN: kvq-opt %s --convert-kvq-to-gpu=chip=sm_86 --split-input-file \
// RUN:   --remark-format=emitRemark --remarks-filter=.* --verify-diagnostics

// A block holds 16 queries, 16 keys and 16 values at least.
func.func @large(%q: memref<1x1x1x2048xbf16>, %k: !kvq.cache<key, 16x1x2048, fp8, NHD>,
                 %v: !kvq.cache<value, 16x1x64, fp8, NHD>, %bt: memref<1x4xi32>,
                 %len: memref<1xi32>, %scale: f32, %o: memref<1x1x1x64xbf16>) {
  // expected-error @below {{bytes of shared memory for head_dim 2048 and 64, sm_86 has 101376 for a block}}
  kvq.dequant_attention ins(%q : memref<1x1x1x2048xbf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x2048, fp8, NHD>, !kvq.cache<value, 16x1x64, fp8, NHD>)
      block_table(%bt : memref<1x4xi32>) seq_lens(%len : memref<1xi32>)
      scale(%scale) outs(%o : memref<1x1x1x64xbf16>)
  return
}

// -----

func.func @blocks(%q: memref<1x1x1x64xbf16>,
                  %k: !kvq.cache<key, 16x1x64, #kvq.format<f8E4M3FN, scale = f8E8M0FNU, block = 4>, NHD, linear>,
                  %v: !kvq.cache<value, 16x1x64, fp8, NHD>, %bt: memref<1x4xi32>,
                  %len: memref<1xi32>, %scale: f32, %o: memref<1x1x1x64xbf16>) {
  // expected-error @below {{has a cache with blocks of 4 elements; the attention kernel takes multiples of 8}}
  kvq.dequant_attention ins(%q : memref<1x1x1x64xbf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x64, #kvq.format<f8E4M3FN, scale = f8E8M0FNU, block = 4>, NHD, linear>, !kvq.cache<value, 16x1x64, fp8, NHD>)
      block_table(%bt : memref<1x4xi32>) seq_lens(%len : memref<1xi32>)
      scale(%scale) outs(%o : memref<1x1x1x64xbf16>)
  return
}

// -----

// Kinds without a kernel are told.
func.func @kinds(%q: memref<1x1x1x64xbf16>, %k: !kvq.cache<key, 16x1x64, fp8, NHD>,
                 %v: !kvq.cache<value, 16x1x64, fp8, NHD>, %bt: memref<1x4xi32>,
                 %len: memref<1xi32>, %scale: f32, %o: memref<1x1x1x64xbf16>) {
  // expected-remark @below {{is computed by the portable kernel: pv = #kvq.mma_kind<f8> has no kernel on sm_86}}
  kvq.dequant_attention ins(%q : memref<1x1x1x64xbf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x64, fp8, NHD>, !kvq.cache<value, 16x1x64, fp8, NHD>)
      block_table(%bt : memref<1x4xi32>) seq_lens(%len : memref<1xi32>)
      scale(%scale) outs(%o : memref<1x1x1x64xbf16>)
      {qk = #kvq.mma_kind<bf16>, pv = #kvq.mma_kind<f8>}
  return
}
