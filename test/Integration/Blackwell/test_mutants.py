# RUN: %pytest %s
# REQUIRES: python, emulator
"""The mutation score of the decode kernel: each instruction that synchronizes is
deleted or weakened in turn, and a run has to tell.

One mutant in seven, or all of them with KVQ_TEST_ALL_MUTANTS; -s shows survivors."""

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

EVERY = 1 if "KVQ_TEST_ALL_MUTANTS" in os.environ else 7

KIND = "block_scaled, terms = 2"

#: Mutants that may survive, as regular expressions of their keys: how many, and why.
EXPLAINED = {
    r"fence\.mbarrier_init": (1, "orders for other CTAs and the asynchronous proxy; "
                                "bar.sync, which follows, does for the CTA"),
    r"relax: mbarrier\.": (20, "orders tensor memory alone, for which relaxed "
                              "operations between two tcgen05.fence are enough"),
    r"do not wait: mbarrier\.": (6, "a wait of lanes that issue no product"),
    r"delete: tcgen05\.fence::after_thread_sync": (7, "of lanes that issue no product, "
                                                  "or behind a wait with one"),
    r"delete: tcgen05\.fence::before_thread_sync": (2, "another lies before the arrival"),
    r"delete: bar\.sync 1, 128": (1, "all threads wait for the last product, which "
                                    "needs the weights of each"),
}


def unexplained(survivors):
    """Those that no entry explains, each with what there is to say."""
    left = {pattern: limit for pattern, (limit, _) in EXPLAINED.items()}
    result = []
    for key, line in survivors:
        pattern = next((p for p in EXPLAINED if re.search(p, key)), None)
        print(f"survived, line {line}: {key}\n    {EXPLAINED.get(pattern, (0, None))[1]}")
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


@pytest.mark.parametrize("page, rows", ((16, 8), (64, 16)))
def test_score(page, rows, tmp_path):
    """Eleven tiles, so that each stage of a ring is used again, and a tail; logits
    that grow, so that sums are rescaled; one tile alone."""
    works = (Work(10 * 128 + 77, page, rows), Work(600, page, rows, growing=True),
             Work(77, page, rows))
    kernel = Kernel(works[0], KIND, TOOLS, tmp_path)
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
    result = mutation_score.score(text, fault, kernel.name, chosen=reached[::EVERY])
    for key, line, reason in result.invalid:
        print(f"invalid, line {line}: {key}\n    {reason}")
    print(f"{len(result.killed)} of {result.total} mutants killed")
    assert len(result.killed) > result.total / 2
    assert not unexplained(result.survivors)
