// RUN: kvq-opt %s -convert-kvq-to-vector -split-input-file -verify-diagnostics

func.func @tensor(%x: tensor<4x32xf32>, %d: memref<4x32xf4E2M1FN>, %s: memref<4x1xf8E8M0FNU>,
    %d0: tensor<4x32xf4E2M1FN>, %s0: tensor<4x1xf8E8M0FNU>) -> tensor<4x32xf4E2M1FN> {
  // expected-error @below {{operand #0 is of type 'tensor<4x32xf32>', convert-kvq-to-vector accepts memrefs: bufferize first}}
  %y, %t = kvq.quantize ins(%x : tensor<4x32xf32>) outs(%d0, %s0 : tensor<4x32xf4E2M1FN>, tensor<4x1xf8E8M0FNU>)
      {format = #kvq.format<mxfp4>} -> tensor<4x32xf4E2M1FN>, tensor<4x1xf8E8M0FNU>
  return %y : tensor<4x32xf4E2M1FN>
}

// -----

func.func @undecided(%k: !kvq.cache<key, 16x8x128, nvfp4, NHD, ?>, %x: memref<?x8x128xf32>, %slots: memref<?xi32>) {
  // expected-error @below {{operand #1 is of type '!kvq.cache<key, 16x8x128, nvfp4, NHD, ?>', whose scale layout is not decided}}
  kvq.quantize_append ins(%x : memref<?x8x128xf32>) into(%k : !kvq.cache<key, 16x8x128, nvfp4, NHD, ?>)
      slot_mapping(%slots : memref<?xi32>)
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
