# RUN: env KVQ_PTXAS=%ptxas %pytest %s
# REQUIRES: python, ptxas
"""ptxas takes the kernels that test_attention runs, with no register spilled.
(device.Compiled asks it about those of the other operations.) It gets one of six, or
all of them with KVQ_TEST_ALL_VARIANTS."""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(__file__)
sys.path.insert(0, os.path.join(HERE, "..", "CPU", "Inputs"))
sys.path.insert(0, os.path.join(HERE, "Inputs"))
from assembler import assemble
from attention_case import AttentionCase
from portable_cases import ALL, CASES, HEAD_DIMS, name, with_head_dims

COMPILE = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-compile")

#: Each compiles and assembles in half a second.
SPREAD = CASES[:: 1 if "KVQ_TEST_ALL_VARIANTS" in os.environ else 6]


def check(config, seed, directory):
    program, _ = AttentionCase(config, seed).program()
    source, ptx = directory / "main.mlir", directory / "main.ptx"
    source.write_text(program.text())
    subprocess.run([COMPILE, source, f"--target={config['chip']}", "--emit=ptx", "-o",
                    ptx], check=True, timeout=300)
    assert "dequant_attention" in assemble(ptx, config["chip"])


def test_spread():
    """Every option has each of its values."""
    for option, values in ALL.items():
        assert {case[option] for case in SPREAD} == set(values), option


@pytest.mark.parametrize("config", SPREAD, ids=name)
def test_pairs(config, tmp_path):
    check(config, 0, tmp_path)


@pytest.mark.parametrize("dims", HEAD_DIMS)
@pytest.mark.parametrize("chip", ("sm_80", "sm_86", "sm_100a"))
def test_head_dims(dims, chip, tmp_path):
    check(with_head_dims(dims, chip), 0, tmp_path)
