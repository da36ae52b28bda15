# RUN: %pytest_in_every_schedule %s
# REQUIRES: python, emulator
"""Kernels of append, quantize_append, gather and copy_pages, against the
oracle. Whole pools are compared, so that what must not be written is too."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import device
import programs
from pools import (CASES, CHIPS, POISON, Pool, check_error, clone, compare, compile_op,
                   in_turns)
from oracle import cache as caches, formats

HOWS = ("slots_i32", "slots_i64", "positions", "batch_indices")


@pytest.mark.parametrize("case, how, chip", in_turns(HOWS))
def test_append(case, how, chip, tmp_path):
    random = np.random.default_rng(case[1])
    pool = Pool(case)
    cache, fmt = pool.cache, pool.cache.fmt
    x, heads, dim = case[-1], cache.heads, cache.head_dim
    capacity = cache.pages * cache.page
    rows = 5
    table = np.array([[4, 2, 9], [0, 5, -7], [3, 1, 1 << 30]], np.int32)
    word = np.zeros(4, np.int64)
    if how.startswith("slots"):
        dtype = np.int32 if how == "slots_i32" else np.int64
        slots = random.permutation(capacity)[:rows].astype(dtype)
        slots[1] = -1
        bad_slots = slots.copy()
        bad_slots[3] = capacity
        error = (3, 3, capacity, capacity)
        t = f"memref<?xi{dtype(0).itemsize * 8}>"
        arguments, addressing = [f"%slots: {t}"], f"slot_mapping(%slots : {t})"
        tables = {"slot_mapping": slots}
        bad_tables = {"slot_mapping": bad_slots}
    else:
        limit = 3 * cache.page
        positions = np.array([0, 2 * cache.page - 1, -1, cache.page, 1],
                             np.int32)
        sequences = np.array([0, 1, 0, 2, 2], np.int32)
        if how == "positions":
            rows, sequences = 3, np.arange(3, dtype=np.int32)
            positions = positions[:3]
        elif cache.page == 1:
            positions[4] = 0
        slots = caches.slots_of_positions(cache, table, positions, sequences)
        t = "memref<?x?xi32>"
        arguments = [f"%bt: {t}", "%pos: memref<?xi32>", "%seq: memref<?xi32>"]
        addressing = f"block_table(%bt : {t}) positions(%pos : memref<?xi32>)"
        tables = {"block_table": table, "positions": positions}
        bad_positions = positions.copy()
        bad_positions[1] = limit
        error = (6, 1, limit, limit)
        bad_tables = dict(tables, positions=bad_positions)
        if how == "batch_indices":
            addressing += " batch_indices(%seq : memref<?xi32>)"
            tables["batch_indices"] = bad_tables["batch_indices"] = sequences
        bad_slots = slots
    x_type = f"memref<?x{heads}x{dim}x{x}>"
    d_type = f"memref<?x{heads}x{dim}x{programs.ELEMENTS[fmt.element]}>"
    values = programs.values(random, (rows, heads, dim), x)
    data, scales = formats.quantize(fmt, programs.widen(values), pool.g)
    row_arguments = [f"%x: {x_type}"]
    fused = f"kvq.quantize_append ins(%x : {x_type})"
    plain_arguments, plain = [f"%d: {d_type}"], f"kvq.append ins(%d : {d_type})"
    if fmt.block:
        s_type = (f"memref<?x{heads}x{cache.num_scales}x"
                  f"{programs.ELEMENTS[fmt.scale]}>")
        plain_arguments.append(f"%s: {s_type}")
        plain = f"kvq.append ins(%d, %s : {d_type}, {s_type})"
    into = f"into(%k : {programs.cache_type(cache)}) {addressing}"
    plain_data = data
    operands = {"input": values, "data": plain_data, "scales": scales}

    for text, inputs in ((fused, row_arguments), (plain, plain_arguments)):
        kernel = compile_op({"k": pool}, inputs + arguments, f"{text} {into}",
                            chip, tmp_path)
        for use, wrong in ((tables, False), (bad_tables, True)):
            target, expected = clone(pool), clone(pool)
            good = np.array(slots)
            if wrong:
                good[error[1]] = -1
                word[:] = 0
            caches.append(expected.cache, data, scales, good)
            with device.registered(values, plain_data, scales, word,
                                   *use.values(), *target.arrays()):
                kernel.launch({**operands, **use, **target.operands("cache_")},
                              error_word=word)
            compare(target, expected)
            check_error(word, *(error if wrong else (0, 0, 0, 0)))
            word[:] = 0


#: head_dims of an even number of blocks, which threads store in pairs where data lies at
#: multiples of 16 bytes, but not where it lies at those of 8, and of an odd number.
BLOCKS = [(dim, strided) for dim in (32, 64, 128, 256) for strided in (False, 8)]
BLOCKS += [(dim, False) for dim in (16, 48, 80)]


@pytest.mark.parametrize("dim, strided, chip", [
    (*case, CHIPS[i % len(CHIPS)]) for i, case in enumerate(BLOCKS)])
def test_blocks(dim, strided, chip, tmp_path):
    """Rows that end within warps, padding among them."""
    pool = Pool(("nvfp4", 4, 3, dim, "NHD", "linear", strided, "f16"))
    random, four = np.random.default_rng(dim), dim in (64, 128)
    cache, rows = pool.cache, 13
    slots = random.permutation(cache.pages * cache.page)[:rows].astype(np.int32)
    slots[[0, 4, 5, 9]] = -1
    x = programs.values(random, (rows, cache.heads, cache.head_dim), "f16")
    x_type = f"memref<?x{cache.heads}x{cache.head_dim}xf16>"
    kernel = compile_op(
        {"k": pool}, [f"%x: {x_type}", "%s: memref<?xi32>"],
        f"kvq.quantize_append ins(%x : {x_type}) into(%k : "
        f"{programs.cache_type(cache)}) slot_mapping(%s : memref<?xi32>)"
        + (" {four_over_six}" if four else ""), chip, tmp_path)
    expected, word = clone(pool), np.zeros(4, np.int64)
    data, scales = formats.quantize(cache.fmt, programs.widen(x), pool.g, four)
    caches.append(expected.cache, data, scales, slots)
    with device.registered(x, slots, word, *pool.arrays()):
        kernel.launch({"input": x, "slot_mapping": slots, **pool.operands("cache_")},
                      error_word=word)
    compare(pool, expected)
    check_error(word, 0, 0, 0, 0)


@pytest.mark.parametrize("chip", ("sm_80", "sm_100a"))
@pytest.mark.parametrize("g", (0.0, -1.0, np.inf, np.nan))
def test_bad_global_scale(g, chip, tmp_path):
    pool = Pool(CASES[0])
    kernel = compile_op(
        {"k": pool}, ["%x: memref<?x2x128xf32>", "%s: memref<?xi32>"],
        "kvq.quantize_append ins(%x : memref<?x2x128xf32>) into(%k : "
        f"{programs.cache_type(pool.cache)}) slot_mapping(%s : memref<?xi32>)",
        chip, tmp_path)
    pool.g[...] = g
    expected = clone(pool)
    x, slots = np.ones((2, 2, 128), np.float32), np.arange(2, dtype=np.int32)
    word = np.zeros(4, np.int64)
    with device.registered(x, slots, word, *pool.arrays()):
        kernel.launch({"input": x, "slot_mapping": slots,
                       **pool.operands("cache_")}, error_word=word)
        # Without an error word nothing is reported.
        kernel.launch({"input": x, "slot_mapping": slots,
                       **pool.operands("cache_")})
    compare(pool, expected)
    check_error(word, 11, 0, int(pool.g.view(np.uint32)), 0)


@pytest.mark.parametrize("case, chip", in_turns())
def test_gather(case, chip, tmp_path):
    random = np.random.default_rng(case[1])
    pool = Pool(case, random)
    cache, fmt = pool.cache, pool.cache.fmt
    page, length = cache.page, 2 * cache.page + 1
    lengths = np.array([0, 1, max(page - 1, 0), page, page + 1, 2 * page],
                       np.int32)
    table = np.full((6, 3), 1 << 30, np.int32)
    for b, n in enumerate(lengths):
        table[b, :-(-n // page)] = random.permutation(6)[:-(-n // page)]
    d = f"memref<?x?x{cache.heads}x{cache.head_dim}x{programs.ELEMENTS[fmt.element]}>"
    outs, arguments = f"%d : {d}", [f"%d: {d}"]
    if fmt.block:
        s = f"memref<?x?x{cache.heads}x{cache.num_scales}x{programs.ELEMENTS[fmt.scale]}>"
        outs, arguments = f"%d, %s : {d}, {s}", [f"%d: {d}", f"%s: {s}"]
    kernel = compile_op(
        {"k": pool}, arguments + ["%bt: memref<?x?xi32>", "%n: memref<?xi32>"],
        f"kvq.gather cache(%k : {programs.cache_type(cache)}) "
        f"block_table(%bt : memref<?x?xi32>) seq_lens(%n : memref<?xi32>) "
        f"outs({outs})", chip, tmp_path)

    def run(table, lengths):
        data = np.full((6, length, cache.heads,
                        fmt.data_bytes(cache.head_dim)), POISON, np.uint8)
        scales = np.full((6, length, cache.heads, cache.num_scales), POISON,
                         np.uint8)
        word = np.zeros(4, np.int64)
        with device.registered(table, lengths, data, scales, word,
                               *pool.arrays()):
            kernel.launch({"block_table": table, "seq_lens": lengths,
                           "data": data, "scales": scales,
                           **pool.operands("cache_")}, error_word=word)
        return data, scales, word

    want, want_scales = caches.gather(cache, table, lengths, length)
    data, scales, word = run(table, lengths)
    np.testing.assert_array_equal(data, want)
    np.testing.assert_array_equal(scales, want_scales)
    check_error(word, 0, 0, 0, 0)

    # A bad page leaves the rows of that page alone, a bad length a sequence.
    bad = table.copy()
    bad[3, 0] = 6
    data, scales, word = run(bad, lengths)
    want[3, :page], want_scales[3, :page] = POISON, POISON
    np.testing.assert_array_equal(data, want)
    np.testing.assert_array_equal(scales, want_scales)
    check_error(word, 1, 3 * 3, 6, 6)
    for wrong, error in ((-1, (2, 3, -1, 3 * page + 1)),
                         (3 * page + 1, (2, 3, 3 * page + 1, 3 * page + 1)),
                         (2 * page + 2, (9, 3, 2 * page + 2, length + 1))):
        if wrong == 2 * page + 2 and wrong > 3 * page:
            continue
        bad_lengths = lengths.copy()
        bad_lengths[3] = wrong
        data, scales, word = run(table, bad_lengths)
        want[3], want_scales[3] = POISON, POISON
        np.testing.assert_array_equal(data, want)
        np.testing.assert_array_equal(scales, want_scales)
        check_error(word, *error)


@pytest.mark.parametrize("case, chip", in_turns())
def test_copy_pages(case, chip, tmp_path):
    random = np.random.default_rng(case[1])
    pool, other = Pool(case, random), Pool(case)
    type = programs.cache_type(pool.cache)
    pages = ["%i: memref<?xi32>", "%j: memref<?xi32>"]
    lists = "src_pages(%i : memref<?xi32>) dst_pages(%j : memref<?xi32>)"
    word = np.zeros(4, np.int64)

    def run(kernel, source, dest, sources, dests):
        i, j = np.array(sources, np.int32), np.array(dests, np.int32)
        word[:] = 0
        arrays = source.arrays() + (dest.arrays() if dest is not source else [])
        with device.registered(i, j, word, *arrays):
            kernel.launch({"src_pages": i, "dst_pages": j,
                           **source.operands("source_"),
                           **dest.operands("dest_")}, error_word=word)

    # Within a pool, and nothing for an empty list.
    kernel = compile_op({"k": pool}, pages,
                        f"kvq.copy_pages from(%k) to(%k) {lists} : {type}",
                        chip, tmp_path)
    expected = clone(pool)
    caches.copy_pages(expected.cache, [4, 0, 4], [1, 5, 2])
    run(kernel, pool, pool, [4, 0, 4], [1, 5, 2])
    compare(pool, expected)
    run(kernel, pool, pool, [], [])
    compare(pool, expected)
    check_error(word, 0, 0, 0, 0)
    for sources, dests, error in (([6], [0], (7, 0, 6, 6)),
                                  ([0], [-1], (7, 0, -1, 6))):
        run(kernel, pool, pool, sources, dests)
        compare(pool, expected)
        check_error(word, *error)

    # From one pool to another, of the same global scale.
    kernel = compile_op({"k": pool, "l": other}, pages,
                        f"kvq.copy_pages from(%k) to(%l) {lists} : {type}",
                        chip, tmp_path)
    expected = clone(other)
    for from_page, to_page in ((3, 0), (1, 4)):
        expected.data[to_page] = pool.data[from_page]
        if pool.scales is not None:
            expected.scales[to_page] = pool.scales[from_page]
    run(kernel, pool, other, [3, 1], [0, 4])
    compare(other, expected)
    check_error(word, 0, 0, 0, 0)
    if pool.cache.fmt.has_global:
        other.g = np.array(2, np.float32)
        expected.g = other.g
        run(kernel, pool, other, [0], [1])
        compare(other, expected)
        check_error(word, 12, 0, int(pool.g.view(np.uint32)),
                    int(other.g.view(np.uint32)))
