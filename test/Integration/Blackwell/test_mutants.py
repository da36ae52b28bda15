# RUN: %pytest %s
# REQUIRES: python, emulator
"""The mutation score of the decode kernel: each instruction that synchronizes is
deleted or weakened in turn, and a run has to tell.

Of nvfp4 with 8 rows all mutants run, of the others one in seven, or all of them with
KVQ_TEST_ALL_MUTANTS; -s shows survivors."""

import os
import pathlib
import re
import sys

import pytest

SOURCE = pathlib.Path(os.environ["KVQ_SOURCE_DIR"])
TOOLS = pathlib.Path(os.environ["KVQ_BUILD_DIR"]) / "bin"
sys.path[:0] = [str(SOURCE / "scripts"), str(SOURCE / "benchmarks")]
import mutation_score
import ptx_profile
from decode_work import Kernel, Work

#: The least share of mutants that are told.
SCORE = 0.95

#: Cache, kind of the scores, page size, query rows; how many mutants there are for one
#: that runs.
CASES = (
    ("nvfp4", "block_scaled, terms = 2", 16, 8, 1),
    ("nvfp4", "block_scaled, terms = 2", 64, 16, 7),
    ("mxfp4", "block_scaled, terms = 3", 16, 8, 7),
    ("fp8", "f8", 16, 8, 7),
    ("bf16", "bf16", 64, 8, 7),
)

#: Mutants that may survive, as regular expressions of their keys: how many, and why.
EXPLAINED = {
    r"fence\.mbarrier_init": (1, "orders for other CTAs and the asynchronous proxy; "
                                "bar.sync, which follows, does for the CTA"),
    r"delete: tcgen05\.wait::ld": (1, "what uses the registers waits, and nothing overwrites "
                                  "what they were loaded from"),
}
#: And where only the loader's copies come before the first product.
EXPLAINED_DIRECT = {
    r"fence\.proxy\.async": (2, "the loader's comes behind the same barrier, and before all "
                             "products"),
}


def unexplained(survivors, explained):
    """Those that no entry explains, each with what there is to say."""
    left = {pattern: limit for pattern, (limit, _) in explained.items()}
    result = []
    for key, line in survivors:
        pattern = next((p for p in explained if re.search(p, key)), None)
        print(f"survived, line {line}: {key}\n    {explained.get(pattern, (0, None))[1]}")
        left[pattern] = left.get(pattern, 0) - 1
        if left[pattern] < 0:
            result.append(key)
    return result


def executions(kernel, work, folder):
    """A profile of the kernel on some work."""
    def launch(text, counters):
        path = folder / "profiled.ptx"
        path.write_text(text)
        return kernel.launch(work, ptx=path, more=(counters,))[0].arrays[-1]

    return ptx_profile.profile(kernel.ptx.read_text(), kernel.name, kernel.threads, launch)


@pytest.mark.parametrize("cache, kind, page, rows, every", CASES)
def test_score(cache, kind, page, rows, every, tmp_path):
    """Thirteen tiles, so that each stage of a ring is used again, and a tail; logits
    that grow, so that sums are rescaled; one tile alone."""
    if "KVQ_TEST_ALL_MUTANTS" in os.environ:
        every = 1
    works = (Work(12 * 128 + 77, page, rows, cache),
             Work(850, page, rows, cache, growing=True), Work(77, page, rows, cache))
    kernel = Kernel(works[0], kind, TOOLS, tmp_path)
    text = kernel.ptx.read_text()
    runs, profiles = [], []
    for number, work in enumerate(works):
        folder = tmp_path / str(number)
        folder.mkdir()
        runs.append(mutation_score.Emulated(text, kernel.options(work, folder),
                                            str(TOOLS / "kvq-emu")))
        profiles.append(executions(kernel, work, folder))

    def fault(mutant, schedule):
        return next(filter(None, (run.fault(mutant, schedule) for run in runs)), None)

    # Code that a compiler made for numbers of tiles that a loop cannot have does not
    # run, whatever the work.
    reached = [mutant for mutant in mutation_score.mutants(text, kernel.name)
               if any(profile.of_line(mutant.line) for profile in profiles)]
    result = mutation_score.score(text, fault, kernel.name, chosen=reached[::every])
    for key, line, reason in result.invalid:
        print(f"invalid, line {line}: {key}\n    {reason}")
    print(f"{len(result.killed)} of {result.total} mutants killed")
    explained = EXPLAINED
    if cache == "bf16":
        explained = {**EXPLAINED, **EXPLAINED_DIRECT}
    assert not unexplained(result.survivors, explained)
    assert every > 1 or len(result.killed) >= SCORE * result.total
