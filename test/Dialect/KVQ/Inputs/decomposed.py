"""Compiles what kvq-decompose makes of functions, and calls them with arrays."""
import ctypes
import os
import platform
import sys

import ml_dtypes
import numpy as np

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(TESTS, "Conversion", "Inputs"))
sys.path.insert(0, os.path.join(TESTS, "python"))
import jit
from oracle import cache, formats

# Other lowerings are held to the same tests.
LOWERING = os.environ.get("KVQ_LOWERING", "func.func(kvq-decompose)")
PIPELINE = (f"builtin.module({LOWERING},kvq-expand-handles,"
            "kvq-lower-fp-conversions,kvq-legalize-storage,canonicalize,cse)")
INPUTS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
ELEMENT = {"e2m1": "f4E2M1FN", "e4m3": "f8E4M3FN", "e8m0": "f8E8M0FNU",
           "bf16": "bf16", "f16": "f16"}
X86 = platform.machine() in ("x86_64", "AMD64")
# The processor's modes: FTZ and DAZ are bits 15 and 6 of MXCSR.
MODES = {"default": 0x1f80, **({"ftz": 0x9fc0} if X86 else {})}
SET_MODE = "void set_mode(unsigned m) { __builtin_ia32_ldmxcsr(m); }"


def build(tmp_path, source):
    lowered = jit.run(["kvq-opt", "--pass-pipeline=" + PIPELINE], source)
    assert "kvq." not in lowered
    wrapped = jit.run(["mlir-opt", "-llvm-request-c-wrappers"], lowered)
    return jit.build(wrapped, tmp_path, c_source=SET_MODE if X86 else None)


def call(library, name, *arguments, mode="default"):
    """Calls a function with contiguous arrays, and floats by value in f32."""
    function = getattr(library, "_mlir_ciface_" + name)
    function.restype = None
    converted = []
    for argument in arguments:
        if isinstance(argument, float):
            converted.append(ctypes.c_float(argument))
        else:
            assert argument.flags.c_contiguous
            converted.append(jit.descriptor(argument))
    if X86:
        library.set_mode(MODES[mode])
    function(*converted)
    if X86:
        library.set_mode(MODES["default"])


def stored(fmt, data, scales):
    """Data and scales as arguments: 16-bit elements are not bytes."""
    parts = [data.view("<u2") if fmt.bits == 16 else data]
    return parts + ([scales] if fmt.block else [])


def parts(pool):
    """The arguments that a handle becomes."""
    g = [np.array(pool.g)] if pool.fmt.has_global else []
    return stored(pool.fmt, pool.data, pool.scales) + g


def cache_type(side, pool):
    layout = f", {pool.scale_layout}" if pool.fmt.block else ""
    return (f"!kvq.cache<{side}, {pool.page}x{pool.heads}x{pool.head_dim}, "
            f"{pool.fmt.name}, {pool.kv_layout}{layout}>")


def rows_types(fmt, leading, dim):
    """The memref types of data and scales of rows."""
    types = [f"memref<{leading}x{dim}x{ELEMENT[fmt.element]}>"]
    if fmt.block:
        types.append(f"memref<{leading}x{dim // fmt.block}x{ELEMENT[fmt.scale]}>")
    return types
