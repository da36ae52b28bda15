"""Launching compiled kernels from their manifest.

    kvq-compile IN.mlir --target=sm_90 --emit=ptx -o K.ptx --manifest=K.json

    emulator = Emulator("libkvq_emu_runtime.so")
    with open("K.ptx") as file:
        program = emulator.load(Manifest.load("K.json"), file.read())
    error = numpy.zeros(4, numpy.int64)
    with emulator.registered(x, data, scales, error):
        program["dequantize_nvfp4"].launch(
            {"output": x, "data": data, "scales": scales},
            {"global_scale": 0.5}, error_word=error)

docs/kernels.md describes the manifest. `Kernel.arguments` and `Kernel.grid` are
all that a launch through another driver needs.
"""

import ctypes
import dataclasses
import json
import os
import re

import numpy as np

#: The schema of manifests that this module reads.
SCHEMA = 1


class ManifestError(ValueError):
    """A manifest, formula or argument that does not fit."""


_TOKEN = re.compile(r"\s*(?:(\d+)|(\w+)|([-+*()]))")
_PRODUCTS = ("*", "ceildiv", "floordiv", "mod")


def _tokens(text):
    tokens, end = [], 0
    text = text.rstrip()
    while end < len(text):
        match = _TOKEN.match(text, end)
        if not match:
            raise ManifestError(f"formula '{text}': unexpected '{text[end:]}'")
        tokens.append(match[0].strip())
        end = match.end()
    return tokens


def evaluate(formula, sizes):
    """The value of a formula of a manifest, with the sizes by name."""
    tokens = _tokens(formula)
    tokens.reverse()

    def fail(expected):
        found = tokens[-1] if tokens else "the end"
        raise ManifestError(
            f"formula '{formula}': expected {expected}, found {found}"
        )

    def factor():
        token = tokens[-1] if tokens else ""
        if token == "(":
            tokens.pop()
            value = total()
            if not tokens or tokens.pop() != ")":
                fail("')'")
            return value
        if token.isdigit():
            return int(tokens.pop())
        if token in sizes:
            return int(sizes[tokens.pop()])
        return fail("a number, a size or '('")

    def product():
        value = factor()
        while tokens and tokens[-1] in _PRODUCTS:
            sign, right = tokens.pop(), factor()
            if sign == "*":
                value *= right
                continue
            if right <= 0:
                raise ManifestError(f"formula '{formula}': {sign} by {right}")
            value = {
                "ceildiv": -(-value // right),
                "floordiv": value // right,
                "mod": value % right,
            }[sign]
        return value

    def total():
        value = product()
        while tokens and tokens[-1] in "+-":
            value += product() if tokens.pop() == "+" else -product()
        return value

    value = total()
    if tokens:
        fail("the end")
    return value


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter; the fields are those of the manifest."""

    name: str
    kind: str
    bytes: int
    alignment: int = 0
    read: bool = False
    written: bool = False
    element: str = ""
    element_bits: int = 0
    shape: tuple = ()
    element_strides: tuple = ()
    of: str = ""
    dimension: int = 0

    def size(self, array, dimension):
        """The size of a dimension of this pointer's array in elements. An
        array may hold other items than elements, bytes for one: its innermost
        dimension counts those."""
        size = array.shape[dimension]
        if dimension == array.ndim - 1:
            return size * array.itemsize * 8 // self.element_bits
        return size

    def check(self, array):
        """Raises ManifestError if the array cannot be this pointer's."""

        def fail(text):
            raise ManifestError(f"'{self.name}': {text}")

        rank = len(self.shape)
        if array.ndim != rank and not (rank == 0 and array.size == 1):
            fail(f"expected {rank} dimensions, found {array.ndim}")
        if self.written and not array.flags.writeable:
            fail("is written, found an array that is read-only")
        if array.size == 0:
            return
        if array.ctypes.data % self.alignment:
            fail(f"expected an address that is a multiple of {self.alignment}")
        for i, (size, stride) in enumerate(zip(self.shape, self.element_strides)):
            found = self.size(array, i)
            if size is not None and size != found:
                fail(f"expected {size} elements in dimension {i}, found {found}")
            if array.shape[i] < 2 or stride is None:
                continue
            step = stride * self.element_bits // 8
            if i == rank - 1 and stride == 1:
                step = array.itemsize
            if step != array.strides[i]:
                fail(
                    f"expected a stride of {step} bytes in dimension {i}, "
                    f"found {array.strides[i]}"
                )


_SCALARS = {"stride": ctypes.c_int64, "size": ctypes.c_int32, "scalar": ctypes.c_float}


class Kernel:
    """A kernel of a manifest. `fields` is its object in the manifest."""

    def __init__(self, fields):
        self.fields = fields
        self.name = fields["name"]
        self.operation = fields["operation"]
        self.block = tuple(fields["block"])
        self.shared_bytes = fields["shared_bytes"]
        self.caches = fields["caches"]
        known = {field.name for field in dataclasses.fields(Parameter)}
        self.parameters = [
            Parameter(**{k: v for k, v in p.items() if k in known})
            for p in fields["parameters"]
        ]
        self._pointers = {p.name: p for p in self.parameters if p.kind == "pointer"}

    def sizes(self, operands):
        """The size parameters by name, from the arrays of the pointers."""
        values = {}
        for p in self.parameters:
            if p.kind == "size":
                values[p.name] = self._pointers[p.of].size(
                    operands[p.of], p.dimension
                )
        return values

    def grid(self, sizes):
        """Blocks along x, y and z."""
        return tuple(max(1, evaluate(f, sizes)) for f in self.fields["grid"])

    def workspace_bytes(self, sizes):
        """Bytes of the workspace, 0 without one."""
        workspace = self.fields.get("workspace")
        return evaluate(workspace["bytes"], sizes) if workspace else 0

    def arguments(self, operands, scalars=(), error_word=None, workspace=None):
        """The arguments as ctypes numbers in the order of the parameters, from
        the arrays of pointers and the f32 by name. Other names are ignored.
        `error_word` is an array of four int64, `workspace` one of bytes."""
        for name, pointer in self._pointers.items():
            if name not in operands:
                raise ManifestError(f"{self.name}: no array for '{name}'")
            pointer.check(operands[name])
        sizes = self.sizes(operands)
        values = []
        for p in self.parameters:
            if p.kind == "pointer":
                values.append(ctypes.c_uint64(operands[p.name].ctypes.data))
            elif p.kind in ("error_word", "workspace"):
                array = error_word if p.kind == "error_word" else workspace
                address = 0 if array is None else array.ctypes.data
                values.append(ctypes.c_uint64(address))
            elif p.kind == "stride":
                values.append(ctypes.c_int64(operands[p.of].strides[p.dimension]))
            elif p.kind == "size":
                if sizes[p.name] >= 2**31:
                    raise ManifestError(f"{self.name}: '{p.name}' is no i32")
                values.append(ctypes.c_int32(sizes[p.name]))
            elif p.kind == "scalar":
                if p.name not in scalars:
                    raise ManifestError(f"{self.name}: no number for '{p.name}'")
                values.append(ctypes.c_float(scalars[p.name]))
            else:
                raise ManifestError(f"{self.name}: parameter of kind '{p.kind}'")
            if ctypes.sizeof(values[-1]) != p.bytes:
                raise ManifestError(f"{self.name}: '{p.name}' has {p.bytes} bytes")
        return values


class Manifest:
    """A manifest; `fields` is the JSON object, `kernels` are in its order."""

    def __init__(self, fields):
        if not isinstance(fields, dict) or fields.get("schema") != SCHEMA:
            found = fields.get("schema") if isinstance(fields, dict) else fields
            raise ManifestError(f"expected schema {SCHEMA}, found {found}")
        self.fields = fields
        self.chip = fields["chip"]
        self.kernels = [Kernel(kernel) for kernel in fields["kernels"]]

    @classmethod
    def load(cls, path):
        """Reads a file. Raises ManifestError."""
        with open(path) as file:
            try:
                fields = json.load(file)
            except ValueError as error:
                raise ManifestError(f"{path}: {error}") from None
        return cls(fields)


class LoadedKernel:
    """A kernel with its function on the emulator."""

    def __init__(self, emulator, kernel, function):
        self.kernel = kernel
        self.name = kernel.name
        self._emulator = emulator
        self._function = function

    def launch(self, operands, scalars=(), error_word=None):
        """Launches with the arrays and numbers of the parameters by name (see
        Kernel.arguments) and waits. All arrays have to be registered; the
        workspace is made for the launch."""
        kernel, library = self.kernel, self._emulator.library
        # Arguments are checked before sizes are taken from them.
        kernel.arguments(operands, scalars, error_word)
        sizes = kernel.sizes(operands)
        workspace = np.zeros(kernel.workspace_bytes(sizes) + 16, np.uint8)
        workspace = workspace[-workspace.ctypes.data % 16 :]
        values = kernel.arguments(operands, scalars, error_word, workspace)
        pointers = (ctypes.c_void_p * len(values))(
            *[ctypes.addressof(v) for v in values]
        )
        dims = [ctypes.c_int64(n) for n in (*kernel.grid(sizes), *kernel.block)]
        with self._emulator.registered(workspace):
            library.mgpuLaunchKernel(
                ctypes.c_void_p(self._function),
                *dims,
                ctypes.c_int32(kernel.shared_bytes),
                None,
                pointers,
                None,
                ctypes.c_size_t(len(values)),
            )


class Program:
    """PTX on the emulator. program[NAME] and program.kernels launch."""

    def __init__(self, emulator, manifest, ptx):
        self._text = ptx.encode() + b"\0"
        module = ctypes.c_void_p(emulator.library.mgpuModuleLoadJIT(self._text, 0))
        self.kernels = [
            LoadedKernel(
                emulator,
                kernel,
                emulator.library.mgpuModuleGetFunction(module, kernel.name.encode()),
            )
            for kernel in manifest.kernels
        ]
        self._by_name = {kernel.name: kernel for kernel in self.kernels}

    def __getitem__(self, name):
        return self._by_name[name]


class Emulator:
    """The runtime library of the emulator, which works on the arrays of this
    process in place. KVQ_EMU_SCHEDULE and KVQ_EMU_CHECK say how it runs; what
    it finds ends the process (docs/emulator.md)."""

    def __init__(self, path=None):
        """`path` is that of libkvq_emu_runtime.so, the value of
        KVQ_EMU_RUNTIME if there is none."""
        path = path or os.environ.get("KVQ_EMU_RUNTIME", "libkvq_emu_runtime.so")
        self.library = ctypes.CDLL(path)
        for name in ("mgpuModuleLoadJIT", "mgpuModuleGetFunction"):
            getattr(self.library, name).restype = ctypes.c_void_p

    def load(self, manifest, ptx):
        """A Program of a manifest and the PTX written with it."""
        return Program(self, manifest, ptx)

    def registered(self, *arrays):
        """A context in which the device may access the memory of arrays. What
        they do not cover is out of bounds."""
        return _Registered(self.library, arrays)


class _Registered:
    def __init__(self, library, arrays):
        self._library = library
        self._arrays = [a for a in arrays if a is not None and a.size]

    def __enter__(self):
        for array in self._arrays:
            self._library.mgpuMemHostRegister(
                ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(array.nbytes)
            )

    def __exit__(self, *_):
        for array in self._arrays:
            self._library.mgpuMemHostUnregister(ctypes.c_void_p(array.ctypes.data))
