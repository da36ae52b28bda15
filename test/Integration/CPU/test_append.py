# RUN: %pytest %s
# REQUIRES: python
"""Every byte of a cache after the operations that write it: those of the oracle
in the written slots, and what was there before everywhere else."""

import itertools
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from compare import rounded
from oracle import cache as caches
from oracle import formats, rope
from pairs import all_pairs
from placement import ELEMENTS, PLACEMENTS, Placed, as_elements
from program import TARGETS, Program

DOMAINS = {
    "page": (1, 3, 4, 16, 128, 256),
    "format": tuple(formats.FORMATS),
    "scale_layout": caches.SCALE_LAYOUTS,
    "head_dim": (16, 64, 80, 128, 576),
    "side": ("key", "value"),
    "op": ("append", "quantize_append", "four_over_six"),
    # A style, and the pairs of channels that rotate: all that there are, half
    # of them, or a number that is odd.
    "rope": (None, *itertools.product(rope.STYLES, ("all", "half", "odd"))),
    "addressing": ("i32", "i64", "positions", "batch_indices"),
    "input": ("f32", "f16", "bf16"),
    "kv_layout": caches.KV_LAYOUTS,
    "heads": (1, 3),
    "rows": ("one", "many", "padding", "none"),
    "placement": PLACEMENTS,
    "kind": ("tensor", "memref"),
    "dynamic": (False, True),
}


def is_legal(case):
    page, fmt = case.get("page"), formats.FORMATS.get(case.get("format"))
    layout, dim = case.get("scale_layout", "linear"), case.get("head_dim")
    if layout == "interleaved_4" and case.get("side") == "key":
        return False
    if layout == "interleaved_4" and page and page % 4:
        return False
    if layout == "blocked_128x4" and page and page % 128:
        return False
    if case.get("rope") and (case.get("side") == "value"
                             or case.get("op") == "append"):
        return False
    if fmt and layout != "linear" and not fmt.block:
        return False
    if fmt and fmt.block and dim:
        if dim % fmt.block or layout != "linear" and dim // fmt.block % 4:
            return False
    return case.get("op") != "four_over_six" or not fmt or fmt.name == "nvfp4"


CASES = all_pairs(DOMAINS, is_legal, seed=2)


def values_of_all_kinds(random, shape):
    """Normal values whose blocks differ in magnitude, among them ties, zeros of
    both signs, subnormals, infinities, NaN, and blocks that are zero or
    underflow."""
    x = random.standard_normal(shape).astype(np.float32)
    blocks = (*shape[:-1], shape[-1] // 16)
    x *= np.repeat(2.0 ** random.integers(-6, 7, blocks), 16, -1).astype("f")
    # Exactly on a tie of E2M1 or E4M3 where the scale is a power of two.
    ties = random.choice(np.float32([0.25, 0.75, 1.25, 2.5, 5, 6, 17, 448]), shape)
    x = np.where(random.random(shape) < 0.2, ties, x)
    special = np.float32([0, -0.0, 1e-40, -1e-40, np.inf, -np.inf, np.nan, 3e38])
    x = np.where(random.random(shape) < 0.02, random.choice(special, shape), x)
    whole = np.repeat(random.integers(0, 10, blocks), 16, -1)
    x = np.where(whole == 0, np.copysign(np.float32(0), x), x)
    return np.where(whole == 1, x * np.float32(1e-36), x).astype(np.float32)


def rope_tables(random, rows, pairs):
    """Cosines and sines, among them zeros, a subnormal and what is no cosine."""
    angles = random.uniform(0, 7, (rows, pairs)).astype(np.float32)
    special = np.float32([0, -0.0, 1, -1, 1e-40, np.inf, np.nan, 1e30])
    return [np.where(random.random(angles.shape) < 0.03,
                     random.choice(special, angles.shape), function(angles))
            for function in (np.cos, np.sin)]


class Written:
    """A case: a cache filled with random bytes, rows, and where they go."""

    def __init__(self, config, seed):
        self.config = config
        random = np.random.default_rng([seed, 2])
        fmt = formats.FORMATS[config["format"]]
        pages = 4 if config["page"] > 4 else 7
        shape = dict(page=config["page"], heads=config["heads"],
                     head_dim=config["head_dim"], kv_layout=config["kv_layout"],
                     scale_layout=config["scale_layout"])
        g = 0.0107 if fmt.has_global else 1.0
        cache = caches.Cache.allocate(pages, fmt=fmt, g=g, **shape)
        cache.data[...] = random.integers(0, 256, cache.data.shape)
        if fmt.block:
            cache.scales[...] = random.integers(0, 256, cache.scales.shape)
        self.placed = Placed({config["side"]: cache}, config["placement"], random,
                             config["dynamic"])
        self.cache = self.placed.caches[config["side"]]

        capacity = pages * cache.page
        n = {"one": 1, "many": 6, "padding": 6, "none": 0}[config["rows"]]
        self.rows = rounded(
            values_of_all_kinds(random, (n, cache.heads, cache.head_dim)),
            config["input"])
        slots = random.choice(capacity, n, replace=False).astype(np.int64)
        # The first and the last slot of the pool.
        if n > 1:
            slots[:2] = [s for s in (0, capacity - 1)]
            slots[2:] = random.choice(np.arange(1, capacity - 1), n - 2, False)
        self.padding = np.zeros(n, bool)
        if config["rows"] == "padding":
            self.padding[[1, 4]] = True
        self.slots = np.where(self.padding, [-1, -7, -(2**31), -2, -3, -1][:n], slots)
        self.set_positions(random)
        self.tables = None
        if config["rope"]:
            pairs = {"all": cache.head_dim // 2, "half": cache.head_dim // 4,
                     "odd": cache.head_dim // 8 + 1 | 1}[config["rope"][1]]
            self.tables = rope_tables(random, n, pairs)

    def set_positions(self, random):
        """A table, positions and sequences that lead to the same slots."""
        page, pages, n = self.cache.page, self.cache.pages, len(self.slots)
        batched = self.config["addressing"] == "batch_indices"
        sequences = 3 if batched else n
        table = np.full((sequences, n + pages), 2**31 - 1, np.int32)
        self.batch_indices = (random.integers(0, sequences, n) if batched
                              else np.arange(n)).astype(np.int32)
        self.positions = np.full(n, -1, np.int32)
        columns = {}
        for row in range(n):
            if self.padding[row]:  # neither is read
                self.positions[row] = -1 - row
                if batched:
                    self.batch_indices[row] = -5
                continue
            sequence = self.batch_indices[row]
            page_id = self.slots[row] // page
            taken = columns.setdefault(sequence, {})
            column = taken.setdefault(page_id, len(taken))
            table[sequence, column] = page_id
            self.positions[row] = column * page + self.slots[row] % page
        self.table = table

    def program(self):
        config, p = self.config, Program()
        kind, dynamic = config["kind"], config["dynamic"]
        handle, type = self.placed.emit(p)[config["side"]]
        first = {0} if dynamic else ()
        if config["op"] == "append":
            data, scales = self.quantized()
            fmt = self.cache.fmt
            element = ELEMENTS[fmt.element]
            parts = [p.array("data", kind, element, as_elements(data, element), first)]
            if fmt.block:
                parts.append(p.array("scales", kind, ELEMENTS[fmt.scale], scales, first))
            name = "append"
        else:
            parts = [p.array("x", kind, config["input"], self.rows, first)]
            name = "quantize_append"
        values, types = zip(*parts)
        text = f"kvq.{name} ins({', '.join(values)} : {', '.join(types)}) " \
               f"into({handle} : {type})"
        for operand, array in self.addressing():
            element = "i64" if array.dtype == np.int64 else "i32"
            value, type = p.array(operand, kind, element, array, dynamic)
            text += f" {operand}({value} : {type})"
        attributes = ["four_over_six"] if config["op"] == "four_over_six" else []
        if self.tables:
            (cos, cos_type), (sin, sin_type) = (
                p.array(name, kind, "f32", table, first)
                for name, table in zip(("cos", "sin"), self.tables))
            text += f" rope({cos}, {sin} : {cos_type}, {sin_type})"
            attributes.append(f"rope_style = #kvq<rope_style {config['rope'][0]}>")
        if attributes:
            text += f" {{{', '.join(attributes)}}}"
        p.emit(text)
        return p

    def addressing(self):
        how = self.config["addressing"]
        if how in ("i32", "i64"):
            slots = self.slots.astype(np.int32 if how == "i32" else np.int64)
            return [("slot_mapping", slots)]
        operands = [("block_table", self.table), ("positions", self.positions)]
        if how == "batch_indices":
            operands.append(("batch_indices", self.batch_indices))
        return operands

    def quantized(self):
        rows = self.rows.astype(np.float32)
        if self.tables:
            rows = rope.rotate(rows, *self.tables, self.config["rope"][0])
        return formats.quantize(self.cache.fmt, rows, self.cache.g,
                                self.config["op"] == "four_over_six")

    def write(self):
        """The oracle's write, into the pools."""
        data, scales = self.quantized()
        slots = self.slots
        if self.config["addressing"] in ("positions", "batch_indices"):
            slots = caches.slots_of_positions(
                self.cache, self.table, self.positions, self.batch_indices)
            np.testing.assert_array_equal(slots < 0, self.padding)
            np.testing.assert_array_equal(slots[slots >= 0], self.slots[slots >= 0])
        caches.append(self.cache, data, scales, slots)


@pytest.mark.parametrize("index", range(len(CASES)),
                         ids=["-".join(map(str, c.values())) for c in CASES]
                         .__getitem__)
def test_pairs(index, tmp_path):
    case = Written(CASES[index], index)
    p = case.program()
    found = {target: p.run(target, tmp_path) for target in TARGETS}
    before = [pool.copy() for pool in case.placed.pools]
    case.write()
    if len(case.slots) > case.padding.sum():
        assert any((pool != old).any()
                   for pool, old in zip(case.placed.pools, before))
    for target in TARGETS:
        case.placed.check(found[target], target)


COPIES = all_pairs(
    {**{name: DOMAINS[name] for name in (
        "page", "format", "scale_layout", "head_dim", "side", "kv_layout",
        "heads", "placement", "kind", "dynamic")},
     "pools": ("one", "two"), "count": (0, 1, 3)}, is_legal, seed=3)


@pytest.mark.parametrize("index", range(len(COPIES)),
                         ids=["-".join(map(str, c.values())) for c in COPIES]
                         .__getitem__)
def test_copy_pages(index, tmp_path):
    config = COPIES[index]
    random = np.random.default_rng([index, 3])
    fmt = formats.FORMATS[config["format"]]

    def make(pages):
        cache = caches.Cache.allocate(
            pages, fmt=fmt, g=0.25 if fmt.has_global else 1.0, page=config["page"],
            heads=config["heads"], head_dim=config["head_dim"],
            kv_layout=config["kv_layout"], scale_layout=config["scale_layout"])
        cache.data[...] = random.integers(0, 256, cache.data.shape)
        if fmt.block:
            cache.scales[...] = random.integers(0, 256, cache.scales.shape)
        return cache

    p, side = Program(), config["side"]
    source = dest = Placed({side: make(7)}, config["placement"], random,
                           config["dynamic"])
    (a, type), = source.emit(p).values()
    b = a
    if config["pools"] == "two":
        dest = Placed({side: make(6)}, config["placement"], random, config["dynamic"])
        (b, _), = dest.emit(p).values()
    ids = random.permutation(6).astype(np.int32)
    pages = ids[: config["count"]], ids[3 : 3 + config["count"]]
    (i, i_type), (j, j_type) = (
        p.array(name, config["kind"], "i32", array, config["dynamic"])
        for name, array in zip(("src", "dst"), pages))
    p.emit(f"kvq.copy_pages from({a}) to({b}) src_pages({i} : {i_type}) "
           f"dst_pages({j} : {j_type}) : {type}")
    found = {target: p.run(target, tmp_path) for target in TARGETS}
    read, written = source.caches[side], dest.caches[side]
    written.data[pages[1]] = read.data[pages[0]]
    if fmt.block:
        written.scales[pages[1]] = read.scales[pages[0]]
    for target in TARGETS:
        source.check(found[target], target)
        dest.check(found[target], target)
