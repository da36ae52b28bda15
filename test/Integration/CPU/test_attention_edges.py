# RUN: %pytest %s
# REQUIRES: python
"""Attention over caches at the edges: lengths around a page, large heads, one
page in two tables, layouts that are asserted wrongly, handles that cross
functions and loops."""

import dataclasses
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from attention_case import AttentionCase
from compare import check_bytes, check_close, check_lse
from oracle import attention as att
from oracle import cache as caches
from oracle import formats
from placement import Placed, cache_type, moved
from program import TARGETS, Program

#: A decode step that other cases vary.
BASE = {
    "k_format": "nvfp4", "v_format": "nvfp4", "kv_layout": "NHD",
    "k_scale_layout": "linear", "v_scale_layout": "linear", "page": 16,
    "k_dim": 64, "v_dim": 64, "kv_heads": 2, "group": 3, "queries": "decode",
    "lengths": "edges", "mask": "none", "softcap": None, "sinks": False,
    "split": None, "placement": "dense", "q": "f32", "out": "f32", "lse": True,
    "kind": "memref", "dynamic": False,
}


def check(tmp_path, seed=0, **changes):
    """Both targets against the oracle and against each other."""
    found = [AttentionCase({**BASE, **changes}, seed).check(target, tmp_path)
             for target in TARGETS]
    check_close(found[1]["out"], found[0]["out"].astype(np.float64),
                {**BASE, **changes}["out"], "one lowering and the other")
    return found


@dataclasses.dataclass
class Given:
    """Data of a case that the generator does not make."""

    q: np.ndarray
    block_table: np.ndarray
    seq_lens: np.ndarray
    qo_indptr: np.ndarray = None
    sinks: np.ndarray = None
    scale: float = 0.125
    options: att.Options = att.Options()
    kv_split: int = None


class GivenCase(AttentionCase):
    def __init__(self, config, given, sides):
        self.config = {**BASE, **config}
        self.random = np.random.default_rng(7)
        self.q = given.q
        self.set_up(given, sides)


def filled(random, pages, fmt="nvfp4", side="key", **shape):
    """A cache all of whose rows hold values."""
    shape = {"page": 16, "heads": 2, "head_dim": 64, **shape}
    g = 0.0107 if formats.FORMATS[fmt].has_global else 1.0
    cache = caches.Cache.allocate(pages, fmt=fmt, g=g, **shape)
    n = pages * cache.page
    x = random.standard_normal((n, cache.heads, cache.head_dim))
    x *= 2.0 ** random.integers(-3, 4, (n, cache.heads, 1))
    x *= np.repeat(2.0 ** random.integers(
        -3, 4, (n, cache.heads, cache.head_dim // 16)), 16, -1)
    caches.quantize_append(cache, x.astype(np.float32), np.arange(n))
    return cache


@pytest.mark.parametrize("page", [1, 2, 16, 256])
@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp8", "bf16"])
def test_lengths_around_a_page(fmt, page, tmp_path):
    """0, 1, page - 1, page, page + 1 tokens, and two pages more or less; each
    sequence with one query, under a split of the page, of one token less, and
    without."""
    random = np.random.default_rng(page)
    lens = np.array([0, 1, page - 1, page, page + 1, 2 * page - 1, 2 * page],
                    np.int32)
    sides = {"key": filled(random, 6, fmt, page=page),
             "value": filled(random, 6, fmt, page=page)}
    # What no sequence reads is out of range.
    table = np.full((7, 4), 2**31 - 1, np.int32)
    for b, n in enumerate(lens):
        used = -(-int(n) // page)
        table[b, :used] = random.permutation(6)[:used]
    q = random.standard_normal((7, 1, 6, 64)).astype(np.float32)
    for split in (None, page, max(page - 1, 1)):
        if split and split < 15:
            continue  # many chunks say no more
        given = Given(q, table, lens, kv_split=split)
        for target in TARGETS:
            GivenCase({}, given, sides).check(target, tmp_path)


@pytest.mark.parametrize("k_dim, v_dim, fmt", [
    (576, 512, "nvfp4"), (576, 512, "fp8"), (16, 576, "bf16"), (80, 48, "nvfp4"),
    (288, 32, "mxfp4")])
def test_head_dims(k_dim, v_dim, fmt, tmp_path):
    """MLA records, and head_dim that is no power of two."""
    check(tmp_path, k_dim=k_dim, v_dim=v_dim, k_format=fmt, v_format=fmt,
          kv_heads=1, group=16, queries="ragged", mask="causal")


@pytest.mark.parametrize("heads, group", [(1, 1), (1, 5), (3, 3), (4, 7), (8, 1)])
def test_ratios_of_heads(heads, group, tmp_path):
    check(tmp_path, kv_heads=heads, group=group, sinks=True, split=16)


def test_long_prefill(tmp_path):
    """As many queries as tokens, over several pages and chunks."""
    check(tmp_path, lengths="mixed", queries="prefill", mask="window", split=16,
          placement="planar", softcap=3.0)


def test_no_sequences(tmp_path):
    random = np.random.default_rng(0)
    sides = {"key": filled(random, 1), "value": filled(random, 1)}
    given = Given(np.zeros((0, 6, 64), np.float32), np.zeros((0, 3), np.int32),
                  np.zeros(0, np.int32), np.zeros(1, np.int32))
    for target in TARGETS:
        GivenCase({"dynamic": True}, given, sides).check(target, tmp_path)


def test_no_pages(tmp_path):
    """A pool without pages serves sequences without tokens."""
    random = np.random.default_rng(0)
    sides = {"key": filled(random, 0), "value": filled(random, 0)}
    q = random.standard_normal((2, 1, 6, 64)).astype(np.float32)
    given = Given(q, np.zeros((2, 0), np.int32), np.zeros(2, np.int32),
                  sinks=random.standard_normal(6).astype(np.float32))
    for target in TARGETS:
        found = GivenCase({"dynamic": True}, given, sides).check(target, tmp_path)
        assert not found["out"].any()
        check_bytes(found["lse"], np.tile(given.sinks, (2, 1, 1)), "lse")


def test_page_in_two_tables(tmp_path):
    """Sequences with a common prefix share its pages."""
    random = np.random.default_rng(3)
    sides = {"key": filled(random, 4), "value": filled(random, 4)}
    table = np.array([[2, 0, -1], [2, 3, 99], [2, 0, 1]], np.int32)
    q = random.standard_normal((4, 6, 64)).astype(np.float32)
    q[3] = q[0]
    given = Given(q, table, np.array([32, 21, 32], np.int32),
                  np.array([0, 1, 3, 4], np.int32))
    for target in TARGETS:
        out = GivenCase({}, given, sides).check(target, tmp_path)["out"]
        # The same query over the same pages, whatever its batch mates.
        check_bytes(out[3], out[0], target)


def test_batch_mates(tmp_path):
    """A sequence gives the same bits alone, in a batch, and from run to run."""
    random = np.random.default_rng(4)
    sides = {"key": filled(random, 8), "value": filled(random, 8)}
    table = random.permutation(8).reshape(2, 4).astype(np.int32)
    q = random.standard_normal((2, 1, 6, 64)).astype(np.float32)
    lens = np.array([64, 35], np.int32)
    alone = Given(q[1:], table[1:, :3], lens[1:])
    for target in TARGETS:
        both = [GivenCase({}, Given(q, table, lens), sides).check(target, tmp_path)
                for _ in range(2)]
        one = GivenCase({}, alone, sides).check(target, tmp_path)
        for name in ("out", "lse"):
            check_bytes(both[0][name], both[1][name], f"{target} {name}")
            check_bytes(both[0][name][1:], one[name], f"{target} {name}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("side, written, asserted", [
    ("key", "linear", "blocked_128x4"), ("key", "blocked_128x4", "linear"),
    ("value", "linear", "interleaved_4"), ("value", "interleaved_4", "linear"),
    ("value", "linear", "blocked_128x4"), ("value", "blocked_128x4", "linear"),
    ("value", "blocked_128x4", "interleaved_4")])
def test_wrong_layout_shows(written, asserted, side, target, tmp_path):
    """The program writes with one scale layout and reads the same bytes with
    another: the result is far from the right one, which it is with the same."""
    random = np.random.default_rng(5)
    shape = dict(page=128, heads=2, head_dim=64)
    x = {s: random.standard_normal((128, 2, 64)).astype(np.float32)
         * np.repeat(2.0 ** random.integers(-3, 4, (128, 2, 4)), 16, -1).astype("f")
         for s in ("key", "value")}
    q = random.standard_normal((1, 1, 4, 64)).astype(np.float32)
    errors = []
    for read in (written, asserted):
        p, sides = Program(), {}
        for s in ("key", "value"):
            layout = written if s == side else "linear"
            sides[s] = caches.Cache.allocate(1, fmt="nvfp4", g=0.0107,
                                             scale_layout=layout, **shape)
        placed = Placed(sides, "dense", random)
        handles = placed.emit(p)
        slots, slots_type = p.array("slots", "memref", "i32",
                                    np.arange(128, dtype=np.int32))
        for s, (handle, type) in handles.items():
            rows, rows_type = p.array("x", "memref", "f32", x[s])
            p.emit(f"kvq.quantize_append ins({rows} : {rows_type}) into({handle} : "
                   f"{type}) slot_mapping({slots} : {slots_type})")
            caches.quantize_append(placed.caches[s], x[s], range(128))
        # A second handle to the same bytes.
        again = caches.Cache(
            placed.caches[side].data, placed.caches[side].scales, 0.0107,
            fmt="nvfp4", scale_layout=read, **shape)
        data, scales, g = (p.arguments[i][:2] for i in
                           ((0, 1, 4) if side == "key" else (2, 3, 5)))
        type = cache_type(again, side)
        handle = p.define("again", "kvq.make_cache data({} : {}) scales({} : {}) "
                          "global_scale({} : {}) : ".format(*data, *scales, *g) + type)
        handles[side] = handle, type
        operands = [p.array(*a) for a in (
            ("q", "memref", "f32", q),
            ("table", "memref", "i32", np.zeros((1, 1), np.int32)),
            ("lens", "memref", "i32", np.array([128], np.int32)))]
        (q_, q_type), (t, t_type), (n, n_type) = operands
        scale = p.argument("scale", "f32", "0.125")
        o, o_type = p.outs("o", "memref", "f32", q.shape)
        (k, k_type), (v, v_type) = handles["key"], handles["value"]
        p.emit(f"kvq.dequant_attention ins({q_} : {q_type}) caches({k}, {v} : "
               f"{k_type}, {v_type}) block_table({t} : {t_type}) seq_lens({n} : "
               f"{n_type}) scale({scale}) outs({o} : {o_type})")
        found = p.run(target, tmp_path)
        placed.check(found, target)
        arguments = (np.zeros((1, 1), int), [128], 0.125)
        right, _ = att.attention_over_cache(
            q, placed.caches["key"], placed.caches["value"], *arguments)
        misread = {**placed.caches, side: again}
        expected, _ = att.attention_over_cache(
            q, misread["key"], misread["value"], *arguments)
        # The wrong result, too, is the one that the asserted layout implies.
        check_close(found[o], expected)
        errors.append(np.linalg.norm(found[o] - right) / np.linalg.norm(right))
    assert errors[0] < 1e-5 and errors[1] > 0.1, errors


@pytest.mark.parametrize("target", TARGETS)
def test_layers_in_a_loop(target, tmp_path):
    """A loop over the layers of a pool, whose step is a function of handles:
    it appends a row, then attends to it."""
    random = np.random.default_rng(6)
    layers, pages = 3, 2
    layer_caches = [{s: filled(random, pages, "nvfp4") for s in ("key", "value")}
                    for _ in range(layers)]
    pools = {(s, part): np.stack([getattr(c[s], part) for c in layer_caches])
             for s in ("key", "value") for part in ("data", "scales")}
    x = random.standard_normal((2, layers, 1, 2, 64)).astype(np.float32)
    q = random.standard_normal((layers, 1, 1, 4, 64)).astype(np.float32)
    p = Program()
    types = {s: cache_type(layer_caches[0][s], s) for s in ("key", "value")}
    row = "memref<1x2x64xf32, strided<[128, 64, 1], offset: ?>>"
    query = "memref<1x1x4x64xf32, strided<[256, 256, 64, 1], offset: ?>>"
    ints = "memref<1xi32>, %table: memref<1x2xi32>"
    p.functions.append(f"""
func.func private @step(%k: {types["key"]}, %v: {types["value"]}, %xk: {row},
    %xv: {row}, %q: {query}, %o: {query}, %slot: memref<1xi32>, %lens: {ints}) {{
  %scale = arith.constant 0.125 : f32
  kvq.quantize_append ins(%xk : {row}) into(%k : {types["key"]})
      slot_mapping(%slot : memref<1xi32>)
  kvq.quantize_append ins(%xv : {row}) into(%v : {types["value"]})
      slot_mapping(%slot : memref<1xi32>)
  kvq.dequant_attention ins(%q : {query})
      caches(%k, %v : {types["key"]}, {types["value"]})
      block_table(%table : memref<1x2xi32>) seq_lens(%lens : memref<1xi32>)
      scale(%scale) outs(%o : {query})
  return
}}""")
    args = {}
    for (s, part), pool in pools.items():
        element = "f4E2M1FN" if part == "data" else "f8E4M3FN"
        args[s, part] = p.array(f"{s}_{part}", "memref", element, pool, save=True)
    g = p.argument("g", "memref<f32>", np.float32(0.0107).reshape(()))
    xs = [p.array("x", "memref", "f32", a) for a in x]
    queries = p.array("q", "memref", "f32", q)
    o, o_type = p.outs("o", "memref", "f32", q.shape)
    slot, _ = p.array("slot", "memref", "i32", np.array([20], np.int32))
    lens, _ = p.array("lens", "memref", "i32", np.array([21], np.int32))
    table, _ = p.array("table", "memref", "i32", np.array([[0, 1]], np.int32))
    p.emit("%c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index")
    p.emit(f"%end = arith.constant {layers} : index")
    p.emit("scf.for %layer = %c0 to %end step %c1 {")

    def layer_of(value, type, sizes, result):
        zeros, ones = ", 0" * len(sizes), ", 1" * len(sizes)
        return p.define("view", f"memref.subview {value}[%layer{zeros}] "
                        f"[1, {', '.join(map(str, sizes))}] [1{ones}] : {type} to "
                        f"{result}")

    handles = []
    for s in ("key", "value"):
        parts = []
        for part, n, element in (("data", 64, "f4E2M1FN"), ("scales", 4, "f8E4M3FN")):
            result = (f"memref<{pages}x16x2x{n}x{element}, strided<[{32 * n}, {2 * n}, "
                      f"{n}, 1], offset: ?>>")
            parts += [layer_of(*args[s, part], (pages, 16, 2, n), result), result]
        handles.append(p.define("cache", "kvq.make_cache data({} : {}) scales({} : {}) "
                                .format(*parts) + f"global_scale({g} : memref<f32>) : "
                                + types[s]))
    rows = [layer_of(*a, (1, 2, 64), row) for a in xs]
    qs = [layer_of(*a, (1, 1, 4, 64), query) for a in (queries, (o, o_type))]
    operands = ", ".join([*handles, *rows, *qs, slot, lens, table])
    p.emit(f"func.call @step({operands}) : ({types['key']}, {types['value']}, {row}, "
           f"{row}, {query}, {query}, memref<1xi32>, memref<1xi32>, "
           "memref<1x2xi32>) -> ()")
    p.emit("}")
    found = p.run(target, tmp_path)
    for layer, sides in enumerate(layer_caches):
        for i, s in enumerate(("key", "value")):
            view = moved(sides[s], pools[s, "data"][layer], pools[s, "scales"][layer])
            caches.quantize_append(view, x[i, layer], [20])
            sides[s] = view
        out, _ = att.attention_over_cache(
            q[layer], sides["key"], sides["value"], np.array([[0, 1]]), [21], 0.125)
        check_close(found[o][layer], out)
    for key, pool in pools.items():
        check_bytes(found[args[key][0]], pool, f"{key}")


def test_all_options_together(tmp_path):
    check(tmp_path, page=128, k_scale_layout="blocked_128x4",
          v_scale_layout="interleaved_4", kv_layout="HND", queries="ragged",
          mask="band", softcap=3.0, sinks=True, split=24, placement="planar",
          q="bf16", out="f16", kind="tensor")
