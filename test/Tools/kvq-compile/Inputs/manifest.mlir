!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!v = !kvq.cache<value, 32x2x64, fp8, HND>

func.func @append(%x: memref<?x8x128xbf16, strided<[?, ?, 1]>>, %slots: memref<?xi32>, %k: !k) {
  kvq.quantize_append ins(%x : memref<?x8x128xbf16, strided<[?, ?, 1]>>)
      into(%k : !k) slot_mapping(%slots : memref<?xi32>)
  return
}
func.func @copy(%v: !v, %from: memref<?xi32>, %to: memref<?xi32>) {
  kvq.copy_pages from(%v) to(%v) src_pages(%from : memref<?xi32>)
      dst_pages(%to : memref<?xi32>) : !v
  return
}
func.func @dequantize(%d: memref<4x40xf8E4M3FN>, %g: f32, %o: memref<4x40xf16>) {
  kvq.dequantize ins(%d : memref<4x40xf8E4M3FN>) global_scale(%g)
      outs(%o : memref<4x40xf16>) {format = #kvq.format<fp8>}
  return
}
