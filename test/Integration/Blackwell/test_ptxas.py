# RUN: env KVQ_PTXAS=%ptxas %pytest %s
# REQUIRES: python, ptxas
"""ptxas takes the kernels for sm_100a, with registers for every thread of a block
and none spilled: of each option, and of one in forty of the cases that run on the
emulator, or of all of them with KVQ_TEST_ALL_VARIANTS."""

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


def assemble(text, directory):
    """Compiles a module, and checks what ptxas says of each kernel."""
    source, ptx = directory / "module.mlir", directory / "module.ptx"
    source.write_text(text)
    subprocess.run([COMPILE, source, "--target=sm_100a", "--emit=ptx", "-o", ptx],
                   check=True, timeout=300)
    text = run_ptxas(ptx, "sm_100a")
    threads = re.findall(r"^\.(?:reqntid|maxntid) (\d+)", ptx.read_text(), re.M)
    registers = re.findall(r"Used (\d+) registers", text)
    spilled = re.findall(r"(\d+) bytes spill stores", text)
    assert len(threads) == len(registers) == len(spilled) > 0, text
    assert set(spilled) == {"0"}, text
    # ptxas lists kernels in an order of its own.
    assert max(map(int, registers)) * max(map(int, threads)) <= REGISTERS, text


@pytest.mark.parametrize("config", CASES, ids=name)
def test_options(config, tmp_path):
    assemble(module([config]), tmp_path)


@pytest.mark.parametrize("index", range(0, len(GENERATED), EVERY))
def test_generated(index, tmp_path):
    program, _ = DecodeCase(GENERATED[index]).program()
    assemble(program.text(), tmp_path)
