// RUN: kvq-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func private @presets
// CHECK-SAME: !kvq.cache<key, 16x8x128, nvfp4, HND, linear>
// CHECK-SAME: !kvq.cache<key, 16x8x128, mxfp4, NHD, linear>
// CHECK-SAME: !kvq.cache<key, 16x8x128, mxfp8, NHD, linear>
// CHECK-SAME: !kvq.cache<value, 64x4x128, fp8, NHD>
// CHECK-SAME: !kvq.cache<value, 1x1x80, bf16, HND>
// CHECK-SAME: !kvq.cache<value, 3x1x576, f16, HND>
// CHECK-SAME: !kvq.cache<key, 16x8x128, fp4, NHD>
// CHECK-SAME: !kvq.cache<key, 16x8x128, fp4, NHD>
func.func private @presets(
    !kvq.cache<key, 16x8x128, nvfp4, HND, linear>,
    !kvq.cache<key, 16x8x128, mxfp4, NHD, linear>,
    !kvq.cache<key, 16x8x128, mxfp8, NHD, linear>,
    !kvq.cache<value, 64x4x128, fp8, NHD>,
    !kvq.cache<value, 1x1x80, bf16, HND>,
    !kvq.cache<value, 3x1x576, f16, HND>,
    !kvq.cache<key, 16x8x128, fp4, NHD>,
    !kvq.cache<key, 16x8x128, #kvq.fp4, NHD>)

// CHECK-LABEL: func private @scale_layouts
// CHECK-SAME: !kvq.cache<value, 16x8x128, nvfp4, HND, interleaved_4>
// CHECK-SAME: !kvq.cache<key, 128x8x128, nvfp4, HND, blocked_128x4>
// CHECK-SAME: !kvq.cache<key, 16x8x128, nvfp4, HND, ?>
func.func private @scale_layouts(
    !kvq.cache<value, 16x8x128, nvfp4, HND, interleaved_4>,
    !kvq.cache<key, 128x8x128, nvfp4, HND, blocked_128x4>,
    !kvq.cache<key, 16x8x128, nvfp4, HND, ?>)

// A format that equals a preset prints as the preset, others in full.
// CHECK-LABEL: func private @formats
// CHECK-SAME: !kvq.cache<key, 16x8x128, nvfp4, HND, linear>
// CHECK-SAME: !kvq.cache<value, 32x8x128, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, axis = token, global_scale>, HND, linear>
// CHECK-SAME: !kvq.cache<key, 16x8x128, #kvq.format<f8E4M3FN>, HND>
func.func private @formats(
    !kvq.cache<key, 16x8x128, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, global_scale>, HND, linear>,
    !kvq.cache<value, 32x8x128, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, axis = token, global_scale>, HND, linear>,
    !kvq.cache<key, 16x8x128, #kvq.format<f8E4M3FN>, HND>)
