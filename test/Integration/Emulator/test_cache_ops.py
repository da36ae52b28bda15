# RUN: env KVQ_EMU_CHECK=all KVQ_EMU_SCHEDULE=eager %pytest %s
# RUN: env KVQ_EMU_CHECK=all KVQ_EMU_SCHEDULE=lazy %pytest %s -k sm_100a
# RUN: env KVQ_EMU_CHECK=all KVQ_EMU_SCHEDULE=random:1 %pytest %s -k sm_80
# RUN: env KVQ_EMU_CHECK=all KVQ_EMU_SCHEDULE=random:2 %pytest %s -k sm_89
# REQUIRES: python, emulator
"""Kernels of append, quantize_append, gather and copy_pages, against the
oracle. Whole pools are compared, so that what must not be written is too."""

import copy
import itertools
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import device
import programs
from oracle import cache as caches, formats

CASES = [
    # format, page, heads, head_dim, kv_layout, scale_layout, strided, input
    ("nvfp4", 16, 2, 128, "NHD", "linear", False, "bf16"),
    ("nvfp4", 16, 3, 64, "HND", "interleaved_4", True, "f32"),
    ("nvfp4", 128, 1, 64, "NHD", "blocked_128x4", False, "f16"),
    ("nvfp4", 1, 2, 48, "HND", "linear", True, "bf16"),
    ("mxfp4", 4, 2, 128, "HND", "interleaved_4", False, "bf16"),
    ("mxfp8", 8, 3, 96, "NHD", "linear", True, "f16"),
    ("fp8", 16, 2, 128, "HND", None, False, "bf16"),
    ("fp8", 3, 1, 40, "NHD", None, True, "f32"),
    ("bf16", 16, 2, 64, "NHD", None, False, "f32"),
    ("f16", 5, 2, 24, "HND", None, True, "f16"),
]
#: One chip of each set of conversions.
CHIPS = ("sm_80", "sm_89", "sm_100a")
HOWS = ("slots_i32", "slots_i64", "positions", "batch_indices")


def in_turns(*others):
    """Each case, with each of some other values, on one of the chips: with all
    chips where there are as many values. A case has a readable id."""
    turns = []
    for i, case in enumerate(CASES):
        for j, other in enumerate(itertools.product(*others)):
            chip = CHIPS[(i + j) % len(CHIPS)]
            turns.append(pytest.param(
                case, *other, chip,
                id="-".join([case[0], str(case[1]), *other, chip])))
    return turns


POISON = 0xA5


class Pool:
    """A cache of six pages with the arrays that hold its bytes."""

    def __init__(self, case, random=None):
        fmt, page, heads, dim, kv_layout, scale_layout, strided, _ = case
        shape = (page, heads) if kv_layout == "NHD" else (heads, page)
        fmt = formats.FORMATS[fmt]

        def make(width, step):
            # Gaps after rows, and a start that is a multiple of no more than
            # the elements need.
            offset, gap = (step, 2 * step) if strided else (0, 0)
            return programs.padded((6, *shape, width), np.uint8, POISON, offset,
                                   gap)

        self.strided = strided
        self.data, self.data_all = make(fmt.data_bytes(dim),
                                        max(1, fmt.bits // 8))
        self.scales = self.scales_all = None
        if fmt.block:
            self.scales, self.scales_all = make(fmt.num_scales(dim), 1)
        self.g = np.array(0.0107 if fmt.has_global else 1, np.float32)
        if random is not None:
            self.data[...] = random.integers(0, 256, self.data.shape)
            if fmt.block:
                self.scales[...] = random.integers(0, 256, self.scales.shape)
        self.cache = caches.Cache(
            self.data, self.scales, self.g, page=page, heads=heads,
            head_dim=dim, fmt=fmt, kv_layout=kv_layout,
            scale_layout=scale_layout or "linear")

    def arrays(self):
        return [self.data_all, self.scales_all, self.g]

    def operands(self, prefix):
        return {prefix + "data": self.data, prefix + "scales": self.scales,
                prefix + "global_scale": self.g}

    def declare(self, name):
        """(arguments, operation that makes the handle)."""
        cache, fmt = self.cache, self.cache.fmt
        shape = cache.shape(cache.head_dim)

        def type(shape, element):
            layout = ", strided<[?, ?, ?, 1], offset: ?>" if self.strided else ""
            sizes = "x".join(map(str, shape[1:]))
            return f"memref<?x{sizes}x{element}{layout}>"

        data = type(shape, programs.ELEMENTS[fmt.element])
        arguments = [f"%{name}_data: {data}"]
        make = f"%{name} = kvq.make_cache data(%{name}_data : {data})"
        if fmt.block:
            scales = type(cache.shape(cache.num_scales),
                          programs.ELEMENTS[fmt.scale])
            arguments.append(f"%{name}_scales: {scales}")
            make += f" scales(%{name}_scales : {scales})"
        if fmt.has_global:
            arguments.append(f"%{name}_g: memref<f32>")
            make += f" global_scale(%{name}_g : memref<f32>)"
        return arguments, f"{make} : {programs.cache_type(cache)}"


def compare(pool, expected):
    for found, wanted in zip(pool.arrays(), expected.arrays()):
        np.testing.assert_array_equal(found, wanted)


def clone(pool):
    """A pool of the same bytes. (The views are made again over the copies.)"""
    other = copy.copy(pool)

    def move(view, whole):
        start = view.ctypes.data - whole.ctypes.data
        copied = whole.copy()
        return np.ndarray(view.shape, view.dtype, copied, start,
                          view.strides), copied

    other.data, other.data_all = move(pool.data, pool.data_all)
    if pool.scales is not None:
        other.scales, other.scales_all = move(pool.scales, pool.scales_all)
    cache = pool.cache
    other.cache = caches.Cache(
        other.data, other.scales, cache.g, page=cache.page, heads=cache.heads,
        head_dim=cache.head_dim, fmt=cache.fmt, kv_layout=cache.kv_layout,
        scale_layout=cache.scale_layout)
    return other


def compile_op(pools, arguments, op, chip, directory):
    made = [pool.declare(name) for name, pool in pools.items()]
    arguments = [a for args, _ in made for a in args] + arguments
    lines = [text for _, text in made] + [op, "return"]
    body = "\n  ".join(lines)
    return device.Compiled(
        f"func.func @main({', '.join(arguments)}) {{\n  {body}\n}}\n", chip,
        directory).only


def check_error(word, *expected):
    assert tuple(int(n) for n in word) == expected, word


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
