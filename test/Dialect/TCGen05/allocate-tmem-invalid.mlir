// RUN: kvq-opt %s --pass-pipeline='builtin.module(any(kvq-tcgen05-allocate-tmem))' \
// RUN:   --split-input-file --verify-diagnostics

func.func @too_many(%slot: !llvm.ptr<3>, %base: i32) {
  // expected-error @+1 {{op has 512 columns of tensor memory, but 528 are needed for 'S' (256), region #1 (256), 'scales' (16)}}
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %a = kvq_tcgen05.region %base named "S" : !kvq_tcgen05.tmem<128x256xf32>
  %b = kvq_tcgen05.region %base : !kvq_tcgen05.tmem<128x512xf16>
  %c = kvq_tcgen05.region %base named "scales" : !kvq_tcgen05.scales<128x16xf8E4M3FN>
  return
}

// -----

func.func @too_few(%slot: !llvm.ptr<3>, %base: i32) {
  // expected-error @+1 {{op has 32 columns of tensor memory, but 64 are needed for 'S' (64)}}
  kvq_tcgen05.alloc %slot columns(32) : !llvm.ptr<3>
  %a = kvq_tcgen05.region %base named "S" : !kvq_tcgen05.tmem<128x64xf32>
  return
}

// -----

// expected-error @+1 {{regions of tensor memory need one kvq_tcgen05.alloc in the function, found 0}}
func.func @no_allocation(%base: i32) {
  %a = kvq_tcgen05.region %base named "S" : !kvq_tcgen05.tmem<128x64xf32>
  return
}

// -----

// expected-error @+1 {{regions of tensor memory need one kvq_tcgen05.alloc in the function, found 2}}
func.func @two_allocations(%slot: !llvm.ptr<3>, %base: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  return
}

// -----

func.func @other_size(%slot: !llvm.ptr<3>, %base: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %a = kvq_tcgen05.region %base named "S" : !kvq_tcgen05.tmem<128x64xf32>
  // expected-error @+1 {{op frees 32 columns, the allocation has 64}}
  kvq_tcgen05.dealloc %base columns(32)
  return
}

// -----

func.func @used_after(%slot: !llvm.ptr<3>, %base: i32, %p: i1, %w: i32) {
  kvq_tcgen05.alloc %slot : !llvm.ptr<3>
  %a = kvq_tcgen05.region %base named "S" : !kvq_tcgen05.tmem<128x64xf32>
  %b = kvq_tcgen05.slice %a[32] : !kvq_tcgen05.tmem<128x64xf32> to !kvq_tcgen05.tmem<128x32xf32>
  // expected-note @+1 {{released here}}
  kvq_tcgen05.release %a : !kvq_tcgen05.tmem<128x64xf32>
  scf.if %p {
    // expected-error @+1 {{op uses a region of tensor memory after its release}}
    %v = kvq_tcgen05.load shape_32x32b %b warp(%w) : !kvq_tcgen05.tmem<128x32xf32> -> vector<32xf32>
  }
  return
}
