// A layer over float caches in formats, for a reader of values: layouts follow
// from where handles come from, and from what reads them where 4 bits are asked for.
// RUN: kvq-opt %s --kvq-optimize='key-format=nvfp4 value-format=nvfp4 value-reader=trtllm-gen global-scale=one' | FileCheck %s --implicit-check-not=kvq.gather --implicit-check-not='kvq.quantize ' --implicit-check-not='kvq.dequantize ' --implicit-check-not=kvq.append --implicit-check-not='kvq.attention ' --implicit-check-not=convert_scale_layout
// RUN: kvq-opt %s --kvq-optimize='key-format=fp4 value-format=fp4 strict value-reader=trtllm-gen global-scale=one' | FileCheck %s --implicit-check-not=kvq.gather --implicit-check-not='kvq.quantize ' --implicit-check-not='kvq.dequantize ' --implicit-check-not=kvq.append --implicit-check-not='kvq.attention ' --implicit-check-not=convert_scale_layout

!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!v = !kvq.cache<value, 16x2x64, bf16, NHD>
!m = memref<?x16x2x64xbf16>
!x = tensor<2x2x64xbf16>
!kv = tensor<2x64x2x64xbf16>
!q = tensor<2x1x8x64xf32>

// CHECK-LABEL: func private @layer
// CHECK-SAME: !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK-SAME: !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>
// CHECK-COUNT-2: kvq.quantize_append
// CHECK: kvq.dequant_attention {{.*}} interleaved_4>
func.func private @layer(%k: !k, %v: !v, %x: !x, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %slots: tensor<2xi32>, %scale: f32) -> !q {
  %kv = tensor.empty() : !kv
  kvq.append ins(%x : !x) into(%k : !k) slot_mapping(%slots : tensor<2xi32>)
  kvq.append ins(%x : !x) into(%v : !v) slot_mapping(%slots : tensor<2xi32>)
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%kv : !kv) -> !kv
  %2 = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : !q) -> !q
  return %2 : !q
}
// CHECK-LABEL: func @model
// CHECK: scf.for
// CHECK: func.call @layer
func.func @model(%kd: !m, %vd: !m, %x: !x, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %slots: tensor<2xi32>, %scale: f32, %n: index) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = kvq.make_cache data(%kd : !m) : !k
  %v = kvq.make_cache data(%vd : !m) : !v
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %q) -> !q {
    %0 = func.call @layer(%k, %v, %x, %a, %bt, %len, %slots, %scale) : (!k, !v, !x, !q, tensor<2x4xi32>, tensor<2xi32>, tensor<2xi32>, f32) -> !q
    scf.yield %0 : !q
  }
  return %r : !q
}
