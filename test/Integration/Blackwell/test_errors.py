# RUN: env KVQ_EMU_CHECK=all %pytest %s
# REQUIRES: python, emulator
"""What the decode kernel does with lengths and tables that are wrong: it reports as
the portable kernel does, and other sequences are not affected."""

import os
import sys

import numpy as np
import pytest

HERE = os.path.dirname(__file__)
sys.path[:0] = [os.path.join(HERE, "..", "Emulator", "Inputs"),
                os.path.join(os.environ["KVQ_SOURCE_DIR"], "benchmarks")]
import device
from decode_work import CHIP, Work

#: Kinds of kvq/Support/RuntimeError.h.
PAGE, LENGTH = 1, 2
TOKENS, SEQUENCES = 300, 3

#: What is wrong with the second sequence, the page size, and the error word; None
#: for numbers that the two kernels only have to agree on.
ERRORS = {
    "a page past the pool": ({"page": 999}, 16, (PAGE, None, 999, None)),
    "a page below 0": ({"page": -1}, 64, (PAGE, None, -1, None)),
    "a length past the table": ({"length": 305}, 16, (LENGTH, 1, 305, 305)),
    "a length below 0": ({"length": -1}, 64, (LENGTH, 1, -1, None)),
}


def operands_of(page):
    """The operands of Work for several sequences over one pool."""
    work = Work(TOKENS, page, 8)
    operands = {name: array.copy() for name, array in work.operands().items()}
    operands["q"] = np.concatenate([work.q * f for f in (1, -1, 2)]).astype(np.float16)
    operands["block_table"] = np.ascontiguousarray(
        np.repeat(work.table, SEQUENCES, axis=0))
    operands["seq_lens"] = np.array([TOKENS, TOKENS - 9, 130], np.int32)
    return work, operands


def run(kind, page, change, directory):
    """(output, error word) of a kernel; output that is not written is NaN."""
    work, operands = operands_of(page)
    kernel = device.Compiled(work.module(kind), CHIP, directory).only
    if "page" in change:
        operands["block_table"][1, 2] = change["page"]
    if "length" in change:
        operands["seq_lens"][1] = change["length"]
    operands["output"] = np.full_like(operands["q"], np.nan)
    word = np.zeros(4, np.int64)
    with device.registered(*operands.values(), word):
        kernel.launch(operands, {"scale": work.scale}, error_word=word)
    return operands["output"], word


@pytest.mark.parametrize("error", ERRORS)
def test_errors(error, tmp_path):
    change, page, expected = ERRORS[error]
    found = {}
    for kind in ("block_scaled, terms = 3", "f16"):
        output, word = run(kind, page, change, tmp_path)
        for value, want in zip(word, expected):
            assert want is None or value == want, (kind, word)
        good, _ = run(kind, page, {}, tmp_path)
        np.testing.assert_array_equal(output[::2], good[::2])
        found[kind] = word, np.isnan(output[1])
    (word, unwritten), (twin, unwritten_by_twin) = found.values()
    np.testing.assert_array_equal(word, twin)
    np.testing.assert_array_equal(unwritten, unwritten_by_twin)
