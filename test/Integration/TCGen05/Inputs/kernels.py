"""Small kernels around operations of the kvq_tcgen05 dialect.

A kernel fills shared memory and tensor memory from two images, runs a piece
of the dialect in one thread, waits for its commit, and writes all of tensor
memory back. 128 threads.
"""

import atexit
import functools
import os
import re
import shutil
import subprocess
import tempfile

import emu_harness
import numpy as np

SCHEDULES = ["eager", "lazy", "random:1", "random:2"]
PTXAS = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")

PIPELINE = (
    "builtin.module(gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm,"
    "convert-nvvm-to-llvm,canonicalize,cse,reconcile-unrealized-casts),gpu-module-to-binary{format=isa})"
)


def module(body):
    return (
        'gpu.module @m [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {\n'
        + body
        + "}\n"
    )


def compile_module(text, passes=("--convert-kvq-tcgen05-to-nvvm",)):
    """The PTX of the gpu.module in `text`."""

    def run(command, source):
        done = subprocess.run(command, input=source, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stderr}\n{source}"
        return done.stdout

    lowered = run(["kvq-opt", "-", *passes], text)
    binary = run(["mlir-opt", "-", f"--pass-pipeline={PIPELINE}"], lowered)
    escaped = re.search(r'assembly = "(.*?[^\\])"', binary, re.S).group(1)
    return re.sub(
        r"\\([0-9A-F]{2}|\\|\")",
        lambda m: chr(int(m[1], 16)) if len(m[1]) == 2 else m[1],
        escaped,
    ).rstrip("\0")


_folder = tempfile.mkdtemp(prefix="kvq-tcgen05-")
atexit.register(shutil.rmtree, _folder, True)


@functools.lru_cache(maxsize=None)
def ptx_file(text, *passes):
    """Path of the PTX of a module, assembled by ptxas where there is one."""
    ptx = compile_module(text, passes or ("--convert-kvq-tcgen05-to-nvvm",))
    path = os.path.join(_folder, f"{len(os.listdir(_folder))}.ptx")
    with open(path, "w") as file:
        file.write(ptx)
    if PTXAS:
        done = subprocess.run(
            [PTXAS, "-arch=sm_100a", path, "-o", os.devnull],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stderr}\n{ptx}"
    return path


GLOBALS = """
  llvm.mlir.global internal @smem() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<{bytes} x i8>
  llvm.mlir.global internal @bar() {{addr_space = 3 : i32, alignment = 8 : i64}} : i64
  llvm.mlir.global internal @slot() {{addr_space = 3 : i32, alignment = 4 : i64}} : i32
"""

# Copies `bytes` of shared memory from %in, `columns` of tensor memory from %tin.
PROLOGUE = """
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %size = arith.constant {bytes} : i32
    %tsize = arith.constant {words} : i32
    %offset = arith.muli %rank, %size : i32
    %toffset = arith.muli %rank, %tsize : i32
    %in = llvm.getelementptr %ins[%offset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    %tin = llvm.getelementptr %tins[%toffset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %out = llvm.getelementptr %outs[%toffset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
    %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
    %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
    %false = arith.constant false
    %true = arith.constant true
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c5_i32 = arith.constant 5 : i32
    %columns_i32 = arith.constant {columns} : i32
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %step = arith.constant 2048 : index
    %bytes = arith.constant {bytes} : index
    %tidx = gpu.thread_id x
    %tid = arith.index_cast %tidx : index to i32
    %warp = arith.shrui %tid, %c5_i32 : i32
    %isw0 = arith.cmpi eq, %warp, %c0_i32 : i32
    %ist0 = arith.cmpi eq, %tid, %c0_i32 : i32
    %first = arith.muli %tidx, %c16 : index
    scf.for %i = %first to %bytes step %step {{
      %i32 = arith.index_cast %i : index to i32
      %from = llvm.getelementptr %in[%i32] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
      %to = llvm.getelementptr %smem[%i32] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      %v = llvm.load %from {{alignment = 16 : i64}} : !llvm.ptr<1> -> vector<4xi32>
      llvm.store %v, %to {{alignment = 16 : i64}} : vector<4xi32>, !llvm.ptr<3>
    }}
    scf.if %ist0 {{
      nvvm.mbarrier.init %bar, %c1_i32 : !llvm.ptr<3>, i32
      nvvm.fence.mbarrier.init
    }}
    scf.if %isw0 {{
      kvq_tcgen05.alloc %slot columns({columns}) {{cta_group = {group} : i64}} : !llvm.ptr<3>
      kvq_tcgen05.relinquish {{cta_group = {group} : i64}}
    }}
    nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
    gpu.barrier
    {meet}
    %base = llvm.load %slot : !llvm.ptr<3> -> i32
    %row = arith.muli %tid, %columns_i32 : i32
    %all = kvq_tcgen05.region %base at 0 : !kvq_tcgen05.tmem<128x{columns}xi32>
"""

FILL = """
    %tfrom{c} = llvm.getelementptr %tin[%row] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %tfrom{c}_ = llvm.getelementptr %tfrom{c}[{c}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %tv{c} = llvm.load %tfrom{c}_ {{alignment = 16 : i64}} : !llvm.ptr<1> -> vector<32xi32>
    kvq_tcgen05.store shape_32x32b %tv{c} to %all[{c}] warp(%warp) : vector<32xi32>, !kvq_tcgen05.tmem<128x{columns}xi32>
"""

READ = """
    %tto{c} = llvm.getelementptr %out[%row] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %tto{c}_ = llvm.getelementptr %tto{c}[{c}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %to{c} = kvq_tcgen05.load shape_32x32b %all[{c}] warp(%warp) : !kvq_tcgen05.tmem<128x{columns}xi32> -> vector<32xi32>
    kvq_tcgen05.wait load
    llvm.store %to{c}, %tto{c}_ {{alignment = 16 : i64}} : vector<32xi32>, !llvm.ptr<1>
"""

SYNC = """
    kvq_tcgen05.fence before
    gpu.barrier
    kvq_tcgen05.fence after
"""

WAIT = """
    %ticks = arith.constant 1000 : i32
    nvvm.mbarrier.try_wait.parity %bar, %c0_i32, %ticks : !llvm.ptr<3>, i32, i32
    kvq_tcgen05.fence after
"""

EPILOGUE = """
    kvq_tcgen05.fence before
    gpu.barrier
    {meet}
    scf.if %isw0 {{
      kvq_tcgen05.dealloc %base columns({columns}) {{cta_group = {group} : i64}}
    }}
    gpu.return
"""


CLUSTER_BARRIER = "nvvm.cluster.arrive {aligned}\n    nvvm.cluster.wait {aligned}\n"


def frame(text, columns, size, fill=True, group=1):
    """A kernel @k: tensor memory is filled, `text` runs in all threads.

    With `group` 2 it runs in clusters of two CTAs that share the work of
    tcgen05; images and results have one part per CTA.
    """
    stores = ""
    if fill:
        stores = "".join(
            FILL.format(c=c, columns=columns) for c in range(0, columns, 32)
        )
    meet = CLUSTER_BARRIER if group == 2 else ""
    words = dict(
        columns=columns, bytes=size, words=128 * columns, group=group, meet=meet
    )
    return module(
        GLOBALS.format(bytes=size)
        + "  gpu.func @k(%ins: !llvm.ptr<1>, %tins: !llvm.ptr<1>, %outs: !llvm.ptr<1>) kernel "
        "attributes {known_block_size = array<i32: 128, 1, 1>} {\n"
        + PROLOGUE.format(**words)
        + stores
        + "    kvq_tcgen05.wait store\n"
        + SYNC
        + meet
        + text
        + EPILOGUE.format(**words)
        + "  }\n"
    )


def issue(body):
    """`body` in one thread, committed and waited for."""
    return (
        "    scf.if %ist0 {\n"
        + body
        + "    kvq_tcgen05.commit %bar : !llvm.ptr<3>\n    }\n"
        + WAIT
    )


def issue_for_pair(body):
    """`body` in one thread of the first CTA; both wait for it."""
    return (
        "    %is_first = arith.cmpi eq, %rank, %c0_i32 : i32\n"
        "    %issues = arith.andi %is_first, %ist0 : i1\n"
        "    scf.if %issues {\n" + body + "      %both = arith.constant 3 : i16\n"
        "      kvq_tcgen05.commit %bar multicast(%both) {cta_group = 2 : i64} : !llvm.ptr<3>\n"
        "    }\n" + WAIT
    )


def run_pair(body, images, words, schedules=SCHEDULES):
    """Runs `body` for two CTAs; `images` and `words` have a part for each."""
    columns = words.shape[2]
    read = "".join(READ.format(c=c, columns=columns) for c in range(0, columns, 32))
    text = frame(issue_for_pair(body) + read, columns, images.shape[1], group=2)
    path = ptx_file(text)
    return [
        emu_harness.launch(
            path, "k", 2, 128, images.copy(), words.copy(), words * 0 + 0xDEADBEEF,
            cluster=2, schedule=schedule, check="all",
        )[2]
        for schedule in schedules
    ]  # fmt: skip


def run_issue(body, image, words, schedules=SCHEDULES):
    """Runs `body` in one thread; returns tensor memory after each schedule."""
    columns = words.shape[1]
    read = "".join(READ.format(c=c, columns=columns) for c in range(0, columns, 32))
    text = frame(issue(body) + read, columns, image.size)
    path = ptx_file(text)
    results = []
    for schedule in schedules:
        result = emu_harness.launch(
            path, "k", 1, 128, image.copy(), words.copy(), words * 0 + 0xDEADBEEF,
            schedule=schedule, check="all",
        )  # fmt: skip
        results.append(result[2])
    return results


def run_threads(text, words, out, schedules=SCHEDULES, image=None):
    """Runs `text` in all threads; returns %out after each schedule."""
    image = np.zeros(2048, np.uint8) if image is None else image
    path = ptx_file(frame(text, words.shape[1], image.size))
    return [
        emu_harness.launch(path, "k", 1, 128, image.copy(), words.copy(), out.copy(),
                           schedule=schedule, check="all")[2]
        for schedule in schedules
    ]  # fmt: skip
