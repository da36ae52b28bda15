#!/usr/bin/env python3
"""How long decode attention over an nvfp4 cache takes to compile to PTX for sm_100a:
kvq-compile, triton.compile of the kernel in nvfp4_triton.py, and nvcc --ptx of the
one in decode.cu, on the same machine.

All are cold: each compilation is a new process, Triton's with an empty cache. Of kvq
and nvcc it is the time of the whole process, of Triton that of triton.compile without
its ptxas stage and without the import of Python modules. CPU time is user and system;
on a machine with other work it says more than wall time.
"""

import argparse
import pathlib
import shutil
import statistics
import sys
import tempfile

import gpu_kernels
from decode_work import CHIP, Work
from gpu_kernels import ROOT, Failure

PAGE, ROWS = 64, 8  # of decode.cu


def kvq(kind):
    def compile_once(arguments, folder):
        (folder / "main.mlir").write_text(Work(PAGE, PAGE, ROWS).module(kind))
        return gpu_kernels.compile_kvq(arguments, CHIP, folder)
    return compile_once


def triton(arguments, folder):
    compiled = gpu_kernels.compile_triton(Work(PAGE, PAGE, ROWS).triton(),
                                          gpu_kernels.CHIPS[CHIP], folder)
    return compiled["wall"], compiled["cpu"]


def nvcc(arguments, folder):
    program = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not program:
        return None
    return gpu_kernels.timed([program, "--ptx", f"-arch={CHIP}",
                              ROOT / "benchmarks/decode.cu", "-o", folder / "decode.ptx"])


COMPILERS = {"kvq": kvq("block_scaled, terms = 2"), "kvq portable": kvq("f16"),
             "Triton": triton, "nvcc": nvcc}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin",
                        help="folder of kvq's tools")
    parser.add_argument("--repeat", type=int, default=3,
                        help="compilations, of which the median is told")
    arguments = parser.parse_args()
    if arguments.repeat < 1:
        raise Failure("--repeat must be positive")
    times = {name: [] for name in COMPILERS}
    # In turns, so that other work on the machine meets all alike.
    for _ in range(arguments.repeat):
        for name, compile_once in COMPILERS.items():
            with tempfile.TemporaryDirectory() as folder:
                if found := compile_once(arguments, pathlib.Path(folder)):
                    times[name].append(found)
    print(f"{'to PTX':14} {'wall s':>8} {'/ kvq':>6} {'CPU s':>8} {'/ kvq':>6}")
    first = None
    for name, found in times.items():
        if not found:
            print(f"{name:14} {'not installed':>8}")
            continue
        medians = [statistics.median(column) for column in zip(*found)]
        first = first or medians
        print(f"{name:14}" + "".join(f" {value:8.3f} {value / of:6.1f}"
                                     for value, of in zip(medians, first)))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"compile_time.py: error: {failure}", file=sys.stderr)
        sys.exit(1)
