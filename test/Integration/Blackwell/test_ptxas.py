# RUN: env KVQ_PTXAS=%ptxas %pytest %s
# REQUIRES: python, ptxas
"""ptxas takes the kernels for sm_100a, with registers for every thread of a block
and none spilled."""

import os
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(__file__)
sys.path.insert(0, os.path.join(HERE, "..", "Emulator", "Inputs"))
sys.path.insert(0, os.path.join(HERE, "Inputs"))
from assembler import run_ptxas
from choice_cases import BASE, OPTIONS, module, name
from decode_domains import is_native

COMPILE = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-compile")
REGISTERS = 65536

#: One that the portable kernel takes, and all that it does not.
CASES = [{**BASE, "qk": "f16"}, *filter(is_native, OPTIONS)]


@pytest.mark.parametrize("config", CASES, ids=name)
def test_ptxas(config, tmp_path):
    source, ptx = tmp_path / "module.mlir", tmp_path / "module.ptx"
    source.write_text(module([config]))
    subprocess.run([COMPILE, source, "--target=sm_100a", "--emit=ptx", "-o", ptx],
                   check=True, timeout=300)
    text = run_ptxas(ptx, "sm_100a")
    assert max(map(int, re.findall(r"(\d+) bytes spill", text))) == 0, text
    threads = int(re.search(r"\.(?:reqntid|maxntid) (\d+)", ptx.read_text())[1])
    assert int(re.search(r"Used (\d+) registers", text)[1]) * threads <= REGISTERS
