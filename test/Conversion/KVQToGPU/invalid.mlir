// RUN: kvq-opt %s --convert-kvq-to-gpu=chip=sm_80 --split-input-file --verify-diagnostics
// RUN: not kvq-opt %s --convert-kvq-to-gpu=chip=sm_75 --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not kvq-opt %s --convert-kvq-to-gpu="chip=sm_100a features=+ptx86" --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEATURES

// CHIP: error: convert-kvq-to-gpu: unknown chip 'sm_75', expected one of sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100a, sm_120a
// FEATURES: error: convert-kvq-to-gpu: features '+ptx86' do not go with sm_100a, expected one of +ptx88, +ptx90

func.func @tensor(%d: tensor<4x32xf8E4M3FN>, %g: f32, %o: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // expected-error @below {{operand #0 is of type 'tensor<4x32xf8E4M3FN>', convert-kvq-to-gpu accepts memrefs: bufferize first}}
  %r = kvq.dequantize ins(%d : tensor<4x32xf8E4M3FN>) global_scale(%g)
      outs(%o : tensor<4x32xf32>) {format = #kvq.format<fp8>} -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// -----

func.func private @undecided(%x: memref<?x8x128xf16>, %slots: memref<?xi32>,
                             %k: !kvq.cache<key, 16x8x128, nvfp4, NHD, ?>) {
  // expected-error @below {{whose scale layout is not decided; kvq-assign-block-scales chooses one}}
  kvq.quantize_append ins(%x : memref<?x8x128xf16>)
      into(%k : !kvq.cache<key, 16x8x128, nvfp4, NHD, ?>)
      slot_mapping(%slots : memref<?xi32>)
  return
}

// -----

func.func @attention(%q: memref<2x1x2x64xf32>, %k: memref<2x?x2x64xf32>,
                     %v: memref<2x?x2x64xf32>, %scale: f32, %o: memref<2x1x2x64xf32>) {
  // expected-error @below {{has no GPU kernel; convert-kvq-to-gpu accepts the operations on caches and plain arrays, and kvq.dequant_attention}}
  kvq.attention ins(%q, %k, %v : memref<2x1x2x64xf32>, memref<2x?x2x64xf32>, memref<2x?x2x64xf32>)
      scale(%scale) outs(%o : memref<2x1x2x64xf32>)
  return
}

// -----

// expected-error @below {{has the name of the module of kernels, @kvq_kernels: rename it}}
func.func @kvq_kernels(%d: memref<4x32xf8E4M3FN>, %g: f32, %o: memref<4x32xf32>) {
  kvq.dequantize ins(%d : memref<4x32xf8E4M3FN>) global_scale(%g)
      outs(%o : memref<4x32xf32>) {format = #kvq.format<fp8>}
  return
}

// -----

func.func private @undecided_scales(%k: !kvq.cache<key, 16x8x64, fp4, NHD>, %x: memref<?x8x64xf32>, %slots: memref<?xi32>) {
  // expected-error@+1 {{operand #1 is of type '!kvq.cache<key, 16x8x64, fp4, NHD>', whose block scales are not decided; kvq-assign-block-scales chooses them}}
  kvq.quantize_append ins(%x : memref<?x8x64xf32>) into(%k : !kvq.cache<key, 16x8x64, fp4, NHD>) slot_mapping(%slots : memref<?xi32>)
  return
}

// -----

func.func private @undecided_format(%x: memref<4x64xf32>, %d: memref<4x64xf4E2M1FN>) {
  // expected-error@+1 {{the format is #kvq.fp4, whose block scales are not decided; kvq-assign-block-scales chooses them}}
  kvq.quantize ins(%x : memref<4x64xf32>) outs(%d : memref<4x64xf4E2M1FN>) {format = #kvq.fp4}
  return
}
