"""Compiles kernels when a test runs and launches them with kvq-emu.

Nothing that a compiler prints is kept: PTX lives in a temporary folder for as
long as the process.
"""

import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile

import numpy as np

INPUTS = os.path.dirname(os.path.abspath(__file__))
_scratch = tempfile.mkdtemp(prefix="kvq-emu-test-")
atexit.register(shutil.rmtree, _scratch, True)

NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
CLANG = shutil.which("clang++-22") or shutil.which("clang++")


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@functools.lru_cache(maxsize=None)
def compile_cuda(compiler, source, arch, *flags):
    """Path of the PTX that `compiler` ("nvcc" or "clang") makes of a file."""
    path = os.path.join(INPUTS, source)
    out = os.path.join(
        _scratch,
        re.sub(r"\W+", "_", "-".join((source, compiler, arch) + flags)) + ".ptx",
    )
    if compiler == "nvcc":
        command = [NVCC, "--ptx", f"-arch={arch}", *flags, path, "-o", out]
    else:
        command = [
            CLANG, "-x", "cuda", "--cuda-device-only", "-S", "-fdeclspec",
            f"--cuda-gpu-arch={arch}", "--cuda-path=/nonexistent",
            "-nocudainc", "-nocudalib",
            "-Xclang", "-target-feature", "-Xclang", "+ptx80",
            *(flags or ("-O2",)), path, "-o", out,
        ]  # fmt: skip
    _run(command)
    return out


@functools.lru_cache(maxsize=None)
def compile_llvm(source, arch, *flags):
    """Path of the PTX that llc makes of a file of LLVM IR."""
    path = os.path.join(INPUTS, source)
    out = os.path.join(
        _scratch, re.sub(r"\W+", "_", "-".join((source, arch) + flags)) + ".ptx"
    )
    _run(["llc", "-mtriple=nvptx64", f"-mcpu={arch}", *flags, path, "-o", out])
    return out


def ptx_file(kernel, body, parameters=("u64",) * 4, shared="", target="sm_100a"):
    """Path of a file with one kernel: `body` finds its parameters in %a0, %a1.."""
    kinds = {"u64": "b64", "u32": "b32"}
    text = [
        f".version 8.8\n.target {target}\n.address_size 64\n{shared}",
        f".visible .entry {kernel}(",
        ",\n".join(f".param .{p} p{i}" for i, p in enumerate(parameters)),
        ")\n{\n.reg .pred %p<8>;\n.reg .b32 %r<160>;\n.reg .b64 %rd<32>;",
    ]
    for i, p in enumerate(parameters):
        text.append(f".reg .{kinds[p]} %a{i};\nld.param.{p} %a{i}, [p{i}];")
    text.append(f"{body}\nret;\n}}\n")
    handle, path = tempfile.mkstemp(".ptx", kernel, _scratch)
    with os.fdopen(handle, "w") as file:
        file.write("\n".join(text))
    return path


class Result:
    """What a launch gave: arrays in order of the arguments, text, report."""

    def __init__(self, arrays, stdout, report):
        self.arrays = arrays
        self.stdout = stdout
        self.report = report

    def __getitem__(self, index):
        return self.arrays[index]


def launch(ptx, kernel, grid, block, *arguments, shared=0, cluster=None,
           schedule="eager", check="none", expect_findings=False, extra=()):
    """Runs a kernel. Arrays are in-out; ("u32", 5) and the like are scalars."""

    def text(dims):
        return ",".join(map(str, dims if isinstance(dims, tuple) else (dims,)))

    with tempfile.TemporaryDirectory(dir=_scratch) as folder:
        report = os.path.join(folder, "report.json")
        command = ["kvq-emu", ptx, f"--kernel={kernel}", f"--grid={text(grid)}",
                   f"--block={text(block)}", f"--shared={shared}",
                   f"--schedule={schedule}", f"--check={check}",
                   f"--report={report}", "--max-instructions=200000000",
                   *extra]  # fmt: skip
        if cluster:
            command.append(f"--cluster={text(cluster)}")
        files = []
        for index, argument in enumerate(arguments):
            if isinstance(argument, np.ndarray):
                path = os.path.join(folder, f"{index}.npy")
                np.save(path, argument)
                files.append(path)
                command.append(f"--arg=inout:{path}")
            else:
                files.append(None)
                command.append("--arg=%s:%s" % argument)
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode in (0, 1), f"{command}\n{done.stderr}"
        assert os.path.exists(report), done.stderr
        with open(report) as file:
            contents = json.load(file)
        if not expect_findings:
            assert done.returncode == 0, f"{command}\n{done.stderr}"
        arrays = [np.load(path) if path else None for path in files]
        return Result(arrays, done.stdout, contents)
