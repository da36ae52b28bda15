# RUN: env KVQ_PTXAS=%ptxas %pytest %s
# REQUIRES: python, ptxas
"""ptxas takes the kernels for sm_100a, with registers for every thread of a block
and none spilled but by the warp that copies rows, where SPILLS says so."""

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

#: Bytes, and of which operations: keys with more addresses in a tile than a lane has
#: registers, and pages whose number in a position is no shift.
SPILLS = ((400, lambda config: config["k_dim"] == 256),
          (24, lambda config: config["page"] & (config["page"] - 1)))

#: One that the portable kernel takes, and all that it does not.
CASES = [{**BASE, "qk": "f16"}, *filter(is_native, OPTIONS)]


@pytest.mark.parametrize("config", CASES, ids=name)
def test_ptxas(config, tmp_path):
    source, ptx = tmp_path / "module.mlir", tmp_path / "module.ptx"
    source.write_text(module([config]))
    subprocess.run([COMPILE, source, "--target=sm_100a", "--emit=ptx", "-o", ptx],
                   check=True, timeout=300)
    text = run_ptxas(ptx, "sm_100a")
    spilled = max(map(int, re.findall(r"(\d+) bytes spill", text)))
    assert spilled <= next((limit for limit, applies in SPILLS if applies(config)), 0), text
    threads = int(re.search(r"\.(?:reqntid|maxntid) (\d+)", ptx.read_text())[1])
    assert int(re.search(r"Used (\d+) registers", text)[1]) * threads <= REGISTERS
