// Upstream's pass gives operations the checks of kvq-insert-runtime-checks.
//
// RUN: kvq-opt %s --generate-runtime-verification --split-input-file --verify-diagnostics | FileCheck %s

!k = !kvq.cache<key, 16x2x32, nvfp4, NHD, linear>

// A check runs if those before it have passed, the operation if all have. No
// status is returned, and nothing aborts.
// CHECK-LABEL: func @quantize_append
// CHECK-NOT: -> i32
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: %[[S1:.*]] = scf.if %{{.*}} -> (i32) {
// CHECK:   func.call @kvq_check_global_scale
// CHECK: } else {
// CHECK:   scf.yield %[[ZERO]]
// CHECK: %[[S2:.*]] = scf.if %{{.*}} -> (i32) {
// CHECK:   func.call @kvq_check_size
// CHECK: } else {
// CHECK:   scf.yield %[[S1]]
// CHECK: %[[S3:.*]] = scf.if
// CHECK:   func.call @kvq_check_slots_i32
// CHECK: %[[OK:.*]] = arith.cmpi eq, %[[S3]]
// CHECK: scf.if %[[OK]] {
// CHECK-NEXT: kvq.quantize_append
// CHECK-NEXT: }
// CHECK-NEXT: return
// CHECK-NOT: cf.assert
func.func @quantize_append(%x: memref<?x2x32xf32>, %k: !k, %slots: memref<?xi32>) {
  kvq.quantize_append ins(%x : memref<?x2x32xf32>) into(%k : !k) slot_mapping(%slots : memref<?xi32>)
  return
}

// Handles have results, which cannot be held back.
// CHECK-LABEL: func private @make_cache
// CHECK: scf.if
// CHECK:   func.call @kvq_check_size
// CHECK: %[[K:.*]] = kvq.make_cache
// CHECK: return %[[K]]
func.func private @make_cache(%d: memref<?x16x2x32xf4E2M1FN>, %s: memref<?x16x2x2xf8E4M3FN>, %g: memref<f32>) -> !k {
  %k = kvq.make_cache data(%d : memref<?x16x2x32xf4E2M1FN>) scales(%s : memref<?x16x2x2xf8E4M3FN>) global_scale(%g : memref<f32>) : !k
  return %k : !k
}

// Everything is static.
// CHECK-LABEL: func @nothing_to_check
// CHECK-NEXT: kvq.merge_states
// CHECK-NEXT: return
func.func @nothing_to_check(%p: memref<4x3x8x64xf32>, %l: memref<4x3x8xf32>, %o: memref<3x8x64xf32>) {
  kvq.merge_states ins(%p, %l : memref<4x3x8x64xf32>, memref<4x3x8xf32>) outs(%o : memref<3x8x64xf32>)
  return
}

// The slot of a scalar is not one that iterations share.
// CHECK-LABEL: func @in_parallel
// CHECK: scf.parallel
// CHECK:   %[[SLOT:.*]] = memref.alloca() : memref<f32>
// CHECK:   memref.store %{{.*}}, %[[SLOT]][]
// CHECK:   func.call @kvq_check_global_scale
func.func @in_parallel(%x: memref<4x32xf32>, %g: memref<3xf32>, %d: memref<4x32xf8E4M3FN>, %lb: index, %ub: index, %step: index) {
  scf.parallel (%i) = (%lb) to (%ub) step (%step) {
    %scale = memref.load %g[%i] : memref<3xf32>
    kvq.quantize ins(%x : memref<4x32xf32>) global_scale(%scale) outs(%d : memref<4x32xf8E4M3FN>) {format = #kvq.format<fp8>}
  }
  return
}

// CHECK: func @kvq_report
// CHECK: func private @kvq_check_slots_i32

// -----

// CHECK-LABEL: func @tensors
// CHECK-NEXT: kvq.merge_states
func.func @tensors(%p: tensor<?x3x8x64xf32>, %l: tensor<4x3x8xf32>, %o: tensor<3x8x64xf32>) -> tensor<3x8x64xf32> {
  // expected-warning @+1 {{has tensor operands and gets no run-time checks; they are generated after bufferization}}
  %r = kvq.merge_states ins(%p, %l : tensor<?x3x8x64xf32>, tensor<4x3x8xf32>) outs(%o : tensor<3x8x64xf32>) -> tensor<3x8x64xf32>
  return %r : tensor<3x8x64xf32>
}

// -----

func.func private @kvq_check_size()

func.func @taken(%p: memref<?x3x8x64xf32>, %l: memref<4x3x8xf32>, %o: memref<3x8x64xf32>) {
  // expected-error @+1 {{needs the run-time check @kvq_check_size, but the module has another symbol of this name or of one that it calls}}
  kvq.merge_states ins(%p, %l : memref<?x3x8x64xf32>, memref<4x3x8xf32>) outs(%o : memref<3x8x64xf32>)
  return
}
