"""NVIDIA's assembler, which has to accept every kernel where it is there."""

import os
import re
import shutil
import subprocess

PTXAS = os.environ.get("KVQ_PTXAS") or shutil.which("ptxas")


def assemble(ptx, chip):
    """Assembles a file. All kernels have bounds of their blocks, and no thread
    may need more registers than these leave it. Returns what ptxas tells."""
    done = subprocess.run([PTXAS, f"-arch={chip}", "-v", ptx, "-o", f"{ptx}.cubin"],
                          capture_output=True, text=True, timeout=300)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    with open(ptx) as file:
        kernels = file.read().count(".entry ")
    spilled = re.findall(r"(\d+) bytes spill stores", text)
    assert spilled == ["0"] * kernels, text
    return text
