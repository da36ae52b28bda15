// RUN: kvq-opt %s --convert-kvq-tcgen05-to-nvvm | mlir-opt --canonicalize | FileCheck %s
// RUN: kvq-opt %s --convert-kvq-tcgen05-to-nvvm \
// RUN:   | mlir-opt --pass-pipeline='builtin.module(gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm,reconcile-unrealized-casts))' \
// RUN:   | FileCheck %s --check-prefix=LLVM

!slot = memref<1xi32, #gpu.address_space<workgroup>>
!bars = memref<4xi64, #gpu.address_space<workgroup>>
!smem = memref<16384xi8, #gpu.address_space<workgroup>>

gpu.module @m {

// CHECK-LABEL: @allocation
// CHECK-DAG: %[[C64:.*]] = llvm.mlir.constant(64 : i32)
// CHECK: nvvm.tcgen05.alloc %{{.*}}, %[[C64]] : !llvm.ptr<3>, i32
// CHECK: nvvm.tcgen05.relinquish_alloc_permit{{$}}
// CHECK: %[[P:.*]] = llvm.inttoptr %{{.*}} : i32 to !llvm.ptr<6>
// CHECK: nvvm.tcgen05.dealloc %[[P]], %[[C64]] : !llvm.ptr<6>, i32
// LLVM-LABEL: llvm.func @allocation
// LLVM-NOT: unrealized_conversion_cast
gpu.func @allocation(%base: i32) workgroup(%slot: !slot) kernel {
  %c0 = arith.constant 0 : index
  kvq_tcgen05.alloc %slot[%c0] columns(64) : !slot
  kvq_tcgen05.relinquish
  kvq_tcgen05.dealloc %base columns(64)
  gpu.return
}

// CHECK-LABEL: @pair
// CHECK: nvvm.tcgen05.alloc %{{.*}} {group = #nvvm.cta_group<cta_2>}
// CHECK: nvvm.tcgen05.relinquish_alloc_permit {group = #nvvm.cta_group<cta_2>}
// CHECK: nvvm.tcgen05.dealloc %{{.*}} {group = #nvvm.cta_group<cta_2>}
// CHECK: nvvm.tcgen05.cp %{{.*}} {group = #nvvm.cta_group<cta_2>,
// CHECK: nvvm.tcgen05.shift %{{.*}} {group = #nvvm.cta_group<cta_2>}
// CHECK: nvvm.tcgen05.commit %{{.*}}, multicast_mask = %{{.*}} {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>, i16
gpu.func @pair(%pointer: !llvm.ptr<3>, %base: i32, %mask: i16) kernel {
  kvq_tcgen05.alloc %pointer columns(64) {cta_group = 2 : i64} : !llvm.ptr<3>
  kvq_tcgen05.relinquish {cta_group = 2 : i64}
  kvq_tcgen05.dealloc %base columns(64) {cta_group = 2 : i64}
  %a = kvq_tcgen05.make_tile %pointer : !llvm.ptr<3> to !kvq_tcgen05.tile<128x16xf16, k, b32>
  %t = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x16xf16>
  kvq_tcgen05.copy shape_128x256b %a to %t {cta_group = 2 : i64}
      : !kvq_tcgen05.tile<128x16xf16, k, b32> to !kvq_tcgen05.tmem<128x16xf16>
  %u = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<32x8xi32>
  kvq_tcgen05.shift %u {cta_group = 2 : i64} : !kvq_tcgen05.tmem<32x8xi32>
  kvq_tcgen05.commit %pointer multicast(%mask) {cta_group = 2 : i64} : !llvm.ptr<3>
  gpu.return
}

// The lane is in bits 16 and up: lane 16 is 1048576, and a warp has 32 lanes,
// 1 << 21. Columns are those of 32 bits.
// CHECK-LABEL: @addresses
// CHECK-DAG: %[[C21:.*]] = llvm.mlir.constant(21 : i32)
// CHECK-DAG: %[[C2:.*]] = llvm.mlir.constant(2 : i32)
// CHECK: %[[T:.*]] = llvm.inttoptr %{{.*}} : i32 to !llvm.ptr<6>
// CHECK: %[[S:.*]] = llvm.getelementptr %[[T]][1048608]
// CHECK: %[[W:.*]] = llvm.shl %[[WARP:.*]], %[[C21]] : i32
// CHECK: %[[SW:.*]] = llvm.getelementptr %[[S]][%[[W]]]
// CHECK: nvvm.tcgen05.ld %[[SW]] {shape = #nvvm.tcgen05_ldst_shape<shape_16x64b>} : vector<4xi32>
// CHECK: %[[U:.*]] = llvm.inttoptr
// CHECK: %[[U4:.*]] = llvm.getelementptr %[[U]][64]
// CHECK: %[[U12:.*]] = llvm.getelementptr %[[U4]][8]
// CHECK: llvm.getelementptr %[[U12]][%{{.*}}]
// CHECK: %[[LD:.*]] = nvvm.tcgen05.ld %{{.*}} : vector<8xi32>
// CHECK: llvm.bitcast %[[LD]] : vector<8xi32> to vector<16xf16>
// CHECK: llvm.bitcast %{{.*}} : vector<16xf16> to vector<8xi32>
// CHECK: %[[HALF:.*]] = llvm.udiv %{{.*}}, %[[C2]] : i32
// CHECK: llvm.getelementptr %[[U4]][%[[HALF]]]
// CHECK: nvvm.tcgen05.st
gpu.func @addresses(%base: i32, %warp: i32, %c: index) kernel {
  %s = kvq_tcgen05.region %base at 32 : !kvq_tcgen05.tmem<64x16xf32, scattered, lane = 16>
  %v = kvq_tcgen05.load shape_16x64b %s warp(%warp) {lane = 16 : i64}
      : !kvq_tcgen05.tmem<64x16xf32, scattered, lane = 16> -> vector<4xi32>
  %u = kvq_tcgen05.region %base at 64 : !kvq_tcgen05.tmem<128x64xf16>
  %w = kvq_tcgen05.load shape_32x32b %u[16] warp(%warp)
      : !kvq_tcgen05.tmem<128x64xf16> -> vector<16xf16>
  %n = arith.negf %w : vector<16xf16>
  kvq_tcgen05.store shape_32x32b %n to %u[%c] warp(%warp)
      : vector<16xf16>, !kvq_tcgen05.tmem<128x64xf16>
  gpu.return
}

// A region of one quarter needs no warp; one of lanes 64 on has its lane in
// the address already: the warp's lane is relative to it (-4194304).
// CHECK-LABEL: @windows
// CHECK: %[[T:.*]] = llvm.inttoptr
// CHECK: %[[R:.*]] = llvm.getelementptr %[[T]][4194304]
// CHECK: %[[ZERO:.*]] = llvm.getelementptr %[[R]][-4194304]
// CHECK: llvm.getelementptr %[[ZERO]][%{{.*}}]
// CHECK: nvvm.tcgen05.ld
// CHECK: %[[Q:.*]] = llvm.getelementptr %[[R]][2097152]
// CHECK: nvvm.tcgen05.ld %[[Q]] {
gpu.func @windows(%base: i32, %warp: i32) kernel {
  %r = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<64x8xf32, lane = 64>
  %v = kvq_tcgen05.load shape_32x32b %r warp(%warp)
      : !kvq_tcgen05.tmem<64x8xf32, lane = 64> -> vector<8xf32>
  %q = kvq_tcgen05.cast %r
      : !kvq_tcgen05.tmem<64x8xf32, lane = 64> to !kvq_tcgen05.tmem<32x8xf32, lane = 96>
  %w = kvq_tcgen05.load shape_32x32b %q
      : !kvq_tcgen05.tmem<32x8xf32, lane = 96> -> vector<8xf32>
  gpu.return
}

// CHECK-LABEL: @variants
// CHECK: nvvm.tcgen05.ld %{{.*}} pack {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<8xi32>
// CHECK: nvvm.tcgen05.st %{{.*}}, %{{.*}} unpack {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<8xi32>
// CHECK: nvvm.tcgen05.ld %{{.*}}, %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>} : i32
// CHECK: llvm.bitcast %{{.*}} : i32 to vector<1xi32>
gpu.func @variants(%base: i32, %warp: i32, %out: !llvm.ptr<1>) kernel {
  %u = kvq_tcgen05.region %base at 64 : !kvq_tcgen05.tmem<128x64xf16, word>
  %w = kvq_tcgen05.load shape_32x32b %u warp(%warp) pack
      : !kvq_tcgen05.tmem<128x64xf16, word> -> vector<16xf16>
  kvq_tcgen05.store shape_32x32b %w to %u warp(%warp) unpack
      : vector<16xf16>, !kvq_tcgen05.tmem<128x64xf16, word>
  %v = kvq_tcgen05.load shape_16x32bx2 %u warp(%warp) {split = 4 : i64}
      : !kvq_tcgen05.tmem<128x64xf16, word> -> vector<1xi32>
  llvm.store %v, %out : vector<1xi32>, !llvm.ptr<1>
  gpu.return
}

// CHECK-LABEL: @products
// CHECK-DAG: %[[TRUE:.*]] = llvm.mlir.constant(true)
// CHECK-DAG: %[[FALSE:.*]] = llvm.mlir.constant(false)
// CHECK-DAG: %[[THREE:.*]] = llvm.mlir.constant(3 : i64)
// The first step alone scales D, and it alone may overwrite it.
// CHECK: nvvm.tcgen05.mma %{{.*}}, %[[P:.*]] scale = %[[THREE]] {aShift, collectorOp = #nvvm.tcgen05_mma_collectorop<lastuse>
// CHECK: nvvm.tcgen05.mma %{{.*}}, %[[TRUE]] {aShift
// CHECK: nvvm.tcgen05.mma %{{.*}}, %[[FALSE]] mask = %{{.*}} {
// CHECK: nvvm.tcgen05.mma %{{.*}}, %[[TRUE]] mask = %{{.*}} {
// CHECK: nvvm.tcgen05.mma.ws %{{.*}}, %[[FALSE]], %{{.*}} {collectorBBuffer = #nvvm.tcgen05_mma_collectorb<b2>, collectorOp = #nvvm.tcgen05_mma_collectorop<fill>
gpu.func @products(%base: i32, %smem: !llvm.ptr<3>, %p: i1, %zeros: i64) kernel {
  %mask = arith.constant dense<[1, 0, 0, 0]> : vector<4xi32>
  %a = kvq_tcgen05.region %base at 64 : !kvq_tcgen05.tmem<128x32xf16>
  %d = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x64xf32>
  %b = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to !kvq_tcgen05.tile<64x32xf16, k, b64>
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tmem<128x32xf16>, !kvq_tcgen05.tile<64x32xf16, k, b64>)
      outs(%d : !kvq_tcgen05.tmem<128x64xf32>) accumulate(%p)
      {scale_d = 3 : i64, shift_a, collector = #kvq_tcgen05<collector lastuse>}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tmem<128x32xf16>, !kvq_tcgen05.tile<64x32xf16, k, b64>)
      outs(%d : !kvq_tcgen05.tmem<128x64xf32>) disable_lanes(%mask : vector<4xi32>)
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tmem<128x32xf16>, !kvq_tcgen05.tile<64x32xf16, k, b64>)
      outs(%d : !kvq_tcgen05.tmem<128x64xf32>) zero_columns(%zeros)
      {weight_stationary, collector_b = 2 : i64, collector = #kvq_tcgen05<collector fill>}
  gpu.return
}

// CHECK-LABEL: @copies
// CHECK: llvm.inline_asm has_side_effects "", "~{memory}"
// CHECK: nvvm.tcgen05.cp %{{.*}}, %{{.*}} {multicast = #nvvm.tcgen05_cp_multicast<warpx2_01_23>, shape = #nvvm.tcgen05_cp_shape<shape_64x128b>, srcFormat = #nvvm.tcgen05_cp_src_fmt<b4x16_p64>}
// CHECK: nvvm.tcgen05.cp %{{.*}}, %{{.*}} {multicast = #nvvm.tcgen05_cp_multicast<warpx2_01_23>, shape = #nvvm.tcgen05_cp_shape<shape_64x128b>, srcFormat = #nvvm.tcgen05_cp_src_fmt<b4x16_p64>}
// 96 * 65536 + 8
// CHECK: %[[ROWS:.*]] = llvm.getelementptr %{{.*}}[6291464]
// CHECK: nvvm.tcgen05.cp %{{.*}}srcFormat = #nvvm.tcgen05_cp_src_fmt<b6x16_p32>}
// CHECK: nvvm.tcgen05.shift %[[ROWS]]
// CHECK: nvvm.tcgen05.wait <load>
// CHECK: nvvm.tcgen05.wait <store>
// CHECK: nvvm.tcgen05.fence <before>
// CHECK: nvvm.tcgen05.fence <after>
gpu.func @copies(%base: i32) workgroup(%smem: !smem) kernel {
  %c64 = arith.constant 64 : index
  %a = kvq_tcgen05.make_tile %smem[%c64] : !smem to !kvq_tcgen05.tile<64x32xf4E2M1FN, k, none, padded>
  %t = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x32xf4E2M1FN, byte>
  kvq_tcgen05.copy shape_64x128b %a to %t multicast warpx2_01_23
      : !kvq_tcgen05.tile<64x32xf4E2M1FN, k, none, padded> to !kvq_tcgen05.tmem<128x32xf4E2M1FN, byte>
  %b = kvq_tcgen05.make_tile %smem : !smem to !kvq_tcgen05.tile<128x32xf6E2M3FN, k, none, padded>
  %u = kvq_tcgen05.region %base at 8 : !kvq_tcgen05.tmem<32x8xi32, lane = 96>
  %v = kvq_tcgen05.region %base at 8 : !kvq_tcgen05.tmem<128x32xf6E2M3FN, byte>
  kvq_tcgen05.copy shape_128x256b %b to %v
      : !kvq_tcgen05.tile<128x32xf6E2M3FN, k, none, padded> to !kvq_tcgen05.tmem<128x32xf6E2M3FN, byte>
  kvq_tcgen05.shift %u : !kvq_tcgen05.tmem<32x8xi32, lane = 96>
  kvq_tcgen05.wait load
  kvq_tcgen05.wait store
  kvq_tcgen05.fence before
  kvq_tcgen05.fence after
  gpu.return
}

// CHECK-LABEL: @commits
// CHECK: %[[B:.*]] = llvm.getelementptr
// CHECK: nvvm.tcgen05.commit %[[B]] : !llvm.ptr<3>
// CHECK: nvvm.tcgen05.commit %{{.*}} : !llvm.ptr<3>
gpu.func @commits(%i: index, %pointer: !llvm.ptr<3>) workgroup(%bars: !bars) kernel {
  kvq_tcgen05.commit %bars[%i] : !bars
  kvq_tcgen05.commit %pointer : !llvm.ptr<3>
  gpu.return
}

// Values of the dialect pass through loops and branches.
// CHECK-LABEL: @loops
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (!llvm.ptr<6>, i32, i32)
// CHECK: arith.select %{{.*}} : !llvm.ptr<6>
// LLVM-LABEL: llvm.func @loops
// LLVM-NOT: unrealized_conversion_cast
gpu.func @loops(%base: i32, %p: i1, %n: index, %warp: i32) workgroup(%smem: !smem) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x16xf32>
  %o = kvq_tcgen05.region %base at 16 : !kvq_tcgen05.tmem<128x16xf32>
  %big = kvq_tcgen05.region %base at 32 : !kvq_tcgen05.tmem<128x128xf32>
  %a = kvq_tcgen05.make_tile %smem : !smem to !kvq_tcgen05.tile<128x32xf16, k, b64>
  %c64 = arith.constant 8192 : index
  %b = kvq_tcgen05.make_tile %smem[%c64] : !smem to !kvq_tcgen05.tile<128x32xf16, k, b64>
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %s, %y = %a, %z = %b)
      -> (!kvq_tcgen05.tmem<128x16xf32>, !kvq_tcgen05.tile<128x32xf16, k, b64>,
          !kvq_tcgen05.tile<128x32xf16, k, b64>) {
    %w = scf.if %p -> !kvq_tcgen05.tmem<128x16xf32> {
      scf.yield %x : !kvq_tcgen05.tmem<128x16xf32>
    } else {
      scf.yield %o : !kvq_tcgen05.tmem<128x16xf32>
    }
    scf.yield %w, %z, %y : !kvq_tcgen05.tmem<128x16xf32>,
        !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<128x32xf16, k, b64>
  }
  %v = kvq_tcgen05.load shape_32x32b %r#0 warp(%warp) : !kvq_tcgen05.tmem<128x16xf32> -> vector<16xf32>
  kvq_tcgen05.mma f16 ins(%r#1, %r#2 : !kvq_tcgen05.tile<128x32xf16, k, b64>, !kvq_tcgen05.tile<128x32xf16, k, b64>)
      outs(%big : !kvq_tcgen05.tmem<128x128xf32>)
  gpu.return
}

}
