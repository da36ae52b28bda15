// Each cache with an undecided layout gets one, everywhere, with a reason.
// RUN: kvq-opt %s --kvq-assign-block-scales --split-input-file --verify-diagnostics --remarks-filter='kvq.*' | FileCheck %s
// RUN: kvq-opt %s --kvq-assign-block-scales --split-input-file -o %t.once
// RUN: kvq-opt %t.once --kvq-assign-block-scales --kvq-verify-handles --split-input-file | diff %t.once -

!k = !kvq.cache<key, 16x2x64, nvfp4, NHD, ?>
!v = !kvq.cache<value, 16x2x64, nvfp4, NHD, ?>
!d = memref<?x16x2x64xf4E2M1FN>
!s = memref<?x16x2x4xf8E4M3FN>
!x = tensor<2x2x64xbf16>

// Through calls, loops, branches, selects and copies of pages.
// CHECK-LABEL: func private @layer
// CHECK-SAME: %{{.*}}: !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
func.func private @layer(%k: !k, %x: !x, %slots: tensor<2xi32>) {
  kvq.quantize_append ins(%x : !x) into(%k : !k) slot_mapping(%slots : tensor<2xi32>)
  return
}
// CHECK-LABEL: func @flow
// CHECK-COUNT-2: kvq.make_cache {{.*}} : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK: scf.for {{.*}} -> (!kvq.cache<key, 16x2x64, nvfp4, NHD, linear>)
// CHECK: call @layer({{.*}}) : (!kvq.cache<key, 16x2x64, nvfp4, NHD, linear>,
// CHECK: arith.select {{.*}} : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK: kvq.copy_pages {{.*}} : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK: cf.br ^bb1({{.*}} : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>)
// CHECK-NEXT: ^bb1(%{{.*}}: !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>)
func.func @flow(%d: !d, %s: !s, %d2: !d, %s2: !s, %g: memref<f32>, %x: !x, %slots: tensor<2xi32>, %n: index, %c: i1, %i: tensor<1xi32>, %j: tensor<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{'kvq.make_cache' op gives a cache the scale layout linear (f8E4M3FN for each 16 of head_dim, times argument #4 with the softmax scale) for 3 writers and 1 reader: no reader asks for another}}
  %k = kvq.make_cache data(%d : !d) scales(%s : !s) global_scale(%g : memref<f32>) : !k
  %l = kvq.make_cache data(%d2 : !d) scales(%s2 : !s) global_scale(%g : memref<f32>) : !k
  %h = scf.for %iv = %c0 to %n step %c1 iter_args(%a = %k) -> (!k) {
    func.call @layer(%a, %x, %slots) : (!k, !x, tensor<2xi32>) -> ()
    scf.yield %a : !k
  }
  %m = arith.select %c, %h, %l : !k
  kvq.copy_pages from(%m) to(%m) src_pages(%i : tensor<1xi32>) dst_pages(%j : tensor<1xi32>) : !k
  cf.br ^bb1(%m : !k)
^bb1(%b: !k):
  kvq.quantize_append ins(%x : !x) into(%b : !k) slot_mapping(%slots : tensor<2xi32>)
  return
}

// -----

!u = !kvq.cache<value, 16x2x64, nvfp4, NHD, ?>
!f = !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>
!d = memref<?x16x2x64xf4E2M1FN>
!s = memref<?x16x2x4xf8E4M3FN>

// A layout that is given for the same memory, in a function that is called.
// CHECK-LABEL: func private @callee
// CHECK: kvq.make_cache {{.*}} : !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>
func.func private @callee(%d: !d, %s: !s, %g: memref<f32>) {
  // expected-remark@+1 {{gives a cache the scale layout interleaved_4 (f8E4M3FN for each 16 of head_dim, times argument #2 on the output) for 0 writers and 0 readers: a cache over the same memory has it (kvq.make_cache at}}
  %v = kvq.make_cache data(%d : !d) scales(%s : !s) global_scale(%g : memref<f32>) : !u
  return
}
func.func @caller(%d: !d, %s: !s, %g: memref<f32>) {
  %v = kvq.make_cache data(%d : !d) scales(%s : !s) global_scale(%g : memref<f32>) : !f
  call @callee(%d, %s, %g) : (!d, !s, memref<f32>) -> ()
  return
}

// -----

!u = !kvq.cache<value, 16x2x64, nvfp4, NHD, ?>
!f = !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>
!b = !kvq.cache<value, 16x2x64, nvfp4, NHD, linear>
!d = memref<?x16x2x64xf4E2M1FN>
!p = memref<3x9x16x2x4xf8E4M3FN>
!s = memref<9x16x2x4xf8E4M3FN, strided<[128, 8, 4, 1], offset: ?>>

// Layers of one memref are told apart where constants tell them apart; keys and
// values of one memref never meet.
// CHECK-LABEL: func @layers
// CHECK: kvq.make_cache {{.*}} interleaved_4>
// CHECK: kvq.make_cache {{.*}} linear>
// CHECK: kvq.make_cache {{.*}} interleaved_4>
func.func @layers(%d: !d, %p: !p, %g: memref<f32>) {
  %s0 = memref.subview %p[0, 0, 0, 0, 0] [1, 9, 16, 2, 4] [1, 1, 1, 1, 1] : !p to memref<9x16x2x4xf8E4M3FN, strided<[128, 8, 4, 1]>>
  %s1 = memref.subview %p[1, 0, 0, 0, 0] [1, 9, 16, 2, 4] [1, 1, 1, 1, 1] : !p to memref<9x16x2x4xf8E4M3FN, strided<[128, 8, 4, 1], offset: 1152>>
  %c0 = memref.cast %s0 : memref<9x16x2x4xf8E4M3FN, strided<[128, 8, 4, 1]>> to !s
  %v0 = kvq.make_cache data(%d : !d) scales(%c0 : !s) global_scale(%g : memref<f32>) : !f
  %v1 = kvq.make_cache data(%d : !d) scales(%s1 : memref<9x16x2x4xf8E4M3FN, strided<[128, 8, 4, 1], offset: 1152>>) global_scale(%g : memref<f32>) : !b
  // expected-remark@+1 {{a cache over the same memory has it}}
  %v2 = kvq.make_cache data(%d : !d) scales(%s0 : memref<9x16x2x4xf8E4M3FN, strided<[128, 8, 4, 1]>>) global_scale(%g : memref<f32>) : !u
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, mxfp4, HND, ?>
!l = !kvq.cache<key, 16x2x64, mxfp4, HND, linear>
!bf = !kvq.cache<value, 16x2x64, bf16, HND>
!d = memref<?x2x16x64xf4E2M1FN>
!s = memref<?x2x16x2xf8E8M0FNU>

// Caches that are decided, or have no block scales, stay, without a remark; a
// function that nothing calls is decided too.
// CHECK-LABEL: func private @unused
// CHECK-SAME: !kvq.cache<key, 16x2x64, mxfp4, HND, linear>, %{{.*}}: !kvq.cache<key, 16x2x64, mxfp4, HND, linear>, %{{.*}}: !kvq.cache<value, 16x2x64, bf16, HND>
// expected-remark@+1 {{'func.func' op gives argument #0 the scale layout linear (f8E8M0FNU for each 32 of head_dim) for 0 writers and 1 reader: no reader asks for another}}
func.func private @unused(%k: !k, %l: !l, %v: !bf, %q: tensor<2x1x4x64xf32>, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32) -> tensor<2x1x4x64xf32> {
  %0 = kvq.dequant_attention ins(%q : tensor<2x1x4x64xf32>) caches(%k, %v : !k, !bf) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : tensor<2x1x4x64xf32>) -> tensor<2x1x4x64xf32>
  return %0 : tensor<2x1x4x64xf32>
}

// -----

!u = !kvq.cache<value, 16x2x64, nvfp4, NHD, ?>
!f = !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>

// A handle that may alias anything shares memory with others of its side.
// CHECK-LABEL: func private @aliases
// CHECK-SAME: interleaved_4> {kvq.may_alias}, %{{.*}}: !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>
// expected-remark@+1 {{gives argument #1 the scale layout interleaved_4 (f8E4M3FN for each 16 of head_dim, times what callers give it on the output) for 0 writers and 0 readers: argument #0 over the same memory has it}}
func.func private @aliases(%v: !f {kvq.may_alias}, %u: !u) {
  return
}
