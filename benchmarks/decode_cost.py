#!/usr/bin/env python3
"""What decode attention for sm_100a costs for each 128 cached tokens of a KV head,
without a GPU: kvq's kernel for tensor cores over caches of nvfp4, mxfp4, fp8 and bf16,
its portable kernel, and two Triton kernels of the same work, nvfp4 (register
dequantization with the hardware's conversions) and bf16.

PTX, as kvq-emu counts: warp instructions, slots of the ALU pipe (integer, logic,
compares, FP8 and FP4 conversions; packs count double), bytes through shared memory
(operands of the tensor cores included; and by passes over its banks, of 128 bytes
each), clocks of the tensor cores, bytes of global memory against those of the cache,
and what bounds the work on a machine of the emulator's model. SASS: instructions and
ALU slots of what ptxas makes (sass_counts.py). All are of the steady loop: those of a
sequence less those of one half as long. Results are compared with NumPy's first.

head_dim 128, f16 queries, one KV head. Needs NumPy, ml_dtypes, Triton and a build of
kvq-compile and kvq-emu; SASS needs ptxas and nvidia-cuda-nvdisasm.
"""

import argparse
import os
import pathlib
import sys
import tempfile

import numpy as np

import ptx_profile
import sass_counts
from decode_work import BYTES_PER_TOKEN, CHIP, TILE, Kernel, TritonKernel, Work
from gpu_kernels import ROOT, Failure

MACHINE = "b200"
PROCESSORS = 148

def roles_of(kernel):
    """Warps of kvq's kernel by role: values that are multiplied as they lie are not
    expanded."""
    load = kernel.threads // 32 - 2
    roles = {"softmax": range(0, 4), "expand V": range(4, load),
             "load": range(load, load + 1), "products": range(load + 1, load + 2)}
    return {role: warps for role, warps in roles.items() if warps}


#: Kernels by name: the cache, and how it is made of a Work.
KERNELS = {
    "kvq": ("nvfp4", lambda work, tools, folder: Kernel(
        work, "block_scaled, terms = 2", tools, folder)),
    "kvq portable": ("nvfp4", lambda work, tools, folder: Kernel(
        work, "f16", tools, folder)),
    "kvq pv = f8": ("nvfp4", lambda work, tools, folder: Kernel(
        work, "block_scaled, terms = 2", tools, folder, pv="f8")),
    "kvq mxfp4": ("mxfp4", lambda work, tools, folder: Kernel(
        work, "block_scaled, terms = 3", tools, folder)),
    "kvq fp8": ("fp8", lambda work, tools, folder: Kernel(work, "f8", tools, folder)),
    "kvq bf16": ("bf16", lambda work, tools, folder: Kernel(work, "bf16", tools, folder)),
    "Triton nvfp4": ("nvfp4", lambda work, tools, folder: TritonKernel(work, folder)),
    "Triton bf16": ("bf16", lambda work, tools, folder: TritonKernel(work, folder)),
}
#: Relative error: rounding of P and the output, of V where it is asked for, and of Q to
#: bf16 or terms.
BOUND = {"kvq": 2e-2, "kvq pv = f8": 6e-2, "kvq mxfp4": 1e-2, "kvq fp8": 2e-3,
         "kvq bf16": 5e-3, "kvq portable": 1e-3, "Triton nvfp4": 1e-3, "Triton bf16": 5e-3}

ROWS = (
    ("instructions", "PTX: warp instructions"),
    ("alu", "ALU slots"),
    ("shared", "shared memory, KiB"),
    ("conflicts", "with bank conflicts"),
    ("tensor", "tensor cores, clocks"),
    ("memory", "global memory / cache"),
    ("clocks", "clocks by the model"),
    ("bound", "bound by"),
    ("share", "share of the memory's rate"),
    ("sass", "SASS: warp instructions"),
    ("sass_alu", "ALU slots"),
    ("registers", "registers"),
    ("spills", "bytes spilled"),
    ("ptx_of_sass", "PTX / SASS"),
)


def run(name, kernel, work):
    """(counters, clocks of the machine by resource)."""
    result, output = kernel.launch(work, extra=(f"--machine={MACHINE}",))
    error = work.error(output)
    if not error <= BOUND[name]:
        raise Failure(f"{name}: error {error:.2e}, expected at most {BOUND[name]:.0e}")
    machine = result.report["machine"]
    clocks = {row["name"]: row["clocks"] for row in machine["resources"]}
    return result.report["counters"], {**clocks, "memory": machine["memoryClocks"]}


def steady_profile(kernel, works, folder):
    """Executions of each line by the work of a tile."""
    text = pathlib.Path(kernel.ptx).read_text()

    def launch(work):
        def of_text(instrumented, counters):
            path = pathlib.Path(folder) / "profiled.ptx"
            path.write_text(instrumented)
            result, _ = kernel.launch(work, ptx=path, more=(counters,))
            return result.arrays[-1]
        return of_text

    whole, half = (ptx_profile.profile(text, kernel.name, kernel.threads, launch(work))
                   for work in works)
    return whole - half


def is_for_tensor_cores(counters):
    return any(form["family"] == "tcgen05" for form in counters["tensor"])


def measure(name, page, rows, tokens, tools, folder, sass=True):
    """The rows of the table, and those of each role as (name, instructions and ALU
    slots of PTX, the same of SASS if asked for)."""
    cache, make = KERNELS[name]
    works = [Work(n, page, rows, cache) for n in (tokens, tokens // 2)]
    tiles = (tokens - tokens // 2) / TILE
    kernel = make(works[0], tools, folder)
    (counters, clocks), (fewer, fewer_clocks) = (run(name, kernel, work) for work in works)
    is_native = name.startswith("kvq") and name != "kvq portable"
    if is_native and not is_for_tensor_cores(counters):
        raise Failure("this compiler has no tensor-core kernel for the work")

    def per_tile(of):
        return (of(counters) - of(fewer)) / tiles

    def issued(counts):
        return sum(counts["warpInstructions"].values())

    def alu_slots(counts):
        return counts["pipes"]["alu"] + 2 * counts["pipes"]["alu-pack"]

    # The model spreads the work over all processors.
    busy = {resource: (clocks[resource] - fewer_clocks[resource]) * PROCESSORS / tiles
            for resource in clocks}
    bound = max(busy, key=busy.get)
    memory = per_tile(lambda c: c["distinctReadBytes"] + c["distinctWriteBytes"])
    found = {
        "instructions": per_tile(issued), "alu": per_tile(alu_slots),
        "shared": per_tile(lambda c: c["sharedReadBytes"] + c["sharedWriteBytes"]
                           + c["tensorSharedBytes"]) / 1024,
        "conflicts": per_tile(lambda c: 128 * c["sharedWavefronts"]
                              + c["tensorSharedBytes"]) / 1024,
        "tensor": busy["tensor cores"],
        "memory": memory / (TILE * BYTES_PER_TOKEN[cache]),
        "clocks": busy[bound], "bound": bound, "share": busy["memory"] / busy[bound],
    }
    roles = []
    for role, warps in roles_of(kernel).items() if is_for_tensor_cores(counters) else ():
        roles.append([role, *(per_tile(lambda c: sum(of(c["warps"][w]) for w in warps))
                              for of in (issued, alu_slots))])
    if not sass:
        return found, roles
    try:
        sass = sass_counts.Sass(kernel.ptx, kernel.name, CHIP, folder)
    except sass_counts.Unavailable as problem:
        print(f"decode_cost.py: no counts of SASS: {problem}", file=sys.stderr)
        return found, roles
    profile = steady_profile(kernel, works, folder)
    counts = sass.executed(profile)
    for problem in sass_counts.disagreements(
            counts, pathlib.Path(kernel.ptx).read_text(), profile):
        print(f"decode_cost.py: {name}: SASS is not counted right: {problem}",
              file=sys.stderr)
    found["sass"] = sum(counts.values()) / tiles
    found["sass_alu"] = sass_counts.alu_slots(counts) / tiles
    found["registers"], found["spills"] = sass.registers, sass.spills
    found["ptx_of_sass"] = found["instructions"] / found["sass"]
    for role in roles:
        counts = sass.executed(profile.of_warps(roles_of(kernel)[role[0]]))
        role += [sum(counts.values()) / tiles, sass_counts.alu_slots(counts) / tiles]
    return found, roles


def formatted(value):
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if value == int(value) or value >= 100 else f"{value:.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin",
                        help="folder of kvq's tools")
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--pages", default="64,16")
    parser.add_argument("--rows", default="8,16", help="query heads of the KV head")
    parser.add_argument("--kernels", default=",".join(KERNELS))
    arguments = parser.parse_args()
    names = arguments.kernels.split(",")
    for name in names:
        if name not in KERNELS:
            raise Failure(f"kernel {name}, expected one of {', '.join(KERNELS)}")
    if arguments.tokens < 4 * TILE or arguments.tokens % (2 * TILE):
        raise Failure(f"--tokens {arguments.tokens}, expected a multiple of {2 * TILE}")
    os.environ["PATH"] = f"{arguments.bin.resolve()}:{os.environ['PATH']}"

    for page in map(int, arguments.pages.split(",")):
        for rows in map(int, arguments.rows.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                found = {name: measure(name, page, rows, arguments.tokens,
                                       arguments.bin, folder) for name in names}
            print(f"\n{rows} query rows, pages of {page} tokens, {arguments.tokens} tokens, "
                  f"{MACHINE}: a tile of {TILE} tokens")
            print(f"{'':28}" + "".join(f"{name:>14}" for name in names)
                  + "".join(f"{f'{name} / {names[0]}':>20}" for name in names[1:]))
            for key, title in ROWS:
                values = [found[name][0].get(key) for name in names]
                if None in values:
                    continue
                line = f"{title:28}" + "".join(f"{formatted(v):>14}" for v in values)
                if key in ("instructions", "alu", "shared", "conflicts", "tensor", "clocks",
                           "sass", "sass_alu"):
                    line += "".join(f"{v / values[0] if values[0] else np.nan:>20.2f}"
                                    for v in values[1:])
                print(line)
            for name in names:
                for role, *values in found[name][1]:
                    print(f"{name}, {role}: "
                          + ", ".join(f"{kind} {formatted(value)}" for kind, value in zip(
                              ("PTX", "ALU", "SASS", "ALU"), values)), flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"decode_cost.py: error: {failure}", file=sys.stderr)
        sys.exit(1)
