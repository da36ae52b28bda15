// Rows into an NVFP4 cache and back.

!cache = !kvq.cache<key, 4x1x32, nvfp4, HND, linear>

func.func @append(%rows: tensor<?x1x32xf32>, %slots: tensor<?xi32>,
                  %data: memref<?x1x4x32xf4E2M1FN>,
                  %scales: memref<?x1x4x2xf8E4M3FN>, %g: memref<f32>) {
  %cache = kvq.make_cache data(%data : memref<?x1x4x32xf4E2M1FN>)
      scales(%scales : memref<?x1x4x2xf8E4M3FN>)
      global_scale(%g : memref<f32>) : !cache
  kvq.quantize_append ins(%rows : tensor<?x1x32xf32>) into(%cache : !cache)
      slot_mapping(%slots : tensor<?xi32>)
  return
}
