// RUN: kvq-opt %s --kvq-verify-handles --split-input-file --verify-diagnostics

!k = !kvq.cache<key, 16x8x128, fp8, NHD>
!u = !kvq.cache<key, 16x8x128, nvfp4, NHD, ?>

// Everywhere that a handle may go: no diagnostics.
func.func private @callee(!k, i32) -> i32
// A private function may leave its layout open.
func.func private @undecided(%k: !u) {
  return
}
func.func @legal(%d: memref<?x16x8x128xf8E4M3FN>, %g: memref<f32>, %k: !k, %p: i1, %n: index, %x: memref<?x8x128xf32>, %slots: memref<?xi32>) {
  %zero = arith.constant 0 : index
  %i = arith.constant 1 : i32
  %l = kvq.make_cache data(%d : memref<?x16x8x128xf8E4M3FN>) global_scale(%g : memref<f32>) : !k
  %m = arith.select %p, %k, %l : !k
  %r = call @callee(%m, %i) : (!k, i32) -> i32
  %f = scf.if %p -> (!k) {
    scf.yield %k : !k
  } else {
    scf.yield %l : !k
  }
  %o = scf.for %j = %zero to %n step %n iter_args(%a = %f) -> (!k) {
    kvq.quantize_append ins(%x : memref<?x8x128xf32>) into(%a : !k) slot_mapping(%slots : memref<?xi32>)
    scf.yield %m : !k
  }
  %w = scf.while (%a = %o) : (!k) -> !k {
    scf.condition(%p) %a : !k
  } do {
  ^bb0(%a: !k):
    scf.yield %a : !k
  }
  cf.cond_br %p, ^bb1(%w : !k), ^bb1(%o : !k)
^bb1(%a: !k):
  %data = kvq.cache_data %a : !k -> memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, fp8, NHD>

// expected-error@+1 {{result #0 is a handle of type '!kvq.cache<key, 16x8x128, fp8, NHD>'; a handle is not returned from a function, pass it down as an argument}}
func.func @returned(
    // expected-note@+1 {{the handle is defined here}}
    %k: !k) -> !k {
  // expected-error@+1 {{returns a handle of type '!kvq.cache<key, 16x8x128, fp8, NHD>'; a handle is not returned from a function, pass it down as an argument}}
  return %k : !k
}

// -----

!k = !kvq.cache<key, 16x8x128, fp8, NHD>

// expected-error@+1 {{result #1 is a handle}}
func.func private @returned_by_declaration() -> (i32, !k)

// -----

!k = !kvq.cache<key, 16x8x128, fp8, NHD>

// expected-error@+1 {{result #0 is a handle}}
func.func private @source() -> !k
func.func @made_by_call() {
  // expected-error@+1 {{makes a handle of type '!kvq.cache<key, 16x8x128, fp8, NHD>'; handles come from kvq.make_cache, arguments, loops, branches and selects}}
  %k = call @source() : () -> !k
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, fp8, NHD>

func.func @taken(
    // expected-note@+1 {{the handle is defined here}}
    %k: !k) {
  // expected-error@+1 {{takes a handle of type '!kvq.cache<key, 16x8x128, fp8, NHD>'; accepted are operations of the kvq dialect, calls, loops, branches and selects}}
  %i = builtin.unrealized_conversion_cast %k : !k to i32
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, fp8, NHD>

func.func @cast(%i: i32) {
  // expected-error@+1 {{makes a handle of type}}
  %k = builtin.unrealized_conversion_cast %i : i32 to !k
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, fp8, NHD>

func.func @held_result(%i: i32) {
  // expected-error@+1 {{result #0 of type 'tuple<i32, !kvq.cache<key, 16x8x128, fp8, NHD>>' holds a handle; handles are not stored}}
  %t = builtin.unrealized_conversion_cast %i : i32 to tuple<i32, !k>
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, fp8, NHD>

func.func private @callee(tuple<!k>)
func.func @held_operand(%t: tuple<!k>) {
  // expected-error@+1 {{operand #0 of type 'tuple<!kvq.cache<key, 16x8x128, fp8, NHD>>' holds a handle; handles are not stored}}
  call @callee(%t) : (tuple<!k>) -> ()
  return
}

// -----

!u = !kvq.cache<key, 16x8x128, nvfp4, NHD, ?>

// expected-error@+1 {{argument #1 of a public function has an undecided scale layout in '!kvq.cache<key, 16x8x128, nvfp4, NHD, ?>', expected linear, interleaved_4 or blocked_128x4, as callers cannot see what is decided}}
func.func @undecided(%i: i32, %k: !u) {
  return
}

// -----

!u = !kvq.cache<key, 16x8x128, fp4, NHD>

// expected-error@+1 {{argument #0 of a public function has undecided block scales in '!kvq.cache<key, 16x8x128, fp4, NHD>', expected a format such as nvfp4 or mxfp4, as callers cannot see what is decided}}
func.func @undecided_scales(%k: !u) {
  return
}
