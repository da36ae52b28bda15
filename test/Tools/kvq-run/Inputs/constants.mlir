// Kernels read rows, slots and tables that are constants of the module.
!k = !kvq.cache<key, 4x1x32, f16, NHD>

func.func @append() -> tensor<1x2x1x32xf32> {
  %data = memref.alloc() : memref<1x4x1x32xf16>
  %k = kvq.make_cache data(%data : memref<1x4x1x32xf16>) : !k
  %x = arith.constant dense<1.5> : tensor<1x1x32xf32>
  %y = arith.constant dense<-2.0> : tensor<1x1x32xf32>
  %first = arith.constant dense<1> : tensor<1xi32>
  %second = arith.constant dense<0> : tensor<1xi32>
  kvq.quantize_append ins(%x : tensor<1x1x32xf32>) into(%k : !k) slot_mapping(%first : tensor<1xi32>)
  kvq.quantize_append ins(%y : tensor<1x1x32xf32>) into(%k : !k) slot_mapping(%second : tensor<1xi32>)
  %table = arith.constant dense<0> : tensor<1x1xi32>
  %length = arith.constant dense<2> : tensor<1xi32>
  %rows0 = tensor.empty() : tensor<1x2x1x32xf16>
  %rows = kvq.gather cache(%k : !k) block_table(%table : tensor<1x1xi32>)
      seq_lens(%length : tensor<1xi32>) outs(%rows0 : tensor<1x2x1x32xf16>) -> tensor<1x2x1x32xf16>
  %values0 = tensor.empty() : tensor<1x2x1x32xf32>
  %values = kvq.dequantize ins(%rows : tensor<1x2x1x32xf16>) outs(%values0 : tensor<1x2x1x32xf32>)
      {format = #kvq.format<f16>} -> tensor<1x2x1x32xf32>
  return %values : tensor<1x2x1x32xf32>
}
