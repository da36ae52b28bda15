# RUN: %pytest %s
# REQUIRES: python, emulator
"""What decode attention costs, as benchmarks/decode_cost.py counts it, and that it
counts right."""

import os
import pathlib
import re
import sys

import pytest

SOURCE = pathlib.Path(os.environ["KVQ_SOURCE_DIR"])
TOOLS = pathlib.Path(os.environ["KVQ_BUILD_DIR"]) / "bin"
sys.path.insert(0, str(SOURCE / "benchmarks"))
import decode_cost
import ptx_profile
from decode_work import Kernel, Work

TEXT = """.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(
\t.param .u64 k_param_0,
\t.param .u32 k_param_1
)
.reqntid 64
{
\t.reg .pred \t%p<4>;
\t.reg .b32 \t%r<4>;
\tmov.u32 \t%r1, %tid.x;
\tsetp.lt.u32 \t%p1, %r1, 40;
\t@%p1 bra \t$L__few;
\tadd.s32 \t%r1, %r1, 1;
$L__few:
\tld.param.u32 \t%r2, [k_param_1];
$L__loop:
\tsub.s32 \t%r2, %r2, 1;
\tsetp.ne.s32 \t%p2, %r2, 0;
\t@%p2 bra \t$L__loop;
\tret;
}
"""


def test_profile(tmp_path):
    import emu_harness

    def launch(text, counters):
        (tmp_path / "k.ptx").write_text(text)
        return emu_harness.launch(str(tmp_path / "k.ptx"), "k", 3, 64, ("u64", 0),
                                  ("u32", 5), counters).arrays[-1]

    profile = ptx_profile.profile(TEXT, "k", 64, launch)
    lines = TEXT.splitlines()
    # Three blocks of two warps; only the second has threads from 40 on.
    for text, expected in ((".param .u64", 0), ("%tid.x", 6), ("@%p1", 6), ("add.s32", 3),
                           ("ld.param", 6), ("sub", 30), ("@%p2", 30), ("ret", 6),
                           ("}", 0)):
        line = next(i for i, other in enumerate(lines, 1) if text in other)
        assert profile.of_line(line) == expected, text


@pytest.mark.parametrize("rows", (8, 16))
def test_profile_of_attention(rows, tmp_path):
    """Lines of the whole kernel, where the emulator counts by class."""
    work = Work(300, 16, rows)
    kernel = Kernel(work, "f16", TOOLS, tmp_path)
    text = kernel.ptx.read_text()

    def launch(instrumented, counters):
        (tmp_path / "profiled.ptx").write_text(instrumented)
        result, output = kernel.launch(work, ptx=tmp_path / "profiled.ptx",
                                       more=(counters,))
        assert work.error(output) <= 1e-3
        return result.arrays[-1]

    profile = ptx_profile.profile(text, kernel.name, kernel.threads, launch)
    counts = kernel.launch(work)[0].report["counters"]["warpInstructions"]
    for pattern, kind in ((r"(ex2|lg2|rcp)\.approx", "special-function"),
                          (r"mma\.sync", "tensor")):
        lines = [i for i, line in enumerate(text.splitlines(), 1)
                 if re.match(rf"\s+(@\S+\s+)?({pattern})", line)]
        assert sum(map(profile.of_line, lines)) == counts[kind] > 0


#: For a tile of 128 tokens, by query rows: what decode_cost.py prints. That of
#: instructions is what there is; those of the other rows are what the memory's rate
#: of a B200 leaves room for.
LIMITS = {
    8: {"instructions": 910, "shared": 60, "tensor": 600, "memory": 1.02},
    16: {"instructions": 1225, "shared": 74, "tensor": 600, "memory": 1.02},
}


@pytest.mark.parametrize("rows", LIMITS)
@pytest.mark.parametrize("page", (64, 16))
def test_limits(page, rows, tmp_path):
    found, _ = decode_cost.measure("kvq", page, rows, 2048, TOOLS, tmp_path, sass=False)
    assert all(found[name] <= limit for name, limit in LIMITS[rows].items()), found
