# RUN: %pytest %s
# REQUIRES: python
"""Runs decomposed attention."""
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from decomposed import INPUTS, build, cache, cache_type, call, formats, parts
from oracle import attention as oracle


def test_by_hand(tmp_path):
    library = build(tmp_path, """
func.func @f(%q: memref<1x1x1x1xf32>, %k: memref<1x2x1x1xf32>, %v: memref<1x2x1x2xf32>,
    %scale: f32, %o: memref<1x1x1x2xf32>, %lse: memref<1x1x1xf32>) {
  kvq.attention ins(%q, %k, %v : memref<1x1x1x1xf32>, memref<1x2x1x1xf32>, memref<1x2x1x2xf32>)
      scale(%scale) outs(%o, %lse : memref<1x1x1x2xf32>, memref<1x1x1xf32>)
  return
}
""")
    q = np.array([2], np.float32).reshape(1, 1, 1, 1)
    # Logits 0.5 * 2 * k = ln 3 and 0: weights 3/4 and 1/4, lse ln 4.
    k = np.array([np.log(3), 0], np.float32).reshape(1, 2, 1, 1)
    v = np.array([[4, 0], [8, 2]], np.float32).reshape(1, 2, 1, 2)
    o, lse = np.zeros((1, 1, 1, 2), np.float32), np.zeros((1, 1, 1), np.float32)
    call(library, "f", q, k, v, 0.5, o, lse)
    np.testing.assert_allclose(o.ravel(), [5, 0.5], rtol=1e-7)
    np.testing.assert_allclose(lse.ravel(), [np.log(4)], rtol=1e-7)


@pytest.mark.parametrize("mask", [None, "i1", "f32"])
def test_dense(tmp_path, mask):
    batch, queries, heads, length, kv_heads, dim, v_dim = 3, 2, 4, 9, 2, 8, 6
    q_type, o_type = f"memref<?x?x{heads}x?xf16>", f"memref<?x?x{heads}x?xf32>"
    kv_type, lse_type = "memref<?x?x?x?xf32>", f"memref<?x?x{heads}xf32>"
    mask_type = f"memref<?x1x?x?x{mask or 'f32'}>"
    library = build(tmp_path, f"""
func.func @f(%q: {q_type}, %k: {kv_type}, %v: {kv_type}, %len: memref<?xi32>, %scale: f32,
    %mask: {mask_type}, %sinks: memref<{heads}xf32>, %o: {o_type}, %lse: {lse_type}) {{
  kvq.attention ins(%q, %k, %v : {q_type}, {kv_type}, {kv_type})
      seq_lens(%len : memref<?xi32>) scale(%scale) {f"mask(%mask : {mask_type})" if mask else ""}
      sinks(%sinks : memref<{heads}xf32>) outs(%o, %lse : {o_type}, {lse_type})
      {{options = #kvq.attention<causal, window_left = 4, softcap = 2.5>}}
  return
}}
""")
    rng = np.random.default_rng(5)
    q = rng.standard_normal((batch, queries, heads, dim)).astype(np.float16)
    k = rng.standard_normal((batch, length, kv_heads, dim)).astype(np.float32)
    v = rng.standard_normal((batch, length, kv_heads, v_dim)).astype(np.float32)
    lengths = np.array([9, 0, 1], np.int32)
    for b, n in enumerate(lengths):
        k[b, n:], v[b, n:] = np.nan, np.inf
    sinks = np.array([0.5, -np.inf, 3, -1], np.float32)
    bias = rng.standard_normal((1, 1, queries, length)).astype(np.float32)
    if mask:
        # Key 7 is masked out and poisonous; the mask is one for all sequences.
        k[0, 7], v[0, 7] = np.nan, np.nan
        bias[..., 7] = -np.inf
    if mask == "i1":
        bias = ~np.isneginf(bias)
    o = np.full((batch, queries, heads, v_dim), 7, np.float32)
    lse = np.full((batch, queries, heads), 7, np.float32)
    call(library, "f", q, k, v, lengths, 0.7, bias, sinks, o, lse)
    out, log = oracle.attention(
        q, k, v, np.float32(0.7), oracle.Options(True, 4, softcap=2.5),
        bias if mask else None, sinks, lengths)
    np.testing.assert_allclose(o, out, atol=1e-6)
    np.testing.assert_allclose(lse, log, rtol=1e-6)
    assert not o[1].any() and (lse[1] == sinks).all()


PAIRS = {
    "nvfp4": (("nvfp4", "HND", "linear"), ("nvfp4", "HND", "interleaved_4")),
    "mixed": (("mxfp8", "NHD", "linear"), ("nvfp4", "HND", "linear")),
    "plain": (("fp8", "HND", None), ("f16", "NHD", None)),
}


def make_pool(rng, case, dim, table, lengths, g):
    """A cache of the sequences' rows; the bytes of no sequence are NaN."""
    name, kv_layout, layout = case
    if not formats.FORMATS[name].has_global:
        g = 1.0
    pool = cache.Cache.allocate(6, page=4, heads=2, head_dim=dim, fmt=name,
                                kv_layout=kv_layout, scale_layout=layout, g=g)
    for b, n in enumerate(lengths):
        slots = cache.slots_of_positions(pool, table, range(n), [b] * n)
        x = rng.standard_normal((n, 2, dim)).astype(np.float32)
        cache.quantize_append(pool, x, slots)
    return pool


@pytest.mark.parametrize("pair", PAIRS)
def test_cache(tmp_path, pair):
    heads, dim, split = 6, 64, 5
    # Interleaving needs four scales for each row.
    v_dim = 64 if pair == "nvfp4" else 32
    rng = np.random.default_rng(6)
    lengths = np.array([11, 0, 4, 1], np.int32)
    table = np.full((4, 4), -1 << 20, np.int32)
    table[0, :3], table[2, 0], table[3, 0] = [5, 1, 3], 0, 2
    keys = make_pool(rng, PAIRS[pair][0], dim, table, lengths, 0.3)
    values = make_pool(rng, PAIRS[pair][1], v_dim, table, lengths, 0.2)
    k_type, v_type = cache_type("key", keys), cache_type("value", values)
    caches = f"caches(%k, %v : {k_type}, {v_type})"
    tables = "block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)"
    q_type, q4_type = f"?x{heads}x{dim}xbf16", f"?x1x{heads}x{dim}xbf16"
    o_type, lse_type = f"?x{heads}x{v_dim}xf32", f"?x{heads}xf32"
    library = build(tmp_path, f"""
func.func @ragged(%q: memref<{q_type}>, %k: {k_type}, %v: {v_type}, %bt: memref<?x?xi32>, %len: memref<?xi32>,
    %qo: memref<?xi32>, %scale: f32, %o: memref<{o_type}>, %lse: memref<{lse_type}>) {{
  kvq.dequant_attention ins(%q : memref<{q_type}>) {caches} {tables} qo_indptr(%qo : memref<?xi32>)
      scale(%scale) outs(%o, %lse : memref<{o_type}>, memref<{lse_type}>)
      {{options = #kvq.attention<window_left = 6, window_right = 1>}}
  return
}}
func.func @split(%q: memref<{q4_type}>, %k: {k_type}, %v: {v_type}, %bt: memref<?x?xi32>, %len: memref<?xi32>,
    %scale: f32, %sinks: memref<{heads}xf32>, %po: memref<?x?x1x{heads}x{v_dim}xf32>, %pl: memref<?x?x1x{heads}xf32>,
    %o: memref<?x1x{heads}x{v_dim}xf16>, %lse: memref<?x1x{heads}xf32>) {{
  kvq.dequant_attention ins(%q : memref<{q4_type}>) {caches} {tables}
      scale(%scale) sinks(%sinks : memref<{heads}xf32>)
      outs(%po, %pl : memref<?x?x1x{heads}x{v_dim}xf32>, memref<?x?x1x{heads}xf32>) {{kv_split = {split}}}
  kvq.merge_states ins(%po, %pl : memref<?x?x1x{heads}x{v_dim}xf32>, memref<?x?x1x{heads}xf32>)
      outs(%o, %lse : memref<?x1x{heads}x{v_dim}xf16>, memref<?x1x{heads}xf32>)
  return
}}
""")
    scale = np.float32(dim ** -0.5)

    # Three, no, two and no queries.
    indptr = np.array([0, 3, 3, 5, 5], np.int32)
    q = rng.standard_normal((5, heads, dim)).astype(INPUTS["bf16"])
    o = np.full((5, heads, v_dim), 7, np.float32)
    lse = np.full((5, heads), 7, np.float32)
    call(library, "ragged", q, *parts(keys), *parts(values), table, lengths,
         indptr, float(scale), o, lse)
    out, log = oracle.attention_over_cache(
        q, keys, values, table, lengths, scale,
        oracle.Options(window_left=6, window_right=1), indptr)
    np.testing.assert_allclose(o, out, atol=1e-6)
    np.testing.assert_allclose(lse, log, atol=1e-6)

    # Four chunks, of which the longest sequence needs three.
    q = rng.standard_normal((4, 1, heads, dim)).astype(INPUTS["bf16"])
    sinks = rng.standard_normal(heads).astype(np.float32)
    po = np.full((4, 4, 1, heads, v_dim), np.nan, np.float32)
    pl = np.full((4, 4, 1, heads), np.nan, np.float32)
    o = np.full((4, 1, heads, v_dim), 7, np.float16)
    lse = np.full((4, 1, heads), 7, np.float32)
    call(library, "split", q, *parts(keys), *parts(values), table, lengths,
         float(scale), sinks, po, pl, o, lse)
    chunks, logs = oracle.attention_over_cache(
        q, keys, values, table, lengths, scale, sinks=sinks, kv_split=split,
        num_chunks=4)
    np.testing.assert_allclose(po, chunks, atol=1e-6)
    np.testing.assert_allclose(pl, logs, atol=1e-6)
    out, log = oracle.attention_over_cache(q, keys, values, table, lengths,
                                           scale, sinks=sinks)
    np.testing.assert_allclose(o, out, atol=1e-3)
    np.testing.assert_allclose(lse, log, atol=1e-6)


def test_blocks_along_tokens(tmp_path):
    """A value cache with a scale for 16 tokens of each column."""
    k_type = "!kvq.cache<key, 32x1x4, bf16, NHD>"
    v_type = ("!kvq.cache<value, 32x1x4, #kvq.format<f4E2M1FN, "
              "scale = f8E4M3FN, block = 16, axis = token, global_scale>, NHD, "
              "linear>")
    library = build(tmp_path, f"""
func.func @f(%q: memref<1x1x1x4xf32>, %k: {k_type}, %v: {v_type},
    %bt: memref<1x2xi32>, %len: memref<1xi32>, %scale: f32, %o: memref<1x1x1x4xf32>) {{
  kvq.dequant_attention ins(%q : memref<1x1x1x4xf32>) caches(%k, %v : {k_type}, {v_type})
      block_table(%bt : memref<1x2xi32>) seq_lens(%len : memref<1xi32>) scale(%scale)
      outs(%o : memref<1x1x1x4xf32>)
  return
}}
func.func @copy_pages(%c: {v_type}, %i: memref<1xi32>, %j: memref<1xi32>) {{
  kvq.copy_pages from(%c) to(%c) src_pages(%i : memref<1xi32>) dst_pages(%j : memref<1xi32>) : {v_type}
  return
}}
""")
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 16, (2, 32, 1, 4)).astype(np.uint8)
    data = formats.pack(codes, "e2m1")
    scales = rng.integers(0x30, 0x40, (2, 2, 1, 4)).astype(np.uint8)
    value = [data, scales, np.array(0.5, np.float32)]
    # Keys of zero: the result is the mean of the values.
    keys = np.zeros((2, 32, 1, 4), np.uint16)
    table, length = np.array([[1, 0]], np.int32), np.array([40], np.int32)
    factor = np.repeat(formats.decode(scales, "e4m3"), 16, axis=1)
    decoded = formats.decode(codes, "e2m1").astype(float) * factor * 0.5
    expected = decoded[[1, 0]].reshape(64, 4)[:40].mean(0)
    # Tokens past the last one have another block's scale: make it NaN.
    scales[0, 1] = 0x7f
    o = np.zeros((1, 1, 1, 4), np.float32)
    call(library, "f", np.ones((1, 1, 1, 4), np.float32), keys, *value, table,
         length, 1.0, o)
    np.testing.assert_allclose(o.ravel(), expected, rtol=1e-6)
    call(library, "copy_pages", *value, np.array([1], np.int32),
         np.array([0], np.int32))
    np.testing.assert_array_equal(data[0], data[1])
    np.testing.assert_array_equal(scales[0], scales[1])
