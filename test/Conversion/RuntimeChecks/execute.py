# RUN: %pytest %s
# REQUIRES: python
"""Runs each check against a plain statement of its rule in Python."""
import ctypes
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Inputs"))
import jit

CHECKS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..",
                      "..", "lib", "Conversion", "RuntimeChecks",
                      "Checks.mlir")
I32S, I64S, ROWS = "!i32s", "!i64s", "!rows"
SCALE = "memref<f32>"
SIGNATURES = {
    "slots_i32": [I32S, "i64"],
    "slots_i64": [I64S, "i64"],
    "block_table": [ROWS, I32S, "i64", "i64"],
    "positions": [I32S, ROWS, "i64", "i64"],
    "positions_batched": [I32S, I32S, ROWS, "i64", "i64"],
    "indptr": [I32S, "i64"],
    "max_len": [I32S, "i64"],
    "kv_chunks": [I32S, "i64", "i64"],
    "pages": [I32S, "i64"],
    "duplicate_pages": [I32S],
    "disjoint_pages": [I32S, I32S],
    "global_scale": [SCALE],
    "same_global_scale": [SCALE, SCALE],
    "size": ["i64", "i64", "i64"],
}
REPORT = """
#include <stdint.h>
static int64_t last[5];
void kvq_report(int32_t kind, int64_t index, int64_t value, int64_t limit) {
  last[0]++; last[1] = kind; last[2] = index; last[3] = value; last[4] = limit;
}
int64_t *last_report(void) { return last; }
"""
(BLOCK_TABLE_PAGE, SEQ_LEN, SLOT, DUPLICATE_SLOT, QO_INDPTR, POSITION, PAGE,
 DUPLICATE_PAGE, GATHER_LENGTH, KV_CHUNKS, GLOBAL_SCALE, SCALES_DIFFER,
 SIZE, BATCH_INDEX) = range(1, 15)


def wrapper(name, types):
    arguments = [f"%a{i}" for i in range(len(types))]
    typed = ", ".join(f"{a}: {t}" for a, t in zip(arguments, types))
    return f"""
func.func @{name}({typed}) -> i32 attributes {{llvm.emit_c_interface}} {{
  %r = call @kvq_check_{name}({", ".join(arguments)}) : ({", ".join(types)}) -> i32
  return %r : i32
}}"""


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    with open(CHECKS) as file:
        source = file.read()
    source += "".join(wrapper(*item) for item in SIGNATURES.items())
    library = jit.build(source, tmp_path_factory.mktemp("checks"), REPORT)
    library.last_report.restype = ctypes.POINTER(ctypes.c_int64)

    def run(name, *arguments):
        """(kind, index, value, limit) of the report, or None."""
        converted, alive = [], []
        for argument, type_ in zip(arguments, SIGNATURES[name]):
            if type_ == "i64":
                converted.append(ctypes.c_int64(int(argument)))
                continue
            dtype = {I64S: np.int64, SCALE: np.float32}.get(type_, np.int32)
            array = np.asarray(argument)
            if array.dtype != dtype:
                array = array.astype(dtype)
            if type_ in (I32S, I64S):
                # Every other element behind an offset of three.
                wide = np.full(2 * len(array) + 3, -77, dtype)
                wide[3::2] = array
                array, memref = wide, jit.descriptor(
                    wide, [2], (len(array),), 3)
            elif type_ == ROWS:
                rows, columns = array.shape
                wide = np.full((rows, columns + 5), -77, dtype)
                wide[:, 2:columns + 2] = array
                array, memref = wide, jit.descriptor(
                    wide, [columns + 5, 1], (rows, columns), 2)
            else:
                memref = jit.descriptor(array)
            alive.append(array)
            converted.append(memref)
        before = [array.copy() for array in alive]
        last = library.last_report()
        last[0] = 0
        status = jit.call(library, name, *converted, result=ctypes.c_int32)
        for array, copy in zip(alive, before):
            assert array.tobytes() == copy.tobytes()
        if status == 0:
            assert last[0] == 0
            return None
        assert last[0] == 1 and last[1] == status
        return tuple(last[i] for i in range(1, 5))

    return run


def first_duplicate(kind, values, skip_negative, limit=None):
    seen = {}
    for i, value in enumerate(values):
        if skip_negative and value < 0:
            continue
        if limit is not None and value >= limit:
            return (SLOT, i, value, limit)
        if value in seen:
            return (kind, i, value, seen[value])
        seen[value] = i
    return None


@pytest.mark.parametrize("name", ["slots_i32", "slots_i64"])
def test_slots(checks, name):
    assert checks(name, [], 0) is None
    assert checks(name, [0], 1) is None
    assert checks(name, [-1, -1, -5, -1], 0) is None
    assert checks(name, [0, 16, 15], 16) == (SLOT, 1, 16, 16)
    assert checks(name, [3, -1, 7, 3, 99], 16) == (DUPLICATE_SLOT, 3, 3, 0)
    assert checks(name, [99, 3, 3], 16) == (SLOT, 0, 99, 16)
    assert checks(name, [2**31 - 1, 5], 2**31) is None
    random = np.random.default_rng(11)
    for n in [1, 2, 3, 5, 16, 17, 100, 1000]:
        for size in [n, 4 * n, 50 * n * n]:
            for _ in range(4):
                slots = [int(s) for s in random.integers(-3, size, n)]
                expected = first_duplicate(DUPLICATE_SLOT, slots, True,
                                           size - 1)
                assert checks(name, slots, size - 1) == expected
            distinct = random.permutation(size)[:n]
            assert checks(name, distinct, size) is None


def test_slots_beyond_32_bits(checks):
    big = 2**40
    assert checks("slots_i64", [big, 0, 2**32], big + 1) is None
    assert checks("slots_i64", [big, 0, big], big + 1) == (
        DUPLICATE_SLOT, 2, big, 0)
    assert checks("slots_i64", [2**63 - 1], 2**63 - 1) == (
        SLOT, 0, 2**63 - 1, 2**63 - 1)


def test_slots_take_linear_time(checks):
    """Keys that a poor hash would send to one place."""
    n = 200000
    for stride in (1, 64, 4096, 2**20):
        slots = np.arange(n, dtype=np.int64) * stride
        assert checks("slots_i64", slots, n * stride) is None
        slots[-1] = slots[0]
        assert checks("slots_i64", slots, n * stride) == (
            DUPLICATE_SLOT, n - 1, 0, 0)


def table_rule(table, lens, page_size, num_pages):
    columns = len(table[0]) if len(table) else 0
    for b, length in enumerate(lens):
        if not 0 <= length <= columns * page_size:
            return (SEQ_LEN, b, length, columns * page_size + 1)
        for j in range(-(-length // page_size)):
            if not 0 <= table[b][j] < num_pages:
                return (BLOCK_TABLE_PAGE, b * columns + j, table[b][j],
                        num_pages)
    return None


def test_block_table(checks):
    table = [[0, 1, -9], [2, 99, 99]]
    for lens in [[0, 0], [8, 4], [5, 3], [9, 4], [8, 5], [-1, 0], [0, -1],
                 [12, 0], [13, 0], [1, 12]]:
        assert checks("block_table", table, lens, 4, 3) == table_rule(
            table, lens, 4, 3)
    assert checks("block_table", np.zeros((0, 3)), [], 4, 3) is None
    assert checks("block_table", np.zeros((2, 0)), [0, 1], 4, 3) == (
        SEQ_LEN, 1, 1, 1)
    random = np.random.default_rng(12)
    for _ in range(300):
        table = random.integers(-1, 12, (3, 4)).tolist()
        lens = random.integers(0, 14, 3).tolist()
        assert checks("block_table", table, lens, 4, 11) == table_rule(
            table, lens, 4, 11)


def positions_rule(positions, batch, table, page_size, num_pages):
    columns = len(table[0])
    seen = {}
    for n, position in enumerate(positions):
        if position < 0:
            continue
        b = batch[n] if batch is not None else n
        if not 0 <= b < len(table):
            return (BATCH_INDEX, n, b, len(table))
        if position >= columns * page_size:
            return (POSITION, n, position, columns * page_size)
        page = table[b][position // page_size]
        if not 0 <= page < num_pages:
            return (BLOCK_TABLE_PAGE, b * columns + position // page_size,
                    page, num_pages)
        slot = page * page_size + position % page_size
        if slot in seen:
            return (DUPLICATE_SLOT, n, slot, seen[slot])
        seen[slot] = n
    return None


def test_positions(checks):
    table = [[0, 1], [2, 7], [1, 3]]
    for positions in [[], [0], [7, 3, -1], [8, 0, 0], [0, 4, 0], [4, 0, 0],
                      [-1, -1, -1, -1], [0, 0, 5, 0]]:
        assert checks("positions", positions, table, 4, 5) == positions_rule(
            positions, None, table, 4, 5)
    random = np.random.default_rng(13)
    for _ in range(500):
        n = int(random.integers(0, 7))
        positions = random.integers(-1, 9, n).tolist()
        batch = random.integers(-1 if _ % 10 == 0 else 0, 3, n).tolist()
        table = random.permutation(8)[:6].reshape(3, 2).tolist()
        assert checks("positions_batched", positions, batch, table, 4,
                      7) == positions_rule(positions, batch, table, 4, 7)
    assert checks("positions_batched", [0], [3], table, 4, 8) == (
        BATCH_INDEX, 0, 3, 3)


def test_indptr(checks):
    def rule(indptr, total):
        before = 0
        for i, value in enumerate(indptr):
            if (value < before or value > total or (i == 0 and value != 0)
                    or (i == len(indptr) - 1 and value != total)):
                return (QO_INDPTR, i, value, total + 1)
            before = value
        return None if indptr else (QO_INDPTR, 0, 0, total + 1)

    for indptr, total in [([0], 0), ([0], 1), ([], 0), ([1], 1), ([0, 3], 3),
                          ([0, 3], 4), ([0, 4], 3), ([0, 2, 1, 3], 3),
                          ([0, 0, 3, 3], 3), ([0, 5, 3], 3), ([-1, 3], 3),
                          ([1, 3], 3), ([0, 1, 2, 2], 3), ([0, -2, 3], 3)]:
        assert checks("indptr", indptr, total) == rule(indptr, total)


def test_max_len(checks):
    assert checks("max_len", [], 0) is None
    assert checks("max_len", [0, 8], 8) is None
    assert checks("max_len", [8, 9, 10], 8) == (GATHER_LENGTH, 1, 9, 9)
    assert checks("max_len", [-1], 8) == (GATHER_LENGTH, 0, -1, 9)


def test_kv_chunks(checks):
    assert checks("kv_chunks", [0, 1, 64], 16, 4) is None
    assert checks("kv_chunks", [64, 65], 16, 4) == (KV_CHUNKS, 1, 5, 5)
    for length in (-1, -15, -16, -17):
        assert checks("kv_chunks", [length], 16, 4) == (
            KV_CHUNKS, 0, length, 5)


def test_pages(checks):
    assert checks("pages", [], 0) is None
    assert checks("pages", [0, 3, 3], 4) is None
    assert checks("pages", [0, 4], 4) == (PAGE, 1, 4, 4)
    assert checks("pages", [0, -1], 4) == (PAGE, 1, -1, 4)


def test_duplicate_pages(checks):
    assert checks("duplicate_pages", []) is None
    assert checks("duplicate_pages", [4, 3, 2, 0]) is None
    assert checks("duplicate_pages", [4, 3, 4, 3]) == (DUPLICATE_PAGE, 2, 4, 0)
    random = np.random.default_rng(14)
    for _ in range(200):
        pages = random.integers(0, 40, int(random.integers(0, 12))).tolist()
        assert checks("duplicate_pages", pages) == first_duplicate(
            DUPLICATE_PAGE, pages, False)


def test_disjoint_pages(checks):
    assert checks("disjoint_pages", [], []) is None
    assert checks("disjoint_pages", [1, 2], []) is None
    assert checks("disjoint_pages", [1, 2], [3, 3]) is None
    assert checks("disjoint_pages", [1, 2], [3, 2, 2]) == (
        DUPLICATE_PAGE, 1, 2, 1)


@pytest.mark.parametrize("bits,good", [
    (0x3F800000, True), (0x00000001, True), (0x007FFFFF, True),
    (0x7F7FFFFF, True), (0x00000000, False), (0x80000000, False),
    (0xBF800000, False), (0x80000001, False), (0x7F800000, False),
    (0xFF800000, False), (0x7FC00000, False), (0x7F800001, False),
    (0xFFFFFFFF, False)])
def test_global_scale(checks, bits, good):
    scale = np.array(bits, np.uint32).view(np.float32)
    expected = None if good else (GLOBAL_SCALE, 0, bits, 0)
    assert checks("global_scale", scale) == expected


def test_same_global_scale(checks):
    one, two = np.float32(1.0), np.float32(2.0)
    assert checks("same_global_scale", one, one) is None
    assert checks("same_global_scale", one, two) == (
        SCALES_DIFFER, 0, 0x3F800000, 0x40000000)


def test_size(checks):
    assert checks("size", 2, 7, 7) is None
    assert checks("size", 2, 7, 8) == (SIZE, 2, 7, 8)
