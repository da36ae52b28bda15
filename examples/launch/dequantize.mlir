// Rows of 64 elements from NVFP4 to f32.
func.func @dequantize(%data: memref<?x64xf4E2M1FN>, %scales: memref<?x4xf8E4M3FN>,
                      %g: f32, %output: memref<?x64xf32>) {
  kvq.dequantize
      ins(%data, %scales : memref<?x64xf4E2M1FN>, memref<?x4xf8E4M3FN>)
      global_scale(%g) outs(%output : memref<?x64xf32>)
      {format = #kvq.format<nvfp4>}
  return
}
