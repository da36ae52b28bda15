// RUN: kvq-opt %s --cse --canonicalize | FileCheck %s

// Regions that are equal stay apart, as they will have different places; views
// do not. What starts work or moves data stays.

// CHECK-LABEL: @regions
// CHECK-COUNT-2: kvq_tcgen05.region
// CHECK-COUNT-1: kvq_tcgen05.slice
// CHECK-NOT: kvq_tcgen05.slice
// CHECK: kvq_tcgen05.store
// CHECK: kvq_tcgen05.store
// CHECK: kvq_tcgen05.commit
// CHECK: kvq_tcgen05.commit
func.func @regions(%base: i32, %v: vector<16xf32>, %w: i32, %bar: !llvm.ptr<3>) {
  %a = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x32xf32>
  %b = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x32xf32>
  %c = kvq_tcgen05.slice %a[16] : !kvq_tcgen05.tmem<128x32xf32> to !kvq_tcgen05.tmem<128x16xf32>
  %d = kvq_tcgen05.slice %a[16] : !kvq_tcgen05.tmem<128x32xf32> to !kvq_tcgen05.tmem<128x16xf32>
  kvq_tcgen05.store shape_32x32b %v to %c warp(%w) : vector<16xf32>, !kvq_tcgen05.tmem<128x16xf32>
  kvq_tcgen05.store shape_32x32b %v to %d warp(%w) : vector<16xf32>, !kvq_tcgen05.tmem<128x16xf32>
  kvq_tcgen05.store shape_32x32b %v to %b warp(%w) : vector<16xf32>, !kvq_tcgen05.tmem<128x32xf32>
  kvq_tcgen05.commit %bar : !llvm.ptr<3>
  kvq_tcgen05.commit %bar : !llvm.ptr<3>
  return
}

// A load is not shared across what may write.
// CHECK-LABEL: @loads
// CHECK: kvq_tcgen05.load
// CHECK: kvq_tcgen05.wait store
// CHECK: kvq_tcgen05.load
func.func @loads(%r: !kvq_tcgen05.tmem<128x16xf32>, %w: i32) -> (vector<16xf32>, vector<16xf32>) {
  %0 = kvq_tcgen05.load shape_32x32b %r warp(%w) : !kvq_tcgen05.tmem<128x16xf32> -> vector<16xf32>
  kvq_tcgen05.wait store
  %1 = kvq_tcgen05.load shape_32x32b %r warp(%w) : !kvq_tcgen05.tmem<128x16xf32> -> vector<16xf32>
  return %0, %1 : vector<16xf32>, vector<16xf32>
}
