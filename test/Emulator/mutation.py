# RUN: %pytest %s
# REQUIRES: python
"""The mutation score of a warp-specialized kernel, and the script that takes it."""

import os
import subprocess
import sys

import numpy as np
import pytest

import emu_harness

SCRIPTS = os.path.join(os.environ["KVQ_SOURCE_DIR"], "scripts")
sys.path.insert(0, SCRIPTS)
import mutation_score  # noqa: E402

KERNEL = os.path.join(emu_harness.INPUTS, "warp_specialized.ptx")
EXPLAINED = os.path.join(emu_harness.INPUTS, "warp_specialized.explained")


def canonical(rows, leading):
    """[rows, 16] in f16 as the tensor core reads it: 8 rows of 16 bytes, groups of
    rows 128 bytes apart, the second 16 bytes of a row `leading` bytes on."""
    out = np.zeros(rows.shape[0] * 16, np.float16)
    for (row, k), value in np.ndenumerate(rows):
        at = row % 8 * 16 + row // 8 * 128 + k // 8 * leading + k % 8 * 2
        out[at // 2] = value
    return out


def operands(tiles, k_tiles):
    """A and B as the kernel takes them, and the exact product."""
    rng = np.random.default_rng(5)
    a = rng.integers(-4, 5, (tiles, k_tiles, 128, 16))
    b = rng.integers(-4, 5, (k_tiles, 16, 16))
    return (np.stack([[canonical(x, 2048) for x in tile] for tile in a]),
            np.stack([canonical(x, 256) for x in b]),
            np.einsum("tkmc,knc->tmn", a, b).astype(np.float32))  # fmt: skip


def launch(tiles, k_tiles, schedule):
    a, b, want = operands(tiles, k_tiles)
    got = emu_harness.launch(
        KERNEL, "warp_specialized", 1, 224, a, b, np.zeros_like(want),
        ("u32", tiles), ("u32", k_tiles),
        schedule=schedule, check="all,tensor-fences,tensor-pairs",
    )  # fmt: skip
    np.testing.assert_array_equal(got[2], want)


@pytest.mark.parametrize("schedule", ["eager", "lazy", "random:0"])
@pytest.mark.parametrize("tiles, k_tiles", [(1, 1), (2, 4), (5, 3)])
def test_the_kernel_is_right(schedule, tiles, k_tiles):
    launch(tiles, k_tiles, schedule)


def test_no_report_in_100_seeds():
    for seed in range(100):
        launch(3, 2, f"random:{seed}")


def test_mutation_score(tmp_path):
    tiles, k_tiles = 5, 3
    a, b, want = operands(tiles, k_tiles)
    for name, array in (("a", a), ("b", b), ("d", np.zeros_like(want))):
        np.save(tmp_path / f"{name}.npy", array)
    done = subprocess.run(
        [sys.executable, os.path.join(SCRIPTS, "mutation_score.py"), KERNEL,
         "--kernel=warp_specialized", f"--explained={EXPLAINED}", "--minimum=95",
         "--seeds=2",
         "--", "--block=224", f"--arg=in:{tmp_path}/a.npy",
         f"--arg=in:{tmp_path}/b.npy", f"--arg=inout:{tmp_path}/d.npy",
         f"--arg=u32:{tiles}", f"--arg=u32:{k_tiles}"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    # The arrays of the call are not written.
    assert not np.load(tmp_path / "d.npy").any()


TEXT = """
.version 8.7
.target sm_100a
.address_size 64
.visible .entry other() { bar.sync 0; ret; }
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<4>;
    // bar.sync 0;
    { .reg .pred q; @q fence.acq_rel.gpu; bar.sync 1, 64; }
    cp.async.wait_group 0; fence.proxy.async;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
    mbarrier.arrive.shared.b64 %rd1, [%r1];
    L: mbarrier.try_wait.parity.acquire.cta.shared.b64 %p, [%r1], 0;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;
    ld.acquire.gpu.global.u32 %r1, [%r2];
    tcgen05.wait::ld.sync.aligned;
    bar.sync 1, 64;
}
"""


def test_mutants():
    found = mutation_score.mutants(TEXT, "k")
    assert [mutant.key for mutant in found] == [
        "delete: @q fence.acq_rel.gpu #1",
        "narrow to .cta: @q fence.acq_rel.gpu #1",
        "delete: bar.sync 1, 64 #1",
        "arrive only: bar.sync 1, 64 #1",
        "delete: cp.async.wait_group 0 #1",
        "let one more group stay open: cp.async.wait_group 0 #1",
        "delete: fence.proxy.async #1",
        "fence global memory only: fence.proxy.async #1",
        "fence shared memory only: fence.proxy.async #1",
        "delete: mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1] #1",
        "relax: mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1] #1",
        "narrow to .cta: "
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1] #1",
        "delete: mbarrier.arrive.shared.b64 %rd1, [%r1] #1",
        "relax: mbarrier.arrive.shared.b64 %rd1, [%r1] #1",
        "do not wait: "
        "mbarrier.try_wait.parity.acquire.cta.shared.b64 %p, [%r1], 0 #1",
        "relax: mbarrier.try_wait.parity.acquire.cta.shared.b64 %p, [%r1], 0 #1",
        "delete: mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16 #1",
        "do not expect bytes: mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16 #1",
        "relax: mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16 #1",
        "relax: ld.acquire.gpu.global.u32 %r1, [%r2] #1",
        "narrow to .cta: ld.acquire.gpu.global.u32 %r1, [%r2] #1",
        "delete: tcgen05.wait::ld.sync.aligned #1",
        "delete: bar.sync 1, 64 #2",
        "arrive only: bar.sync 1, 64 #2",
    ]
    lines = TEXT.split("\n")
    changed = {}
    for mutant in found:
        # One line differs, the one that is named.
        differ = [at for at, line in enumerate(mutant.text.split("\n"))
                  if line != lines[at]]  # fmt: skip
        assert differ == [mutant.line - 1], mutant.key
        changed[mutant.key] = mutant.text.split("\n")[differ[0]].strip()
    assert changed["delete: bar.sync 1, 64 #2"] == ""
    assert changed["arrive only: bar.sync 1, 64 #2"] == "bar.arrive 1, 64;"
    assert changed[
        "delete: mbarrier.arrive.shared.b64 %rd1, [%r1] #1"
    ] == "mov.b64 %rd1, 0;"  # fmt: skip
    assert changed[
        "do not wait: mbarrier.try_wait.parity.acquire.cta.shared.b64 %p, [%r1], 0 #1"
    ] == "L: setp.eq.u32 %p, 0, 0;"  # fmt: skip
    assert changed[
        "do not expect bytes: mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16 #1"
    ] == "mbarrier.arrive.shared.b64 _, [%r1];"  # fmt: skip
    assert changed[
        "relax: ld.acquire.gpu.global.u32 %r1, [%r2] #1"
    ] == "ld.relaxed.gpu.global.u32 %r1, [%r2];"  # fmt: skip
    # The other kernel is left alone, and the whole text has its barrier, too.
    assert len(mutation_score.mutants(TEXT)) == len(found) + 1
    with pytest.raises(ValueError, match="no kernel 'x'"):
        mutation_score.mutants(TEXT, "x")


def test_texts_that_cannot_run_do_not_count():
    def fault(text, schedule):
        if "bar.sync 1, 64;\n}" not in text:
            raise mutation_score.NoKernel("no kernel")
        return None if "fence.proxy" in text else schedule

    result = mutation_score.score(TEXT, fault, "k", schedules=["a", "b"])
    assert [entry[2] for entry in result.invalid] == ["no kernel"] * 2
    assert result.killed["delete: fence.proxy.async #1"] == (11, "a", "a")
    assert len(result.killed) == 1
    assert result.total == len(mutation_score.mutants(TEXT, "k")) - 2


def test_survivors_are_compared(tmp_path):
    result = mutation_score.Result(survivors=[("a", 1), ("b", 2)], killed={"c": 0})
    assert result.total == 3
    path = tmp_path / "explained"
    path.write_text("# why\na -- it is the same\nd -- gone\n")
    assert mutation_score.compare(result, mutation_score.read_explained(path)) == [
        "survives without an explanation: b",
        "is explained but does not survive: d",
    ]
    path.write_text("a\n")
    with pytest.raises(ValueError, match="no explanation in 'a'"):
        mutation_score.read_explained(path)


def test_errors():
    def run(*arguments):
        return subprocess.run(
            [sys.executable, os.path.join(SCRIPTS, "mutation_score.py"), *arguments],
            capture_output=True, text=True,
        )  # fmt: skip

    done = run("no-such-file.ptx", "--", "--block=32")
    assert done.returncode == 1 and "no-such-file.ptx" in done.stderr
    # A kernel that is wrong by itself has no score.
    done = run(KERNEL, "--", "--block=32", "--arg=zeros:16", "--arg=zeros:16",
               "--arg=zeros:16", "--arg=u32:1", "--arg=u32:1",
               "--max-instructions=10000")  # fmt: skip
    assert done.returncode == 1 and "the kernel itself: " in done.stderr
