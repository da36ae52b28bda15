// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt %s --mlir-print-op-generic | kvq-opt | FileCheck %s
// RUN: kvq-opt %s --emit-bytecode | kvq-opt | FileCheck %s

// The examples of the documentation, and the other forms.

!workgroup = memref<1xi32, #gpu.address_space<workgroup>>
!bars = memref<4xi64, #gpu.address_space<workgroup>>

// CHECK-LABEL: @allocation
func.func @allocation(%slot: !workgroup, %pointer: !llvm.ptr<3>, %base: i32) {
  %c0 = arith.constant 0 : index
  // CHECK: kvq_tcgen05.alloc %{{.*}}[%{{.*}}] columns(64) : memref<1xi32, #gpu.address_space<workgroup>>
  kvq_tcgen05.alloc %slot[%c0] columns(64)
      : memref<1xi32, #gpu.address_space<workgroup>>
  // CHECK: kvq_tcgen05.alloc %{{.*}} {cta_group = 2 : i64} : !llvm.ptr<3>
  kvq_tcgen05.alloc %pointer {cta_group = 2 : i64} : !llvm.ptr<3>
  // CHECK: kvq_tcgen05.relinquish
  kvq_tcgen05.relinquish
  // CHECK: kvq_tcgen05.dealloc %{{.*}} columns(64)
  kvq_tcgen05.dealloc %base columns(64)
  // CHECK: kvq_tcgen05.dealloc %{{[a-z0-9]*}}{{$}}
  kvq_tcgen05.dealloc %base
  return
}

// CHECK-LABEL: @regions
func.func @regions(%base: i32, %c: index) {
  // CHECK: %[[S:.*]] = kvq_tcgen05.region %{{.*}} named "S" : !kvq_tcgen05.tmem<128x16xf32>
  %s = kvq_tcgen05.region %base named "S" : !kvq_tcgen05.tmem<128x16xf32>
  // CHECK: kvq_tcgen05.region %{{.*}} at 16 : !kvq_tcgen05.tmem<128x16xf32>
  %o = kvq_tcgen05.region %base at 16 : !kvq_tcgen05.tmem<128x16xf32>
  // CHECK: kvq_tcgen05.release %[[S]] : !kvq_tcgen05.tmem<128x16xf32>
  kvq_tcgen05.release %s : !kvq_tcgen05.tmem<128x16xf32>
  %t = kvq_tcgen05.region %base at 32 : !kvq_tcgen05.tmem<128x64xf32>
  // CHECK: kvq_tcgen05.slice %{{.*}}[16] : !kvq_tcgen05.tmem<128x64xf32> to !kvq_tcgen05.tmem<128x16xf32>
  %h = kvq_tcgen05.slice %t[16]
      : !kvq_tcgen05.tmem<128x64xf32> to !kvq_tcgen05.tmem<128x16xf32>
  // CHECK: kvq_tcgen05.slice %{{.*}}[%{{.*}}] : !kvq_tcgen05.tmem<128x64xf32> to !kvq_tcgen05.tmem<128x16xf32>
  %i = kvq_tcgen05.slice %t[%c]
      : !kvq_tcgen05.tmem<128x64xf32> to !kvq_tcgen05.tmem<128x16xf32>
  %u = kvq_tcgen05.region %base at 96 : !kvq_tcgen05.tmem<128x64xi16>
  // CHECK: kvq_tcgen05.cast %{{.*}} : !kvq_tcgen05.tmem<128x64xi16> to !kvq_tcgen05.tmem<128x64xf16>
  %p = kvq_tcgen05.cast %u
      : !kvq_tcgen05.tmem<128x64xi16> to !kvq_tcgen05.tmem<128x64xf16>
  %q = kvq_tcgen05.region %base at 160 : !kvq_tcgen05.tmem<128x128xf16>
  // CHECK: kvq_tcgen05.cast %{{.*}} : !kvq_tcgen05.tmem<128x128xf16> to !kvq_tcgen05.tmem<128x64xf32>
  %r = kvq_tcgen05.cast %q
      : !kvq_tcgen05.tmem<128x128xf16> to !kvq_tcgen05.tmem<128x64xf32>
  %w = kvq_tcgen05.region %base at 128 : !kvq_tcgen05.scales<128x8xf8E4M3FN>
  // CHECK: kvq_tcgen05.slice %{{.*}}[4] : !kvq_tcgen05.scales<128x8xf8E4M3FN> to !kvq_tcgen05.scales<128x4xf8E4M3FN>
  %x = kvq_tcgen05.slice %w[4]
      : !kvq_tcgen05.scales<128x8xf8E4M3FN> to !kvq_tcgen05.scales<128x4xf8E4M3FN>
  return
}

// CHECK-LABEL: @tiles
func.func @tiles(%smem: memref<16384xi8, #gpu.address_space<workgroup>>,
                 %pointer: !llvm.ptr<3>) {
  %c1024 = arith.constant 1024 : index
  // CHECK: kvq_tcgen05.make_tile %{{.*}}[%{{.*}}] : memref<16384xi8, #gpu.address_space<workgroup>> to !kvq_tcgen05.tile<128x64xf4E2M1FN, k, b32>
  %a = kvq_tcgen05.make_tile %smem[%c1024]
      : memref<16384xi8, #gpu.address_space<workgroup>>
      to !kvq_tcgen05.tile<128x64xf4E2M1FN, k, b32>
  // CHECK: kvq_tcgen05.make_tile %{{.*}} : !llvm.ptr<3> to !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>
  %b = kvq_tcgen05.make_tile %pointer
      : !llvm.ptr<3> to !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>
  // CHECK: kvq_tcgen05.slice_tile %{{.*}}[0, 64] : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64> to !kvq_tcgen05.tile<128x64xf4E2M1FN, k, b64>
  %h = kvq_tcgen05.slice_tile %b[0, 64]
      : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>
      to !kvq_tcgen05.tile<128x64xf4E2M1FN, k, b64>
  return
}

// CHECK-LABEL: @products
func.func @products(%a: !kvq_tcgen05.tile<128x64xf16, k, b128>,
                    %b: !kvq_tcgen05.tile<16x64xf16, k, b128>,
                    %d: !kvq_tcgen05.tmem<128x16xf32>,
                    %p: i1, %mask: vector<4xi32>, %zeros: i64,
                    %b64: !kvq_tcgen05.tile<64x64xf16, k, b128>,
                    %d64: !kvq_tcgen05.tmem<128x64xf32>) {
  // CHECK: kvq_tcgen05.mma f16 ins(%{{.*}}, %{{.*}} : !kvq_tcgen05.tile<128x64xf16, k, b128>, !kvq_tcgen05.tile<16x64xf16, k, b128>) outs(%{{.*}} : !kvq_tcgen05.tmem<128x16xf32>) accumulate(%{{.*}})
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x64xf16, k, b128>,
                                   !kvq_tcgen05.tile<16x64xf16, k, b128>)
      outs(%d : !kvq_tcgen05.tmem<128x16xf32>) accumulate(%p)
  // CHECK: kvq_tcgen05.mma f16 {{.*}} disable_lanes(%{{.*}} : vector<4xi32>) {negate_a}
  kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x64xf16, k, b128>,
                                   !kvq_tcgen05.tile<16x64xf16, k, b128>)
      outs(%d : !kvq_tcgen05.tmem<128x16xf32>)
      disable_lanes(%mask : vector<4xi32>) {negate_a}
  // CHECK: kvq_tcgen05.mma f16 {{.*}} zero_columns(%{{.*}}) {collector = #kvq_tcgen05<collector fill>, collector_b = 1 : i64, max_shift = 16 : i64, weight_stationary}
  kvq_tcgen05.mma f16 ins(%a, %b64 : !kvq_tcgen05.tile<128x64xf16, k, b128>,
                                     !kvq_tcgen05.tile<64x64xf16, k, b128>)
      outs(%d64 : !kvq_tcgen05.tmem<128x64xf32>) zero_columns(%zeros)
      {weight_stationary, collector_b = 1 : i64, max_shift = 16 : i64,
       collector = #kvq_tcgen05<collector fill>}
  return
}

// CHECK-LABEL: @block_scaled
func.func @block_scaled(%k: !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>,
                        %q: !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>,
                        %sk: !kvq_tcgen05.scales<128x8xf8E4M3FN>,
                        %sq: !kvq_tcgen05.scales<128x8xf8E4M3FN>,
                        %d: !kvq_tcgen05.tmem<128x16xf32>) {
  // CHECK: kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(
  // CHECK-SAME: scales(%{{.*}}, %{{.*}} : !kvq_tcgen05.scales<128x8xf8E4M3FN>, !kvq_tcgen05.scales<128x8xf8E4M3FN>)
  // CHECK-SAME: {block = 16 : i64}
  kvq_tcgen05.mma_block_scaled mxf4nvf4
      ins(%k, %q : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>,
                   !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>)
      scales(%sk, %sq : !kvq_tcgen05.scales<128x8xf8E4M3FN>,
                        !kvq_tcgen05.scales<128x8xf8E4M3FN>)
      outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
  return
}

// CHECK-LABEL: @moves
func.func @moves(%a: !kvq_tcgen05.tile<128x64xf16, k, b128>,
                 %t: !kvq_tcgen05.tmem<128x64xf16>,
                 %scales: !kvq_tcgen05.scale_tile<128x8xf8E4M3FN>,
                 %u: !kvq_tcgen05.scales<128x8xf8E4M3FN>,
                 %s: !kvq_tcgen05.tmem<128x64xf32>,
                 %p: !kvq_tcgen05.tmem<128x128xf16>,
                 %w: i32, %c: index,
                 %one: !kvq_tcgen05.tmem<32x64xi32, lane = 64>,
                 %acc: !kvq_tcgen05.tmem<128x64xf16, word>,
                 %rows: !kvq_tcgen05.tmem<32x8xi32, lane = 64>) {
  // CHECK: kvq_tcgen05.copy shape_128x256b %{{.*}} to %{{.*}} : !kvq_tcgen05.tile<128x64xf16, k, b128> to !kvq_tcgen05.tmem<128x64xf16>
  kvq_tcgen05.copy shape_128x256b %a to %t
      : !kvq_tcgen05.tile<128x64xf16, k, b128> to !kvq_tcgen05.tmem<128x64xf16>
  // CHECK: kvq_tcgen05.copy_scales %{{.*}} to %{{.*}} : !kvq_tcgen05.scale_tile<128x8xf8E4M3FN> to !kvq_tcgen05.scales<128x8xf8E4M3FN>
  kvq_tcgen05.copy_scales %scales to %u : !kvq_tcgen05.scale_tile<128x8xf8E4M3FN>
      to !kvq_tcgen05.scales<128x8xf8E4M3FN>
  // CHECK: kvq_tcgen05.load shape_32x32b %{{.*}}[16] warp(%{{.*}}) : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf32>
  %v = kvq_tcgen05.load shape_32x32b %s[16] warp(%w)
      : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf32>
  // CHECK: kvq_tcgen05.load shape_16x32bx2 %{{.*}}[%{{.*}}] {split = 32 : i64} : !kvq_tcgen05.tmem<32x64xi32, lane = 64> -> vector<16xi32>
  %x = kvq_tcgen05.load shape_16x32bx2 %one[%c] {split = 32 : i64}
      : !kvq_tcgen05.tmem<32x64xi32, lane = 64> -> vector<16xi32>
  // CHECK: kvq_tcgen05.load shape_16x64b %{{[a-z0-9]*}} warp(%{{.*}}) pack {lane = 16 : i64}
  %y = kvq_tcgen05.load shape_16x64b %acc warp(%w) pack {lane = 16 : i64}
      : !kvq_tcgen05.tmem<128x64xf16, word> -> vector<32xf16>
  %z = arith.constant dense<1.0> : vector<32xf16>
  // CHECK: kvq_tcgen05.store shape_32x32b %{{.*}} to %{{.*}}[0] warp(%{{.*}}) : vector<32xf16>, !kvq_tcgen05.tmem<128x128xf16>
  kvq_tcgen05.store shape_32x32b %z to %p[0] warp(%w)
      : vector<32xf16>, !kvq_tcgen05.tmem<128x128xf16>
  // CHECK: kvq_tcgen05.store shape_32x32b %{{.*}} to %{{.*}} warp(%{{.*}}) unpack : vector<32xf16>, !kvq_tcgen05.tmem<128x64xf16, word>
  kvq_tcgen05.store shape_32x32b %z to %acc warp(%w) unpack
      : vector<32xf16>, !kvq_tcgen05.tmem<128x64xf16, word>
  // CHECK: kvq_tcgen05.shift %{{.*}} : !kvq_tcgen05.tmem<32x8xi32, lane = 64>
  kvq_tcgen05.shift %rows : !kvq_tcgen05.tmem<32x8xi32, lane = 64>
  return
}

// CHECK-LABEL: @multicast
func.func @multicast(%a: !kvq_tcgen05.tile<64x8xf16, k, none>,
                     %t: !kvq_tcgen05.tmem<128x4xi32>) {
  // CHECK: kvq_tcgen05.copy shape_64x128b %{{.*}} to %{{.*}} multicast warpx2_02_13 :
  kvq_tcgen05.copy shape_64x128b %a to %t multicast warpx2_02_13
      : !kvq_tcgen05.tile<64x8xf16, k, none> to !kvq_tcgen05.tmem<128x4xi32>
  return
}

// CHECK-LABEL: @synchronization
func.func @synchronization(%bars: !bars, %i: index, %pointer: !llvm.ptr<3>,
                           %mask: i16) {
  // CHECK: kvq_tcgen05.wait load
  kvq_tcgen05.wait load
  // CHECK: kvq_tcgen05.wait store
  kvq_tcgen05.wait store
  // CHECK: kvq_tcgen05.commit %{{.*}}[%{{.*}}] : memref<4xi64, #gpu.address_space<workgroup>>
  kvq_tcgen05.commit %bars[%i] : memref<4xi64, #gpu.address_space<workgroup>>
  // CHECK: kvq_tcgen05.commit %{{.*}} multicast(%{{.*}}) {cta_group = 2 : i64} : !llvm.ptr<3>
  kvq_tcgen05.commit %pointer multicast(%mask) {cta_group = 2 : i64} : !llvm.ptr<3>
  // CHECK: kvq_tcgen05.fence before
  kvq_tcgen05.fence before
  // CHECK: kvq_tcgen05.fence after
  kvq_tcgen05.fence after
  return
}
