# RUN: %pytest %s
# REQUIRES: python
"""Runs the decomposed operations that write, copy and gather a cache.

Pools are full of bytes that are NaN or garbage, and are compared whole: what
an operation must not write has to stay.
"""
import copy
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from decomposed import (build, cache, cache_type, call, formats, parts,
                        rows_types, stored)

HEADS, DIM = 2, 64
POOLS = [("nvfp4", 8, "NHD", "linear"), ("nvfp4", 4, "HND", "interleaved_4"),
         ("nvfp4", 128, "NHD", "blocked_128x4"), ("mxfp4", 3, "NHD", "linear"),
         ("mxfp8", 1, "HND", "linear"), ("fp8", 5, "HND", None),
         ("bf16", 3, "NHD", None)]


def check(pool, expected):
    np.testing.assert_array_equal(pool.data, expected.data)
    if pool.fmt.block:
        np.testing.assert_array_equal(pool.scales, expected.scales)


@pytest.mark.parametrize("name,page,kv_layout,layout", POOLS)
def test_write_copy_gather(tmp_path, name, page, kv_layout, layout):
    pool = cache.Cache.allocate(5, page=page, heads=HEADS, head_dim=DIM,
                                fmt=name, kv_layout=kv_layout,
                                scale_layout=layout, g=0.0625 if name in (
                                    "nvfp4", "fp8") else 1.0)
    fmt, kind = pool.fmt, cache_type("value", pool)
    rows = rows_types(fmt, f"?x{HEADS}", DIM)
    dense = rows_types(fmt, f"?x?x{HEADS}", DIM)
    names = ["%d", "%s"][:len(rows)]

    def both(types):
        return f"({', '.join(names)} : {', '.join(types)})"

    def arguments(types):
        return ", ".join(f"{n}: {t}" for n, t in zip(names, types))

    x_type = f"memref<?x{HEADS}x{DIM}xf16>"
    library = build(tmp_path, f"""
func.func @append(%c: {kind}, {arguments(rows)}, %slots: memref<?xi64>) {{
  kvq.append ins{both(rows)} into(%c : {kind}) slot_mapping(%slots : memref<?xi64>)
  return
}}
func.func @append_at(%c: {kind}, {arguments(rows)}, %bt: memref<?x?xi32>, %p: memref<?xi32>) {{
  kvq.append ins{both(rows)} into(%c : {kind}) block_table(%bt : memref<?x?xi32>) positions(%p : memref<?xi32>)
  return
}}
func.func @quantize_append(%c: {kind}, %x: {x_type}, %bt: memref<?x?xi32>, %p: memref<?xi32>, %i: memref<?xi32>) {{
  kvq.quantize_append ins(%x : {x_type}) into(%c : {kind})
      block_table(%bt : memref<?x?xi32>) positions(%p : memref<?xi32>) batch_indices(%i : memref<?xi32>)
  return
}}
func.func @copy_pages(%c: {kind}, %i: memref<?xi32>, %j: memref<?xi32>) {{
  kvq.copy_pages from(%c) to(%c) src_pages(%i : memref<?xi32>) dst_pages(%j : memref<?xi32>) : {kind}
  return
}}
func.func @gather(%c: {kind}, %bt: memref<?x?xi32>, %len: memref<?xi32>, {arguments(dense)}) {{
  kvq.gather cache(%c : {kind}) block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>) outs{both(dense)}
  return
}}
""")
    # The second sequence has all rows but the last two, which are the first
    # one's, the last one padding. Other entries of the table are no pages.
    count = 2 * page + 3
    x = np.random.default_rng(4).standard_normal((count, HEADS, DIM))
    x = x.astype(np.float16)
    data, scales = formats.quantize(fmt, x.astype(np.float32), pool.g)
    table = np.full((2, 4), 1 << 30, np.int32)
    table[0, 0], table[1, :3] = 4, [2, 0, 3]
    positions = np.array([*range(count - 2), page - 1, -1], np.int32)
    batch = np.array([1] * (count - 2) + [0, 0], np.int32)
    slots = cache.slots_of_positions(pool, table, positions, batch)

    # By slots, the odd rows padded.
    some = np.where(np.arange(count) % 2, -7, slots)
    expected = copy.deepcopy(pool)
    cache.append(expected, data, scales, some)
    call(library, "append", *parts(pool), *stored(fmt, data, scales), some)
    check(pool, expected)

    # By positions: one row for each sequence, the first one padded.
    cache.append(expected, data[:2], scales[:2], [-1, slots[1]])
    call(library, "append_at", *parts(pool),
         *stored(fmt, data[:2], scales[:2]), table, np.array([-1, 1], np.int32))
    check(pool, expected)

    # Quantized on the way, all rows.
    cache.append(expected, data, scales, slots)
    call(library, "quantize_append", *parts(pool), x, table, positions, batch)
    check(pool, expected)

    lengths = np.array([0, count - 2], np.int32)
    expected_rows = cache.gather(pool, table, lengths, count)
    found = [np.full_like(part, 0x5a) for part in expected_rows]
    call(library, "gather", *parts(pool), table, lengths, *stored(fmt, *found))
    for f, e in zip(found, expected_rows):
        np.testing.assert_array_equal(f, e)
    assert (expected_rows[0][1, :count - 2] == data[:count - 2]).all()

    cache.copy_pages(expected, [3, 2], [1, 4])
    call(library, "copy_pages", *parts(pool), np.array([3, 2], np.int32),
         np.array([1, 4], np.int32))
    check(pool, expected)


def test_four_over_six(tmp_path):
    pool = cache.Cache.allocate(2, page=4, heads=HEADS, head_dim=DIM,
                                fmt="nvfp4", scale_layout="interleaved_4",
                                g=0.03)
    kind, x_type = cache_type("value", pool), f"memref<?x{HEADS}x{DIM}xf32>"
    library = build(tmp_path, f"""
func.func @f(%c: {kind}, %x: {x_type}, %slots: memref<?xi32>) {{
  kvq.quantize_append ins(%x : {x_type}) into(%c : {kind}) slot_mapping(%slots : memref<?xi32>) {{four_over_six}}
  return
}}
""")
    x = np.random.default_rng(5).standard_normal((5, HEADS, DIM))
    x, slots = x.astype(np.float32), np.array([6, 1, -1, 7, 2], np.int32)
    expected, plain = copy.deepcopy(pool), copy.deepcopy(pool)
    cache.quantize_append(expected, x, slots, four_over_six=True)
    cache.quantize_append(plain, x, slots)
    assert (expected.scales != plain.scales).any()
    call(library, "f", *parts(pool), x, slots)
    check(pool, expected)
