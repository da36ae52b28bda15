// RUN: kvq-opt %s --convert-kvq-tcgen05-to-nvvm --split-input-file --verify-diagnostics

func.func @region(%base: i32) {
  // expected-error @+1 {{op has not a place yet; run kvq-tcgen05-allocate-tmem before}}
  %a = kvq_tcgen05.region %base named "S" : !kvq_tcgen05.tmem<128x64xf32>
  return
}

// -----

func.func @alloc(%slot: !llvm.ptr<3>, %base: i32) {
  // expected-error @+1 {{op has not a number of columns yet; run kvq-tcgen05-allocate-tmem before}}
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  // expected-error @+1 {{op has not a number of columns yet; run kvq-tcgen05-allocate-tmem before}}
  kvq_tcgen05.dealloc %base
  return
}

// -----

func.func @groups(%slot: !llvm.ptr<3>, %base: i32) {
  // expected-note @+1 {{cta_group = 2 here}}
  kvq_tcgen05.alloc %slot columns(32) {cta_group = 2 : i64} : !llvm.ptr<3>
  // expected-error @+1 {{op has cta_group = 1, but all of a function have the same}}
  kvq_tcgen05.dealloc %base columns(32)
  return
}
