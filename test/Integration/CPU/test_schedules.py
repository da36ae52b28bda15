# RUN: %pytest %s
# REQUIRES: python
"""What upstream's transform operations make of kvq operations, against the
oracle: tiles of kvq.attention over sequences, KV heads, queries and keys, and
decompositions into linalg."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from attention_case import emit_destination_style
from compare import check_bytes, check_close, check_lse, rounded
from dense_attention import DenseAttention
from oracle import attention as att
from oracle import formats
from pairs import all_pairs
from placement import ELEMENTS
from program import Program
from schedule import Schedule
from test_append import is_legal, values_of_all_kinds


def ids(case_list):
    return ["-".join(map(str, c.values())) for c in case_list].__getitem__


def tile_keys(by):
    def build(s, loops):
        s.tile_reduction(s.match("kvq.attention"), f"{by[0]} = {loops(keys=by[1])}")
    return build


def tile_sequences_and_heads(s, loops):
    s.tile(s.match("kvq.attention"), loops(sequences=2, heads=1), "forall")


def tile_queries(s, loops):
    s.tile(s.match("kvq.attention"), loops(queries=2))


def tile_all_but_keys(s, loops):
    """Of ragged queries only heads can be tiled."""
    s.tile(s.match("kvq.attention"), loops(sequences=1, heads=1, queries=4))


def tile_heads_then_keys(s, loops):
    tiled = s.tile(s.match("kvq.attention"), loops(heads=1))
    s.tile_reduction(tiled, f"tile_sizes = {loops(keys=4)}")


def tile_keys_then_queries_then_keys(s, loops):
    """Parts of parts: the offsets add up."""
    part, _ = s.tile_reduction(s.match("kvq.attention"),
                               f"tile_sizes = {loops(keys=5)}")
    part = s.tile(part, loops(queries=2, heads=1))
    s.tile_reduction(part, f"tile_sizes = {loops(keys=2)}")


def decompose(s, loops):
    s.decompose(s.match("kvq.attention"))


def tile_keys_and_decompose(s, loops):
    part, merge = s.tile_reduction(s.match("kvq.attention"),
                                   f"tile_sizes = {loops(keys=3)}")
    s.decompose(s.tile(part, loops(queries=2, heads=1)))
    s.decompose(merge)


SCHEDULES = {
    "keys": tile_keys(("tile_sizes", 4)),
    "key": tile_keys(("tile_sizes", 1)),
    "all_keys": tile_keys(("tile_sizes", 16)),
    "threads": tile_keys(("num_threads", 4)),
    "outer": tile_sequences_and_heads,
    "queries": tile_queries,
    "all_but_keys": tile_all_but_keys,
    "heads_keys": tile_heads_then_keys,
    "nested": tile_keys_then_queries_then_keys,
    "decompose": decompose,
    "keys_decompose": tile_keys_and_decompose,
}

DOMAINS = {
    "ragged": (False, True), "schedule": tuple(SCHEDULES),
    "mask": ("none", "i1", "f32", "bf16"),
    "mask_shape": ("full", "heads", "queries", "one"),
    "q": ("f32", "f16", "bf16"), "kv": ("f32", "f16", "bf16"),
    "out": ("f32", "f16", "bf16"),
    "options": ("none", "causal", "window", "band"), "softcap": (None, 3.0),
    "lengths": (False, True), "queries": (1, 3, 9),
    "group": (1, 3), "kv_heads": (1, 2), "dims": ((32, 32), (48, 16)),
    "sinks": (False, True), "lse": (False, True), "dynamic": (False, True)}


def is_schedulable(c):
    # Ragged queries have neither a mask nor loops over sequences and queries.
    return not (c.get("ragged") and (c.get("mask", "none") != "none" or
                                     c.get("schedule") in ("queries",)))


CASES = all_pairs(DOMAINS, is_schedulable, seed=8)
# Every schedule with all that has to be placed right at once.
CASES += [{"ragged": ragged, "schedule": schedule, "mask": "none",
           "mask_shape": "one", "q": "f32", "kv": "f32", "out": "f32",
           "options": options, "softcap": 3.0, "lengths": lengths, "queries": 5,
           "group": 3, "kv_heads": 2, "dims": (32, 16), "sinks": True,
           "lse": True, "dynamic": True}
          for schedule in SCHEDULES for ragged in (False, True)
          for options, lengths in (("window", True), ("band", False))
          if is_schedulable({"ragged": ragged, "schedule": schedule})]


def loops_of(config):
    """A function from sizes by loop to the list that transforms take."""
    order = ("heads", "keys") if config["ragged"] else (
        "sequences", "heads", "queries", "keys")

    def loops(**sizes):
        values = [sizes.get(name, 0) for name in order]
        while len(values) > 1 and values[-1] == 0:
            values.pop()
        return values
    return loops


@pytest.mark.parametrize("index", range(len(CASES)), ids=ids(CASES))
def test_attention(index, tmp_path):
    config = CASES[index]
    case = DenseAttention(config, [index, 8])
    program, values = case.program()
    schedule = Schedule()
    SCHEDULES[config["schedule"]](schedule, loops_of(config))
    text = schedule.apply(program, tmp_path)
    if "decompose" in config["schedule"]:
        assert "kvq." not in text
    # Both lowerings take parts of attention; without it there is one.
    for target in ("cpu",) if "kvq." not in text else ("cpu", "cpu-reference"):
        arrays = program.run(target, tmp_path)
        case.check([arrays[value] for value in values])


QUANTIZE = all_pairs({
    "format": tuple(formats.FORMATS), "head_dim": (16, 64, 96),
    "op": ("quantize", "four_over_six"), "g": (1.0, 0.0107, 1e-39, 1e38),
    "type": ("f32", "f16", "bf16"), "rank": (1, 2, 3),
    "dynamic": (False, True)}, is_legal, seed=9)


@pytest.mark.parametrize("index", range(len(QUANTIZE)), ids=ids(QUANTIZE))
def test_quantize_and_dequantize(index, tmp_path):
    """Decomposed, both give the oracle's bytes."""
    c = QUANTIZE[index]
    random = np.random.default_rng([index, 9])
    fmt = formats.FORMATS[c["format"]]
    shape = (3, 2)[: c["rank"] - 1] + (c["head_dim"],)
    x = rounded(values_of_all_kinds(random, shape), c["type"])
    g = np.float32(c["g"] if fmt.has_global else 1)
    p = Program()
    open_dims = range(c["rank"] - 1) if c["dynamic"] else ()
    value, type = p.array("x", "tensor", c["type"], x, open_dims)
    scale = ""
    if fmt.has_global:
        scale = " global_scale({})".format(p.argument("g", "f32", f"{g:.9g}"))
    outs = [p.outs("data", "tensor", ELEMENTS[fmt.element], x.shape, open_dims)]
    if fmt.block:
        sizes = (*x.shape[:-1], fmt.num_scales(c["head_dim"]))
        outs.append(p.outs("scales", "tensor", ELEMENTS[fmt.scale], sizes, open_dims))
    attributes = {"format": f"#kvq.format<{fmt.name}>"}
    if c["op"] == "four_over_six":
        attributes["four_over_six"] = ""
    parts = emit_destination_style(
        p, f"kvq.quantize ins({value} : {type}){scale}", outs, attributes)
    types = ", ".join(type for _, type in outs)
    restored = emit_destination_style(
        p, f"kvq.dequantize ins({', '.join(parts)} : {types}){scale}",
        [p.outs("y", "tensor", c["type"], x.shape, open_dims)],
        {"format": attributes["format"]})
    schedule = Schedule()
    schedule.decompose(schedule.match("kvq.quantize"))
    schedule.decompose(schedule.match("kvq.dequantize"))
    assert "kvq." not in schedule.apply(p, tmp_path)
    arrays = p.run("cpu", tmp_path)
    data, scales = formats.quantize(fmt, x.astype(np.float32), g,
                                    c["op"] == "four_over_six")
    check_bytes(arrays[parts[0]].view(np.uint8).reshape(data.shape), data, "data")
    if fmt.block:
        check_bytes(arrays[parts[1]].view(np.uint8).reshape(scales.shape), scales,
                    "scales")
    expected = rounded(formats.dequantize(fmt, data, scales, g), c["type"])
    check_bytes(arrays[restored[0]], expected, "values")


@pytest.mark.parametrize("lse", [False, True])
@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("shape", [(4, 3, 2, 16), (2, 2, 3, 2, 8), (1, 2, 1, 4)],
                         ids=str)
def test_merge_states(shape, element, lse, tmp_path):
    random = np.random.default_rng(len(shape))
    out = random.standard_normal(shape).astype(np.float32)
    partial = random.standard_normal(shape[:-1]).astype(np.float32) * 9
    # Parts without keys, whose outputs do not count, and a row of them.
    partial[0, 0] = -np.inf
    partial[:, 1, 0] = -np.inf
    out[0, 0] = np.nan
    p = Program()
    values, types = zip(p.array("o", "tensor", "f32", out, (0, 1)),
                        p.array("l", "tensor", "f32", partial, (0, 1)))
    outs = [p.outs("out", "tensor", element, shape[1:], (0,))]
    if lse:
        outs.append(p.outs("lse", "tensor", "f32", shape[1:-1], (0,)))
    results = emit_destination_style(
        p, f"kvq.merge_states ins({', '.join(values)} : {', '.join(types)})", outs,
        {})
    schedule = Schedule()
    schedule.decompose(schedule.match("kvq.merge_states"))
    assert "kvq." not in schedule.apply(p, tmp_path)
    arrays = p.run("cpu", tmp_path)
    expected = att.merge_states(np.where(np.isnan(out), 0, out), partial)
    check_close(arrays[results[0]], expected[0], element)
    if lse:
        check_lse(arrays[results[1]], expected[1])
