"""Compiled kernels, launched on the emulator from their manifest.

The emulator's runtime library works on the arrays of this process in place.
KVQ_EMU_SCHEDULE and KVQ_EMU_CHECK say how it runs; a finding ends the process.
"""

import os
import subprocess

from assembler import PTXAS, assemble
from kvq.manifest import Emulator, Manifest

BUILD = os.environ["KVQ_BUILD_DIR"]

EMULATOR = Emulator(os.path.join(BUILD, "lib", "libkvq_emu_runtime.so"))

#: Makes the memory of arrays accessible to the device for a while. What they
#: do not cover is out of bounds.
registered = EMULATOR.registered


def run_tool(*command):
    done = subprocess.run([os.path.join(BUILD, "bin", command[0]), *command[1:]],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


class Compiled:
    """The kernels of a module compiled for a chip, in their order."""

    def __init__(self, text, chip, directory):
        source, ptx, manifest = (os.path.join(directory, "module." + suffix)
                                 for suffix in ("mlir", "ptx", "json"))
        with open(source, "w") as file:
            file.write(text)
        run_tool("kvq-compile", source, f"--target={chip}", "--emit=ptx", "-o",
                 ptx, f"--manifest={manifest}")
        if PTXAS:
            assemble(ptx, chip)
        with open(ptx) as file:
            self.ptx = file.read()
        self._program = EMULATOR.load(Manifest.load(manifest), self.ptx)
        self.kernels = self._program.kernels

    @property
    def only(self):
        assert len(self.kernels) == 1, [k.name for k in self.kernels]
        return self.kernels[0]
