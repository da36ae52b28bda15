// A number through fp8 and back, in kernels on tensors.
func.func @round_trip(%scale: f32, %x: f32) -> f32 {
  %e = tensor.empty() : tensor<1x1x2x16xf32>
  %q = linalg.fill ins(%x : f32) outs(%e : tensor<1x1x2x16xf32>) -> tensor<1x1x2x16xf32>
  %d = tensor.empty() : tensor<1x1x2x16xf8E4M3FN>
  %0 = kvq.quantize ins(%q : tensor<1x1x2x16xf32>) outs(%d : tensor<1x1x2x16xf8E4M3FN>)
      {format = #kvq.format<f8E4M3FN>} -> tensor<1x1x2x16xf8E4M3FN>
  %o = kvq.dequantize ins(%0 : tensor<1x1x2x16xf8E4M3FN>) outs(%e : tensor<1x1x2x16xf32>)
      {format = #kvq.format<f8E4M3FN>} -> tensor<1x1x2x16xf32>
  %c0 = arith.constant 0 : index
  %v = tensor.extract %o[%c0, %c0, %c0, %c0] : tensor<1x1x2x16xf32>
  %r = arith.mulf %v, %scale : f32
  return %r : f32
}
