# RUN: %pytest %s
# REQUIRES: python
"""Attention over caches against the oracle, for combinations of options that
cover all pairs."""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from attention_case import AttentionCase
from attention_domains import DOMAINS, FORMATS, is_legal
from pairs import all_pairs
from program import TARGETS

CASES = all_pairs(DOMAINS, is_legal, seed=1)


def name(case):
    return "-".join(str(v) for v in case.values())


def test_count():
    """As many as there are pairs of formats, at least."""
    assert len(CASES) >= len(FORMATS) ** 2


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index", range(len(CASES)), ids=[*map(name, CASES)].__getitem__)
def test_pairs(index, target, tmp_path):
    AttentionCase(CASES[index], seed=index).check(target, tmp_path)
