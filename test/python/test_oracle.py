# RUN: %pytest %s
# REQUIRES: python
"""The oracle itself, against plainer computations on small shapes."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from oracle import attention as att
from oracle import cache as caches
from oracle import cases, formats, rope

E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
# (1 + m/8) * 2^(e - 7), or m/8 * 2^-6.
E4M3 = [
    (1 + m / 8) * 2.0 ** (e - 7) if e else m / 8 * 2.0**-6
    for e in range(16)
    for m in range(8)
][:127]


def nearest(x, table):
    """The index of the nearest entry, the even one of two."""
    x = min(Fraction(abs(float(x))), Fraction(table[-1]))
    return min(range(len(table)), key=lambda i: (abs(Fraction(table[i]) - x), i % 2))


@pytest.mark.parametrize("kind, table", [("e2m1", E2M1), ("e4m3", E4M3)])
def test_codecs(kind, table):
    sign = 8 if kind == "e2m1" else 0x80
    codes = np.arange(len(table), dtype=np.uint8)
    np.testing.assert_array_equal(formats.decode(codes, kind), np.float32(table))
    np.testing.assert_array_equal(
        formats.decode(codes | sign, kind), -np.float32(table)
    )
    middle = (np.float32(table[1:]) + np.float32(table[:-1])) / np.float32(2)
    probes = np.concatenate([np.float32(table), middle, np.float32([1e9, 1e-40])])
    inf = np.float32(np.inf)
    probes = np.concatenate(
        [probes, np.nextafter(probes, inf), np.nextafter(probes, -inf)]
    )
    expected = [nearest(x, table) | (sign if np.signbit(x) else 0) for x in probes]
    np.testing.assert_array_equal(formats.encode(probes, kind), expected)
    np.testing.assert_array_equal(
        formats.encode(np.float32([np.inf, -np.inf, -0.0]), kind),
        [len(table) - 1, len(table) - 1 | sign, sign],
    )


def padded(head, rest):
    return head + [rest] * (16 - len(head))


INF, NAN = math.inf, math.nan
TIES = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6]
VECTORS = {
    "V1": (list(range(16)), 1, "42", "1022435465667677"),
    "V2": ([0] * 16, 1, "00", "00" * 8),
    "V3": ([0.0, -0.0] * 8, 1, "00", "80" * 8),
    "V4": (TIES + [-x for x in TIES], 1, "38", "20426476A8CAECFE"),
    "V5": ([2**-8] * 16, 1, "00", "00" * 8),
    "V6": (padded([6 * 2**-10], 0), 1, "00", "00" * 8),
    "V7": (padded([6 * 2**-9, 3 * 2**-9], 0), 1, "01", "57" + "00" * 7),
    "V8": (padded([6000, 2688, 1344, 600], 1), 1, "7E", "7735" + "00" * 6),
    "V9": (padded([2688, -2688, 1344, 224], 0), 1, "7E", "F715" + "00" * 6),
    "V10": (padded([30], 1), 1, "4A", "07" + "00" * 7),
    "V11": (padded([6.3], 1), 1, "38", "27" + "22" * 7),
    "V12": (padded([1, 2, 3, NAN], 4), 1, "33", "5306" + "77" * 6),
    "V13": (padded([INF], 1), 1, "7E", "07" + "00" * 7),
    "V14": ([30 * k for k in range(16)], 450 / 448, "69", "1022435465667677"),
    "V15": ([30 * k for k in range(16)], 450 / 2688, "7E", "1022435465667677"),
}


@pytest.mark.parametrize("name", VECTORS)
def test_reference_vectors(name):
    x, g, scale, codes = VECTORS[name]
    data, scales = formats.quantize("nvfp4", np.float32(x), np.float32(g))
    assert scales.tobytes().hex().upper() == scale
    assert data.tobytes().hex().upper() == codes


def test_mx_scales_by_search():
    random = np.random.default_rng(1)
    for fmt, largest, top in (("mxfp4", 6, 2), ("mxfp8", 448, 8)):
        x = random.standard_normal((40, 32)).astype(np.float32)
        x *= np.exp2(random.integers(-20, 20, (40, 1))).astype(np.float32)
        data, scales = formats.quantize(fmt, x)
        table = E2M1 if fmt == "mxfp4" else E4M3
        codes = formats.unpack(data, formats.FORMATS[fmt].element)
        for row in range(40):
            a = Fraction(float(np.abs(x[row]).max()))
            e = next(e for e in range(-150, 150) if Fraction(2) ** (e + 1) > a) - top
            assert scales[row, 0] == e + 127
            for i in range(32):
                expected = nearest(Fraction(float(x[row, i])) / Fraction(2) ** e, table)
                assert codes[row, i] & (7 if fmt == "mxfp4" else 127) == expected


def test_four_over_six_takes_the_better_one():
    random = np.random.default_rng(2)
    x = random.standard_normal((500, 16)).astype(np.float32)
    g = np.float32(0.01)
    six = formats.quantize("nvfp4", x, g)
    both = formats.quantize("nvfp4", x, g, four_over_six=True)

    def errors(quantized):
        back = formats.dequantize("nvfp4", *quantized, g).astype(np.float64)
        return ((back - x) ** 2).sum(axis=-1)

    changed = (both[1] != six[1])[:, 0]
    assert 50 < changed.sum() < 450
    assert (errors(both)[changed] < errors(six)[changed]).all()
    np.testing.assert_array_equal(both[0][~changed], six[0][~changed])


#===------------------------------------------------------------------------===#
# Layouts
#===------------------------------------------------------------------------===#


def test_interleaved_4_order():
    # With 8 scales, token 0 has the bytes 0, 4, .., 28, and token 4 starts at 32.
    offsets = [caches.scale_offset("interleaved_4", 0, s, 8) for s in range(8)]
    assert offsets == list(range(0, 32, 4))
    assert caches.scale_offset("interleaved_4", 3, 7, 8) == 31
    assert caches.scale_offset("interleaved_4", 4, 0, 8) == 32
    # The other formula: rows and columns of the linear shape.
    for size in (4, 8, 16):
        for t, s in itertools.product(range(16), range(size)):
            row = t // 4 * 4 + s // (size // 4)
            column = s % (size // 4) * 4 + t % 4
            offset = caches.scale_offset("interleaved_4", t, s, size)
            assert divmod(offset, size) == (row, column)


def test_blocked_128x4_order():
    # The tile by its definition: [tiles, column tiles, 32, 4, 4] with the row
    # 32 * j + i at [.., i, j, ..].
    size, page = 8, 256
    buffer = np.arange(page * size).reshape(2, 2, 32, 4, 4)
    for t, s in itertools.product(range(page), range(size)):
        expected = buffer[t // 128, s // 4, t % 32, t % 128 // 32, s % 4]
        assert caches.scale_offset("blocked_128x4", t, s, size) == expected


LAYOUTS = [
    (kv, layout, page)
    for kv in caches.KV_LAYOUTS
    for layout in caches.SCALE_LAYOUTS
    for page in (1, 4, 16, 128)
    if caches.scale_layout_is_legal(layout, page, 4)
]


@pytest.mark.parametrize("kv_layout, scale_layout, page", LAYOUTS)
def test_append_places_bytes(kv_layout, scale_layout, page):
    heads, dim, pages = 2, 64, 3
    cache = caches.Cache.allocate(pages, page=page, heads=heads, head_dim=dim,
                                  fmt="nvfp4", kv_layout=kv_layout,
                                  scale_layout=scale_layout, fill=0xEE)
    random = np.random.default_rng(page)
    n = min(pages * page, 150)
    slots = random.permutation(pages * page)[:n]
    data = random.integers(0, 256, (n, heads, 32), np.uint8)
    scales = random.integers(0, 256, (n, heads, 4), np.uint8)
    expected_data = np.full(cache.data.size, 0xEE, np.uint8)
    expected_scales = np.full(cache.scales.size, 0xEE, np.uint8)
    for i, h in itertools.product(range(n), range(heads)):
        p, t = divmod(int(slots[i]), page)
        for byte in range(32):
            row = (p * page + t) * heads + h
            if kv_layout == "HND":
                row = (p * heads + h) * page + t
            expected_data[row * 32 + byte] = data[i, h, byte]
        for s in range(4):
            r, c = divmod(caches.scale_offset(scale_layout, t, s, 4), 4)
            row = (p * page + r) * heads + h
            if kv_layout == "HND":
                row = (p * heads + h) * page + r
            expected_scales[row * 4 + c] = scales[i, h, s]
    mapping = np.concatenate([slots, [-1]])
    padding = np.zeros((1, heads, 32), np.uint8)
    caches.append(cache, np.concatenate([data, padding]),
                  np.concatenate([scales, padding[..., :4]]), mapping)
    np.testing.assert_array_equal(cache.data.ravel(), expected_data)
    np.testing.assert_array_equal(cache.scales.ravel(), expected_scales)
    # And reading gives back what was written.
    for i in range(n):
        found = cache.read(*divmod(int(slots[i]), page))
        np.testing.assert_array_equal(found[0], data[i])
        np.testing.assert_array_equal(found[1], scales[i])


def filled(scale_layout="linear", fmt="nvfp4", kv_layout="NHD", page=4):
    cache = caches.Cache.allocate(4, page=page, heads=2, head_dim=64, fmt=fmt,
                                  kv_layout=kv_layout, scale_layout=scale_layout,
                                  g=0.01)
    x = np.random.default_rng(3).standard_normal((4 * page, 2, 64))
    x *= np.exp2(np.arange(4 * page) % 5)[:, None, None]
    caches.quantize_append(cache, x.astype(np.float32), range(4 * page))
    return cache


def test_append_rejects_and_writes_nothing():
    cache = filled()
    before = cache.data.copy()
    rows = np.zeros((2, 2, 32), np.uint8), np.zeros((2, 2, 4), np.uint8)
    for slots in ([0, 16], [3, 3]):
        with pytest.raises(ValueError):
            caches.append(cache, *rows, slots)
        np.testing.assert_array_equal(cache.data, before)


@pytest.mark.parametrize("kv_layout", caches.KV_LAYOUTS)
def test_convert_scale_layout(kv_layout):
    linear = filled(kv_layout=kv_layout)
    converted = caches.convert_scale_layout(linear, "interleaved_4")
    assert (converted.scales != linear.scales).any()
    np.testing.assert_array_equal(
        converted.scales,
        filled("interleaved_4", kv_layout=kv_layout).scales,
    )
    back = caches.convert_scale_layout(converted, "linear")
    np.testing.assert_array_equal(back.scales, linear.scales)


def test_gather():
    cache = filled("interleaved_4")
    table = np.array([[2, 0], [1, 99], [99, 99]])
    data, scales = caches.gather(cache, table, [6, 3, 0], 7)
    for b, j in itertools.product(range(3), range(7)):
        if j < [6, 3, 0][b]:
            expected = cache.read(table[b, j // 4], j % 4)
            np.testing.assert_array_equal(data[b, j], expected[0])
            np.testing.assert_array_equal(scales[b, j], expected[1])
        else:
            assert not data[b, j].any() and not scales[b, j].any()
    with pytest.raises(ValueError):
        caches.gather(cache, table, [6, 8, 0], 7)


def test_copy_pages():
    cache = filled("interleaved_4", kv_layout="HND")
    before = cache.data.copy(), cache.scales.copy()
    caches.copy_pages(cache, [0, 1], [3, 0])
    for buffer, old in zip((cache.data, cache.scales), before):
        np.testing.assert_array_equal(buffer[3], old[0])
        np.testing.assert_array_equal(buffer[0], old[1])
        np.testing.assert_array_equal(buffer[1:3], old[1:3])


#===------------------------------------------------------------------------===#
# Attention
#===------------------------------------------------------------------------===#


@pytest.mark.parametrize("style", rope.STYLES)
@pytest.mark.parametrize("pairs", (1, 3, 4))
def test_rope(style, pairs):
    """Against complex numbers, on values for which f32 is exact."""
    random = np.random.default_rng(pairs)
    x = random.integers(-9, 10, (3, 2, 8)).astype(np.float32)
    cos, sin = random.integers(-3, 4, (2, 3, pairs)).astype(np.float32)
    found = rope.rotate(x, cos, sin, style)
    for i in range(pairs):
        a, b = (i, i + pairs) if style == "rotate_half" else (2 * i, 2 * i + 1)
        turned = (x[..., a] + 1j * x[..., b]) * (cos + 1j * sin)[:, None, i]
        np.testing.assert_array_equal(found[..., a], turned.real)
        np.testing.assert_array_equal(found[..., b], turned.imag)
    np.testing.assert_array_equal(found[..., 2 * pairs:], x[..., 2 * pairs:])


def test_rope_rounds_each_product():
    """A contracted product would leave the error of the other one."""
    x = np.full((1, 1, 2), 1 + 2.0**-12, np.float32)
    table = x[:, 0, :1]
    assert rope.rotate(x, table, table)[0, 0, 0] == 0
    nan = np.array([[[-np.nan, 1]]], np.float32)
    found = rope.rotate(nan, table, table).view(np.uint32)
    assert (found == 0x7FC00000).all()


def naive(q, keys, values, scale, sees, softcap, sink):
    """One query, by the formula, in Python floats."""
    terms = []
    for j in range(len(keys)):
        if not sees(j):
            continue
        logit = scale * sum(float(a) * float(b) for a, b in zip(q, keys[j]))
        if softcap:
            logit = softcap * math.tanh(logit / softcap)
        terms.append((math.exp(logit), values[j]))
    total = sum(w for w, _ in terms) + (math.exp(sink) if sink is not None else 0)
    if not total:
        return [0.0] * values.shape[-1], -math.inf
    out = [
        sum(w * float(v[d]) for w, v in terms) / total
        for d in range(values.shape[-1])
    ]
    return out, math.log(total)


SMALL = {
    "k_format": ("nvfp4", "mxfp8", "bf16"),
    "v_format": ("nvfp4", "mxfp4", "fp8", "f16"),
    "k_scale_layout": ("linear", "interleaved_4"),
    "v_scale_layout": ("linear", "interleaved_4"),
    "page": (1, 4),
    "k_dim": (64,),
    "v_dim": (64, 128),
    "group": (1, 3),
    "lengths": ("edges", "empty"),
}


@pytest.mark.parametrize("seed", range(2))
def test_attention_over_a_cache(seed):
    for case in cases.make_cases(SMALL, seed):
        check_against_naive(case)


def check_against_naive(case):
    out, lse = run(case, kv_split=None)
    config = case.config
    assert np.isfinite(out).all()
    indptr = case.qo_indptr
    if indptr is None:
        batch, n = case.q.shape[:2]
        indptr = np.arange(batch + 1) * n
        out = out.reshape(-1, *out.shape[2:])
        lse = lse.reshape(-1, lse.shape[-1])
        rows = case.q.reshape(-1, *case.q.shape[2:])
    else:
        rows = case.q
    for b, length in enumerate(case.seq_lens):
        n = indptr[b + 1] - indptr[b]
        k = att.read_values(case.k_cache, case.block_table[b], length)
        v = att.read_values(case.v_cache, case.block_table[b], length)
        # One row of each sequence and two heads are enough.
        for i, h in {(0, 0), (n - 1, rows.shape[1] - 1)} if n else ():
            p = length - n + i

            def sees(j):
                mask = config["mask"]
                if mask in ("causal", "window") and j > p:
                    return False
                if mask == "window" and j < p - 6:
                    return False
                return mask != "band" or p - 11 <= j <= p + 2

            kv_head = h // config["group"]
            sink = None if case.sinks is None else float(case.sinks[h])
            expected = naive(rows[indptr[b] + i, h], k[:, kv_head], v[:, kv_head],
                             case.scale, sees, config["softcap"], sink)
            np.testing.assert_allclose(out[indptr[b] + i, h], expected[0],
                                       rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(lse[indptr[b] + i, h], expected[1],
                                       rtol=1e-9, atol=1e-12)


def run(case, kv_split):
    return att.attention_over_cache(
        case.q, case.k_cache, case.v_cache, case.block_table, case.seq_lens,
        case.scale, case.options, case.qo_indptr, case.sinks, kv_split,
    )


def test_split_and_merge():
    for case in cases.make_cases(SMALL, 7):
        whole = run(case, None)
        for split in (1, 4, 100):
            merged = att.merge_states(*run(case, split))
            for found, expected in zip(merged, whole):
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_masked_rows():
    k = np.ones((1, 3, 1, 4))
    v = np.full((1, 3, 1, 2), 5.0)
    q = np.ones((1, 5, 2, 4))
    out, lse = att.attention(q, k, v, 1.0, att.Options(causal=True),
                             sinks=np.array([0.5, -1.0]))
    # Queries 0 and 1 of 5 lie before the first key.
    assert not out[0, :2].any()
    np.testing.assert_array_equal(lse[0, :2], [[0.5, -1.0]] * 2)
    out, lse = att.attention(q, k, v, 1.0, att.Options(causal=True))
    assert not out[0, :2].any() and (lse[0, :2] == -np.inf).all()
    np.testing.assert_allclose(out[0, 2:], 5.0)
    # No keys at all.
    out, lse = att.attention(q, k[:, :0], v[:, :0], 1.0)
    assert not out.any() and (lse == -np.inf).all()
    merged = att.merge_states(out[None], lse[None])
    assert not merged[0].any() and (merged[1] == -np.inf).all()


def test_masks():
    random = np.random.default_rng(8)
    q = random.standard_normal((2, 3, 4, 8))
    k = random.standard_normal((2, 5, 2, 8))
    v = random.standard_normal((2, 5, 2, 6))
    boolean = random.integers(0, 2, (2, 1, 3, 5)).astype(bool)
    additive = np.where(boolean, 0.0, -np.inf)
    first = att.attention(q, k, v, 0.3, mask=boolean)
    second = att.attention(q, k, v, 0.3, mask=additive)
    for a, b in zip(first, second):
        np.testing.assert_array_equal(a, b)
    causal = np.tril(np.ones((3, 5), bool), 2)[None, None]
    np.testing.assert_array_equal(
        att.attention(q, k, v, 0.3, mask=causal)[0],
        att.attention(q, k, v, 0.3, att.Options(causal=True))[0],
    )
    # A bias shifts one logit.
    bias = np.zeros((1, 1, 1, 5))
    bias[..., 2] = 1.5
    out, _ = att.attention(q, k, v, 0.3, mask=bias)
    logits = 0.3 * k[1, :, 0] @ q[1, 2, 1] + bias[0, 0, 0]
    weights = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(out[1, 2, 1], weights @ v[1, :, 0])


#===------------------------------------------------------------------------===#
# Cases
#===------------------------------------------------------------------------===#


def test_cases_cover_all_pairs():
    configs = cases.all_pairs(cases.DOMAINS)
    for a, b in itertools.combinations(cases.DOMAINS, 2):
        found = {(c[a], c[b]) for c in configs}
        for pair in itertools.product(cases.DOMAINS[a], cases.DOMAINS[b]):
            if cases.is_legal({a: pair[0], b: pair[1]}):
                assert pair in found, (a, b, pair)
    assert all(cases.is_legal(c) for c in configs)
    assert len(configs) < 150


def test_cases_are_reproducible():
    config = cases.all_pairs(cases.DOMAINS)[3]
    first, second = cases.make_case(config, 1), cases.make_case(config, 1)
    np.testing.assert_array_equal(first.q, second.q)
    np.testing.assert_array_equal(first.k_cache.data, second.k_cache.data)
    assert (cases.make_case(config, 2).q != first.q).any()


def test_a_wrong_layout_shows():
    config = dict(cases.all_pairs(cases.DOMAINS)[0])
    config.update(k_format="nvfp4", v_format="nvfp4", page=16, k_dim=64, v_dim=64,
                  k_scale_layout="linear", v_scale_layout="interleaved_4",
                  lengths="mixed", sinks=False, split=None, mask="none")
    case = cases.make_case(config)
    out, _ = run(case, None)
    case.v_cache.scale_layout = "linear"
    v = case.v_cache
    wrong = caches.Cache(v.data, v.scales, v.g, page=16, heads=v.heads,
                         head_dim=64, fmt="nvfp4", kv_layout=v.kv_layout)
    other, _ = run(case._replace(v_cache=wrong), None)
    # Reading poisoned bytes as scales is one way to differ.
    difference = np.linalg.norm(other - out) / np.linalg.norm(out)
    assert not difference < 0.2
