// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt %s --mlir-print-op-generic | kvq-opt | FileCheck %s

// CHECK-LABEL: @tmem
// CHECK-SAME: !kvq_tcgen05.tmem<128x16xf32>,
// CHECK-SAME: !kvq_tcgen05.tmem<128x64xf4E2M1FN, byte>,
// CHECK-SAME: !kvq_tcgen05.tmem<128x64xf4E2M1FN>,
// CHECK-SAME: !kvq_tcgen05.tmem<128x16xf16, word>,
// CHECK-SAME: !kvq_tcgen05.tmem<64x16xf32, scattered, lane = 16>,
// CHECK-SAME: !kvq_tcgen05.tmem<32x128xf32, folded>,
// CHECK-SAME: !kvq_tcgen05.tmem<32x8xi32, lane = 96>,
// CHECK-SAME: !kvq_tcgen05.tmem<128x512xsi8>
func.func private @tmem(!kvq_tcgen05.tmem<128x16xf32>,
                        !kvq_tcgen05.tmem<128x64xf4E2M1FN, byte>,
                        !kvq_tcgen05.tmem<128x64xf4E2M1FN>,
                        !kvq_tcgen05.tmem<128x16xf16, word>,
                        !kvq_tcgen05.tmem<64x16xf32, lane = 16, scattered>,
                        !kvq_tcgen05.tmem<32x128xf32, folded>,
                        !kvq_tcgen05.tmem<32x8xi32, lane = 96>,
                        !kvq_tcgen05.tmem<128x512xsi8>)

// CHECK-LABEL: @scales
// CHECK-SAME: !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<32x1xf8E8M0FNU>,
// CHECK-SAME: !kvq_tcgen05.scale_tile<256x4xf8E8M0FNU>
func.func private @scales(!kvq_tcgen05.scales<128x8xf8E4M3FN>,
                          !kvq_tcgen05.scales<32x1xf8E8M0FNU>,
                          !kvq_tcgen05.scale_tile<256x4xf8E8M0FNU>)

// CHECK-LABEL: @tiles
// CHECK-SAME: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>,
// CHECK-SAME: !kvq_tcgen05.tile<16x32xf8E4M3FN, k, none>,
// CHECK-SAME: !kvq_tcgen05.tile<32x128xf16, mn, none, leading = 128, stride = 2048>,
// CHECK-SAME: !kvq_tcgen05.tile<8x128xf6E3M2FN, k, b128, padded>,
// CHECK-SAME: !kvq_tcgen05.tile<32x8xtf32, mn, b128_atom32>
func.func private @tiles(!kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>,
                         !kvq_tcgen05.tile<16x32xf8E4M3FN, k, none>,
                         !kvq_tcgen05.tile<32x128xf16, mn, none, stride = 2048, leading = 128>,
                         !kvq_tcgen05.tile<8x128xf6E3M2FN, k, b128, padded>,
                         !kvq_tcgen05.tile<32x8xtf32, mn, b128_atom32>)

// CHECK-LABEL: @parameters_in_order
// CHECK-SAME: !kvq_tcgen05.tmem<64x16xf32, scattered, lane = 16>
// CHECK-SAME: !kvq_tcgen05.tile<32x128xf16, mn, none, leading = 128, stride = 2048>
func.func private @parameters_in_order(
    !kvq_tcgen05.tmem<64x16xf32, scattered, lane = 16>,
    !kvq_tcgen05.tile<32x128xf16, mn, none, leading = 128, stride = 2048>)

// CHECK-LABEL: @attributes
// CHECK-SAME: #kvq_tcgen05.layout<k, b128>
// CHECK-SAME: #kvq_tcgen05.layout<k, none, padded>
// CHECK-SAME: #kvq_tcgen05.layout<mn, none, leading = 128, stride = 2048>
// CHECK-SAME: #kvq_tcgen05<mma_kind mxf4nvf4>
// CHECK-SAME: #kvq_tcgen05<collector fill>
// CHECK-SAME: #kvq_tcgen05<access_shape shape_16x256b>
// CHECK-SAME: #kvq_tcgen05<copy_shape shape_64x128b>
// CHECK-SAME: #kvq_tcgen05<copy_multicast warpx2_02_13>
// CHECK-SAME: #kvq_tcgen05<wait_kind load>
// CHECK-SAME: #kvq_tcgen05<fence_kind after>
func.func private @attributes() attributes {
  test.a = #kvq_tcgen05.layout<k, b128>,
  test.b = #kvq_tcgen05.layout<k, none, padded>,
  test.c = #kvq_tcgen05.layout<mn, none, leading = 128, stride = 2048>,
  test.d = #kvq_tcgen05<mma_kind mxf4nvf4>,
  test.e = #kvq_tcgen05<collector fill>,
  test.f = #kvq_tcgen05<access_shape shape_16x256b>,
  test.g = #kvq_tcgen05<copy_shape shape_64x128b>,
  test.h = #kvq_tcgen05<copy_multicast warpx2_02_13>,
  test.i = #kvq_tcgen05<wait_kind load>,
  test.j = #kvq_tcgen05<fence_kind after>}
