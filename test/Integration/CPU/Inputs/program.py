"""Functions in MLIR with their arguments, and how kvq-run runs them."""

import os
import re
import subprocess

import ml_dtypes
import numpy as np

RUN = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-run")
TARGETS = ("cpu-reference", "cpu")

#: NumPy types of MLIR's, as kvq-run writes them.
DTYPES = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "i1": np.dtype(np.bool_),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "i8": np.dtype(np.uint8),
    "f4E2M1FN": np.dtype(np.uint8),
    "f8E4M3FN": np.dtype(np.uint8),
    "f8E8M0FNU": np.dtype(np.uint8),
}


def shaped(kind, shape, element, layout=""):
    """A type such as memref<?x8x128xf32>; None is a dynamic size."""
    sizes = "".join(f"{'?' if n is None else n}x" for n in shape)
    return f"{kind}<{sizes}{element}{layout}>"


def logical_shape(array, element):
    """The sizes in elements of an array that holds them as kvq-run takes
    them."""
    if element != "f4E2M1FN":
        return array.shape
    return (*array.shape[:-1], array.shape[-1] * 2)


class Program:
    """A function @main under construction. Values are named as in the text,
    with their '%'."""

    def __init__(self):
        self.arguments = []
        self.body = []
        self.results = []
        self.functions = []
        self._count = 0

    def value(self, hint="v"):
        self._count += 1
        return f"%{hint}{self._count}"

    def emit(self, text):
        self.body.append(text)

    def define(self, hint, text):
        """Emits an operation with one result and returns it."""
        value = self.value(hint)
        self.emit(f"{value} = {text}")
        return value

    def argument(self, hint, type, array, save=False):
        """Adds an argument: an array or, for scalars, a number. A memref with
        `save` is read back after the call."""
        value = self.value(hint)
        self.arguments.append((value, type, array, save))
        return value

    def array(self, hint, kind, element, array, dynamic=False, save=False):
        """Adds a tensor or memref argument with the shape of an array; returns
        (value, type)."""
        shape = logical_shape(array, element)
        if dynamic is True:
            dynamic = range(len(shape))
        shape = [None if dynamic and i in dynamic else n
                 for i, n in enumerate(shape)]
        type = shaped(kind, shape, element)
        return self.argument(hint, type, array, save), type

    def outs(self, hint, kind, element, shape, dynamic=()):
        """A place for a result of a destination-style operation: an argument
        that holds NaN patterns. For a memref the result is what it holds after
        the call; for a tensor, `result` has to be called with what the
        operation returns."""
        stored = shape
        if element == "f4E2M1FN":
            stored = (*shape[:-1], shape[-1] // 2)
        dtype = DTYPES[element]
        array = np.full(stored, 0xFF, np.uint8).astype(dtype)
        if element == "bf16":
            array = np.full(stored, 0xFFFF, np.uint16)
        elif dtype.itemsize > 1:
            array = np.full(stored, np.nan, dtype)
        return self.array(hint, kind, element, array, dynamic, kind == "memref")

    def result(self, value, type):
        self.results.append((value, type))

    def text(self):
        arguments = ", ".join(f"{v}: {t}" for v, t, _, _ in self.arguments)
        values = ", ".join(v for v, _ in self.results)
        types = ", ".join(t for _, t in self.results)
        lines = [*self.functions, f"func.func @main({arguments}) -> ({types}) {{"]
        lines += [f"  {line}" for line in self.body]
        lines += [f"  return {values} : {types}" if values else "  return", "}", ""]
        return "\n".join(lines)

    def _call(self, target, directory, flags):
        """Runs kvq-run. Returns (process, files of outputs by value)."""
        os.makedirs(directory, exist_ok=True)

        def path(name):
            return os.path.join(directory, name)

        with open(path("main.mlir"), "w") as file:
            file.write(self.text())
        command = [RUN, path("main.mlir"), "--entry=main", f"--target={target}"]
        outputs = {}
        for i, (value, type, array, save) in enumerate(self.arguments):
            if isinstance(array, np.ndarray):
                np.save(path(f"arg{i}.npy"), array)
                array = path(f"arg{i}.npy")
            command.append(f"--arg={array}")
            if save:
                outputs[value] = path(f"save{i}.npy")
                command.append(f"--save={i}:{outputs[value]}")
        for i, (value, _) in enumerate(self.results):
            outputs[value] = path(f"result{i}.npy")
            command.append(f"--result={outputs[value]}")
        for file in outputs.values():
            if os.path.exists(file):
                os.remove(file)
        done = subprocess.run([*command, *flags], capture_output=True, text=True,
                              timeout=300)
        return done, outputs

    def run(self, target, directory, flags=()):
        """Returns the results and the saved memrefs by value."""
        done, outputs = self._call(target, directory, flags)
        assert done.returncode == 0, f"{done.stderr}\n{self.text()}"
        assert done.stderr == "", done.stderr
        types = {value: type for value, type, _, _ in self.arguments}
        types.update(self.results)
        arrays = {}
        for value, file in outputs.items():
            array = np.load(file)
            element = re.match(r"\w+<(?:[\d?]+x)*(\w+)", types[value]).group(1)
            if array.dtype.kind == "V" or array.dtype == np.uint16:
                array = array.view(DTYPES[element])
            arrays[value] = array
        return arrays

    def fail(self, target, directory, flags=()):
        """Runs what must fail: returns what it prints. No file is written."""
        done, outputs = self._call(target, directory, flags)
        assert done.returncode == 1, (done, self.text())
        written = [file for file in outputs.values() if os.path.exists(file)]
        assert not written, written
        assert done.stdout == ""
        return done.stderr
