#!/usr/bin/env python3
"""Append and attend over a quantized cache, on the attention of a real model.

  run.py [STEP...]      STEP: prefill, decode (default: both)

For each step and format, kvq-run compiles step.mlir, appends the captured K and V
to an empty paged cache and attends; compare.py then prints the size of the cache
and the error of the output. Options say which kvq-run to call, and where it runs:
with --target=emu in GPU kernels for --chip, on the emulator, with all its checks
unless KVQ_EMU_CHECK says otherwise.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "data"
FORMATS = ["bf16", "fp8", "nvfp4", "mxfp4"]


def make_pools(folder, name, pages, meta):
    """Writes empty pools of a format; returns kvq-run's cache arguments.

    The bytes are 0xFF: NaN where a format has one. Nothing of them may show.
    """
    heads, page, dim = meta["kv_heads"], meta["page_size"], meta["head_dim"]
    rows = (pages, heads, page)
    arguments = []
    for side in "kv":
        files = []
        if name == "bf16":
            files.append(("data", np.full(rows + (dim,), 0xFFFF, np.uint16)))
        elif name == "fp8":
            files.append(("data", np.full(rows + (dim,), 0xFF, np.uint8)))
        else:
            block = {"nvfp4": 16, "mxfp4": 32}[name]
            files.append(("data", np.full(rows + (dim // 2,), 0xFF, np.uint8)))
            files.append(
                ("scales", np.full(rows + (dim // block,), 0xFF, np.uint8))
            )
        for part, array in files:
            path = folder / f"{side}_{part}_{name}.npy"
            np.save(path, array)
            arguments.append(f"--arg={path}")
        if name in ("fp8", "nvfp4"):
            arguments.append(f"--arg={DATA / f'{side}_global_{name}.npy'}")
    return arguments


def run_step(step, kvq_run, flags, folder, meta):
    inputs = ["q", "k", "v", "slot_mapping", "block_table", "seq_lens"]
    inputs.append("qo_indptr")
    for name in FORMATS:
        command = [kvq_run, str(HERE / "step.mlir"), f"--entry={name}"]
        command += flags
        command += [f"--arg={DATA / f'{step}_{part}.npy'}" for part in inputs]
        command.append(f"--arg={meta['scale']}")
        pages = meta["steps"][step]["pages"]
        command += make_pools(folder, name, pages, meta)
        command.append(f"--result={folder / f'out_{name}.npy'}")
        print(f"   {step}: {name}", file=sys.stderr)
        subprocess.run(command, check=True)
    subprocess.run(
        [sys.executable, str(HERE / "compare.py"), step, str(folder)],
        check=True,
    )


def emit_ptx(kvq_run, chip, file):
    """Compiles the step with the kvq-compile that is beside kvq-run."""
    kvq_compile = pathlib.Path(kvq_run).with_name("kvq-compile")
    command = [kvq_compile, HERE / "step.mlir", f"--target={chip}", "--emit=ptx"]
    done = subprocess.run([*command, "-o", file])
    if done.returncode:
        sys.exit(f"error: {kvq_compile} exited {done.returncode}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("steps", nargs="*", metavar="STEP")
    parser.add_argument("--kvq-run", default=shutil.which("kvq-run"))
    parser.add_argument(
        "--target",
        default="cpu",
        choices=["cpu", "cpu-reference", "emu", "cuda"],
    )
    parser.add_argument(
        "--chip", default="sm_100a", help="of the kernels (default: sm_100a)"
    )
    parser.add_argument(
        "--ptx", metavar="FILE", help="write the kernels of all formats as PTX"
    )
    arguments = parser.parse_args()
    if not arguments.kvq_run:
        parser.error("kvq-run is not on the PATH; name it with --kvq-run")
    steps = arguments.steps or ["prefill", "decode"]
    with open(DATA / "metadata.json") as file:
        meta = json.load(file)
    for step in steps:
        if step not in meta["steps"]:
            parser.error(
                f"unknown step '{step}', expected one of "
                + ", ".join(meta["steps"])
            )
    flags = [f"--target={arguments.target}"]
    if arguments.target in ("emu", "cuda"):
        flags.append(f"--chip={arguments.chip}")
        os.environ.setdefault("KVQ_EMU_CHECK", "all")
    if arguments.ptx:
        emit_ptx(arguments.kvq_run, arguments.chip, arguments.ptx)
    for step in steps:
        with tempfile.TemporaryDirectory() as folder:
            try:
                run_step(
                    step,
                    arguments.kvq_run,
                    flags,
                    pathlib.Path(folder),
                    meta,
                )
            except subprocess.CalledProcessError as error:
                sys.exit(f"error: {error.cmd[0]} exited {error.returncode}")


if __name__ == "__main__":
    main()
