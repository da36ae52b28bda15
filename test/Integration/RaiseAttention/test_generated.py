# RUN: %pytest %s
# REQUIRES: python
"""Random attention in linalg is raised, and computes what it did."""

import os
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from attention_cases import Case, configuration
from run_module import compare_functions, raise_module

COUNT = 150
SEEDS = range(COUNT)


def name_of(seed):
    c = configuration(seed)
    return "-".join(str(c[n]) for n in ("product", "scale", "softmax", "mask",
                                        "group", "element", "softcap")) + f"-{seed}"


@pytest.fixture(scope="module")
def raised(tmp_path_factory):
    """The raised function of each case, all from one run of kvq-opt."""
    text = "".join(Case(configuration(seed)).text.replace("@main", f"@f{seed}", 1)
                   for seed in SEEDS)
    return raise_module(text, tmp_path_factory.mktemp("raised"))


@pytest.mark.parametrize("seed", SEEDS, ids=name_of)
def test_case(seed, raised, tmp_path):
    header, functions = raised
    after = functions[f"f{seed}"]
    assert after.count(" = kvq.attention") == 1, after
    assert not re.search(r"math\.exp|math\.tanh|linalg\.softmax|batch_matmul", after), after
    config = configuration(seed)
    case = Case(config)
    # linalg.softmax itself has no lowering; its twin in generics has.
    before = Case(config, replace_named=True).text.replace("@main", "@before", 1)
    results = compare_functions(header, before, after, case.inputs(), tmp_path)
    expected = case.expected()
    tolerance = {"f32": 1e-5, "f16": 2e-3, "bf16": 2e-2}[config["element"]]
    for result, bound in zip(results, (tolerance, 1e-5)):
        np.testing.assert_allclose(result, expected, rtol=bound, atol=bound)
    np.testing.assert_allclose(results[1], results[0], rtol=tolerance, atol=tolerance)


def test_options_are_found(raised):
    """Masks by position are options, and only then."""
    _, functions = raised
    for seed in SEEDS:
        c, text = configuration(seed), functions[f"f{seed}"]
        if c["mask"] in ("causal", "causal_finite", "constant"):
            # One query sees all keys.
            assert ("causal" in text) == (c["queries"] > 1), text
            assert "mask(" not in text, text
        if c["mask"] == "window" and c["queries"] > 1:
            assert "window_left = 2" in text and "mask(" not in text, text
        if c["mask"] in ("lengths", "causal_lengths") and c["queries"] > 1:
            assert "seq_lens(" in text and "mask(" not in text, text
            assert ("causal" in text) == (c["mask"] == "causal_lengths"), text
        if c["mask"] in ("bias", "bias_scaled", "bool", "padding"):
            assert "mask(" in text, text
        if c["mask"] == "none":
            assert "mask(" not in text, text
