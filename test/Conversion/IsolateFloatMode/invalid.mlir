// RUN: kvq-opt %s --kvq-isolate-float-mode --verify-diagnostics

// expected-error@+1 {{redefinition of function 'fegetmode' of different type}}
llvm.func @fegetmode(i32) -> i32
llvm.func @f(%x: f32) -> f32 {
  %y = llvm.fadd %x, %x : f32
  llvm.return %y : f32
}
