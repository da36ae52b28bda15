// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-decompose))' -split-input-file -verify-diagnostics

func.func @tensor(%x: tensor<4x64xf32>, %d: tensor<4x64xf8E4M3FN>, %s: tensor<4x2xf8E8M0FNU>) {
  // expected-error@+1 {{'kvq.quantize' op operand #0 is of type 'tensor<4x64xf32>', kvq-decompose accepts memrefs: bufferize first}}
  %0:2 = kvq.quantize ins(%x : tensor<4x64xf32>) outs(%d, %s : tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>) {format = #kvq.format<mxfp8>}
      -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @tensor_table(%k: !kvq.cache<key, 16x8x64, mxfp4, NHD, linear>, %i: memref<?xi32>, %j: tensor<?xi32>) {
  // expected-error@+1 {{'kvq.copy_pages' op operand #3 is of type 'tensor<?xi32>', kvq-decompose accepts memrefs: bufferize first}}
  kvq.copy_pages from(%k) to(%k) src_pages(%i : memref<?xi32>) dst_pages(%j : tensor<?xi32>) : !kvq.cache<key, 16x8x64, mxfp4, NHD, linear>
  return
}

// -----

func.func @undecided(%k: !kvq.cache<key, 16x8x64, mxfp4, NHD, ?>, %x: memref<?x8x64xf32>, %slots: memref<?xi32>) {
  // expected-error@+1 {{'kvq.quantize_append' op operand #1 is of type '!kvq.cache<key, 16x8x64, mxfp4, NHD, ?>', whose scale layout is not decided; kvq-assign-block-scales chooses one}}
  kvq.quantize_append ins(%x : memref<?x8x64xf32>) into(%k : !kvq.cache<key, 16x8x64, mxfp4, NHD, ?>) slot_mapping(%slots : memref<?xi32>)
  return
}

// -----

func.func @undecided_scales(%k: !kvq.cache<key, 16x8x64, fp4, NHD>, %x: memref<?x8x64xf32>, %slots: memref<?xi32>) {
  // expected-error@+1 {{operand #1 is of type '!kvq.cache<key, 16x8x64, fp4, NHD>', whose block scales are not decided; kvq-assign-block-scales chooses them}}
  kvq.quantize_append ins(%x : memref<?x8x64xf32>) into(%k : !kvq.cache<key, 16x8x64, fp4, NHD>) slot_mapping(%slots : memref<?xi32>)
  return
}

// -----

func.func @undecided_format(%x: memref<4x64xf32>, %d: memref<4x64xf4E2M1FN>) {
  // expected-error@+1 {{the format is #kvq.fp4, whose block scales are not decided; kvq-assign-block-scales chooses them}}
  kvq.quantize ins(%x : memref<4x64xf32>) outs(%d : memref<4x64xf4E2M1FN>) {format = #kvq.fp4}
  return
}
