// RUN: kvq-opt %s --pass-pipeline='builtin.module(any(kvq-tcgen05-allocate-tmem))' \
// RUN:   --split-input-file | FileCheck %s

// 16 + 16 + 8 columns (40) take an allocation of 64.
// CHECK-LABEL: func.func @packed
// CHECK: kvq_tcgen05.alloc %{{.*}} columns(64)
// CHECK: region %{{.*}} at 0 named "S"
// CHECK: region %{{.*}} at 16 named "O"
// CHECK: region %{{.*}} at 32 : !kvq_tcgen05.scales<128x8xf8E4M3FN>
// CHECK: kvq_tcgen05.dealloc %{{.*}} columns(64)
func.func @packed(%slot: !llvm.ptr<3>, %base: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %s = kvq_tcgen05.region %base named "S" : !kvq_tcgen05.tmem<128x16xf32>
  %o = kvq_tcgen05.region %base named "O" : !kvq_tcgen05.tmem<128x16xf32>
  %k = kvq_tcgen05.region %base : !kvq_tcgen05.scales<128x8xf8E4M3FN>
  kvq_tcgen05.dealloc %base
  return
}

// -----

// The least allocation is 32 columns.
// CHECK-LABEL: func.func @least
// CHECK: kvq_tcgen05.alloc %{{.*}} columns(32)
func.func @least(%slot: !llvm.ptr<3>, %base: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %s = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x8xf32>
  return
}

// -----

// A barrier after the release: the second region may have the same columns.
// CHECK-LABEL: func.func @reused
// CHECK: kvq_tcgen05.alloc %{{.*}} columns(256)
// CHECK: region %{{.*}} at 0 named "A"
// CHECK: region %{{.*}} at 0 named "B"
func.func @reused(%slot: !llvm.ptr<3>, %base: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %a = kvq_tcgen05.region %base named "A" : !kvq_tcgen05.tmem<128x256xf32>
  kvq_tcgen05.release %a : !kvq_tcgen05.tmem<128x256xf32>
  gpu.barrier
  %b = kvq_tcgen05.region %base named "B" : !kvq_tcgen05.tmem<128x256xf32>
  return
}

// -----

// Without one it may not: another warp may still be before the release.
// CHECK-LABEL: func.func @no_barrier
// CHECK: kvq_tcgen05.alloc %{{.*}} columns(512)
// CHECK: region %{{.*}} at 0 named "A"
// CHECK: region %{{.*}} at 256 named "B"
func.func @no_barrier(%slot: !llvm.ptr<3>, %base: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %a = kvq_tcgen05.region %base named "A" : !kvq_tcgen05.tmem<128x256xf32>
  gpu.barrier
  kvq_tcgen05.release %a : !kvq_tcgen05.tmem<128x256xf32>
  %b = kvq_tcgen05.region %base named "B" : !kvq_tcgen05.tmem<128x256xf32>
  return
}

// -----

// A barrier of some warps is none.
// CHECK-LABEL: func.func @named_barrier
// CHECK: region %{{.*}} at 256 named "B"
func.func @named_barrier(%slot: !llvm.ptr<3>, %base: i32, %n: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %a = kvq_tcgen05.region %base named "A" : !kvq_tcgen05.tmem<128x256xf32>
  kvq_tcgen05.release %a : !kvq_tcgen05.tmem<128x256xf32>
  nvvm.barrier id = %n number_of_threads = %n
  %b = kvq_tcgen05.region %base named "B" : !kvq_tcgen05.tmem<128x256xf32>
  return
}

// -----

// Branches run at the same time in different warps.
// CHECK-LABEL: func.func @branches
// CHECK: region %{{.*}} at 0 named "A"
// CHECK: region %{{.*}} at 32 named "B"
// CHECK: region %{{.*}} at 64 named "C"
func.func @branches(%slot: !llvm.ptr<3>, %base: i32, %p: i1, %q: i1) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  scf.if %p {
    %a = kvq_tcgen05.region %base named "A" : !kvq_tcgen05.tmem<128x32xf32>
    kvq_tcgen05.release %a : !kvq_tcgen05.tmem<128x32xf32>
  } else {
    %b = kvq_tcgen05.region %base named "B" : !kvq_tcgen05.tmem<128x32xf32>
  }
  scf.if %q {
    %c = kvq_tcgen05.region %base named "C" : !kvq_tcgen05.tmem<128x32xf32>
  }
  return
}

// -----

// Phases of a kernel with a barrier between them.
// CHECK-LABEL: func.func @phases
// CHECK: columns(32)
// CHECK: region %{{.*}} at 0 named "A"
// CHECK: region %{{.*}} at 0 named "B"
func.func @phases(%slot: !llvm.ptr<3>, %base: i32, %p: i1) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  scf.if %p {
    %a = kvq_tcgen05.region %base named "A" : !kvq_tcgen05.tmem<128x32xf32>
  }
  nvvm.barrier
  scf.if %p {
    %b = kvq_tcgen05.region %base named "B" : !kvq_tcgen05.tmem<128x32xf32>
  }
  return
}

// -----

// In a loop there must be a barrier on the way back too: F has none, G has.
// CHECK-LABEL: func.func @loops
// CHECK: region %{{.*}} at 0 named "A"
// CHECK: region %{{.*}} at 32 named "B"
// CHECK-LABEL: func.func @loops_with_barrier
// CHECK: region %{{.*}} at 0 named "A"
// CHECK: region %{{.*}} at 0 named "B"
func.func @loops(%slot: !llvm.ptr<3>, %base: i32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  scf.for %i = %c0 to %n step %c1 {
    %a = kvq_tcgen05.region %base named "A" : !kvq_tcgen05.tmem<128x32xf32>
    kvq_tcgen05.release %a : !kvq_tcgen05.tmem<128x32xf32>
    gpu.barrier
    %b = kvq_tcgen05.region %base named "B" : !kvq_tcgen05.tmem<128x32xf32>
  }
  return
}

func.func @loops_with_barrier(%slot: !llvm.ptr<3>, %base: i32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  scf.for %i = %c0 to %n step %c1 {
    gpu.barrier
    %a = kvq_tcgen05.region %base named "A" : !kvq_tcgen05.tmem<128x32xf32>
    kvq_tcgen05.release %a : !kvq_tcgen05.tmem<128x32xf32>
    gpu.barrier
    %b = kvq_tcgen05.region %base named "B" : !kvq_tcgen05.tmem<128x32xf32>
  }
  return
}

// -----

// Several blocks: nothing is known about their order.
// CHECK-LABEL: func.func @blocks
// CHECK: region %{{.*}} at 0 named "A"
// CHECK: region %{{.*}} at 32 named "B"
func.func @blocks(%slot: !llvm.ptr<3>, %base: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %a = kvq_tcgen05.region %base named "A" : !kvq_tcgen05.tmem<128x32xf32>
  kvq_tcgen05.release %a : !kvq_tcgen05.tmem<128x32xf32>
  gpu.barrier
  %b = kvq_tcgen05.region %base named "B" : !kvq_tcgen05.tmem<128x32xf32>
  cf.br ^next
^next:
  return
}

// -----

// Disjoint lanes: the two halves of scattered regions, and quarters. A region
// of all lanes shares with neither.
// CHECK-LABEL: func.func @lanes
// CHECK: columns(64)
// CHECK: region %{{.*}} at 0 named "low"
// CHECK: region %{{.*}} at 0 named "high"
// CHECK: region %{{.*}} at 16 named "quarter 0"
// CHECK: region %{{.*}} at 16 named "quarter 3"
// CHECK: region %{{.*}} at 32 named "all"
func.func @lanes(%slot: !llvm.ptr<3>, %base: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %a = kvq_tcgen05.region %base named "low" : !kvq_tcgen05.tmem<64x16xf32, scattered>
  %b = kvq_tcgen05.region %base named "high" : !kvq_tcgen05.tmem<64x16xf32, scattered, lane = 16>
  %c = kvq_tcgen05.region %base named "quarter 0" : !kvq_tcgen05.tmem<32x16xf32>
  %d = kvq_tcgen05.region %base named "quarter 3" : !kvq_tcgen05.tmem<32x16xf32, lane = 96>
  %e = kvq_tcgen05.region %base named "all" : !kvq_tcgen05.tmem<128x16xf32>
  return
}

// -----

// Regions that have a place keep it, and starts are aligned: 4 columns for
// f16, after 6 columns of f32.
// CHECK-LABEL: func.func @fixed
// CHECK: columns(128)
// CHECK: region %{{.*}} at 20 named "fixed"
// CHECK: region %{{.*}} at 0 named "six"
// CHECK: region %{{.*}} at 8 named "f16"
// CHECK: region %{{.*}} at 36 named "wide"
func.func @fixed(%slot: !llvm.ptr<3>, %base: i32) {
  kvq_tcgen05.alloc %slot columns(128) : !llvm.ptr<3>
  %a = kvq_tcgen05.region %base at 20 named "fixed" : !kvq_tcgen05.tmem<128x16xf32>
  %b = kvq_tcgen05.region %base named "six" : !kvq_tcgen05.tmem<128x6xf32>
  %c = kvq_tcgen05.region %base named "f16" : !kvq_tcgen05.tmem<128x8xf16>
  %d = kvq_tcgen05.region %base named "wide" : !kvq_tcgen05.tmem<128x64xf32>
  return
}

// -----

// First fit in the order of sizes has "late" at 0, "long" at 192, one of the
// early ones at 0 and the other at 384, so that 544 columns are needed. Trying
// all orders finds 512.
// CHECK-LABEL: func.func @search
// CHECK: columns(512)
func.func @search(%slot: !llvm.ptr<3>, %base: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %c = kvq_tcgen05.region %base named "early 1" : !kvq_tcgen05.tmem<128x160xf32>
  %d = kvq_tcgen05.region %base named "early 2" : !kvq_tcgen05.tmem<128x160xf32>
  %b = kvq_tcgen05.region %base named "long" : !kvq_tcgen05.tmem<128x192xf32>
  kvq_tcgen05.release %c : !kvq_tcgen05.tmem<128x160xf32>
  kvq_tcgen05.release %d : !kvq_tcgen05.tmem<128x160xf32>
  gpu.barrier
  %a = kvq_tcgen05.region %base named "late" : !kvq_tcgen05.tmem<128x192xf32>
  return
}

// -----

// More than eight regions.
// CHECK-LABEL: func.func @many
// CHECK: columns(128)
// CHECK-COUNT-10: region %{{.*}} at
func.func @many(%slot: !llvm.ptr<3>, %base: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %0 = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x16xf32>
  %1 = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x8xf32>
  %2 = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x16xf32>
  %3 = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x8xf32>
  %4 = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x16xf32>
  %5 = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x8xf32>
  %6 = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x16xf32>
  %7 = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x8xf32>
  %8 = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x16xf32>
  %9 = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x8xf32>
  return
}
