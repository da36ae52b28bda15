// No kernel for tensor cores has a head_dim of 80.
func.func @decode(%q: memref<?x1x8x80xf16>, %k: !kvq.cache<key, 16x1x80, nvfp4, HND, linear>,
                  %v: !kvq.cache<value, 16x1x80, nvfp4, HND, linear>,
                  %bt: memref<?x?xi32>, %len: memref<?xi32>, %scale: f32,
                  %o: memref<?x1x8x80xf16>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x80xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x80, nvfp4, HND, linear>,
                      !kvq.cache<value, 16x1x80, nvfp4, HND, linear>)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x80xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>}
  return
}
