"""A seeded generator of test cases: every pair of two options that may occur
together occurs in some case."""

import itertools
import math
from typing import Any, Dict, NamedTuple, Optional

import numpy as np

from . import cache as caches
from . import formats
from .attention import Options

#: Values of each option. Unless a test passes its own, these are used.
DOMAINS = {
    "k_format": tuple(formats.FORMATS),
    "v_format": tuple(formats.FORMATS),
    "kv_layout": caches.KV_LAYOUTS,
    "k_scale_layout": caches.SCALE_LAYOUTS,
    "v_scale_layout": caches.SCALE_LAYOUTS,
    "page": (1, 4, 16, 128),
    "k_dim": (64, 128),
    "v_dim": (64, 128),
    "kv_heads": (1, 2),
    "group": (1, 3, 8),
    "queries": ("decode", "several", "prefill", "ragged"),
    "lengths": ("edges", "mixed", "empty"),
    "mask": ("none", "causal", "window", "band"),
    "softcap": (None, 3.0),
    "sinks": (False, True),
    "split": (None, 16, 24),
    "strided": (False, True),
}


def is_legal(case):
    """Whether a (partial) assignment breaks no rule. Options that are missing
    are taken to suit."""
    for side in "kv":
        layout, fmt = case.get(f"{side}_scale_layout"), case.get(f"{side}_format")
        page, dim = case.get("page"), case.get(f"{side}_dim")
        if layout in (None, "linear"):
            continue
        if fmt is not None:
            if not formats.FORMATS[fmt].block:
                return False
            if dim is not None:
                if formats.FORMATS[fmt].num_scales(dim) % 4:
                    return False
        if page is not None:
            if page % (128 if layout == "blocked_128x4" else 4):
                return False
    return True


def all_pairs(domains, seed=0, legal=is_legal):
    """Assignments that cover all pairs of values that are legal together."""
    random = np.random.default_rng(seed)
    names = list(domains)
    open_pairs = set()
    for a, b in itertools.combinations(names, 2):
        for x, y in itertools.product(domains[a], domains[b]):
            if legal({a: x, b: y}):
                open_pairs.add(((a, x), (b, y)))

    def covered(case):
        items = [(n, case[n]) for n in names if n in case]
        return set(itertools.combinations(items, 2)) & open_pairs

    def complete(case, order):
        """Assigns the other options, those that cover most first, with
        backtracking where a choice leaves nothing legal."""
        if not order:
            return case
        name, rest = order[0], order[1:]
        choices = list(domains[name])
        random.shuffle(choices)
        choices = [c for c in choices if legal({**case, name: c})]
        choices.sort(key=lambda c: -len(covered({**case, name: c})))
        for choice in choices:
            result = complete({**case, name: choice}, rest)
            if result is not None:
                return result
        return None

    cases = []
    while open_pairs:
        pair = min(open_pairs, key=repr)
        order = [n for n in names if n not in (pair[0][0], pair[1][0])]
        random.shuffle(order)
        case = complete(dict(pair), order)
        if case is None:  # legal as a pair, but not with any third option
            open_pairs.discard(pair)
            continue
        open_pairs -= covered(case)
        cases.append({n: case[n] for n in names})
    return cases


class Case(NamedTuple):
    """One case with its data. Arrays are float32 and int32."""

    config: Dict[str, Any]
    k_cache: caches.Cache
    v_cache: caches.Cache
    q: np.ndarray
    block_table: np.ndarray
    seq_lens: np.ndarray
    qo_indptr: Optional[np.ndarray]
    scale: float
    options: Options
    sinks: Optional[np.ndarray]
    kv_split: Optional[int]


def _allocate(config, side, pages, g, strided):
    cache = caches.Cache.allocate(
        pages, page=config["page"], heads=config["kv_heads"],
        head_dim=config[f"{side}_dim"], fmt=config[f"{side}_format"],
        kv_layout=config["kv_layout"],
        scale_layout=config[f"{side}_scale_layout"], g=g,
    )
    if not strided:
        return cache

    def widen(buffer):
        """The same shape inside a larger allocation: each page and each row of
        a page have unused bytes behind them."""
        a, b, c, d = buffer.shape
        pool = np.full((a, b + 1, c, d + 8), 0xFF, np.uint8)
        view = pool[:, :b, :, :d]
        view[...] = buffer
        return view

    return caches.Cache(
        widen(cache.data), None if cache.scales is None else widen(cache.scales),
        g, page=cache.page, heads=cache.heads, head_dim=cache.head_dim,
        fmt=cache.fmt, kv_layout=cache.kv_layout, scale_layout=cache.scale_layout,
    )


def make_case(config, seed=0):
    """Builds the data of an assignment, whose lengths may also be numbers. Bytes
    that no sequence covers are NaN patterns, and table entries past the last
    page are out of range."""
    random = np.random.default_rng([seed, *map(ord, repr(sorted(config.items())))])
    page = config["page"]
    lengths = {
        "edges": [1, max(page - 1, 1), page, page + 1],
        "mixed": [int(random.integers(1, 50)), 37, 5],
        "empty": [0, 9, 0],
    }.get(config["lengths"], config["lengths"])
    batch = len(lengths)
    counts = {
        "decode": [1] * batch,
        "several": [3] * batch,
        "prefill": list(lengths),
        "ragged": [(1, 0, 4, 2)[b % 4] for b in range(batch)],
    }[config["queries"]]
    # A batch whose counts are equal may come without qo_indptr.
    indptr = None
    if config["queries"] not in ("decode", "several"):
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    used = [math.ceil(n / page) for n in lengths]
    pages = sum(used) + 2
    ids = random.permutation(pages)
    table = np.full((batch, max(used) + 1), 2**31 - 1, np.int32)
    table[:, 1::2] = -(2**31)
    taken = 0
    for b, n in enumerate(used):
        table[b, :n] = ids[taken : taken + n]
        taken += n

    sides = {}
    for side in "kv":
        fmt = formats.FORMATS[config[f"{side}_format"]]
        # amax / 448 of normal values; no power of two.
        g = np.float32(0.0107 if side == "k" else 0.0061) if fmt.has_global else 1.0
        cache = _allocate(config, side, pages, g, config["strided"])
        for b, n in enumerate(lengths):
            x = random.standard_normal((n, cache.heads, cache.head_dim))
            # Blocks of very different magnitudes reveal misplaced scales.
            x *= 2.0 ** random.integers(-2, 3, (n, cache.heads, 1))
            groups = -(-cache.head_dim // 16)
            x *= 2.0 ** np.repeat(
                random.integers(-2, 2, (n, cache.heads, groups)), 16, axis=-1,
            )[..., : cache.head_dim]
            slots = caches.slots_of_positions(cache, table, range(n), [b] * n)
            caches.quantize_append(cache, x.astype(np.float32), slots)
        sides[side] = cache

    heads = config["kv_heads"] * config["group"]
    shape = (sum(counts),) if indptr is not None else (batch, counts[0])
    q = random.standard_normal((*shape, heads, config["k_dim"])).astype(np.float32)
    options = {
        "none": Options(),
        "causal": Options(causal=True),
        "window": Options(causal=True, window_left=6),
        "band": Options(window_left=11, window_right=2),
    }[config["mask"]]._replace(softcap=config["softcap"])
    sinks = None
    if config["sinks"]:
        sinks = random.standard_normal(heads).astype(np.float32)
    return Case(
        config, sides["k"], sides["v"], q, table, np.array(lengths, np.int32),
        indptr, 0.35 / math.sqrt(config["k_dim"]), options, sinks, config["split"],
    )


def make_cases(domains=None, seed=0):
    """All cases of some domains, lazily."""
    for i, config in enumerate(all_pairs({**DOMAINS, **(domains or {})}, seed)):
        yield make_case(config, seed + i)
