"""Attention in float64: over the bytes of a cache, and over plain arrays."""

from typing import NamedTuple, Optional

import numpy as np


class Options(NamedTuple):
    causal: bool = False
    window_left: Optional[int] = None
    window_right: Optional[int] = None
    softcap: Optional[float] = None


def visible(options, n, length):
    """[n, length] booleans: query i of n is at position length - n + i."""
    position = length - n + np.arange(n)[:, None]
    key = np.arange(length)[None, :]
    result = np.ones((n, length), bool)
    if options.causal:
        result &= key <= position
    if options.window_left is not None:
        result &= key >= position - options.window_left
    if options.window_right is not None:
        result &= key <= position + options.window_right
    return result


def attend(q, k, v, scale, see, softcap=None, sink=None, bias=None,
           round_weights=None, round_values=None):
    """One head. q [n, D], k [L, D], v [L, Dv], see [n, L]; returns the output
    [n, Dv] and the natural log of the denominator [n].

    `round_weights` rounds the weights that multiply V, not those of the
    denominator. It is given them times a power of two, with the largest in
    (1/2, 1]. `round_values` rounds V."""
    q, k, v = (np.asarray(a, np.float64) for a in (q, k, v))
    n, length = see.shape
    out = np.zeros((n, v.shape[-1]))
    lse = np.full(n, -np.inf)
    with np.errstate(all="ignore"):  # keys that nobody sees may be NaN
        logits = q @ k.T * float(scale)
        if softcap:
            logits = softcap * np.tanh(logits / softcap)
        if bias is not None:
            bias = np.asarray(bias, np.float64)
            see = see & (bias != -np.inf)
            logits = logits + bias
    for i in range(n):
        # Only what is seen is touched: the rest may be NaN.
        row = logits[i, see[i]]
        values = v[see[i]]
        if round_values:
            values = round_values(values)
        top = max([row.max()] if row.size else [-np.inf])
        if sink is not None:
            top = max(top, float(sink))
        if top == -np.inf:
            continue
        weights = np.exp(row - top)
        total = weights.sum()
        if sink is not None:
            total += np.exp(float(sink) - top)
        if row.size:
            if round_weights:
                shift = np.ceil(row.max() / np.log(2)) * np.log(2)
                weights = round_weights(np.exp(row - shift)) * np.exp(shift - top)
            out[i] = weights @ values / total
        lse[i] = top + np.log(total)
    return out, lse


def query_ranges(q, batch, qo_indptr):
    """The queries as rows [total_q, Hq, D], and the rows of each sequence."""
    if qo_indptr is not None:
        return q, list(zip(qo_indptr[:-1], qo_indptr[1:]))
    n = q.shape[1]
    return q.reshape(-1, *q.shape[2:]), [(b * n, (b + 1) * n) for b in range(batch)]


def attention(q, k, v, scale, options=Options(), mask=None, sinks=None,
              seq_lens=None, qo_indptr=None):
    """Plain attention: k [B, L, Hkv, D], v [B, L, Hkv, Dv], q [B, Lq, Hq, D], or
    [total_q, Hq, D] with `qo_indptr`. `mask` broadcasts to [B, Hq, Lq, L],
    boolean (true is seen) or added to the logits; -inf hides a key. Returns
    (out, lse) of shapes [..., Dv] and [...] for q's [..., D]."""
    batch, length, kv_heads, _ = k.shape
    rows, ranges = query_ranges(q, batch, qo_indptr)
    query_heads, value_dim = rows.shape[1], v.shape[3]
    out = np.zeros((len(rows), query_heads, value_dim))
    lse = np.zeros((len(rows), query_heads))
    if mask is not None:
        most = max([end - start for start, end in ranges], default=0)
        size = (batch, query_heads, max(most, mask.shape[2]), length)
        mask = np.broadcast_to(mask, size)
    for b, (start, end) in enumerate(ranges):
        tokens = length if seq_lens is None else int(seq_lens[b])
        n = int(end - start)
        for h in range(query_heads):
            see, bias = visible(options, n, tokens), None
            if mask is not None and mask.dtype == bool:
                see = see & mask[b, h, :n, :tokens]
            elif mask is not None:
                bias = mask[b, h, :n, :tokens]
            kv_head = h // (query_heads // kv_heads)
            out[start:end, h], lse[start:end, h] = attend(
                rows[start:end, h], k[b, :tokens, kv_head], v[b, :tokens, kv_head],
                scale, see, options.softcap, None if sinks is None else sinks[h],
                bias,
            )
    return out.reshape(*q.shape[:-1], value_dim), lse.reshape(q.shape[:-1])


def read_values(cache, table_row, length):
    """The values [length, heads, head_dim] of one sequence. Table entries past
    the last page are not read."""
    values = np.zeros((length, cache.heads, cache.head_dim))
    for j in range(length):
        page_id = int(table_row[j // cache.page])
        if not 0 <= page_id < cache.pages:
            raise ValueError(f"page {page_id}, limit {cache.pages}")
        values[j] = cache.values(page_id, j % cache.page)
    return values


def attention_over_cache(q, k_cache, v_cache, block_table, seq_lens, scale,
                         options=Options(), qo_indptr=None, sinks=None,
                         kv_split=None, num_chunks=None, round_weights=None,
                         round_values=None):
    """Attention over the bytes of a cache.

    q is [total_q, Hq, D] with `qo_indptr` [B + 1], or [B, Lq, Hq, D] without.
    Returns (out, lse) of shapes [..., Dv] and [...] for q's [..., D].

    With `kv_split` = N, chunk c of the leading dimension covers the positions
    c * N to c * N + N - 1; sinks join chunk 0. `num_chunks` is the size of that
    dimension, by default what the longest sequence needs, but at least 1.
    `round_weights` and `round_values` are those of attend().
    """
    batch = len(seq_lens)
    rows, ranges = query_ranges(q, batch, qo_indptr)
    query_heads, value_dim = rows.shape[1], v_cache.head_dim
    group = query_heads // k_cache.heads
    assert group * k_cache.heads == query_heads
    if kv_split:
        longest = max([int(n) for n in seq_lens], default=0)
        needed = -(-longest // kv_split)
        chunks = max(needed, 1) if num_chunks is None else num_chunks
        assert chunks >= needed
    else:
        chunks = 1
    out = np.zeros((chunks, len(rows), query_heads, value_dim))
    lse = np.full((chunks, len(rows), query_heads), -np.inf)

    for b, (start, end) in enumerate(ranges):
        length, n = int(seq_lens[b]), int(end - start)
        if n == 0:
            continue
        k = read_values(k_cache, block_table[b], length)
        v = read_values(v_cache, block_table[b], length)
        see = visible(options, n, length)
        for c in range(chunks):
            first, last = 0, length
            if kv_split:
                first = min(c * kv_split, length)
                last = min(first + kv_split, length)
            for h in range(query_heads):
                sink = None if sinks is None or c else sinks[h]
                out[c, start:end, h], lse[c, start:end, h] = attend(
                    rows[start:end, h], k[first:last, h // group],
                    v[first:last, h // group], scale, see[:, first:last],
                    options.softcap, sink, round_weights=round_weights,
                    round_values=round_values,
                )
    lead = (chunks,) if kv_split else ()
    shape = (*lead, *q.shape[:-1])
    return out.reshape(*shape, value_dim), lse.reshape(shape)


def merge_states(out, lse):
    """Combines partial (output, lse) pairs along the leading dimension."""
    out, lse = np.asarray(out, np.float64), np.asarray(lse, np.float64)
    top = lse.max(axis=0, initial=-np.inf)
    weights = np.exp(lse - np.where(np.isinf(top), 0, top))
    total = weights.sum(axis=0)
    alive = total > 0
    safe = np.where(alive, total, 1)
    merged = (weights[..., None] * out).sum(axis=0) / safe[..., None]
    return merged, np.where(alive, np.log(safe) + np.where(alive, top, 0), -np.inf)
