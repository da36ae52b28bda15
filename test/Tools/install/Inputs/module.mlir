func.func @f(%k: !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>,
             %x: memref<?x8x128xbf16>, %slots: memref<?xi32>) {
  kvq.quantize_append ins(%x : memref<?x8x128xbf16>)
      into(%k : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>)
      slot_mapping(%slots : memref<?xi32>)
  return
}
