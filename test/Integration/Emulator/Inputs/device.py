"""Compiled kernels, launched on the emulator from their signatures.

The emulator's runtime library works on the arrays of this process in place.
KVQ_EMU_SCHEDULE and KVQ_EMU_CHECK say how it runs; a finding ends the process.
"""

import ctypes
import os
import re
import shutil
import subprocess

import numpy as np

BUILD = os.environ["KVQ_BUILD_DIR"]

#: NVIDIA's assembler, which has to accept every kernel where it is there.
PTXAS = shutil.which("ptxas")

def load_runtime():
    library = ctypes.CDLL(os.path.join(BUILD, "lib", "libkvq_emu_runtime.so"))
    for name in ("mgpuModuleLoadJIT", "mgpuModuleGetFunction",
                 "mgpuStreamCreate"):
        getattr(library, name).restype = ctypes.c_void_p
    return library


RUNTIME = load_runtime()


def run_tool(*command):
    done = subprocess.run([os.path.join(BUILD, "bin", command[0]), *command[1:]],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


class Formula:
    """A number of an affine expression; `@` is ceildiv, which binds as `*`."""

    def __init__(self, value):
        self.value = int(value)

    def __add__(self, other):
        return Formula(self.value + other.value)

    def __sub__(self, other):
        return Formula(self.value - other.value)

    def __neg__(self):
        return Formula(-self.value)

    def __mul__(self, other):
        return Formula(self.value * other.value)

    def __floordiv__(self, other):
        return Formula(self.value // other.value)

    def __mod__(self, other):
        return Formula(self.value % other.value)

    def __matmul__(self, other):
        return Formula(-(-self.value // other.value))


class Parameter:
    def __init__(self, text):
        self.fields = dict(re.findall(r'(\w+) = "?([\w.]+)"?', text))
        self.name, self.kind = self.fields["name"], self.fields["kind"]
        self.of = self.fields.get("of")
        self.dim = int(self.fields.get("dim", 0))
        self.is_written = re.search(r"\bwrite\b", text) is not None


class Kernel:
    """One kernel of a module: its name, parameters and launch rules, read from
    the attribute `kvq.kernel` of the lowered kernel."""

    def __init__(self, name, attribute, function):
        self.name, self.function = name, function
        body = re.search(r"parameters = \[(.*?)\](, |\})", attribute).group(1)
        self.parameters = [Parameter(p) for p in re.findall(r"\{(.*?)\}", body)]
        self.block = [int(n) for n in re.search(
            r"block = array<i32: (.*?)>", attribute).group(1).split(", ")]
        symbols, results = re.search(
            r"grid = affine_map<\(\)(?:\[(.*?)\])? -> \((.*?)\)>(?:,|\})",
            attribute).groups()
        self.symbols = symbols.split(", ") if symbols else []
        self.grid = results
        shared = re.search(r"shared = (\d+)", attribute)
        self.shared = int(shared.group(1)) if shared else 0

    def evaluate_grid(self, sizes):
        names = {"N": Formula, **dict(zip(self.symbols, map(Formula, sizes)))}
        text = re.sub(r"\b(\d+)\b", r"N(\1)", self.grid)
        for operator, python in (("ceildiv", "@"), ("floordiv", "//"),
                                 ("mod", "%")):
            text = text.replace(f" {operator} ", f" {python} ")
        return [max(1, f.value) for f in eval(f"({text},)", names)]

    def launch(self, operands, scalars=(), error_word=None, packed=()):
        """Launches with the arrays and numbers of the parameters by name.
        Strides and sizes are those of the arrays; operands in `packed` hold
        two elements in a byte."""
        values, sizes = [], []
        for p in self.parameters:
            if p.kind == "error_word":
                address = 0 if error_word is None else error_word.ctypes.data
                values.append(ctypes.c_uint64(address))
            elif p.kind == "pointer":
                values.append(ctypes.c_uint64(operands[p.name].ctypes.data))
            elif p.kind == "stride":
                values.append(ctypes.c_int64(operands[p.of].strides[p.dim]))
            elif p.kind == "size":
                array = operands[p.of]
                size = array.shape[p.dim]
                if p.of in packed and p.dim == array.ndim - 1:
                    size *= 2
                sizes.append(size)
                values.append(ctypes.c_int32(size))
            else:
                assert p.kind == "scalar", p.kind
                values.append(ctypes.c_float(scalars[p.name]))
        pointers = (ctypes.c_void_p * len(values))(
            *[ctypes.addressof(v) for v in values])
        dims = [ctypes.c_int64(n) for n in
                (*self.evaluate_grid(sizes), *self.block)]
        RUNTIME.mgpuLaunchKernel(
            ctypes.c_void_p(self.function), *dims, ctypes.c_int32(self.shared),
            None, pointers, None, ctypes.c_size_t(len(values)))


class Compiled:
    """The kernels of a module compiled for a chip, in their order."""

    def __init__(self, text, chip, directory):
        source = os.path.join(directory, "module.mlir")
        ptx = os.path.join(directory, "module.ptx")
        with open(source, "w") as file:
            file.write(text)
        lowered = run_tool("kvq-opt", source, f"--kvq-to-nvvm=chip={chip}")
        run_tool("kvq-compile", source, f"--target={chip}", "--emit=ptx", "-o",
                 ptx)
        if PTXAS:
            done = subprocess.run([PTXAS, f"-arch={chip}", ptx, "-o",
                                   os.path.join(directory, "module.cubin")],
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        with open(ptx) as file:
            self.ptx = file.read()
        self._bytes = self.ptx.encode() + b"\0"
        module = RUNTIME.mgpuModuleLoadJIT(self._bytes, 0)
        self.kernels = []
        maps = dict(re.findall(r"^(#\w+) = (affine_map<.*>)$", lowered, re.M))
        lowered = re.sub(r"grid = (#\w+)", lambda m: "grid = " + maps[m[1]],
                         lowered)
        for name, attribute in re.findall(
                r"llvm\.func @(\w+)\(.*?kvq\.kernel = (\{.*?\}), nvvm", lowered):
            function = RUNTIME.mgpuModuleGetFunction(
                ctypes.c_void_p(module), name.encode())
            self.kernels.append(Kernel(name, attribute, function))

    @property
    def only(self):
        assert len(self.kernels) == 1, [k.name for k in self.kernels]
        return self.kernels[0]


class registered:
    """Makes the memory of arrays accessible to the device for a while. What
    they do not cover is out of bounds."""

    def __init__(self, *arrays):
        self.arrays = [a for a in arrays if a is not None and a.size]

    def __enter__(self):
        for array in self.arrays:
            RUNTIME.mgpuMemHostRegister(ctypes.c_void_p(array.ctypes.data),
                                        ctypes.c_uint64(array.nbytes))

    def __exit__(self, *_):
        for array in self.arrays:
            RUNTIME.mgpuMemHostUnregister(ctypes.c_void_p(array.ctypes.data))
