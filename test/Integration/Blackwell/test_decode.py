# RUN: %pytest %s
# REQUIRES: python, emulator
"""Decode attention for sm_100a on the emulator with all its checks, against
float64: generated cases that cover all pairs of options, and what a batch and
the order of pages must not change.

Each case runs eagerly and in one more schedule, all schedules between them; with
KVQ_TEST_ALL_SCHEDULES each case runs in every one."""

import copy
import itertools
import os
import sys

import numpy as np
import pytest

HERE = os.path.dirname(__file__)
sys.path.insert(0, os.path.join(HERE, "Inputs"))
from decode_case import DecodeCase
from decode_domains import (CONTIGUOUS, DOMAINS, PV, QK, SCHEDULES, is_legal,
                            schedules)
from pairs import all_pairs
from placement import reordered

CASES = all_pairs(DOMAINS, is_legal, seed=0)


def name(case):
    return "-".join(str(v).replace(", terms = ", "_") for v in case.values())


@pytest.mark.parametrize("index", range(len(CASES)), ids=[*map(name, CASES)].__getitem__)
def test_pairs(index, tmp_path):
    config = CASES[index]
    DecodeCase({**config, "schedule": schedules(config)}, seed=index).run(tmp_path)


BASE = dict(
    k_format="nvfp4", v_format="nvfp4", qk="block_scaled, terms = 2", pv="f16",
    v_scale_layout="linear", page=16, lengths="tile", k_dim=128, v_dim=128,
    kv_heads=2, group=8, queries="decode", kv_layout="HND", placement="dense",
    tables="own", mask="none", softcap=None, sinks=False, lse=True, split=None,
    q="f16", out="f32", kind="memref", dynamic=True, schedule="eager")


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("split", (None, 128))
@pytest.mark.parametrize("page", (16, 64))
def test_schedules(page, split, tmp_path):
    """The same bits in every schedule."""
    DecodeCase({**BASE, "page": page, "split": split,
                "schedule": ",".join(SCHEDULES)}).run(tmp_path)


@pytest.mark.parametrize("split", (None, 128))
@pytest.mark.parametrize("formats", (("nvfp4", "nvfp4"), ("mxfp4", "mxfp4"),
                                     ("fp8", "bf16")), ids="-".join)
def test_alone(formats, split, tmp_path):
    """A sequence has the same result, bit for bit, without its batch mates."""
    k_format, v_format = formats
    config = {**BASE, "k_format": k_format, "v_format": v_format, "split": split}
    if k_format == "mxfp4":
        config |= {"qk": "block_scaled, terms = 3"}
    if k_format == "fp8":
        config |= {"qk": "f16"}
    if v_format != "nvfp4":
        config |= {"pv": "bf16"}
    case = DecodeCase(config)
    together = case.run(tmp_path / "all")[0]
    for b in range(len(case.seq_lens)):
        one = copy.copy(case)
        one.q, one.block_table = case.q[b:b + 1], case.block_table[b:b + 1]
        one.seq_lens = case.seq_lens[b:b + 1]
        found = one.run(tmp_path / str(b))[0]
        for name in ("out", "lse"):
            np.testing.assert_array_equal(found[name][0], together[name][b])


class Reordered(DecodeCase):
    """The same case with its pages elsewhere in the pool."""

    def set_up(self, case, sides):
        super().set_up(*reordered(case, sides))


@pytest.mark.parametrize("page", (8, 16, 64, 128, CONTIGUOUS))
def test_page_order(page, tmp_path):
    config = {**BASE, "page": page, "queries": "several", "mask": "causal"}
    assert_equal(Reordered(config).run(tmp_path / "a")[0],
                 DecodeCase(config).run(tmp_path / "b")[0])


class Magnified(DecodeCase):
    """The same logits of queries that are larger by config["magnitude"]."""

    def set_up(self, case, sides):
        magnitude = np.float32(self.config["magnitude"])
        self.q = self.q * magnitude
        super().set_up(case, sides)
        self.scale = self.scale / magnitude


@pytest.mark.parametrize("fmt, exponent", [
    *itertools.product(("nvfp4", "mxfp4"), (-40, -12, 12, 40)),
    *itertools.product(("fp8", "f16", "bf16"), (-40, 40))])
def test_magnitudes(fmt, exponent, tmp_path):
    """Queries far above and below what E4M3 and f16 hold."""
    config = {**BASE, "k_format": fmt, "v_format": fmt, "q": "f32", "qk": QK[fmt][-1],
              "pv": PV[fmt][0], "magnitude": 2.0**exponent}
    Magnified(config).run(tmp_path)


def test_window_reads_its_pages_only(tmp_path):
    """What is read from global memory follows from the window, not the length."""
    config = {**BASE, "lengths": "longest", "kv_heads": 1, "mask": "window"}
    _, launches = DecodeCase(config).run(tmp_path)
    read = launches[0]["report"]["counters"]["distinctReadBytes"]
    # A window of 134 tokens lies in 3 tiles of 128 at most.
    assert read <= 3 * 128 * 2 * 72 + 8 * 128 * 2 + 4096
