# RUN: env KVQ_EMU_CHECK=all %pytest %s
# REQUIRES: python, emulator
"""Host code that launches kernels through the mgpu functions, on the
emulator."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

HERE = os.path.dirname(__file__)
sys.path.insert(0, os.path.join(HERE, "Inputs"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Conversion", "Inputs"))
import device
import jit
import programs
from oracle import cache as caches

TEXT = """
func.func @main(%x: tensor<?x2x64xbf16>, %k: TYPE, %slots: tensor<?xi32>)
    attributes {llvm.emit_c_interface} {
  kvq.quantize_append ins(%x : tensor<?x2x64xbf16>) into(%k : TYPE)
      slot_mapping(%slots : tensor<?xi32>)
  return
}
"""


def build(text, chip, directory):
    source = os.path.join(directory, "module.mlir")
    with open(source, "w") as file:
        file.write(text)
    lowered = device.run_tool("kvq-opt", source, f"--kvq-to-ptx=chip={chip}")
    ir = jit.run(["mlir-translate", "--mlir-to-llvmir"], lowered)
    path = os.path.join(directory, "module.so")
    library = os.path.join(device.BUILD, "lib")
    jit.run([os.environ.get("KVQ_CC", "clang"), "-x", "ir", "-", "-x", "none",
             "-Wno-override-module", "-shared", "-fPIC", "-o", path,
             "-L" + library, "-Wl,-rpath," + library, "-lkvq_emu_runtime"], ir)
    return ctypes.CDLL(path)


@pytest.mark.parametrize("chip", ("sm_80", "sm_100a"))
def test_status(chip, tmp_path):
    def make():
        return caches.Cache.allocate(4, page=16, heads=2, head_dim=64,
                                     fmt="nvfp4", g=0.01)

    cache, expected = make(), make()
    library = build(TEXT.replace("TYPE", programs.cache_type(cache)), chip,
                    tmp_path)
    random = np.random.default_rng(0)
    x = programs.values(random, (5, 2, 64), "bf16")
    slots = np.array([3, -1, 60, 17, 5], np.int32)
    g = np.array(0.01, np.float32)

    def call(x, slots):
        with device.registered(x, slots, cache.data, cache.scales, g):
            return jit.call(library, "main", x, cache.data, cache.scales, g,
                            slots, result=ctypes.c_int32)

    assert call(x, slots) == 0
    caches.quantize_append(expected, programs.widen(x), slots)
    np.testing.assert_array_equal(cache.data, expected.data)
    np.testing.assert_array_equal(cache.scales, expected.scales)

    # The kernel found a slot out of range, and the host sizes that differ.
    assert call(x, np.array([3, -1, 64, 17, 5], np.int32)) == 3
    before = cache.data.copy(), cache.scales.copy()
    assert call(x[:4].copy(), slots) == 13
    # No row is no work.
    assert call(x[:0].copy(), slots[:0].copy()) == 0
    np.testing.assert_array_equal(cache.data, before[0])
    np.testing.assert_array_equal(cache.scales, before[1])
