// Caches in fp4 get the block scales that everyone can write and read, and that
// cost least: in types, in memrefs, in operations on stored rows.
// RUN: kvq-opt %s --kvq-assign-block-scales --split-input-file --verify-diagnostics --remarks-filter='kvq.*' | FileCheck %s
// RUN: kvq-opt %s --kvq-assign-block-scales --split-input-file -o %t.once
// RUN: kvq-opt %t.once --kvq-assign-block-scales --kvq-verify-handles --split-input-file | diff %t.once -

!k = !kvq.cache<key, 16x2x64, fp4, NHD>
!d = memref<?x16x2x64xf4E2M1FN>
!x = tensor<2x2x64xbf16>

// Through calls, loops, branches, selects and copies of pages; the memrefs of
// scales and global scales are the last arguments.
// CHECK-LABEL: func private @layer
// CHECK-SAME: %{{.*}}: !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>, %{{.*}}: tensor<2x2x64xbf16>, %{{.*}}: tensor<2xi32>)
func.func private @layer(%k: !k, %x: !x, %slots: tensor<2xi32>) {
  kvq.quantize_append ins(%x : !x) into(%k : !k) slot_mapping(%slots : tensor<2xi32>)
  return
}
// CHECK-LABEL: func @flow
// CHECK-SAME: (%[[D:.*]]: memref<?x16x2x64xf4E2M1FN>, %[[E:.*]]: memref<?x16x2x64xf4E2M1FN>,
// CHECK-SAME: %[[DS:[^:]*]]: memref<?x16x2x4xf8E4M3FN>, %[[DG:[^:]*]]: memref<f32>, %[[ES:[^:]*]]: memref<?x16x2x4xf8E4M3FN>) {
// CHECK: kvq.make_cache data(%[[D]] : {{.*}}) scales(%[[DS]] : {{.*}}) global_scale(%[[DG]] : {{.*}}) : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK: %[[G:.*]] = memref.get_global @kvq_global_scale
// CHECK: kvq.make_cache data(%[[E]] : {{.*}}) scales(%[[ES]] : {{.*}}) global_scale(%[[G]] : {{.*}}) {kvq.global_scale = 5.000000e-01 : f32} : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK: scf.for {{.*}} -> (!kvq.cache<key, 16x2x64, nvfp4, NHD, linear>)
// CHECK: arith.select {{.*}} : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK: ^bb1(%{{.*}}: !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>)
func.func @flow(%d: !d, %e: !d, %x: !x, %slots: tensor<2xi32>, %n: index, %c: i1, %i: tensor<1xi32>, %j: tensor<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark@+2 {{'kvq.make_cache' op gives a cache the block scales f8E4M3FN for each 16 of head_dim, times argument #9 with the softmax scale for 3 writers and 1 reader, rather than mxfp4 (its values are off by 12%), nvfp4 along tokens (kvq.quantize_append handles single rows), mxfp4 along tokens (a page has 16, no multiple of 32)}}
  // expected-remark@+1 {{gives a cache the scale layout linear (f8E4M3FN for each 16 of head_dim, times argument #9 with the softmax scale) for 3 writers and 1 reader: no reader asks for another}}
  %k = kvq.make_cache data(%d : !d) : !k
  %l = kvq.make_cache data(%e : !d) {kvq.global_scale = 0.5 : f32} : !k
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

!v = !kvq.cache<value, 16x2x64, fp4, NHD>
!d = memref<?x16x2x64xf4E2M1FN>
!x = tensor<2x2x64xbf16>
!p = tensor<2x2x64xf4E2M1FN>
!r = tensor<2x64x2x64xf4E2M1FN>
!y = tensor<2x64x2x64xbf16>

// Rows that stand apart from the handle are quantized and decoded anew.
// CHECK-LABEL: func @rows
// CHECK: kvq.quantize ins(%{{.*}} : tensor<2x2x64xbf16>) global_scale(%{{.*}}) outs(%{{.*}} : tensor<2x2x64xf4E2M1FN>, tensor<2x2x4xf8E4M3FN>) {format = #kvq.format<nvfp4>}
// CHECK: kvq.append ins(%{{.*}} : tensor<2x2x64xf4E2M1FN>, tensor<2x2x4xf8E4M3FN>) into(%{{.*}} : !kvq.cache<value, 16x2x64, nvfp4, NHD, linear>)
// CHECK: %[[R:.*]]:2 = kvq.gather cache(%{{.*}}) {{.*}} -> tensor<2x64x2x64xf4E2M1FN>, tensor<2x64x2x4xf8E4M3FN>
// CHECK: kvq.dequantize ins(%[[R]]#0, %[[R]]#1 : {{.*}}) global_scale(%{{.*}}) {{.*}} {format = #kvq.format<nvfp4>}
// CHECK-NOT: fp4,
func.func @rows(%d: !d, %x: !x, %slots: tensor<2xi32>, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %p: !p, %r: !r, %y: !y) -> !y {
  // expected-remark@+2 {{times argument #9 on the output for 1 writer and 1 reader, rather than mxfp4 (its values are off by 12%), nvfp4 along tokens (kvq.gather handles single rows), mxfp4 along tokens (a page has 16, no multiple of 32)}}
  // expected-remark@+1 {{gives a cache the scale layout linear}}
  %v = kvq.make_cache data(%d : !d) : !v
  %0 = kvq.quantize ins(%x : !x) outs(%p : !p) {format = #kvq.fp4} -> !p
  kvq.append ins(%0 : !p) into(%v : !v) slot_mapping(%slots : tensor<2xi32>)
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%r : !r) -> !r
  %2 = kvq.dequantize ins(%1 : !r) outs(%y : !y) {format = #kvq.fp4} -> !y
  return %2 : !y
}

// -----

!k = !kvq.cache<key, 32x2x64, fp4, NHD>
!v = !kvq.cache<value, 32x2x40, fp4, NHD>
!kd = memref<3x9x32x2x64xf4E2M1FN>
!vd = memref<9x32x2x40xf4E2M1FN>
!kl = memref<9x32x2x64xf4E2M1FN, strided<[4096, 128, 64, 1], offset: ?>>
!q = tensor<2x1x4x64xf16>
!o = tensor<2x1x4x40xf16>

// A cache that only attention reads may have blocks along tokens, where head_dim
// has no whole blocks. Layers of one memref have one format.
// CHECK-LABEL: func @attend
// CHECK-SAME: memref<3x9x32x2x4xf8E4M3FN>
// CHECK-SAME: memref<9x2x2x40xf8E4M3FN>
// CHECK: kvq.make_cache {{.*}} : !kvq.cache<value, 32x2x40, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, axis = token, global_scale>, NHD, linear>
// CHECK: memref.subview %{{.*}}[%{{.*}}, 0, 0, 0, 0] [1, 9, 32, 2, 4]
// CHECK: kvq.make_cache {{.*}} : !kvq.cache<key, 32x2x64, nvfp4, NHD, linear>
func.func @attend(%kd: !kd, %vd: !vd, %n: index, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32, %o: !o) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark@+2 {{gives a cache the block scales f8E4M3FN for each 16 of token, times argument #11 on the output for 0 writers and 1 reader, rather than nvfp4 (head_dim is 40, no multiple of 16), mxfp4 (head_dim is 40, no multiple of 32), mxfp4 along tokens (its values are off by 12%)}}
  // expected-remark@+1 {{gives a cache the scale layout linear}}
  %v = kvq.make_cache data(%vd : !vd) : !v
  scf.for %i = %c0 to %n step %c1 {
    %l = memref.subview %kd[%i, 0, 0, 0, 0] [1, 9, 32, 2, 64] [1, 1, 1, 1, 1] : !kd to !kl
    // The tensor cores of the chip take keys with blocks along head_dim as they are.
    // expected-remark@+2 {{gives a cache the block scales f8E4M3FN for each 16 of head_dim, times argument #9 with the softmax scale for 0 writers and 1 reader, rather than mxfp4 (its values are off by 12%), nvfp4 along tokens (attention takes 2.0 times the clocks on sm_100a), mxfp4 along tokens (its values are off by 12%)}}
    // expected-remark@+1 {{gives a cache the scale layout linear}}
    %k = kvq.make_cache data(%l : !kl) : !k
    %0 = kvq.dequant_attention ins(%q : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%o : !o) -> !o
  }
  return
}

// -----

!v = !kvq.cache<value, 16x2x64, fp4, NHD>
!d = memref<9x16x2x64xf4E2M1FN>

// A function that is given the memref and makes no cache of it is no other use.
// CHECK-LABEL: func private @unused(%{{.*}}: memref<9x16x2x64xf4E2M1FN>, %{{.*}}: memref<9x16x2x4xf8E4M3FN>)
// CHECK-LABEL: func @passes
// CHECK: call @unused(%{{.*}}, %{{.*}}) : (memref<9x16x2x64xf4E2M1FN>, memref<9x16x2x4xf8E4M3FN>) -> ()
func.func private @unused(%d: !d) {
  return
}
func.func @passes(%d: !d) {
  // expected-remark@+2 {{gives a cache the block scales}}
  // expected-remark@+1 {{gives a cache the scale layout linear}}
  %v = kvq.make_cache data(%d : !d) : !v
  call @unused(%d) : (!d) -> ()
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp4, HND>

// Arguments of functions that nothing calls are decided too. What is equal in
// everything is taken in the order of the table.
// CHECK-LABEL: func private @nowhere_called
// CHECK-SAME: !kvq.cache<key, 16x2x64, nvfp4, HND, linear>
// expected-remark@+2 {{gives argument #0 the block scales f8E4M3FN for each 16 of head_dim, times what callers give it with the softmax scale for 0 writers and 0 readers, rather than mxfp4 (its values are off by 12%), nvfp4 along tokens (it is no better), mxfp4 along tokens (a page has 16, no multiple of 32)}}
// expected-remark@+1 {{gives argument #0 the scale layout linear}}
func.func private @nowhere_called(%k: !k) {
  return
}
