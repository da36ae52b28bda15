// RUN: kvq-opt %s --split-input-file --kvq-isolate-float-mode | FileCheck %s

// CHECK-LABEL: llvm.func @scale(
// CHECK-SAME: %[[X:.*]]: f32, %[[P:.*]]: !llvm.ptr {llvm.noalias}) -> f32
// CHECK-DAG: %[[TWO:.*]] = llvm.mlir.constant(2 : i64)
// CHECK-DAG: %[[SAVED:.*]] = llvm.alloca %[[TWO]] x i64 {alignment = 16 : i64}
// CHECK-DAG: %[[ONES:.*]] = llvm.mlir.constant(-1 : i64)
// CHECK-DAG: %[[DEFAULT:.*]] = llvm.inttoptr %[[ONES]]
// CHECK: llvm.call @fegetmode(%[[SAVED]])
// CHECK-NEXT: llvm.call @fesetmode(%[[DEFAULT]])
// CHECK-NEXT: %[[Y:.*]] = llvm.call @scale_in_default_mode(%[[X]], %[[P]])
// CHECK-NEXT: llvm.call @fesetmode(%[[SAVED]])
// CHECK-NEXT: llvm.return %[[Y]]
// CHECK-LABEL: llvm.func internal @scale_in_default_mode(
// CHECK-SAME: %[[X:.*]]: f32, %[[P:.*]]: !llvm.ptr {llvm.noalias}) -> f32
// CHECK-SAME: no_inline
// CHECK-NEXT: %[[Y:.*]] = llvm.fmul %[[X]], %[[X]]
// CHECK-NEXT: llvm.store %[[Y]], %[[P]]
// CHECK-NEXT: llvm.return %[[Y]]
llvm.func @scale(%x: f32, %p: !llvm.ptr {llvm.noalias}) -> f32 {
  %y = llvm.fmul %x, %x : f32
  llvm.store %y, %p : f32, !llvm.ptr
  llvm.return %y : f32
}

// What only moves floats, integer arithmetic and calls stay.
// CHECK-LABEL: llvm.func @move(
// CHECK-NEXT: llvm.load
llvm.func @move(%p: !llvm.ptr, %n: i64) -> f32 {
  %x = llvm.load %p : !llvm.ptr -> f32
  %m = llvm.add %n, %n : i64
  %y = llvm.call @scale(%x, %p) : (f32, !llvm.ptr) -> f32
  llvm.return %y : f32
}

// A coroutine may go on in another thread.
// CHECK-LABEL: llvm.func @coroutine(
// CHECK-NEXT: llvm.fadd
llvm.func @coroutine(%x: f32) -> f32 attributes {passthrough = ["presplitcoroutine"]} {
  %y = llvm.fadd %x, %x : f32
  llvm.return %y : f32
}

// -----

// Vectors, several blocks, no result, and a name that is taken.
// CHECK: llvm.func @f_in_default_mode()
// CHECK: llvm.func @f(
// CHECK: llvm.call @[[BODY:f_in_default_mode_[0-9]+]](
// CHECK: llvm.return{{$}}
// CHECK: llvm.func internal @[[BODY]](
// CHECK: llvm.intr.fma
llvm.func @f_in_default_mode()
llvm.func @f(%c: i1, %p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> vector<4xf32>
  llvm.cond_br %c, ^a, ^b
^a:
  %y = llvm.intr.fma(%x, %x, %x) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  llvm.store %y, %p : vector<4xf32>, !llvm.ptr
  llvm.br ^b
^b:
  llvm.return
}

// -----

// Nothing to do.
// CHECK-NOT: fesetmode
llvm.func @integers(%x: i32) -> i32 {
  %y = llvm.mul %x, %x : i32
  llvm.return %y : i32
}
