#!/usr/bin/env python3
"""How fast kvq-emu runs: thread instructions and tensor-core FLOP per second.

    benchmarks/emulator.py build/bin/kvq-emu

Each kernel is a loop; the processor time of a short run is taken off that of a long
one, so that start and decoding do not count. All runs use one thread.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

HEAD = """.version 8.6
.target sm_100a
.address_size 64
{globals}
.visible .entry k(.param .u32 n) {{
.reg .b32 %r<64>; .reg .f32 %f<64>; .reg .pred %p<8>; .reg .b64 %rd<16>;
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mov.u32 %r3, 0;
{before}
L:
{body}
add.u32 %r3, %r3, 1;
setp.lt.u32 %p1, %r3, %r1;
@%p1 bra L;
{after}
ret;
}}
"""

SIMPLE = """fma.rn.f32 %f1, %f1, %f2, %f2;
add.s32 %r5, %r4, %r3;
xor.b32 %r4, %r5, %r3;
mul.lo.s32 %r6, %r5, 3;
add.f32 %f3, %f1, %f2;
shl.b32 %r7, %r6, 2;
mul.f32 %f2, %f3, 0f3F000000;
"""

# Each thread loads and stores a word of its own, which checks look at.
MEMORY = """ld.shared.u32 %r5, [%r10];
add.s32 %r5, %r5, %r3;
st.shared.u32 [%r10], %r5;
ld.global.u32 %r6, [%rd2];
add.s32 %r6, %r6, %r5;
st.global.u32 [%rd2], %r6;
"""
MEMORY_BEFORE = """mov.u32 %r10, s;
shl.b32 %r11, %r2, 2;
add.u32 %r10, %r10, %r11;
st.shared.u32 [%r10], %r2;
mov.u64 %rd1, g;
cvt.u64.u32 %rd2, %r11;
add.s64 %rd2, %rd1, %rd2;
"""
MEMORY_GLOBALS = """.shared .align 16 .b8 s[4096];
.global .align 16 .b8 g[4096];"""


def mma_sync(types, shape, a, b, c):
    registers = iter(range(10, 60))

    def vector(count):
        return "{" + ",".join(f"%r{next(registers)}" for _ in range(count)) + "}"

    d = vector(c)
    return f"mma.sync.aligned.{shape}.row.col.{types} {d}, {vector(a)}, {vector(b)}, {d};\n"


def tcgen05(kind, idesc, n, scales=False):
    """128 x n products of unswizzled operands in shared memory, one at a time."""
    fixed = (128 >> 4) << 32 | 1 << 46
    before = f"""mov.u32 %r10, t;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r10], 256;
ld.shared.u32 %r11, [%r10];
mov.u32 %r12, s;
mov.u32 %r13, %r2;
Z: shl.b32 %r14, %r13, 2;
add.u32 %r14, %r14, %r12;
st.shared.u32 [%r14], 0x38383838;
add.u32 %r13, %r13, 32;
setp.lt.u32 %p2, %r13, 3072;
@%p2 bra Z;
cvt.u64.u32 %rd1, %r12;
shr.u64 %rd1, %rd1, 4;
or.b64 %rd2, %rd1, {fixed | (2048 >> 4) << 16};
add.s64 %rd3, %rd1, 256;
or.b64 %rd3, %rd3, {fixed | (n * 16 >> 4) << 16};
setp.eq.u32 %p3, %r2, 0;
fence.proxy.async.shared::cta;
"""
    if scales:
        before += "add.u32 %r15, %r11, 248;\nadd.u32 %r16, %r11, 252;\n"
    scales = ", [%r15], [%r16]" if scales else ""
    body = f"@%p3 tcgen05.mma.cta_group::1.kind::{kind} [%r11], %rd2, %rd3, {idesc}{scales}, %p3;\n"
    # The loop waits by itself under the eager schedule.
    after = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r11, 256;\n"
    variables = ".shared .align 1024 .b8 s[12288];\n.shared .align 4 .u32 t;"
    return {"before": before, "body": body, "after": after, "globals": variables}


def kernels():
    f16 = mma_sync("f32.f16.f16.f32", "m16n8k16", 4, 2, 4)
    e4m3 = mma_sync("f32.e4m3.e4m3.f32", "m16n8k32", 4, 2, 4)
    s8 = mma_sync("s32.s8.s8.s32", "m16n8k32", 4, 2, 4)
    idesc = 1 << 4 | (256 >> 3) << 17 | (128 >> 4) << 24
    small = 1 << 4 | (16 >> 3) << 17 | (128 >> 4) << 24

    def nvfp4(n):
        return 1 << 7 | 1 << 10 | (n >> 3) << 17 | (128 >> 7) << 27

    return [
        ("arithmetic", {"body": SIMPLE * 4}, "none", 20000, 8),
        ("arithmetic, all checks", {"body": SIMPLE * 4}, "all", 20000, 8),
        ("memory", {"body": MEMORY, "before": MEMORY_BEFORE, "globals": MEMORY_GLOBALS}, "none", 20000, 4),
        ("memory, all checks", {"body": MEMORY, "before": MEMORY_BEFORE, "globals": MEMORY_GLOBALS}, "all", 5000, 4),
        ("mma.sync f16", {"body": f16 * 4}, "none", 20000, 1),
        ("mma.sync e4m3", {"body": e4m3 * 4}, "none", 20000, 1),
        ("mma.sync s8", {"body": s8 * 4}, "none", 20000, 1),
        ("tcgen05 f16 128x256x16", tcgen05("f16", idesc, 256), "none", 1000, 1),
        ("tcgen05 f16 128x16x16", tcgen05("f16", small, 16), "none", 10000, 1),
        ("tcgen05 nvfp4 128x16x64", tcgen05("mxf4nvf4.block_scale.block16", nvfp4(16), 16, True), "none", 10000, 1),
        ("tcgen05 nvfp4 128x128x64", tcgen05("mxf4nvf4.block_scale.block16", nvfp4(128), 128, True), "none", 2000, 1),
        ("tcgen05 e4m3 128x256x32", tcgen05("f8f6f4", idesc, 256), "none", 1000, 1),
    ]


def run(emulator, path, check, warps, iterations, report):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [emulator, path, f"--block={32 * warps}", f"--arg=u32:{iterations}",
               f"--check={check}", "--threads=1", f"--report={report}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(report) as file:
        counters = json.load(file)["counters"]
    instructions = sum(counters["threadInstructions"].values())
    return after.ru_utime - before.ru_utime, instructions, counters["tensorMultiplyAdds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("emulator", help="the kvq-emu to measure")
    parser.add_argument("--only", default="", help="run kernels whose name has this text")
    parser.add_argument("--scale", type=float, default=1, help="longer or shorter loops")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, parts, check, iterations, warps in kernels():
            if args.only not in name:
                continue
            path, report = os.path.join(folder, "k.ptx"), os.path.join(folder, "r.json")
            with open(path, "w") as file:
                file.write(HEAD.format(**{"globals": "", "before": "", "after": "", **parts}))
            iterations = max(8, int(iterations * args.scale))
            short = run(args.emulator, path, check, warps, iterations // 8, report)
            long = run(args.emulator, path, check, warps, iterations, report)
            seconds = max(long[0] - short[0], 1e-9)
            if long[2]:
                print(f"{name:28} {2 * (long[2] - short[2]) / seconds / 1e9:8.2f} GFLOP/s")
            else:
                print(f"{name:28} {(long[1] - short[1]) / seconds / 1e6:8.1f} M thread instructions/s")


if __name__ == "__main__":
    main()
