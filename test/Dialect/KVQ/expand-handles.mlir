// RUN: kvq-opt %s --kvq-expand-handles | FileCheck %s
// RUN: kvq-opt %s --kvq-expand-handles | FileCheck %s --check-prefix=GONE

// GONE-NOT: !kvq.cache
// GONE-NOT: builtin.unrealized_conversion_cast

!nv = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
!mx = !kvq.cache<value, 16x8x128, mxfp4, HND, linear>
!f8 = !kvq.cache<key, 16x8x128, fp8, NHD>
!bf = !kvq.cache<value, 16x8x128, bf16, HND>
!data = memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>

// Parts in order; those that a format lacks are absent. A declaration expands
// as a definition does.
// CHECK: func private @declared(memref<?x16x8x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>, memref<?x16x8x8xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>, memref<f32>, i32)
// CHECK-SAME: attributes {keep}
func.func private @declared(!nv, i32) attributes {keep}
// CHECK: func private @without_global_scale(memref<?x8x16x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>, memref<?x8x16x4xf8E8M0FNU, strided<[?, ?, ?, 1], offset: ?>>)
func.func private @without_global_scale(!mx)
// CHECK: func private @without_block_scales(memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>, memref<f32>)
func.func private @without_block_scales(!f8)
// CHECK: func private @without_scales(memref<?x8x16x128xbf16, strided<[?, ?, ?, 1], offset: ?>>)
func.func private @without_scales(!bf)
// CHECK: func private @no_handles(memref<?xi32>) -> i32
func.func private @no_handles(memref<?xi32>) -> i32

// Attributes of a handle go to each part; kvq.may_alias concerns handles only.
// Those of other arguments stay at their place.
// CHECK-LABEL: func @argument_attributes
// CHECK-SAME: (%{{.*}}: i32 {test.a}, %{{.*}}: memref<{{.*}}> {test.b = 1 : i64}, %{{.*}}: memref<f32> {test.b = 1 : i64}, %{{.*}}: memref<?xi32> {test.c})
func.func @argument_attributes(%a: i32 {test.a}, %k: !f8 {kvq.may_alias, test.b = 1 : i64}, %c: memref<?xi32> {test.c}) {
  return
}

// CHECK-LABEL: func @call
// CHECK-SAME: (%[[D:[a-z0-9]+]]: memref<{{.*}}>, %[[S:[a-z0-9]+]]: memref<{{.*}}>, %[[G:[a-z0-9]+]]: memref<f32>, %[[I:[a-z0-9]+]]: i32)
func.func @call(%k: !nv, %i: i32) {
  // CHECK: call @declared(%[[D]], %[[S]], %[[G]], %[[I]])
  call @declared(%k, %i) : (!nv, i32) -> ()
  return
}

// CHECK-LABEL: func @accessors
// CHECK-SAME: (%[[D:[a-z0-9]+]]: memref<{{.*}}>, %[[S:[a-z0-9]+]]: memref<{{.*}}>, %[[G:[a-z0-9]+]]: memref<f32>)
func.func @accessors(%k: !nv) -> (memref<f32>, memref<?x16x8x8xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>, memref<?x16x8x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>) {
  %d = kvq.cache_data %k : !nv -> memref<?x16x8x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>
  %s = kvq.cache_scales %k : !nv -> memref<?x16x8x8xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
  %g = kvq.cache_global_scale %k : !nv -> memref<f32>
  // CHECK-NEXT: return %[[G]], %[[S]], %[[D]]
  return %g, %s, %d : memref<f32>, memref<?x16x8x8xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>, memref<?x16x8x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>
}

// A made handle is its memrefs, cast to the boundary types.
// CHECK-LABEL: func @make_cache
// CHECK-SAME: (%[[D:[a-z0-9]+]]: memref<4x16x8x128xf8E4M3FN>, %[[G:[a-z0-9]+]]: memref<f32>)
func.func @make_cache(%d: memref<4x16x8x128xf8E4M3FN>, %g: memref<f32>) {
  // CHECK: %[[C:.*]] = memref.cast %[[D]] : memref<4x16x8x128xf8E4M3FN> to memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
  %k = kvq.make_cache data(%d : memref<4x16x8x128xf8E4M3FN>) global_scale(%g : memref<f32>) : !f8
  // CHECK: call @without_block_scales(%[[C]], %[[G]])
  call @without_block_scales(%k) : (!f8) -> ()
  return
}

// CHECK-LABEL: func @select
// CHECK-SAME: (%[[P:[a-z0-9]+]]: i1, %[[D:[a-z0-9]+]]: memref<{{[^:]*}}: ?>>, %[[G:[a-z0-9]+]]: memref<f32>, %[[E:[a-z0-9]+]]: memref<{{[^:]*}}: ?>>, %[[H:[a-z0-9]+]]: memref<f32>, %[[I:[a-z0-9]+]]: i32)
func.func @select(%p: i1, %k: !f8, %l: !f8, %i: i32) -> i32 {
  // CHECK: %[[R:.*]] = arith.select %[[P]], %[[D]], %[[E]] : memref<
  // CHECK: %[[T:.*]] = arith.select %[[P]], %[[G]], %[[H]] : memref<f32>
  %m = arith.select %p, %k, %l : !f8
  // CHECK: call @without_block_scales(%[[R]], %[[T]])
  call @without_block_scales(%m) : (!f8) -> ()
  // CHECK: arith.select %[[P]], %[[I]], %[[I]] : i32
  %j = arith.select %p, %i, %i : i32
  return %j : i32
}

// CHECK-LABEL: func @scf_if
func.func @scf_if(%p: i1, %k: !f8, %l: !f8) {
  // CHECK: %[[M:.*]]:2 = scf.if %{{.*}} -> (memref<?x16x8x128xf8E4M3FN, {{.*}}>, memref<f32>)
  // CHECK: scf.yield %{{.*}}, %{{.*}} : memref<{{.*}}>, memref<f32>
  %m = scf.if %p -> (!f8) {
    scf.yield %k : !f8
  } else {
    scf.yield %l : !f8
  }
  // CHECK: call @without_block_scales(%[[M]]#0, %[[M]]#1)
  call @without_block_scales(%m) : (!f8) -> ()
  return
}

// CHECK-LABEL: func @scf_for
func.func @scf_for(%lo: index, %hi: index, %step: index, %k: !f8, %l: !f8) {
  // CHECK: %[[R:.*]]:4 = scf.for {{.*}} iter_args(%[[A:[a-z0-9]+]] = %{{.*}}, %[[B:[a-z0-9]+]] = %{{.*}}, %[[C:[a-z0-9]+]] = %{{.*}}, %[[D:[a-z0-9]+]] = %{{.*}})
  %r:2 = scf.for %i = %lo to %hi step %step iter_args(%a = %k, %b = %l) -> (!f8, !f8) {
    // CHECK: call @without_block_scales(%[[A]], %[[B]])
    func.call @without_block_scales(%a) : (!f8) -> ()
    // CHECK: scf.yield %[[C]], %[[D]], %[[A]], %[[B]]
    scf.yield %b, %a : !f8, !f8
  }
  // CHECK: call @without_block_scales(%[[R]]#2, %[[R]]#3)
  call @without_block_scales(%r#1) : (!f8) -> ()
  return
}

// CHECK-LABEL: func @scf_while
func.func @scf_while(%k: !f8, %n: i32) {
  %one = arith.constant 1 : i32
  // CHECK: %[[R:.*]]:3 = scf.while (%[[A:[a-z0-9]+]] = %{{.*}}, %[[B:[a-z0-9]+]] = %{{.*}}, %[[I:[a-z0-9]+]] = %{{.*}})
  %r:2 = scf.while (%a = %k, %i = %n) : (!f8, i32) -> (!f8, i32) {
    %c = arith.cmpi sgt, %i, %one : i32
    // CHECK: scf.condition(%{{.*}}) %[[A]], %[[B]], %[[I]]
    scf.condition(%c) %a, %i : !f8, i32
  } do {
  // CHECK: ^bb0(%[[C:[a-z0-9]+]]: memref<{{.*}}>, %[[D:[a-z0-9]+]]: memref<f32>, %{{.*}}: i32)
  ^bb0(%a: !f8, %i: i32):
    // CHECK: call @without_block_scales(%[[C]], %[[D]])
    func.call @without_block_scales(%a) : (!f8) -> ()
    %j = arith.subi %i, %one : i32
    scf.yield %a, %j : !f8, i32
  }
  // CHECK: call @without_block_scales(%[[R]]#0, %[[R]]#1)
  call @without_block_scales(%r#0) : (!f8) -> ()
  return
}

// CHECK-LABEL: func @cf
// CHECK-SAME: (%[[P:[a-z0-9]+]]: i1, %[[D:[a-z0-9]+]]: memref<{{[^:]*}}: ?>>, %[[G:[a-z0-9]+]]: memref<f32>, %[[E:[a-z0-9]+]]: memref<{{[^:]*}}: ?>>, %[[H:[a-z0-9]+]]: memref<f32>)
func.func @cf(%p: i1, %k: !f8, %l: !f8) {
  // CHECK: cf.cond_br %[[P]], ^[[B1:.*]](%[[D]], %[[G]] : {{.*}}), ^[[B2:.*]]
  cf.cond_br %p, ^bb1(%k : !f8), ^bb2
^bb1(%m: !f8):
  // CHECK: ^[[B1]](%[[M:.*]]: memref<{{.*}}>, %[[N:.*]]: memref<f32>):
  // CHECK: call @without_block_scales(%[[M]], %[[N]])
  call @without_block_scales(%m) : (!f8) -> ()
  return
^bb2:
  // CHECK: ^[[B2]]:
  // CHECK: cf.br ^[[B1]](%[[E]], %[[H]] : {{.*}})
  cf.br ^bb1(%l : !f8)
}
