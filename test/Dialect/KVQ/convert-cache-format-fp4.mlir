// Caches in fp4 hold elements without scales until block scales are decided. What
// has block scales on 4-bit elements already stays as it is.
// RUN: kvq-opt %s --kvq-convert-cache-format='key-format=fp4 value-format=' --split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-convert-cache-format='key-format=fp4 value-format=' --split-input-file -o %t.once
// RUN: kvq-opt %t.once --kvq-convert-cache-format='key-format=fp4 value-format=' --split-input-file | diff %t.once -

!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!v = !kvq.cache<value, 16x2x64, bf16, NHD>
!d = memref<?x16x2x64xbf16>
!x = tensor<2x2x64xbf16>
!r = tensor<2x64x2x64xbf16>

// Values by their attribute, keys by the option; nothing is added to the signature.
// CHECK-LABEL: func @floats
// CHECK-SAME: (%{{.*}}: memref<?x16x2x64xf4E2M1FN>, %{{.*}}: memref<?x16x2x64xf4E2M1FN>, %{{.*}}: tensor<2x2x64xbf16>, %{{.*}}: tensor<2xi32>, %{{.*}}: tensor<2x4xi32>, %{{.*}}: tensor<2xi32>, %{{.*}}: tensor<2x64x2x64xbf16>)
// CHECK: %[[K:.*]] = kvq.make_cache data(%{{.*}} : memref<?x16x2x64xf4E2M1FN>) : !kvq.cache<key, 16x2x64, fp4, NHD>
// CHECK: %[[V:.*]] = kvq.make_cache data(%{{.*}} : memref<?x16x2x64xf4E2M1FN>) {{.*}} : !kvq.cache<value, 16x2x64, fp4, NHD>
// CHECK: %[[X:.*]] = kvq.quantize ins(%{{.*}} : tensor<2x2x64xbf16>) outs(%{{.*}} : tensor<2x2x64xf4E2M1FN>) {format = #kvq.fp4}
// CHECK: kvq.append ins(%[[X]] : tensor<2x2x64xf4E2M1FN>) into(%[[K]] :
// CHECK: %[[R:.*]] = kvq.gather cache(%[[V]] : {{.*}} -> tensor<2x64x2x64xf4E2M1FN>
// CHECK: kvq.dequantize ins(%[[R]] : tensor<2x64x2x64xf4E2M1FN>) outs(%{{.*}} : tensor<2x64x2x64xbf16>) {format = #kvq.fp4}
func.func @floats(%kd: !d, %vd: !d, %x: !x, %slots: tensor<2xi32>, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %r: !r) -> !r {
  %k = kvq.make_cache data(%kd : !d) : !k
  %v = kvq.make_cache data(%vd : !d) {kvq.cache_format = "fp4"} : !v
  kvq.append ins(%x : !x) into(%k : !k) slot_mapping(%slots : tensor<2xi32>)
  %0 = kvq.gather cache(%v : !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%r : !r) -> !r
  return %0 : !r
}

// -----

!n = !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
!m = !kvq.cache<key, 16x2x64, mxfp4, NHD, ?>
!f = !kvq.cache<key, 16x2x64, fp8, NHD>

// CHECK-LABEL: func private @quantized
// CHECK-SAME: !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK-SAME: !kvq.cache<key, 16x2x64, mxfp4, NHD, ?>
// CHECK-SAME: !kvq.cache<key, 16x2x64, fp4, NHD>
func.func private @quantized(%n: !n, %m: !m, %f: !f) {
  return
}
