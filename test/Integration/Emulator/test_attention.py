# RUN: %pytest_in_every_schedule %s
# REQUIRES: python, emulator
"""The portable attention kernel on the emulator with all its checks, against
the float64 oracle: generated cases that cover all pairs of options and chips, and what
a batch and the order of pages must not change."""

import copy
import os
import sys

import numpy as np
import pytest

HERE = os.path.dirname(__file__)
sys.path.insert(0, os.path.join(HERE, "..", "CPU", "Inputs"))
sys.path.insert(0, os.path.join(HERE, "Inputs"))
from attention_case import AttentionCase
from portable_cases import BASE, CASES, HEAD_DIMS, name, with_head_dims
from compare import check_close
from oracle import attention as att
from placement import reordered

#: Relative error: operands of 16 bits, most in one term.
BOUND = 3e-4


def test_count():
    assert len(CASES) >= 300


def check(case, directory, config):
    return case.check("emu", directory, [f"--chip={config['chip']}"], BOUND)


@pytest.mark.parametrize("index", range(len(CASES)), ids=[*map(name, CASES)].__getitem__)
def test_pairs(index, tmp_path):
    config = CASES[index]
    check(AttentionCase(config, seed=index), tmp_path, config)


@pytest.mark.parametrize("formats", (("nvfp4", "nvfp4"), ("mxfp4", "mxfp8"),
                                     ("fp8", "bf16")), ids="-".join)
def test_alone(formats, tmp_path):
    """A sequence has the same result, bit for bit, without its batch mates."""
    config = {**BASE, "k_format": formats[0], "v_format": formats[1]}
    if formats[1] != "nvfp4":
        config["v_scale_layout"] = "linear"
    case = AttentionCase(config)
    together = check(case, tmp_path / "all", config)
    for b in range(len(case.seq_lens)):
        one = copy.copy(case)
        one.q = case.q[b:b + 1]
        one.block_table = case.block_table[b:b + 1]
        one.seq_lens = case.seq_lens[b:b + 1]
        alone = check(one, tmp_path / str(b), config)
        for name in alone:
            np.testing.assert_array_equal(alone[name][0], together[name][b])


class Reordered(AttentionCase):
    """The same case with its pages elsewhere in the pool."""

    def set_up(self, case, sides):
        super().set_up(*reordered(case, sides))


@pytest.mark.parametrize("page", (1, 7, 16, 64))
def test_page_order(page, tmp_path):
    config = {**BASE, "page": page, "v_scale_layout": "linear"}
    found = check(AttentionCase(config), tmp_path / "a", config)
    other = check(Reordered(config), tmp_path / "b", config)
    for name in found:
        np.testing.assert_array_equal(found[name], other[name])


#: Pairs of bytes of elements, and bytes of block scales, that make values NaN
#: or infinite.
NOT_FINITE = {"nvfp4": (0x2222, 0x7F), "mxfp8": (0x7F7F, 0x70), "fp8": (0xFFFF, None),
              "bf16": (0x7F80, None), "f16": (0xFFFF, None)}


@pytest.mark.parametrize("split", (None, 16), ids=("", "split"))
@pytest.mark.parametrize("mask", ("causal", "window"))
@pytest.mark.parametrize("format", NOT_FINITE)
def test_unseen_values(format, mask, split, tmp_path):
    """The last token of each sequence has a value that is no number. Queries
    that do not see the token have the results that they have without it."""
    config = {**BASE, "v_format": format, "v_scale_layout": "linear", "mask": mask,
              "split": split, "lengths": "mixed", "chip": "sm_80"}
    case = AttentionCase(config)
    value = case.placed.caches["value"]
    element, scale = NOT_FINITE[format]
    for sequence, length in enumerate(case.seq_lens):
        page = case.block_table[sequence, (length - 1) // value.page]
        data, scales = value.read(page, (length - 1) % value.page)
        data.view("<u2")[...] = element
        value.write(page, (length - 1) % value.page, data,
                    None if scale is None else np.full_like(scales, scale))
    program, values = case.program()
    found = program.run("emu", tmp_path, ["--chip=sm_80"])[values["out"]]
    partial, lse = case.expected()
    expected = att.merge_states(partial, lse)[0] if split else partial
    finite = np.isfinite(expected)
    assert 0 < finite.mean() < 1
    np.testing.assert_array_equal(np.isfinite(found), finite)
    check_close(np.where(finite, found, 0), np.where(finite, expected, 0), within=BOUND)


@pytest.mark.parametrize("split", (None, 192))
def test_long(split, tmp_path):
    """One page of 1,000 tokens, and a length of 1,000."""
    config = {**BASE, "page": 1000, "queries": "decode", "lengths": "edges",
              "split": split}
    check(AttentionCase(config), tmp_path, config)


@pytest.mark.parametrize("dims", HEAD_DIMS)
@pytest.mark.parametrize("chip", ("sm_80", "sm_86", "sm_100a"))
def test_head_dims(dims, chip, tmp_path):
    config = with_head_dims(dims, chip)
    check(AttentionCase(config), tmp_path, config)
