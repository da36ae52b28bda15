# RUN: %pytest %s
# REQUIRES: python, compiler
"""The fusions keep what programs compute: random functions run on the CPU before
and after each pass give the same bytes of caches and the same outputs."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from execute import execute  # noqa: E402
from fusion_case import FusionCase, module_of  # noqa: E402

SEED, CASES, BATCH = 20, 208, 13
#: Relative L2 error of outputs in f32.
BOUND = 1e-5
PASSES = (["--kvq-fuse-quantize-append"], ["--kvq-fuse-dequant-attention"],
          ["--kvq-fuse-quantize-append", "--kvq-fuse-dequant-attention"])


def optimize(text, passes):
    done = subprocess.run(["kvq-opt", *passes], input=text, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr[:2000]}\n{text}"
    return done.stdout


def counts(text, cases):
    """How often each operation occurs in each case."""
    functions = re.split(r"func\.func ", text)
    found = {}
    for function in functions:
        name = re.match(r"(?:private )?@(\w+)", function)
        if name:
            found[name.group(1)] = {
                op: len(re.findall(rf"{re.escape(op)} ins", function))
                for op in cases[0].expected}
    return [found[case.name] for case in cases]


def check_same(before, after, cases):
    for (case, a, b) in zip(cases, before[0], after[0]):
        assert np.isfinite(a).all(), case.name
        error = np.linalg.norm((a - b).astype(np.float64).ravel())
        norm = np.linalg.norm(a.astype(np.float64).ravel())
        assert error <= BOUND * norm, (case.name, error, norm, case.text())
    for index, (a, b) in enumerate(zip(before[1], after[1])):
        assert a.tobytes() == b.tobytes(), f"memref {index}"


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_fusions(batch, tmp_path):
    cases = [FusionCase(SEED, i) for i in range(batch * BATCH, (batch + 1) * BATCH)]
    text, arrays, memrefs = module_of(cases)
    before = execute(text, arrays, memrefs, len(cases), tmp_path / "before")
    # Each pass alone on some batches, both together on all.
    for passes in (PASSES[batch % 2], PASSES[2]):
        optimized = optimize(text, passes)
        after = execute(optimized, arrays, memrefs, len(cases), tmp_path / "after")
        check_same(before, after, cases)
    for case, found in zip(cases, counts(optimized, cases)):
        assert found == case.expected, (case.name, found, case.expected, case.text())
    # Running the passes again changes nothing.
    assert optimize(optimized, PASSES[2]) == optimized


def test_cases_are_varied():
    """Both outcomes of both fusions occur often."""
    total = {}
    for i in range(CASES):
        for op, n in FusionCase(SEED, i).expected.items():
            total[op] = total.get(op, 0) + n
    assert min(total.values()) >= CASES // 6, total
