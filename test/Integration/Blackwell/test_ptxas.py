# RUN: env KVQ_PTXAS=%ptxas %pytest %s
# REQUIRES: python, ptxas
"""ptxas takes the kernels for sm_100a, with registers for every thread of a block
and none spilled: of each option, and of one in forty of the cases that run on the
emulator, or of all of them with KVQ_TEST_ALL_VARIANTS. Of those some spill a little,
where many options that take registers meet."""

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
from decode_case import DecodeCase
from decode_domains import is_native
from native_cases import CASES as GENERATED

COMPILE = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-compile")
REGISTERS = 65536

#: One that the portable kernel takes, and all that it does not.
CASES = [{**BASE, "qk": "f16"}, *filter(is_native, OPTIONS)]


EVERY = 1 if "KVQ_TEST_ALL_VARIANTS" in os.environ else 40

#: Bytes that a thread may store elsewhere in such a case.
SPILLED = 64


def assemble(text, directory, spilled):
    """Returns the PTX and what ptxas says of it."""
    source, ptx = directory / "module.mlir", directory / "module.ptx"
    source.write_text(text)
    subprocess.run([COMPILE, source, "--target=sm_100a", "--emit=ptx", "-o", ptx],
                   check=True, timeout=300)
    text = run_ptxas(ptx, "sm_100a")
    assert max(map(int, re.findall(r"(\d+) bytes spill stores", text))) <= spilled, text
    return ptx.read_text(), text


@pytest.mark.parametrize("config", CASES, ids=name)
def test_options(config, tmp_path):
    ptx, text = assemble(module([config]), tmp_path, spilled=0)
    threads = int(re.search(r"\.(?:reqntid|maxntid) (\d+)", ptx)[1])
    assert int(re.search(r"Used (\d+) registers", text)[1]) * threads <= REGISTERS


@pytest.mark.parametrize("index", range(0, len(GENERATED), EVERY))
def test_generated(index, tmp_path):
    program, _ = DecodeCase(GENERATED[index]).program()
    assemble(program.text(), tmp_path, SPILLED)
