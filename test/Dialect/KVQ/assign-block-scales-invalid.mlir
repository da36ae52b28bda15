// RUN: kvq-opt %s --kvq-assign-block-scales='value-reader=trtllm-gen' --split-input-file --verify-diagnostics
// RUN: not kvq-opt %s --kvq-assign-block-scales=value-reader=xqa --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=READER
// RUN: not kvq-opt %s --kvq-assign-block-scales='value-reader=trtllm-gen chip=sm_90a' --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not kvq-opt %s --kvq-assign-block-scales=chip=sm_1 --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// READER: has value-reader=xqa, accepted are kvq and trtllm-gen
// CHIP: has value-reader=trtllm-gen, which exists for chip=sm_100a, and chip=sm_90a
// UNKNOWN: is compiled for the chip "sm_1", accepted are cpu,

!u = !kvq.cache<key, 16x2x64, nvfp4, NHD, ?>

// expected-error@+1 {{'func.func' op has argument #0 of type !kvq.cache<key, 16x2x64, nvfp4, NHD, ?>, which is not decided, and is public}}
func.func @public(%k: !u) {
  return
}

// -----

!u = !kvq.cache<key, 16x2x64, nvfp4, NHD, ?>

// expected-error@+1 {{'func.func' op has a handle of type !kvq.cache<key, 16x2x64, nvfp4, NHD, ?>, which is not decided, that reaches something that cannot be changed here}}
func.func private @external(f32, !u, !u)
// expected-error@+1 {{reaches something that cannot be changed here}}
func.func private @calls(%k: !u, %x: f32) {
  // expected-note@+1 {{func.call is what it reaches}}
  call @external(%x, %k, %k) : (f32, !u, !u) -> ()
  return
}

// -----

!a = !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>
!b = !kvq.cache<value, 16x2x64, nvfp4, NHD, linear>
!d = memref<?x16x2x64xf4E2M1FN>
!s = memref<?x16x2x4xf8E4M3FN>

// Two readers of one pool that cannot be changed.
func.func private @reads_interleaved(!a)
func.func private @reads_linear(!b)
func.func @conflict(%d: !d, %s: !s, %g: memref<f32>) {
  // expected-error@+1 {{cannot share memory: a cache has !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4> and a cache has !kvq.cache<value, 16x2x64, nvfp4, NHD, linear>}}
  %a = kvq.make_cache data(%d : !d) scales(%s : !s) global_scale(%g : memref<f32>) : !a
  // expected-note@+1 {{a cache has '!kvq.cache<value, 16x2x64, nvfp4, NHD, linear>' here}}
  %b = kvq.make_cache data(%d : !d) scales(%s : !s) global_scale(%g : memref<f32>) : !b
  // expected-note@+1 {{func.call takes '!kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>'}}
  call @reads_interleaved(%a) : (!a) -> ()
  // expected-note@+1 {{func.call takes '!kvq.cache<value, 16x2x64, nvfp4, NHD, linear>'}}
  call @reads_linear(%b) : (!b) -> ()
  return
}

// -----

!a = !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>
!b = !kvq.cache<value, 16x2x64, nvfp4, NHD, linear>
!d = memref<?x16x2x64xf4E2M1FN>
!p = memref<?x9x16x2x4xf8E4M3FN>
!s = memref<9x16x2x4xf8E4M3FN, strided<[128, 8, 4, 1], offset: ?>>

// Layers that a loop counts may be one in turn.
func.func @loop(%d: !d, %p: !p, %g: memref<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.addi %i, %c1 : index
    %s = memref.subview %p[%i, 0, 0, 0, 0] [1, 9, 16, 2, 4] [1, 1, 1, 1, 1] : !p to !s
    %t = memref.subview %p[%j, 0, 0, 0, 0] [1, 9, 16, 2, 4] [1, 1, 1, 1, 1] : !p to !s
    // expected-error@+1 {{cannot share memory}}
    %a = kvq.make_cache data(%d : !d) scales(%s : !s) global_scale(%g : memref<f32>) : !a
    // expected-note@+1 {{a cache has}}
    %b = kvq.make_cache data(%d : !d) scales(%t : !s) global_scale(%g : memref<f32>) : !b
  }
  return
}

// -----

!a = !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>
!u = !kvq.cache<value, 16x2x32, nvfp4, NHD, ?>
!d = memref<?x16x2x64xf4E2M1FN>
!s = memref<?x16x2x4xf8E4M3FN>
!d2 = memref<?x16x2x32xf4E2M1FN>
!s2 = memref<?x16x2x2xf8E4M3FN, strided<[128, 8, 4, 1], offset: ?>>

// The layout that the same memory has elsewhere does not suit the sizes here.
func.func @other_sizes(%d: !d, %s: !s, %d2: !d2, %g: memref<f32>) {
  %t = memref.subview %s[0, 0, 0, 0] [9, 16, 2, 2] [1, 1, 1, 1] : !s to memref<9x16x2x2xf8E4M3FN, strided<[128, 8, 4, 1]>>
  %a = kvq.make_cache data(%d : !d) scales(%s : !s) global_scale(%g : memref<f32>) : !a
  // expected-error@+1 {{cannot have the scale layout interleaved_4 of another cache over the same memory: scale layout interleaved_4 needs a multiple of 4 scales per row, found 2}}
  %u = kvq.make_cache data(%d2 : !d2) scales(%t : memref<9x16x2x2xf8E4M3FN, strided<[128, 8, 4, 1]>>) global_scale(%g : memref<f32>) : !u
  return
}

// -----

!v = !kvq.cache<value, 6x2x64, nvfp4, NHD, ?>

// expected-error@+1 {{'func.func' op cannot have the scale layout interleaved_4 of trtllm-gen: scale layout interleaved_4 needs a multiple of 4 rows of scales per page, found 6}}
func.func private @page(%v: !v) {
  return
}

// -----

!v = !kvq.cache<value, 16x2x128, mxfp4, NHD, ?>

// expected-error@+1 {{cannot have the scale layout interleaved_4 of trtllm-gen: the format is #kvq.format<mxfp4>, expected nvfp4}}
func.func private @format(%v: !v) {
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!v = !kvq.cache<value, 16x2x80, nvfp4, NHD, linear>
!q = tensor<2x1x4x64xf32>
!o = tensor<2x1x4x80xf32>

func.func @copy(%k: !k, %v: !v, %q: !q, %o: !o, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32) -> !o {
  // expected-error@+1 {{'kvq.dequant_attention' op cannot have the scale layout interleaved_4 of trtllm-gen: scale layout interleaved_4 needs a multiple of 4 scales per row, found 5}}
  %0 = kvq.dequant_attention ins(%q : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%o : !o) -> !o
  return %0 : !o
}
