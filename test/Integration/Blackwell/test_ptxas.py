# RUN: env KVQ_PTXAS=%ptxas %pytest %s
# REQUIRES: python, ptxas
"""ptxas takes the kernels for sm_100a, with registers for every thread of a block
and none spilled, but for keys of head_dim 256."""

import os
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from choice_cases import BASE, OPTIONS, module, name
from decode_domains import is_native

COMPILE = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-compile")
PTXAS = os.environ["KVQ_PTXAS"]
REGISTERS = 65536

#: One that the portable kernel takes, and all that it does not.
CASES = [{**BASE, "qk": "f16"}, *filter(is_native, OPTIONS)]


@pytest.mark.parametrize("config", CASES, ids=name)
def test_ptxas(config, tmp_path):
    source, ptx = tmp_path / "module.mlir", tmp_path / "module.ptx"
    source.write_text(module([config]))
    subprocess.run([COMPILE, source, "--target=sm_100a", "--emit=ptx", "-o", ptx],
                   check=True, timeout=300)
    done = subprocess.run(
        [PTXAS, "-arch=sm_100a", "-v", ptx, "-o", tmp_path / "module.cubin"],
        capture_output=True, text=True, timeout=300)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    # The warp that copies keys of 256 elements has more addresses than registers.
    limit = 400 if config["k_dim"] == 256 else 0
    spilled = map(int, re.findall(r"(\d+) bytes spill", text))
    assert max(spilled) <= limit, text
    threads = int(re.search(r"\.(?:reqntid|maxntid) (\d+)", ptx.read_text())[1])
    assert int(re.search(r"Used (\d+) registers", text)[1]) * threads <= REGISTERS
