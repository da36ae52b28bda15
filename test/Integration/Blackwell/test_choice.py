# RUN: %pytest %s
# REQUIRES: python
"""Which kernel takes an operation on sm_100a: the table of decode_domains.py, and
that whatever the kernel for tensor cores leaves to the portable one is told."""

import os
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from choice_cases import FORMATS, OPTIONS, module, name
from decode_domains import is_native

OPT = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-opt")
CASES = OPTIONS + FORMATS


@pytest.fixture(scope="module")
def remarks(tmp_path_factory):
    """What is told of each case."""
    path = tmp_path_factory.mktemp("choice") / "module.mlir"
    path.write_text(module(CASES))
    done = subprocess.run(
        [OPT, path, "--convert-kvq-to-gpu=chip=sm_100a",
         "--remarks-filter=convert-kvq-to-gpu", "-o", os.devnull],
        capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    result = {index: [] for index in range(len(CASES))}
    for index, text in re.findall(r'Function=case(\d+) \| Remark="([^"]*)"', done.stderr):
        result[int(index)].append(text)
    return result


@pytest.mark.parametrize("index", range(len(CASES)), ids=[*map(name, CASES)].__getitem__)
def test_choice(index, remarks):
    config, found = CASES[index], remarks[index]
    for text in found:
        print(text)
    portable = any("is computed by the portable kernel" in text for text in found)
    assert portable != is_native(config), found
