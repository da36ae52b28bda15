# RUN: env KVQ_LOWERING=convert-kvq-to-vector %pytest %s
# REQUIRES: python
"""Runs attention lowered to vectors where its work is cut: ranges of keys,
tiles of rows, and tiles of keys that not every row admits."""
import os
import sys

import numpy as np
import pytest

KVQ = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                   "Dialect", "KVQ", "Inputs")
sys.path.insert(0, KVQ)
from decomposed import build, cache, cache_type, call, formats, parts
from oracle import attention as oracle


def make_pool(rng, name, page, heads, dim, table, lengths, kv_layout="NHD",
              scale_layout="linear"):
    """A cache of the sequences' rows; other bytes are NaN patterns."""
    fmt = formats.FORMATS[name]
    pool = cache.Cache.allocate(
        int(table.max()) + 1, page=page, heads=heads, head_dim=dim, fmt=name,
        kv_layout=kv_layout, scale_layout=scale_layout if fmt.block else None,
        g=0.25 if fmt.has_global else 1.0)
    for b, n in enumerate(lengths):
        slots = cache.slots_of_positions(pool, table, range(n), [b] * n)
        x = rng.standard_normal((n, heads, dim)).astype(np.float32)
        cache.quantize_append(pool, x, slots)
    return pool


def source(keys, values, heads, options="", q="f32"):
    k_type, v_type = cache_type("key", keys), cache_type("value", values)
    q_type = f"memref<?x{heads}x{keys.head_dim}x{q}>"
    o_type = f"memref<?x{heads}x{values.head_dim}xf32>"
    lse_type = f"memref<?x{heads}xf32>"
    return f"""
func.func @f(%q: {q_type}, %k: {k_type}, %v: {v_type}, %bt: memref<?x?xi32>, %len: memref<?xi32>,
    %qo: memref<?xi32>, %scale: f32, %sinks: memref<{heads}xf32>, %o: {o_type}, %lse: {lse_type}) {{
  kvq.dequant_attention ins(%q : {q_type}) caches(%k, %v : {k_type}, {v_type})
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>) qo_indptr(%qo : memref<?xi32>)
      scale(%scale) sinks(%sinks : memref<{heads}xf32>) outs(%o, %lse : {o_type}, {lse_type})
      {{options = #kvq.attention<{options}>}}
  return
}}
"""


def check(library, rng, keys, values, heads, table, lengths, queries, options):
    """Runs a ragged batch and compares it with the oracle."""
    indptr = np.concatenate([[0], np.cumsum(queries)]).astype(np.int32)
    total = int(indptr[-1])
    q = rng.standard_normal((total, heads, keys.head_dim)).astype(np.float32)
    sinks = rng.standard_normal(heads).astype(np.float32)
    sinks[0] = -np.inf
    lengths = np.array(lengths, np.int32)
    scale = np.float32(keys.head_dim ** -0.5)
    o = np.full((total, heads, values.head_dim), np.nan, np.float32)
    lse = np.full((total, heads), np.nan, np.float32)
    call(library, "f", q, *parts(keys), *parts(values), table, lengths, indptr,
         float(scale), sinks, o, lse)
    out, log = oracle.attention_over_cache(
        q, keys, values, table, lengths, scale, options, indptr, sinks=sinks)
    error = np.linalg.norm(o - out) / np.linalg.norm(out)
    assert error < 2e-6
    np.testing.assert_allclose(lse, log, rtol=2e-6, atol=2e-6)
    return q, o


# Around the ends of a range of 512 keys and of a tile of 16; several ranges.
LENGTHS = [0, 1, 15, 16, 17, 511, 512, 513, 1600]


def tables(rng, lengths, page):
    """Random pages; entries that are not needed are out of range."""
    pages = [-(-n // page) for n in lengths]
    table = np.full((len(lengths), max(pages)), -1 << 20, np.int32)
    order = rng.permutation(sum(pages)).astype(np.int32)
    for b, n in enumerate(pages):
        table[b, :n], order = order[:n], order[n:]
    return table


@pytest.mark.parametrize("group", [1, 2, 3, 5])
def test_ranges(tmp_path, group):
    rng = np.random.default_rng(group)
    table = tables(rng, LENGTHS, 16)
    keys = make_pool(rng, "nvfp4", 16, 2, 64, table, LENGTHS, "HND")
    values = make_pool(rng, "nvfp4", 16, 2, 80, table, LENGTHS, "NHD")
    library = build(tmp_path, source(keys, values, 2 * group))
    check(library, rng, keys, values, 2 * group, table, LENGTHS,
          [1] * len(LENGTHS), oracle.Options())


def test_rows(tmp_path):
    """Numbers of query rows at the ends of a tile of 32, and more tiles than
    those of a sequence that is split."""
    rng = np.random.default_rng(7)
    lengths = [40, 600, 700, 520, 90]
    queries = [10, 11, 86, 1, 90]  # times 3 heads: 30, 33, 258, 3, 270 rows
    table = tables(rng, lengths, 8)
    keys = make_pool(rng, "mxfp8", 8, 1, 32, table, lengths)
    values = make_pool(rng, "bf16", 8, 1, 24, table, lengths)
    library = build(tmp_path, source(keys, values, 3, "causal"))
    check(library, rng, keys, values, 3, table, lengths, queries,
          oracle.Options(causal=True))


def test_window(tmp_path):
    """Pages before the window are not in the table, and what a row does not
    admit reaches it in no way."""
    rng = np.random.default_rng(8)
    lengths, queries = [1200, 530], [2, 40]
    table = tables(rng, lengths, 4)
    keys = make_pool(rng, "fp8", 4, 2, 48, table, lengths)
    values = make_pool(rng, "fp8", 4, 2, 48, table, lengths, "HND")
    options = oracle.Options(causal=True, window_left=70)
    library = build(tmp_path, source(keys, values, 4,
                                     "causal, window_left = 70"))
    # The second sequence's last key is admitted by its last query only.
    page, offset = table[1, 529 // 4], 529 % 4
    values.data[page, :, offset] = 0x7f
    keys.data[page, offset] = 0x7f
    first = [lengths[0] - queries[0] - 70, lengths[1] - queries[1] - 70]
    unread = table.copy()
    for b, n in enumerate(first):
        unread[b, :n // 4] = 1 << 28
    q = rng.standard_normal((42, 4, 48)).astype(np.float32)
    indptr = np.array([0, 2, 42], np.int32)
    sinks = np.zeros(4, np.float32)
    o = np.zeros((42, 4, 48), np.float32)
    lse = np.zeros((42, 4), np.float32)
    call(library, "f", q, *parts(keys), *parts(values), unread,
         np.array(lengths, np.int32), indptr, 0.1, sinks, o, lse)
    out, log = oracle.attention_over_cache(
        q, keys, values, table, np.array(lengths, np.int32), np.float32(0.1),
        options, indptr, sinks=sinks)
    assert np.isnan(o[-1]).all() and np.isnan(lse[-1]).all()
    np.testing.assert_allclose(o[:-1], out[:-1], atol=2e-6)
    np.testing.assert_allclose(lse[:-1], log[:-1], rtol=2e-6)


def test_batch_does_not_matter(tmp_path):
    """The bits of a sequence's result are the same in any batch."""
    rng = np.random.default_rng(9)
    lengths = [1100, 3, 2000]
    table = tables(rng, lengths, 16)
    keys = make_pool(rng, "mxfp4", 16, 1, 96, table, lengths)
    values = make_pool(rng, "mxfp4", 16, 1, 96, table, lengths)
    library = build(tmp_path, source(keys, values, 4))
    q = rng.standard_normal((3, 4, 96)).astype(np.float32)
    sinks = np.zeros(4, np.float32)

    def run(rows):
        o = np.zeros((len(rows), 4, 96), np.float32)
        lse = np.zeros((len(rows), 4), np.float32)
        call(library, "f", q[rows].copy(), *parts(keys), *parts(values),
             table[rows].copy(), np.array(lengths, np.int32)[rows],
             np.arange(len(rows) + 1, dtype=np.int32), 0.1, sinks, o, lse)
        return o, lse

    o, lse = run([0, 1, 2])
    for b in range(3):
        alone = run([b])
        assert (alone[0][0] == o[b]).all() and (alone[1][0] == lse[b]).all()
