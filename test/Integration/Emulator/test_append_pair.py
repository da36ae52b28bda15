# RUN: %pytest_in_every_schedule %s
# REQUIRES: python, emulator
"""One kernel that appends to the key and the value cache of a layer."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import device
import programs
from oracle import cache as caches, formats, rope
from pools import Pool, check_error, clone, compare, compile_op

# Sides with different formats, sizes and types of input, with either one that
# has more threads to do.
LAYERS = {
    "alike": (("nvfp4", 16, 2, 128, "HND", "linear", False, "f16"),
              ("nvfp4", 16, 2, 128, "HND", "interleaved_4", False, "f16")),
    "wide_keys": (("mxfp8", 4, 3, 192, "NHD", "linear", True, "f32"),
                  ("nvfp4", 4, 3, 64, "NHD", "interleaved_4", False, "bf16")),
    "wide_values": (("fp8", 8, 1, 64, "HND", None, False, "bf16"),
                    ("bf16", 8, 1, 256, "NHD", None, True, "f32")),
}


@pytest.mark.parametrize("rotate", (False, True), ids=("plain", "rope"))
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("chip", ("sm_80", "sm_89", "sm_100a"))
def test_layer(chip, layer, rotate, tmp_path):
    random = np.random.default_rng(3)
    pools = dict(zip(("key", "value"), map(Pool, LAYERS[layer])))
    capacity, rows = 6 * pools["key"].cache.page, 40
    slots = np.full(rows, -1, np.int32)
    used = min(rows, capacity) - 3
    slots[:used] = random.permutation(capacity)[:used]
    random.shuffle(slots)
    table_type = f"memref<?x{pools['key'].cache.head_dim // 2}xf32>"
    arguments = ["%slots: memref<?xi32>", f"%cos: {table_type}", f"%sin: {table_type}"]
    ops, operands, inputs = [], {"slot_mapping": slots}, {}
    cos, sin = random.uniform(-1, 1, (2, rows, pools["key"].cache.head_dim // 2))
    cos, sin = cos.astype(np.float32), sin.astype(np.float32)
    for side, pool in pools.items():
        cache, x = pool.cache, pool.input
        type = f"memref<?x{cache.heads}x{cache.head_dim}x{x}>"
        handle = programs.cache_type(cache).replace("cache<key", f"cache<{side}")
        arguments.append(f"%{side}_x: {type}")
        text = (f"kvq.quantize_append ins(%{side}_x : {type}) into(%{side} : {handle}) "
                "slot_mapping(%slots : memref<?xi32>)")
        inputs[side] = programs.values(random, (rows, cache.heads, cache.head_dim), x)
        operands[side + "_input"] = inputs[side]
        operands.update(pool.operands(side + "_cache_"))
        if rotate and side == "key":
            text += f" rope(%cos, %sin : {table_type}, {table_type})"
            operands.update(key_cos=cos, key_sin=sin)
        ops.append(text)
    kernel = compile_op(pools, arguments, "\n  ".join(ops), chip, tmp_path)

    word = np.zeros(4, np.int64)

    def run(slots, error):
        expected = {side: clone(pool) for side, pool in pools.items()}
        good = np.where(slots < capacity, slots, -1)
        for side, pool in expected.items():
            wide = programs.widen(inputs[side])
            if rotate and side == "key":
                wide = rope.rotate(wide, cos, sin)
            data, scales = formats.quantize(pool.cache.fmt, wide, pool.g)
            caches.append(pool.cache, data, scales, good)
        word[:] = 0
        arrays = [a for pool in pools.values() for a in pool.arrays()]
        with device.registered(slots, cos, sin, word, *inputs.values(), *arrays):
            kernel.launch({**operands, "slot_mapping": slots}, error_word=word)
        for side, pool in pools.items():
            compare(pool, expected[side])
        check_error(word, *error)

    run(slots, (0, 0, 0, 0))
    slots[7] = capacity + 1
    run(slots, (3, 7, capacity + 1, capacity))
