# RUN: %pytest %s
# REQUIRES: python
"""What the split of Q into terms of K's format and the rounding of P cost, beside
computing the whole attention in E4M3, against exact attention over the same cache.

Run with -s to see the table."""

import json
import os
import pathlib
import sys

import numpy as np
import pytest
from oracle import formats

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from decode_model import (attend, attend_in_e4m3, relative, round_values, rounded_query,
                          split_terms)

DATA = pathlib.Path(os.environ["KVQ_SOURCE_DIR"]) / "examples/smollm2/data"
ROWS, TOKENS, DIM = 8, 1000, 128


def gaussian():
    random = np.random.default_rng(1)
    for _ in range(4):
        q = random.standard_normal((ROWS, DIM))
        k, v = random.standard_normal((2, TOKENS, DIM))
        yield q, k, v, DIM**-0.5


def outliers():
    """A few channels of keys that dwarf the others, as trained models have, and
    queries that use them."""
    random = np.random.default_rng(2)
    for q, k, v, scale in gaussian():
        channels = random.choice(DIM, 4, replace=False)
        k[:, channels] = 10 * random.standard_normal(4) + k[:, channels]
        q[:, channels] *= 4
        yield q, k, v, scale


def captured(step):
    """Every fifth query of each KV head and sequence of the example."""
    def load(name):
        return np.load(DATA / f"{step}_{name}.npy", allow_pickle=False)

    q, k, v = (load(name).astype(np.float64) for name in "qkv")
    table, starts = load("block_table"), load("qo_indptr")
    row_of_slot = {slot: row for row, slot in enumerate(load("slot_mapping"))}
    page = json.loads((DATA / "metadata.json").read_text())["page_size"]
    group = q.shape[1] // k.shape[1]
    for b, length in enumerate(load("seq_lens")):
        rows = [row_of_slot[table[b, t // page] * page + t % page] for t in range(length)]
        for query in range(starts[b + 1] - 1, starts[b] - 1, -5):
            seen = rows[:length - (starts[b + 1] - 1 - query)]
            for head in range(k.shape[1]):
                heads = slice(group * head, group * (head + 1))
                yield q[query, heads], k[seen, head], v[seen, head], q.shape[-1] ** -0.5


FAMILIES = {
    "Gaussian": gaussian,
    "outlier channels": outliers,
    "SmolLM2 prefill": lambda: captured("prefill"),
    "SmolLM2 decode": lambda: captured("decode"),
}


def stored(x, fmt):
    """x as a cache of a format gives it back, and its global scale."""
    largest = {"nvfp4": 6 * 448, "fp8": 448}.get(fmt)
    g = np.float32(np.abs(x).max() / largest) if largest else np.float32(1)
    x = x.astype(np.float32)
    return formats.dequantize(fmt, *formats.quantize(fmt, x, g), g).astype(np.float64), g


def block_scaled_paths(q, k, v, scale, fmt, g):
    paths = {f"{terms} terms": attend(split_terms(q, fmt, terms), k, v, scale)
             for terms in (1, 2, 3)}
    if fmt == "nvfp4":
        paths["pv = f8"] = attend(split_terms(q, fmt, 2), k,
                                  round_values(v, "f8", fmt, g), scale, "f8")
    return paths


def type_paths(q, k, v, scale, fmt, _):
    """By the kind of P V, of which the first is what keeps V exact."""
    qk = "f8" if fmt == "fp8" else fmt
    q = rounded_query(q.astype(np.float32), qk, fmt)
    return {f"pv = {pv}": attend(q, k, v, scale, pv)
            for pv in (("f16", "f8") if fmt == "fp8" else (fmt,))}


def errors(family, fmt, paths_of):
    """(logits, output) by path, over all attentions of a family together."""
    exact, found = ([], []), {}
    for q, k, v, scale in FAMILIES[family]():
        (k, _), (v, g) = stored(k, fmt), stored(v, fmt)
        paths = paths_of(q, k, v, scale, fmt, g)
        paths["E4M3"] = attend_in_e4m3(q, k, v, scale)
        for i, part in enumerate(attend(q, k, v, scale)):
            exact[i].append(part.ravel())
        for name, parts in paths.items():
            for i, part in enumerate(parts):
                found.setdefault(name, ([], []))[i].append(part.ravel())
    return {name: [relative(np.concatenate(parts[i]), np.concatenate(exact[i]))
                   for i in range(2)]
            for name, parts in found.items()}


def show(family, fmt, found):
    for name, (logits, output) in found.items():
        print(f"{family:18} {fmt:6} {name:9} logits {logits:9.2e} output {output:9.2e}")


@pytest.mark.parametrize("fmt", ("fp8", "f16", "bf16"))
@pytest.mark.parametrize("family", FAMILIES)
def test_types(family, fmt):
    found = errors(family, fmt, type_paths)
    show(family, fmt, found)
    # f16 and bf16 have 11 and 8 bits for P; two terms of E4M3 have 8 for Q.
    bounds = {"fp8": {"pv = f16": 2**-8, "pv = f8": 2**-4}, "f16": {"pv = f16": 2**-11},
              "bf16": {"pv = bf16": 2**-8}}[fmt]
    for path, bound in bounds.items():
        assert found[path][1] <= bound
        assert found[path][1] <= found["E4M3"][1]


@pytest.mark.parametrize("fmt", ("nvfp4", "mxfp4"))
@pytest.mark.parametrize("family", FAMILIES)
def test_split(family, fmt):
    found = errors(family, fmt, block_scaled_paths)
    show(family, fmt, found)
    terms = {"nvfp4": 2, "mxfp4": 3}[fmt]
    for i in range(2):
        assert found[f"{terms} terms"][i] <= found["E4M3"][i] / 3
    if fmt == "nvfp4":
        assert found["pv = f8"][1] <= found["E4M3"][1]
    # Each term adds several bits.
    for more, fewer in ((2, 1), (3, 2)):
        assert found[f"{more} terms"][0] <= found[f"{fewer} terms"][0] / 4
