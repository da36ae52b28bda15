# RUN: %pytest_in_every_schedule %s
# REQUIRES: python, emulator
"""Kernels of quantize_append with rotary position embeddings, against the
oracle."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import device
import programs
from oracle import cache as caches, formats, rope
from pools import CASES, Pool, check_error, clone, compare, compile_op, in_turns

#: How many pairs of channels of a head of D rotate: all, some that are whole
#: chunks of a thread for many D, and an odd number.
COUNTS = {"all": lambda dim: dim // 2, "quarter": lambda dim: dim // 4,
          "odd": lambda dim: dim // 8 + 1 | 1}
KEYS = [case for case in CASES if case[5] != "interleaved_4"]


@pytest.mark.parametrize("case, style, count, chip",
                         in_turns(rope.STYLES, COUNTS, cases=KEYS))
def test_rope(case, style, count, chip, tmp_path):
    random = np.random.default_rng(case[1])
    pool = Pool(case)
    cache, rows = pool.cache, 7
    heads, dim, strided = cache.heads, cache.head_dim, case[6]
    pairs = COUNTS[count](dim)
    x = programs.values(random, (rows, heads, dim), case[-1])
    angles = random.uniform(0, 7, (rows, pairs)).astype(np.float32)
    special = np.float32([0, -0.0, 1, 1e-40, np.inf, np.nan, 1e30])
    tables = []
    for function in (np.cos, np.sin):
        # Strided tables begin at a multiple of 4 bytes only.
        view, whole = programs.padded(angles.shape, np.float32, 0xFF,
                                      *((1, 3) if strided else ()))
        view[...] = np.where(random.random(angles.shape) < 0.05,
                             random.choice(special, angles.shape),
                             function(angles))
        tables.append((view, whole))
    (cos, cos_all), (sin, sin_all) = tables
    x_type = programs.memref(x.shape, case[-1]).replace(
        "?x?", f"?x{heads}")
    table_type = programs.memref(cos.shape, "f32", strided)
    kernel = compile_op(
        {"k": pool},
        [f"%x: {x_type}", "%slots: memref<?xi32>", f"%cos: {table_type}",
         f"%sin: {table_type}"],
        f"kvq.quantize_append ins(%x : {x_type}) into(%k : "
        f"{programs.cache_type(cache)}) slot_mapping(%slots : memref<?xi32>) "
        f"rope(%cos, %sin : {table_type}, {table_type}) "
        f"{{rope_style = #kvq<rope_style {style}>}}", chip, tmp_path)

    slots = random.permutation(cache.pages * cache.page)[:rows]
    slots = slots.astype(np.int32)
    slots[1:3] = -1
    if cache.pages * cache.page < rows:
        slots = slots[:cache.pages * cache.page]
    expected, word = clone(pool), np.zeros(4, np.int64)
    data, scales = formats.quantize(
        cache.fmt, rope.rotate(programs.widen(x), cos, sin, style), pool.g)
    n = len(slots)
    caches.append(expected.cache, data[:n], scales[:n], slots)
    with device.registered(x, slots, cos_all, sin_all, word, *pool.arrays()):
        kernel.launch({"input": x[:n], "slot_mapping": slots, "cos": cos[:n],
                       "sin": sin[:n], **pool.operands("cache_")},
                      error_word=word)
    compare(pool, expected)
    check_error(word, 0, 0, 0, 0)
