// RUN: kvq-opt %s --convert-kvq-tcgen05-to-nvvm --split-input-file \
// RUN:   | mlir-opt --canonicalize --split-input-file | FileCheck %s

// Words of descriptors, worked out by hand from the tables of the PTX ISA.
//
// A matrix descriptor (9.7.16.4.1) has the address / 16 in bits 0-13, the
// leading stride / 16 in bits 16-29, the other one / 16 in bits 32-45, 0b001
// in bits 46-48 and the swizzle in bits 61-63 (none 0, 128B with 32B atoms 1,
// 128B 2, 64B 4, 32B 6). A tile is its low word, which gets the high word where
// it is used. An instruction descriptor (9.7.16.4.2) has the type of D in bits
// 4-5, those of A and B in bits 7-9 and 10-12, negations in 13 and 14,
// transpositions in 15 and 16, N/8 in 17-22, M/16 in 24-28.

// A is 128 rows of 64 bytes, swizzle 64B: stride 8*64 = 512, /16 = 32 = 0x20;
// the leading stride of swizzled K-major tiles counts as 1. High word
// 0x20 | 1<<14 | 4<<29 = 0x80004020 = -2147467232.
// B is 16 rows without a swizzle: stride 128 / 16 = 8, leading 2*128 = 256,
// /16 = 16: low word 0x100000 = 1048576, high word 8 | 1<<14 = 0x4008 = 16392.
// K has 64 bytes: a second step 32 bytes on in A (2), and two chunks of 256
// bytes on in B (32).
// f16 (0), D f32 (1<<4 = 16), N/8 = 2 (2<<17), M/16 = 8 (8<<24):
// 0x08040010 = 134479888.
// CHECK-LABEL: llvm.func @f16
// CHECK-DAG: %[[IDESC:.*]] = llvm.mlir.constant(134479888 : i32)
// CHECK-DAG: %[[HIGH_A:.*]] = llvm.mlir.constant(-2147467232 : i32)
// CHECK-DAG: %[[HIGH_B:.*]] = llvm.mlir.constant(16392 : i32)
// CHECK-DAG: %[[LOW_A:.*]] = llvm.mlir.constant(65536 : i32)
// CHECK-DAG: %[[LOW_B:.*]] = llvm.mlir.constant(1048576 : i32)
// CHECK-DAG: %[[FOUR:.*]] = llvm.mlir.constant(4 : i32)
// CHECK-DAG: %[[TWO:.*]] = llvm.mlir.constant(2 : i32)
// CHECK-DAG: %[[STEP_B:.*]] = llvm.mlir.constant(32 : i32)
// CHECK: %[[INT_A:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i32
// CHECK: %[[SHIFT_A:.*]] = llvm.lshr %[[INT_A]], %[[FOUR]]
// CHECK: %[[A:.*]] = llvm.or %[[SHIFT_A]], %[[LOW_A]]
// CHECK: %[[B:.*]] = llvm.or %{{.*}}, %[[LOW_B]]
// CHECK: llvm.inline_asm has_side_effects "", "~{memory}"
// CHECK: llvm.insertelement %[[A]]
// CHECK: llvm.insertelement %[[HIGH_A]]
// CHECK: %[[DESC_A:.*]] = llvm.bitcast %{{.*}} : vector<2xi32> to i64
// CHECK: llvm.insertelement %[[B]]
// CHECK: llvm.insertelement %[[HIGH_B]]
// CHECK: %[[DESC_B:.*]] = llvm.bitcast %{{.*}} : vector<2xi32> to i64
// CHECK: nvvm.tcgen05.mma %{{.*}}, %[[DESC_A]], %[[DESC_B]], %[[IDESC]], %{{.*}} {
// CHECK: llvm.add %[[A]], %[[TWO]]
// CHECK: llvm.add %[[B]], %[[STEP_B]]
// CHECK: nvvm.tcgen05.mma %{{.*}}, %{{.*}}, %{{.*}}, %[[IDESC]]
llvm.func @f16(%smem: !llvm.ptr<3>, %base: i32) {
  %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<128x32xf16, k, b64>
  %b = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<16x32xf16, k, none>
  %d = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x16xf32>
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xf16, k, b64>,
                                   !kvq_tcgen05.tile<16x32xf16, k, none>)
      outs(%d : !kvq_tcgen05.tmem<128x16xf32>)
  llvm.return
}

// -----

// MN-major A of 128 by 32 f16 with swizzle 128B: a pattern is 64 rows (128
// bytes) by 8 along K, 1024 bytes: stride 1024/16 = 64 = 0x40; the second 64
// rows follow 32/8 patterns on: leading 4096/16 = 256: low word 256<<16 =
// 16777216, high word 0x40 | 1<<14 | 2<<29 = 0x40004040 = 1073758272. A step
// of 16 along K is 2 patterns: 2048/16 = 128.
// MN-major B of 32 by 32 without a swizzle, as the documentation has it for
// P: leading (8 along K) 128/16 = 8, stride (8 rows) 2048/16 = 128: low word
// 8<<16 = 524288, high word 128 | 1<<14 = 16512. A step of 16 is 2 leading
// strides: 256/16 = 16.
// bf16 (1<<7 | 1<<10), D f32 (1<<4), negated A (1<<13), transposed A and B
// (1<<15 | 1<<16), N/8 = 4 (4<<17), M/16 = 8: 0x0809A490 = 134849680.
// CHECK-LABEL: llvm.func @bf16_mn
// CHECK-DAG: llvm.mlir.constant(134849680 : i32)
// CHECK-DAG: llvm.mlir.constant(16777216 : i32)
// CHECK-DAG: llvm.mlir.constant(1073758272 : i32)
// CHECK-DAG: llvm.mlir.constant(524288 : i32)
// CHECK-DAG: llvm.mlir.constant(16512 : i32)
// CHECK-DAG: %[[STEP_A:.*]] = llvm.mlir.constant(128 : i32)
// CHECK-DAG: %[[STEP_B:.*]] = llvm.mlir.constant(16 : i32)
// CHECK: nvvm.tcgen05.mma
// CHECK: llvm.add %{{.*}}, %[[STEP_A]]
// CHECK: llvm.add %{{.*}}, %[[STEP_B]]
llvm.func @bf16_mn(%smem: !llvm.ptr<3>, %base: i32) {
  %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<128x32xbf16, mn, b128>
  %b = kvq_tcgen05.make_tile %smem : !llvm.ptr<3>
      to !kvq_tcgen05.tile<32x32xbf16, mn, none, leading = 128, stride = 2048>
  %d = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x32xf32>
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x32xbf16, mn, b128>,
      !kvq_tcgen05.tile<32x32xbf16, mn, none, leading = 128, stride = 2048>)
      outs(%d : !kvq_tcgen05.tmem<128x32xf32>) {negate_a}
  llvm.return
}

// -----

// E2M1 (5) times E5M2 (1) into f16 (0), M = 64, N = 24: 5<<7 | 1<<10 | 3<<17
// | 4<<24 = 0x04060680 = 67503744. Rows of A are 32 bytes in padded form,
// swizzle 32B: stride 256/16 = 16: high word 16 | 1<<14 | 6<<29 =
// 0xC0004010 = -1073725424.
// CHECK-LABEL: llvm.func @f8f6f4
// CHECK-DAG: llvm.mlir.constant(67503744 : i32)
// CHECK-DAG: llvm.mlir.constant(-1073725424 : i32)
llvm.func @f8f6f4(%smem: !llvm.ptr<3>, %base: i32) {
  %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<64x32xf4E2M1FN, k, b32, padded>
  %b = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<24x32xf8E5M2, k, none>
  %d = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<64x24xf16, word, scattered>
  kvq_tcgen05.mma f8f6f4 ins(%a, %b : !kvq_tcgen05.tile<64x32xf4E2M1FN, k, b32, padded>,
                                      !kvq_tcgen05.tile<24x32xf8E5M2, k, none>)
      outs(%d : !kvq_tcgen05.tmem<64x24xf16, word, scattered>)
  llvm.return
}

// -----

// tf32 (2<<7 | 2<<10), D f32 (1<<4), both transposed (3<<15), N = 32 (4<<17),
// M = 128: 0x08098910 = 134842640. Pattern with atoms of 32 bytes: 128 bytes
// by 4 along K: stride 512/16 = 32; 8 along K are 2 patterns: leading
// 1024/16 = 64: low word 64<<16 = 4194304, high word 32 | 1<<14 | 1<<29 =
// 0x20004020 = 536887328.
// CHECK-LABEL: llvm.func @tf32
// CHECK-DAG: llvm.mlir.constant(134842640 : i32)
// CHECK-DAG: llvm.mlir.constant(4194304 : i32)
// CHECK-DAG: llvm.mlir.constant(536887328 : i32)
llvm.func @tf32(%smem: !llvm.ptr<3>, %base: i32) {
  %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<128x8xtf32, mn, b128_atom32>
  %b = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<32x8xtf32, mn, b128_atom32>
  %d = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x32xf32>
  kvq_tcgen05.mma tf32 ins(%a, %b : !kvq_tcgen05.tile<128x8xtf32, mn, b128_atom32>,
                                    !kvq_tcgen05.tile<32x8xtf32, mn, b128_atom32>)
      outs(%d : !kvq_tcgen05.tmem<128x32xf32>)
  llvm.return
}

// -----

// s8 (1<<7) times u8 (0) into s32 (2<<4), saturated (1<<3), M = 256 over two
// CTAs (16<<24), N = 64 (8<<17): 0x101000A8 = 269484200.
// CHECK-LABEL: llvm.func @i8
// CHECK-DAG: llvm.mlir.constant(269484200 : i32)
// CHECK: nvvm.tcgen05.mma {{.*}}ctaGroup = #nvvm.cta_group<cta_2>
llvm.func @i8(%smem: !llvm.ptr<3>, %base: i32) {
  %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<128x32xsi8, k, b32>
  %b = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<32x32xui8, k, b32>
  %d = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x64xi32>
  kvq_tcgen05.mma i8 ins(%a, %b : !kvq_tcgen05.tile<128x32xsi8, k, b32>,
                                  !kvq_tcgen05.tile<32x32xui8, k, b32>)
      outs(%d : !kvq_tcgen05.tmem<128x64xi32>) {saturate, cta_group = 2 : i64}
  llvm.return
}

// -----

// NVFP4, K = 128: E2M1 has code 1 here (1<<7 | 1<<10), scales UE4M3 (bit 23
// = 0), N = 16 (2<<17), M = 128 (1<<27): 0x08040480 = 134481024, the same for
// both steps: the four scales of a step fill a word. The second step has the
// scales 128/32 = 4 columns on.
// CHECK-LABEL: llvm.func @nvfp4
// CHECK: %[[IDESC:.*]] = llvm.mlir.constant(134481024 : i32)
// CHECK: nvvm.tcgen05.mma.block_scale %[[D:.*]], %{{.*}}, %{{.*}}, %[[IDESC]], %{{.*}}, %[[SA:.*]], %[[SB:.*]] {blockScale = #nvvm.tcgen05_mma_block_scale<block16>
// CHECK-DAG: %[[SA4:.*]] = llvm.getelementptr %[[SA]][4]
// CHECK-DAG: %[[SB4:.*]] = llvm.getelementptr %[[SB]][4]
// CHECK: nvvm.tcgen05.mma.block_scale %[[D]], %{{.*}}, %{{.*}}, %[[IDESC]], %{{.*}}, %[[SA4]], %[[SB4]]
llvm.func @nvfp4(%smem: !llvm.ptr<3>, %base: i32, %p: i1) {
  %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>
  %b = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>
  %sa = kvq_tcgen05.region %base at 16 : !kvq_tcgen05.scales<128x8xf8E4M3FN>
  %sb = kvq_tcgen05.region %base at 24 : !kvq_tcgen05.scales<128x8xf8E4M3FN>
  %d = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x16xf32>
  kvq_tcgen05.mma_block_scaled mxf4nvf4
      ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>,
                   !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>)
      scales(%sa, %sb : !kvq_tcgen05.scales<128x8xf8E4M3FN>,
                        !kvq_tcgen05.scales<128x8xf8E4M3FN>)
      outs(%d : !kvq_tcgen05.tmem<128x16xf32>) accumulate(%p) {block = 16 : i64}
  llvm.return
}

// -----

// MXFP4, K = 128: UE8M0 (1<<23), two scales a step: bytes 0-1, then bytes 2-3
// of one word (ids 2 in bits 4-5 and 29-30): 0x08840480 = 142869632 and
// 0x488404A0 = 1216611488.
// CHECK-LABEL: llvm.func @mxfp4
// CHECK-DAG: %[[FIRST:.*]] = llvm.mlir.constant(142869632 : i32)
// CHECK-DAG: %[[SECOND:.*]] = llvm.mlir.constant(1216611488 : i32)
// CHECK: nvvm.tcgen05.mma.block_scale %{{.*}}, %{{.*}}, %{{.*}}, %[[FIRST]], %{{.*}}, %[[SA:.*]], %[[SB:.*]] {blockScale = #nvvm.tcgen05_mma_block_scale<block32>
// CHECK: nvvm.tcgen05.mma.block_scale %{{.*}}, %{{.*}}, %{{.*}}, %[[SECOND]], %{{.*}}, %[[SA]], %[[SB]]
llvm.func @mxfp4(%smem: !llvm.ptr<3>, %base: i32) {
  %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>
  %b = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>
  %sa = kvq_tcgen05.region %base at 16 : !kvq_tcgen05.scales<128x4xf8E8M0FNU>
  %sb = kvq_tcgen05.region %base at 24 : !kvq_tcgen05.scales<128x4xf8E8M0FNU>
  %d = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x16xf32>
  kvq_tcgen05.mma_block_scaled mxf4
      ins(%a, %b : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>,
                   !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>)
      scales(%sa, %sb : !kvq_tcgen05.scales<128x4xf8E8M0FNU>,
                        !kvq_tcgen05.scales<128x4xf8E8M0FNU>)
      outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 32 : i64}
  llvm.return
}

// -----

// MXFP8, K = 64: E4M3 (0) times E3M2 (4<<10), one scale a step: byte 0, then
// byte 1 (ids 1): 0x08841000 = 142872576 and 0x28841010 = 679743504.
// CHECK-LABEL: llvm.func @mxfp8
// CHECK-DAG: llvm.mlir.constant(142872576 : i32)
// CHECK-DAG: llvm.mlir.constant(679743504 : i32)
llvm.func @mxfp8(%smem: !llvm.ptr<3>, %base: i32) {
  %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<128x64xf8E4M3FN, k, b64>
  %b = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<16x64xf6E3M2FN, k, b64, padded>
  %sa = kvq_tcgen05.region %base at 16 : !kvq_tcgen05.scales<128x4xf8E8M0FNU>
  %sb = kvq_tcgen05.region %base at 24 : !kvq_tcgen05.scales<128x4xf8E8M0FNU>
  %d = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x16xf32>
  kvq_tcgen05.mma_block_scaled mxf8f6f4
      ins(%a, %b : !kvq_tcgen05.tile<128x64xf8E4M3FN, k, b64>,
                   !kvq_tcgen05.tile<16x64xf6E3M2FN, k, b64, padded>)
      scales(%sa, %sb : !kvq_tcgen05.scales<128x4xf8E8M0FNU>,
                        !kvq_tcgen05.scales<128x4xf8E8M0FNU>)
      outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 32 : i64}
  llvm.return
}

// -----

// Scales of 256 rows by 8: blocks of 512 bytes (32 units), two along K, then
// the next 128 rows. Four rows of 32 fill a column each: a block has 4 columns,
// a group of four scales 8. Descriptor: stride 128/16 = 8, no leading stride:
// high word 8 | 1<<14 = 16392.
// CHECK-LABEL: llvm.func @copy_scales
// CHECK-DAG: llvm.mlir.constant(16392 : i32)
// CHECK-DAG: %[[S1:.*]] = llvm.mlir.constant(32 : i32)
// CHECK-DAG: %[[S2:.*]] = llvm.mlir.constant(64 : i32)
// CHECK-DAG: %[[S3:.*]] = llvm.mlir.constant(96 : i32)
// CHECK: %[[T:.*]] = llvm.inttoptr
// CHECK: nvvm.tcgen05.cp %[[T]], %{{.*}} {multicast = #nvvm.tcgen05_cp_multicast<warpx4>, shape = #nvvm.tcgen05_cp_shape<shape_32x128b>}
// CHECK-DAG: llvm.add %{{.*}}, %[[S1]]
// CHECK-DAG: %[[T1:.*]] = llvm.getelementptr %[[T]][8]
// CHECK: nvvm.tcgen05.cp %[[T1]]
// CHECK-DAG: llvm.add %{{.*}}, %[[S2]]
// CHECK-DAG: %[[T2:.*]] = llvm.getelementptr %[[T]][4]
// CHECK: nvvm.tcgen05.cp %[[T2]]
// CHECK-DAG: llvm.add %{{.*}}, %[[S3]]
// CHECK-DAG: %[[T3:.*]] = llvm.getelementptr %[[T]][12]
// CHECK: nvvm.tcgen05.cp %[[T3]]
llvm.func @copy_scales(%smem: !llvm.ptr<3>, %base: i32) {
  %s = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.scale_tile<256x8xf8E4M3FN>
  %t = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.scales<256x8xf8E4M3FN>
  kvq_tcgen05.copy_scales %s to %t : !kvq_tcgen05.scale_tile<256x8xf8E4M3FN>
      to !kvq_tcgen05.scales<256x8xf8E4M3FN>
  llvm.return
}
