// Caches over the same data have one global scale: it is no part of a type.
// RUN: kvq-opt %s --kvq-assign-block-scales --split-input-file --verify-diagnostics --remarks-filter='kvq.*'

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!d = memref<?x16x2x64xf8E4M3FN>

memref.global "private" constant @half : memref<f32> = dense<0.5>
memref.global "private" constant @quarter : memref<f32> = dense<0.25>

func.func @constants(%d: !d) {
  %h = memref.get_global @half : memref<f32>
  %q = memref.get_global @quarter : memref<f32>
  // expected-note@+1 {{the other cache is made here}}
  %a = kvq.make_cache data(%d : !d) global_scale(%h : memref<f32>) : !k
  // expected-error@+1 {{'kvq.make_cache' op cannot share data: its global scale is the constant 0.25, that of another cache over the same data is the constant 0.5}}
  %b = kvq.make_cache data(%d : !d) global_scale(%q : memref<f32>) : !k
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!v = !kvq.cache<value, 16x2x64, fp8, NHD>
!d = memref<?x16x2x64xf8E4M3FN>
!c = memref<9x16x2x64xf8E4M3FN>

memref.global "private" constant @half : memref<f32> = dense<0.5>
memref.global "private" constant @also_half : memref<f32> = dense<0.5>
memref.global "private" constant @quarter : memref<f32> = dense<0.25>
memref.global "private" @variable : memref<f32> = dense<0.25>

// One value, one number in two constants, other data, and the other side.
func.func @agree(%d: !d, %e: !d, %g: memref<f32>) {
  %h = memref.get_global @half : memref<f32>
  %i = memref.get_global @also_half : memref<f32>
  %q = memref.get_global @quarter : memref<f32>
  %a = kvq.make_cache data(%d : !d) global_scale(%h : memref<f32>) : !k
  %b = kvq.make_cache data(%d : !d) global_scale(%i : memref<f32>) : !k
  %c = kvq.make_cache data(%d : !d) global_scale(%q : memref<f32>) : !v
  %s = kvq.make_cache data(%e : !d) global_scale(%g : memref<f32>) : !k
  %t = kvq.make_cache data(%e : !d) global_scale(%g : memref<f32>) : !k
  return
}

// What is not known to be equal.
func.func @unknown(%c: !c, %e: !d, %g: memref<f32>, %h: memref<f32>) {
  %q = memref.get_global @quarter : memref<f32>
  %v = memref.get_global @variable : memref<f32>
  %d = memref.cast %c : !c to !d
  %a = kvq.make_cache data(%d : !d) global_scale(%g : memref<f32>) : !k
  // expected-remark@+1 {{'kvq.make_cache' op has the result of memref.get_global as its global scale, another cache over the same data has argument #2: they are not known to be equal (kvq.make_cache at}}
  %b = kvq.make_cache data(%c : !c) global_scale(%v : memref<f32>) : !k
  // expected-remark@+1 {{has argument #3 as its global scale, another cache over the same data has argument #2}}
  %s = kvq.make_cache data(%d : !d) global_scale(%h : memref<f32>) : !k
  return
}

// -----

!u = !kvq.cache<key, 16x2x64, nvfp4, NHD, ?>
!d = memref<?x16x2x64xf4E2M1FN>
!s = memref<?x16x2x4xf8E4M3FN>

memref.global "private" constant @calibrated : memref<f32> = dense<1.25e-1>

// The remark of a decision says where the global scale comes from.
func.func @decided(%d: !d, %s: !s) {
  %g = memref.get_global @calibrated : memref<f32>
  // expected-remark@+1 {{gives a cache the scale layout linear (f8E4M3FN for each 16 of head_dim, times the constant 0.125 with the softmax scale) for 0 writers and 0 readers: no reader asks for another}}
  %k = kvq.make_cache data(%d : !d) scales(%s : !s) global_scale(%g : memref<f32>) : !u
  return
}
