# RUN: %pytest %s
# REQUIRES: python
"""The allocation pass, executed: regions that share columns in turn keep their
contents, and the emulator finds no read of what was not written."""

import re

import numpy as np

import emu_harness
import kernels

# A and B follow each other with a barrier between them; C lives through both.
KERNEL = kernels.module("""
  llvm.mlir.global internal @slot() {addr_space = 3 : i32, alignment = 4 : i64} : i32
  gpu.func @k(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
    %c0_i32 = arith.constant 0 : i32
    %c4_i32 = arith.constant 4 : i32
    %c5_i32 = arith.constant 5 : i32
    %tidx = gpu.thread_id x
    %tid = arith.index_cast %tidx : index to i32
    %warp = arith.shrui %tid, %c5_i32 : i32
    %isw0 = arith.cmpi eq, %warp, %c0_i32 : i32
    scf.if %isw0 {
      kvq_tcgen05.alloc %slot : !llvm.ptr<3>
      kvq_tcgen05.relinquish
    }
    gpu.barrier
    %base = llvm.load %slot : !llvm.ptr<3> -> i32
    %row = arith.shli %tid, %c4_i32 : i32
    %from = llvm.getelementptr %in[%row] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %to = llvm.getelementptr %out[%row] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %from {alignment = 16 : i64} : !llvm.ptr<1> -> vector<16xf32>
    %c = kvq_tcgen05.region %base named "C" : !kvq_tcgen05.tmem<128x16xf32>
    kvq_tcgen05.store shape_32x32b %x to %c warp(%warp)
        : vector<16xf32>, !kvq_tcgen05.tmem<128x16xf32>
    %a = kvq_tcgen05.region %base named "A" : !kvq_tcgen05.tmem<128x16xf32>
    %y = arith.mulf %x, %x : vector<16xf32>
    kvq_tcgen05.store shape_32x32b %y to %a warp(%warp)
        : vector<16xf32>, !kvq_tcgen05.tmem<128x16xf32>
    kvq_tcgen05.wait store
    %y1 = kvq_tcgen05.load shape_32x32b %a warp(%warp)
        : !kvq_tcgen05.tmem<128x16xf32> -> vector<16xf32>
    kvq_tcgen05.wait load
    kvq_tcgen05.release %a : !kvq_tcgen05.tmem<128x16xf32>
    gpu.barrier
    %b = kvq_tcgen05.region %base named "B" : !kvq_tcgen05.tmem<128x16xf32>
    %z = arith.addf %y1, %x : vector<16xf32>
    kvq_tcgen05.store shape_32x32b %z to %b warp(%warp)
        : vector<16xf32>, !kvq_tcgen05.tmem<128x16xf32>
    kvq_tcgen05.wait store
    %z1 = kvq_tcgen05.load shape_32x32b %b warp(%warp)
        : !kvq_tcgen05.tmem<128x16xf32> -> vector<16xf32>
    %x1 = kvq_tcgen05.load shape_32x32b %c warp(%warp)
        : !kvq_tcgen05.tmem<128x16xf32> -> vector<16xf32>
    kvq_tcgen05.wait load
    %sum = arith.addf %z1, %x1 : vector<16xf32>
    llvm.store %sum, %to {alignment = 16 : i64} : vector<16xf32>, !llvm.ptr<1>
    gpu.barrier
    scf.if %isw0 {
      kvq_tcgen05.dealloc %base
    }
    gpu.return
  }
""")
PASSES = (
    "--pass-pipeline=builtin.module(gpu.module(gpu.func(kvq-tcgen05-allocate-tmem)),"
    "convert-kvq-tcgen05-to-nvvm)",
)


def test_regions_in_turn():
    path = kernels.ptx_file(KERNEL, *PASSES)
    with open(path) as file:
        # C and one of A and B at a time: 32 columns, not 64.
        assert re.search(r"mov.b32\s+%r\d+, 32;\s+tcgen05.dealloc", file.read())
    x = np.arange(128 * 16, dtype=np.float32).reshape(128, 16) / 8
    for schedule in kernels.SCHEDULES:
        got = emu_harness.launch(path, "k", 1, 128, x, np.zeros_like(x),
                                 schedule=schedule, check="all")[1]  # fmt: skip
        np.testing.assert_array_equal(got, x * x + x + x)
