"""NVIDIA's assembler, which has to accept every kernel where it is there."""

import os
import re
import shutil
import subprocess

PTXAS = os.environ.get("KVQ_PTXAS") or shutil.which("ptxas")


def run_ptxas(ptx, chip):
    """Assembles a file. Returns what ptxas tells of its kernels."""
    done = subprocess.run([PTXAS, f"-arch={chip}", "-v", ptx, "-o", f"{ptx}.cubin"],
                          capture_output=True, text=True, timeout=300)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    return text


def assemble(ptx, chip):
    """The same, where kernels that say how many of their blocks a multiprocessor is to
    have may spill no register."""
    text = run_ptxas(ptx, chip)
    with open(ptx) as file:
        kernels = file.read().split(".entry ")[1:]
    for kernel in kernels:
        if ".minnctapersm" in kernel:
            name = re.match(r"\w+", kernel)[0]
            spilled = re.search(rf"properties for {name}\n.*?(\d+) bytes spill stores",
                                text)
            assert spilled[1] == "0", text
    return text
