# RUN: %pytest %s
# REQUIRES: python, compiler
"""The fusions fuse what they may and nothing else, in random functions.
test_differential.py runs such functions before and after."""

import os
import re
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from execute import optimize  # noqa: E402
from fusion_case import FusionCase, module_of  # noqa: E402

SEED, CASES, BATCH = 20, 400, 100
PASSES = ("--kvq-fuse-quantize-append", "--kvq-fuse-dequant-attention")


def counts(text, case):
    """How often each operation occurs in a case and what it calls."""
    functions = [
        f
        for f in re.split(r"func\.func private ", text)
        if re.match(rf"@{case.name}(_write)?\(", f)
    ]
    return {
        op: sum(len(re.findall(rf"{re.escape(op)} ins", f)) for f in functions)
        for op in case.expected
    }


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_fusions(batch):
    cases = [FusionCase(SEED, i) for i in range(batch * BATCH, (batch + 1) * BATCH)]
    optimized = optimize(module_of(cases)[0], *PASSES)
    for case in cases:
        found = counts(optimized, case)
        assert found == case.expected, (case.name, found, case.expected, case.text())
    # Running the passes again changes nothing.
    assert optimize(optimized, *PASSES) == optimized


def test_cases_are_varied():
    """Both outcomes of both fusions occur often."""
    total = {}
    for i in range(CASES):
        for op, n in FusionCase(SEED, i).expected.items():
            total[op] = total.get(op, 0) + n
    assert min(total.values()) >= CASES // 6, total
