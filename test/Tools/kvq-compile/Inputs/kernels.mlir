func.func @append(%x: tensor<?x8x128xbf16>, %slots: tensor<?xi32>,
                  %k: !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>) {
  kvq.quantize_append ins(%x : tensor<?x8x128xbf16>)
      into(%k : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>)
      slot_mapping(%slots : tensor<?xi32>)
  return
}
