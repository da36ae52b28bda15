"""Compiles MLIR to a shared library and calls it with NumPy arrays."""
import ctypes
import os
import shutil
import subprocess

import numpy as np

LOWER_TO_LLVM = [
    "-expand-strided-metadata", "-convert-vector-to-scf", "-lower-affine",
    "-convert-scf-to-cf", "-convert-vector-to-llvm",
    "-finalize-memref-to-llvm", "-convert-to-llvm",
    "-reconcile-unrealized-casts"]


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def build(source, directory, c_source=None):
    """The library of a module whose functions have llvm.emit_c_interface.

    C code may define more functions, or override weak ones of the module.
    """
    llvm = run(["mlir-opt", *LOWER_TO_LLVM], source)
    ir = run(["mlir-translate", "--mlir-to-llvmir"], llvm)
    path = os.path.join(str(directory), "module.so")
    # memref.copy of strided memrefs is a function of MLIR's runtime.
    libraries = os.path.join(
        os.path.dirname(os.path.realpath(shutil.which("mlir-opt"))), "..",
        "lib")
    extra = []
    if c_source is not None:
        c_path = os.path.join(str(directory), "extra.c")
        with open(c_path, "w") as file:
            file.write(c_source)
        extra = ["-x", "c", c_path]
    run([os.environ.get("KVQ_CC", "clang"), "-x", "ir", "-", *extra, "-x",
         "none",
         "-O1", "-Wno-override-module", "-shared", "-fPIC", "-o", path,
         "-L" + libraries, "-Wl,-rpath," + libraries,
         "-lmlir_c_runner_utils"], ir)
    return ctypes.CDLL(path)


def descriptor(array, strides=None, shape=None, offset=0):
    """The strided memref of an array; strides and offset in elements."""
    if strides is None:
        strides = [stride // array.itemsize for stride in array.strides]
    shape = array.shape if shape is None else shape
    return (ctypes.c_int64 * (3 + 2 * len(shape)))(
        array.ctypes.data, array.ctypes.data, offset, *shape, *strides)


def call(library, name, *arguments, result=None):
    """Calls a function with arrays (or descriptors) and integers."""
    function = getattr(library, "_mlir_ciface_" + name)
    function.restype = result
    converted = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            argument = descriptor(argument)
        elif isinstance(argument, int):
            argument = ctypes.c_int64(argument)
        converted.append(argument)
    return function(*converted)
