# RUN: %pytest %s
# REQUIRES: python
"""Operations on plain arrays and whole caches: quantize, dequantize, gather,
convert_scale_layout, merge_states and attention with masks."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from attention_case import emit_destination_style, options_text
from compare import check_bytes, check_close, check_lse, rounded
from oracle import attention as att
from oracle import cache as caches
from oracle import formats
from pairs import all_pairs
from placement import ELEMENTS, PLACEMENTS, Placed, as_elements
from program import TARGETS, Program
from test_append import is_legal, values_of_all_kinds


def ids(case_list):
    return ["-".join(map(str, c.values())) for c in case_list].__getitem__


def both(p, values, tmp_path):
    """Runs both targets; yields (target, arrays in the order of values)."""
    for target in TARGETS:
        arrays = p.run(target, tmp_path)
        yield target, [arrays[value] for value in values]


QUANTIZE = all_pairs({
    "format": tuple(formats.FORMATS), "head_dim": (16, 64, 96, 576),
    "op": ("quantize", "four_over_six"), "g": (1.0, 0.0107, 1e-39, 1e38),
    "type": ("f32", "f16", "bf16"), "rank": (1, 2, 3, 4),
    "kind": ("tensor", "memref"), "dynamic": (False, True)}, is_legal, seed=4)


def array_of_rank(random, rank, dim):
    return values_of_all_kinds(random, (3, 2, 5)[: rank - 1] + (dim,))


@pytest.mark.parametrize("index", range(len(QUANTIZE)), ids=ids(QUANTIZE))
def test_quantize_and_dequantize(index, tmp_path):
    """Both in one program: what quantize writes and what dequantize makes of it
    are the oracle's, bit for bit."""
    c = QUANTIZE[index]
    random = np.random.default_rng([index, 4])
    fmt = formats.FORMATS[c["format"]]
    x = rounded(array_of_rank(random, c["rank"], c["head_dim"]), c["type"])
    g = np.float32(c["g"] if fmt.has_global else 1)
    p = Program()
    open_dims = range(c["rank"]) if c["dynamic"] else ()
    value, type = p.array("x", c["kind"], c["type"], x, open_dims)
    scale = ""
    if fmt.has_global:
        scale = " global_scale({})".format(p.argument("g", "f32", f"{g:.9g}"))
    outs = [p.outs("data", c["kind"], ELEMENTS[fmt.element], x.shape, open_dims)]
    if fmt.block:
        shape = (*x.shape[:-1], fmt.num_scales(c["head_dim"]))
        outs.append(p.outs("scales", c["kind"], ELEMENTS[fmt.scale], shape, open_dims))
    attributes = {"format": f"#kvq.format<{fmt.name}>"}
    if c["op"] == "four_over_six":
        attributes["four_over_six"] = ""
    parts = emit_destination_style(
        p, f"kvq.quantize ins({value} : {type}){scale}", outs, attributes)
    back = [p.outs("y", c["kind"], c["type"], x.shape, open_dims)]
    types = ", ".join(type for _, type in outs)
    restored = emit_destination_style(
        p, f"kvq.dequantize ins({', '.join(parts)} : {types}){scale}", back,
        {"format": attributes["format"]})
    data, scales = formats.quantize(fmt, x.astype(np.float32), g,
                                    c["op"] == "four_over_six")
    decoded = formats.dequantize(fmt, data, scales, g)
    expected = rounded(decoded, c["type"])
    for target, (found, *scale_bytes, y) in both(p, parts + restored, tmp_path):
        check_bytes(found.view(np.uint8).reshape(data.shape), data, f"{target} data")
        if fmt.block:
            check_bytes(scale_bytes[0], scales, f"{target} scales")
        nan = np.isnan(decoded)  # any NaN will do
        np.testing.assert_array_equal(np.isnan(y.astype(np.float32)), nan)
        check_bytes(np.where(nan, expected.dtype.type(0), y),
                    np.where(nan, expected.dtype.type(0), expected), f"{target} values")


def check_all_bytes(name, g, target, tmp_path):
    """Dequantizes every element, for block formats with every scale byte."""
    fmt = formats.FORMATS[name]
    bytes = np.arange(256, dtype=np.uint8)
    scales, g = None, np.float32(g if fmt.has_global else 1)
    if fmt.block:  # rows: scale bytes; columns: all element bytes
        data = np.tile(bytes, (256, 1))
        n = 256 * 8 // fmt.bits
        scales = np.repeat(bytes[:, None], n // fmt.block, 1)
    elif fmt.bits == 16:
        data = np.arange(65536, dtype="<u2").reshape(256, 256).view(np.uint8)
    else:
        data = bytes[None]
    p = Program()
    element = ELEMENTS[fmt.element]
    parts = [p.array("data", "tensor", element, as_elements(data, element))]
    if fmt.block:
        parts.append(p.array("scales", "tensor", ELEMENTS[fmt.scale], scales))
    values, types = zip(*parts)
    text = f"kvq.dequantize ins({', '.join(values)} : {', '.join(types)})"
    if fmt.has_global:
        text += " global_scale({})".format(p.argument("g", "f32", f"{g:.9g}"))
    n = data.shape[1] * 8 // fmt.bits
    out, = emit_destination_style(
        p, text, [p.outs("y", "tensor", "f32", (len(data), n))],
        {"format": f"#kvq.format<{name}>"})
    expected = formats.dequantize(fmt, data, scales, g)
    found = p.run(target, tmp_path)[out]
    nan = np.isnan(expected)
    assert nan.any() and not nan.all()
    np.testing.assert_array_equal(np.isnan(found), nan)
    check_bytes(np.where(nan, np.float32(0), found),
                np.where(nan, np.float32(0), expected), target)


@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.parametrize("target", TARGETS)
def test_dequantize_all_bytes(name, target, tmp_path):
    check_all_bytes(name, 0.37, target, tmp_path)


def random_cache(config, random, pages, page=None):
    fmt = formats.FORMATS[config["format"]]
    cache = caches.Cache.allocate(
        pages, fmt=fmt, g=0.25 if fmt.has_global else 1.0,
        page=page or config["page"], heads=config["heads"],
        head_dim=config["head_dim"], kv_layout=config["kv_layout"],
        scale_layout=config["scale_layout"])
    cache.data[...] = random.integers(0, 256, cache.data.shape)
    if fmt.block:
        cache.scales[...] = random.integers(0, 256, cache.scales.shape)
    return cache


CACHES = {
    "page": (1, 3, 4, 16, 128), "format": tuple(formats.FORMATS),
    "scale_layout": caches.SCALE_LAYOUTS, "head_dim": (16, 64, 80, 128),
    "side": ("key", "value"), "kv_layout": caches.KV_LAYOUTS, "heads": (1, 3)}
GATHER = all_pairs({**CACHES, "placement": PLACEMENTS, "kind": ("tensor", "memref"),
                    "dynamic": (False, True)}, is_legal, seed=5)


@pytest.mark.parametrize("index", range(len(GATHER)), ids=ids(GATHER))
def test_gather(index, tmp_path):
    c = GATHER[index]
    random = np.random.default_rng([index, 5])
    page, lens = c["page"], np.array([0, 1, c["page"], c["page"] + 1, 7], np.int32)
    length = int(lens.max())
    pages = sum(-(-int(n) // page) for n in lens)
    placed = Placed({c["side"]: random_cache(c, random, pages)}, c["placement"],
                    random, c["dynamic"])
    cache, fmt = placed.caches[c["side"]], placed.caches[c["side"]].fmt
    table = np.full((5, -(-length // page) + 1), -(2**31), np.int32)
    free = iter(random.permutation(pages))
    for b, n in enumerate(lens):
        for j in range(-(-int(n) // page)):
            table[b, j] = next(free)
    p = Program()
    (handle, type), = placed.emit(p).values()
    t, t_type = p.array("table", c["kind"], "i32", table, c["dynamic"])
    s, s_type = p.array("lens", c["kind"], "i32", lens, c["dynamic"])
    shape = (5, length, c["heads"])
    open_dims = (0, 1) if c["dynamic"] else ()
    outs = [p.outs("data", c["kind"], ELEMENTS[fmt.element],
                   (*shape, c["head_dim"]), open_dims)]
    if fmt.block:
        outs.append(p.outs("scales", c["kind"], ELEMENTS[fmt.scale],
                           (*shape, cache.num_scales), open_dims))
    parts = emit_destination_style(
        p, f"kvq.gather cache({handle} : {type}) block_table({t} : {t_type}) "
        f"seq_lens({s} : {s_type})", outs, {})
    data, scales = caches.gather(cache, table, lens, length)
    for target, (found, *scale_bytes) in both(p, parts, tmp_path):
        check_bytes(found.view(np.uint8).reshape(data.shape), data, f"{target} data")
        if fmt.block:
            check_bytes(scale_bytes[0], scales, f"{target} scales")


@pytest.mark.parametrize("kind", ["tensor", "memref"])
@pytest.mark.parametrize("kv_layout", caches.KV_LAYOUTS)
@pytest.mark.parametrize("page, name, dim", [
    (4, "nvfp4", 64), (128, "nvfp4", 128), (256, "mxfp8", 256)])
def test_convert_scale_layout(page, name, dim, kv_layout, kind, tmp_path):
    random = np.random.default_rng([page, dim])
    config = dict(format=name, heads=3, head_dim=dim, kv_layout=kv_layout,
                  scale_layout="linear")
    linear = random_cache(config, random, 2, page)
    layouts = [layout for layout in caches.SCALE_LAYOUTS
               if caches.scale_layout_is_legal(layout, page, linear.num_scales)]
    by_layout = {layout: caches.convert_scale_layout(linear, layout).scales
                 for layout in layouts}
    p, expected, values = Program(), [], []
    for source in layouts:
        for to in layouts:
            x, type = p.array("x", kind, ELEMENTS[linear.fmt.scale],
                              by_layout[source], {0})
            out = p.outs("y", kind, ELEMENTS[linear.fmt.scale],
                         by_layout[to].shape, {0})
            text = f"kvq.convert_scale_layout ins({x} : {type})"
            values += emit_destination_style(
                p, text, [out], {}, f" from {source} to {to} {kv_layout}")
            expected.append(by_layout[to])
    assert len(layouts) > 1
    assert (by_layout[layouts[0]] != by_layout[layouts[1]]).any()
    for target, found in both(p, values, tmp_path):
        for array, want in zip(found, expected):
            check_bytes(array, want, target)


@pytest.mark.parametrize("kind", ["tensor", "memref"])
@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("rows", [(5,), (2, 3)])
def test_merge_states(rows, element, kind, tmp_path):
    """Parts that are empty hold garbage as output; rows may be empty in all."""
    random = np.random.default_rng(len(rows))
    shape = (4, *rows, 3)
    lse = (random.standard_normal(shape) * 30).astype(np.float32)
    lse[random.random(shape) < 0.3] = -np.inf
    lse[:, ..., -1, 2] = -np.inf
    out = random.standard_normal((*shape, 24)).astype(np.float32)
    garbage = np.where(np.isneginf(lse)[..., None], np.float32(np.nan), out)
    p = Program()
    a, a_type = p.array("o", kind, "f32", garbage, range(len(rows) + 1))
    b, b_type = p.array("lse", kind, "f32", lse, range(len(rows) + 1))
    open_dims = range(len(rows))
    outs = [p.outs("out", kind, element, (*rows, 3, 24), open_dims),
            p.outs("merged", kind, "f32", (*rows, 3), open_dims)]
    values = emit_destination_style(
        p, f"kvq.merge_states ins({a}, {b} : {a_type}, {b_type})", outs, {})
    expected = att.merge_states(out, lse)
    assert np.isneginf(expected[1]).any()
    for _, (found, found_lse) in both(p, values, tmp_path):
        check_close(found, expected[0], element)
        check_lse(found_lse, expected[1])


ATTENTION = all_pairs({
    "q": ("f32", "f16", "bf16"), "kv": ("f32", "f16", "bf16"),
    "out": ("f32", "f16", "bf16"),
    "mask": ("none", "i1", "f32", "f16", "bf16"),
    "mask_shape": ("full", "batch", "heads", "queries", "one"),
    "options": ("none", "causal", "window", "band"), "softcap": (None, 3.0),
    "lengths": (False, True), "queries": (0, 1, 3, 9), "ragged": (False, True),
    "group": (1, 3, 8), "kv_heads": (1, 2), "dims": ((64, 64), (48, 16), (576, 512)),
    "sinks": (False, True), "lse": (False, True), "kind": ("tensor", "memref"),
    "dynamic": (False, True)},
    lambda c: not (c.get("ragged") and c.get("mask", "none") != "none"), seed=6)


@pytest.mark.parametrize("index", range(len(ATTENTION)), ids=ids(ATTENTION))
def test_attention(index, tmp_path):
    c = ATTENTION[index]
    random = np.random.default_rng([index, 6])
    batch, length, n, (dim, value_dim) = 3, 9, c["queries"], c["dims"]
    heads = c["kv_heads"] * c["group"]
    kind, dynamic = c["kind"], c["dynamic"]
    lens = np.array([9, 0, 4], np.int32) if c["lengths"] else None
    counts = [n, 2, 0]
    q_shape = (sum(counts),) if c["ragged"] else (batch, n)
    q = rounded(random.standard_normal((*q_shape, heads, dim)), c["q"])
    k = random.standard_normal((batch, length, c["kv_heads"], dim))
    v = random.standard_normal((batch, length, c["kv_heads"], value_dim))
    if lens is not None:  # what no sequence covers
        for b, tokens in enumerate(lens):
            k[b, tokens:] = v[b, tokens:] = np.nan
    k, v = rounded(k, c["kv"]), rounded(v, c["kv"])
    options = {"none": att.Options(), "causal": att.Options(causal=True),
               "window": att.Options(causal=True, window_left=3),
               "band": att.Options(window_left=2, window_right=1),
               }[c["options"]]._replace(softcap=c["softcap"])
    scale = np.float32(0.35 / np.sqrt(dim))

    p = Program()
    outer = (0, 1) if dynamic else ()
    leading = range(len(q_shape)) if dynamic else ()
    operands = [p.array("q", kind, c["q"], q, leading),
                p.array("k", kind, c["kv"], k, outer),
                p.array("v", kind, c["kv"], v, outer)]
    values, types = zip(*operands)
    text = f"kvq.attention ins({', '.join(values)} : {', '.join(types)})"
    if lens is not None:
        value, type = p.array("lens", kind, "i32", lens, dynamic)
        text += f" seq_lens({value} : {type})"
    indptr = None
    if c["ragged"]:
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        value, type = p.array("indptr", kind, "i32", indptr, dynamic)
        text += f" qo_indptr({value} : {type})"
    text += " scale({})".format(p.argument("scale", "f32", f"{scale:.9g}"))
    mask = None
    if c["mask"] != "none":
        sizes = {"full": (batch, heads, n), "batch": (1, heads, n),
                 "heads": (batch, 1, n), "queries": (batch, heads, 1),
                 "one": (1, 1, 1)}[c["mask_shape"]]
        sees = random.random((*sizes, length)) < 0.6
        mask = sees if c["mask"] == "i1" else rounded(
            np.where(sees, random.standard_normal(sees.shape), -np.inf), c["mask"])
        dims = {d for d in (0, 2, 3) if mask.shape[d] != 1} if dynamic else ()
        value, type = p.array("mask", kind, c["mask"], mask, dims)
        text += f" mask({value} : {type})"
    sinks = None
    if c["sinks"]:
        sinks = random.standard_normal(heads).astype(np.float32)
        value, type = p.array("sinks", kind, "f32", sinks)
        text += f" sinks({value} : {type})"
    outs = [p.outs("o", kind, c["out"], (*q.shape[:-1], value_dim), leading)]
    if c["lse"]:
        outs.append(p.outs("lse", kind, "f32", q.shape[:-1], leading))
    values = emit_destination_style(p, text, outs, {"options": options_text(options)})
    if mask is not None and mask.dtype != bool:
        mask = mask.astype(np.float64)
    expected = att.attention(
        q.astype(np.float64), k.astype(np.float64), v.astype(np.float64),
        float(scale), options, mask, sinks, lens, indptr)
    for _, (found, *lse) in both(p, values, tmp_path):
        check_close(found, expected[0], c["out"])
        for array in lse:
            check_lse(array, expected[1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("cap", [1.0, 30.0])
def test_softcap_values(cap, target, tmp_path):
    """With one key the lse is the capped logit: a dense grid of logits, from
    subnormal to far in the saturated range, against float64."""
    logits = np.concatenate([
        np.linspace(-12, 12, 60001), 10.0 ** np.linspace(-44, 38, 30001), [0.0]])
    logits = np.concatenate([logits, -logits[60001:]]).astype(np.float32)
    q = np.zeros((1, len(logits), 1, 16), np.float32)
    q[0, :, 0, 0] = logits
    key = np.zeros((1, 1, 1, 16), np.float32)
    key[..., 0] = 1
    p = Program()
    values, types = zip(*(p.array(name, "memref", "f32", array) for name, array in
                          (("q", q), ("k", key), ("v", key))))
    outs = [p.outs("out", "memref", "f32", q.shape),
            p.outs("lse", "memref", "f32", q.shape[:3])]
    scale = p.argument("scale", "f32", "1.0")
    _, lse = emit_destination_style(
        p, f"kvq.attention ins({', '.join(values)} : {', '.join(types)}) "
        f"scale({scale})", outs,
        {"options": options_text(att.Options(softcap=cap))})
    found = p.run(target, tmp_path)[lse].ravel().astype(np.float64)
    expected = cap * np.tanh(logits.astype(np.float64) / cap)
    # A few units in the last place, and the last place of logit / cap.
    error = np.abs(found - expected)
    bound = 1e-6 * np.abs(expected) + cap * 2.0**-149
    at = np.argmax(error - bound)
    assert (error <= bound).all(), (logits[at], found[at], expected[at])
