# RUN: %pytest %s
# REQUIRES: python
"""The committed captures of examples/smollm2 and its compare.py."""

import json
import pathlib
import re
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "smollm2"
DATA = EXAMPLE / "data"
METADATA = json.loads((DATA / "metadata.json").read_text())
STEPS = ("prefill", "decode")
sys.path.insert(0, str(EXAMPLE))

import capture  # noqa: E402


def load(name):
    return np.load(DATA / f"{name}.npy", allow_pickle=False)


def test_size():
    assert sum(p.stat().st_size for p in DATA.iterdir()) <= 2_000_000


@pytest.mark.parametrize("step", STEPS)
def test_shapes(step):
    entry = METADATA["steps"][step]
    batch, tokens = len(entry["seq_lens"]), sum(entry["seq_lens"])
    queries, rows = sum(entry["queries"]), tokens + entry["padding_rows"]
    widest = -(-max(entry["seq_lens"]) // METADATA["page_size"])
    for name, dtype, shape in (
        ("q", np.float16, (queries, 9, 64)),
        ("k", np.float16, (rows, 3, 64)),
        ("v", np.float16, (rows, 3, 64)),
        ("slot_mapping", np.int32, (rows,)),
        ("block_table", np.int32, (batch, widest)),
        ("seq_lens", np.int32, (batch,)),
        ("qo_indptr", np.int32, (batch + 1,)),
        ("expected", np.float32, (queries, 9, 64)),
    ):
        array = load(f"{step}_{name}")
        assert (array.dtype, array.shape) == (dtype, shape), name
        assert array.flags.c_contiguous, name
    assert load(f"{step}_seq_lens").tolist() == entry["seq_lens"]
    assert np.diff(load(f"{step}_qo_indptr")).tolist() == entry["queries"]
    assert load(f"{step}_qo_indptr")[0] == 0


@pytest.mark.parametrize("step", STEPS)
def test_paging_reveals_mistakes(step):
    """Pages are shuffled and partly filled; nothing beyond them looks valid."""
    page, pages = METADATA["page_size"], METADATA["steps"][step]["pages"]
    slots, table = load(f"{step}_slot_mapping"), load(f"{step}_block_table")
    lengths = load(f"{step}_seq_lens")
    real = slots[slots >= 0]
    assert len(set(real.tolist())) == len(real) == lengths.sum()
    assert real.max() < pages * page
    assert (lengths % page != 0).any()
    used = [table[b, : -(-n // page)] for b, n in enumerate(lengths)]
    flat = np.concatenate(used).tolist()
    assert len(set(flat)) == len(flat) < pages
    assert flat != sorted(flat)
    for b, n in enumerate(lengths):
        assert (table[b, -(-n // page) :] == -1).all()
    assert set(np.unique(real // page)) == set(flat)


def test_padding_rows():
    padding = load("decode_slot_mapping") < 0
    assert padding.sum() == METADATA["steps"]["decode"]["padding_rows"] > 0
    for side in "kv":
        rows = load(f"decode_{side}").reshape(len(padding), -1)
        assert np.isnan(rows[padding]).all()
        assert np.isfinite(rows[~padding]).all()


@pytest.mark.parametrize("step", STEPS)
def test_expected_output(step):
    """One head and one query at a time, through a paged pool, in f64."""
    page = METADATA["page_size"]
    shape = (METADATA["steps"][step]["pages"] * page, 3, 64)
    slots = load(f"{step}_slot_mapping")
    pools = {}
    for side in "kv":
        pools[side] = np.full(shape, np.nan)
        pools[side][slots[slots >= 0]] = load(f"{step}_{side}")[slots >= 0]
    q, table = load(f"{step}_q").astype(np.float64), load(f"{step}_block_table")
    lengths, indptr = load(f"{step}_seq_lens"), load(f"{step}_qo_indptr")
    out = np.full(q.shape, np.nan)
    for b, length in enumerate(lengths):
        for row in range(indptr[b], indptr[b + 1]):
            seen = length - (indptr[b + 1] - row) + 1
            at = [table[b, t // page] * page + t % page for t in range(seen)]
            for head in range(9):
                logits = pools["k"][at, head // 3] @ q[row, head] / 8
                weights = np.exp(logits - logits.max())
                total = weights @ pools["v"][at, head // 3]
                out[row, head] = total / weights.sum()
    np.testing.assert_allclose(
        load(f"{step}_expected"), out, rtol=1e-6, atol=1e-7
    )


def test_global_scales():
    """Nothing that is appended saturates, and the largest value is kept."""
    for side in "kv":
        rows = [load(f"{step}_{side}").ravel() for step in STEPS]
        amax = float(np.nanmax(np.abs(np.concatenate(rows))))
        for name, largest in (("nvfp4", 6 * 448), ("fp8", 448)):
            g = load(f"{side}_global_{name}")
            assert (g.dtype, g.shape) == (np.float32, ())
            assert float(g) * largest == pytest.approx(amax, rel=1e-6)


def test_rope_depends_on_distance_only():
    rng = np.random.default_rng(1)
    q, k = rng.standard_normal((2, 1, 1, 64))

    def logit(i, j):
        return (capture.rope(q, [i], 1e5) * capture.rope(k, [j], 1e5)).sum()

    assert logit(7, 3) == pytest.approx(logit(204, 200))
    assert logit(7, 3) != pytest.approx(logit(7, 4))
    assert logit(5, 5) == pytest.approx((q * k).sum())


def test_bpe_takes_the_lowest_rank_first():
    letters = list("abc") + ["ab", "bc", "abc", "Ġ", "1"]
    merges = ["b c", "a b", "a bc"]
    tokenizer = capture.Tokenizer(letters, merges)
    split = lambda text: [letters[i] for i in tokenizer.encode(text)]
    assert split("abc") == ["abc"]
    assert split("abab") == ["ab", "ab"]
    assert split("aabcc") == ["a", "abc", "c"]
    assert split(" 11") == ["Ġ", "1", "1"]
    assert split("") == []
    assert tokenizer.decode(tokenizer.encode("ab 1 bc")) == "ab 1 bc"


# --- compare.py --------------------------------------------------------------


def runCompare(step, folder, *arguments):
    return subprocess.run(
        [sys.executable, EXAMPLE / "compare.py", step, folder, *arguments],
        capture_output=True,
        text=True,
    )


def write(folder, name, array):
    np.save(folder / f"out_{name}.npy", array)


def writeAll(folder, step):
    """Outputs at a known distance from the expected one."""
    expected = load(f"{step}_expected")
    peak = np.unravel_index(np.abs(expected).argmax(), expected.shape)
    for name, error in (("fp8", 0.25), ("nvfp4", 0.5)):
        write(folder, name, expected * np.float32(1 + error))
    spike = expected.copy()
    spike[peak] += 2
    write(folder, "mxfp4", spike)
    write(folder, "bf16", expected.astype(ml_dtypes.bfloat16))
    return expected


@pytest.mark.parametrize("step, tokens", [("prefill", 300), ("decode", 464)])
def test_table(tmp_path, step, tokens):
    expected = writeAll(tmp_path, step)
    result = runCompare(step, tmp_path)
    assert result.returncode == 0, result.stderr
    rows = {}
    for line in result.stdout.splitlines():
        match = re.match(r"(bf16|fp8|nvfp4|mxfp4) +(.*)", line)
        if match:
            rows[match[1]] = match[2].split()
    heads = 2 * 3 * tokens
    for name, data, scales, ofBf16, ofFp8 in (
        ("bf16", 128, 0, "100.0%", "200.0%"),
        ("fp8", 64, 0, "50.0%", "100.0%"),
        ("nvfp4", 32, 4, "28.1%", "56.2%"),
        ("mxfp4", 32, 2, "26.6%", "53.1%"),
    ):
        sizes = [str(heads * n) for n in (data, scales, data + scales)]
        assert rows[name][:5] == [*sizes, ofBf16, ofFp8]
    relative = {name: float(row[5]) for name, row in rows.items()}
    largest = {name: float(row[6]) for name, row in rows.items()}
    peak, norm = np.abs(expected).max(), np.linalg.norm(expected)
    assert relative["fp8"] == pytest.approx(0.25, rel=1e-3)
    assert largest["nvfp4"] == pytest.approx(0.5 * peak, rel=1e-3)
    assert relative["mxfp4"] == pytest.approx(2 / norm, rel=1e-3)
    assert largest["mxfp4"] == pytest.approx(2, rel=1e-3)
    # Rounding to 8 significant bits loses at most 2^-9 of a value.
    assert 0 < relative["bf16"] < 2**-8


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda x: x[:-1], r"out_fp8.npy: shape \(4, 9, 64\), expected"),
        (lambda x: x.astype(np.int32), "dtype int32, expected a float type"),
        (
            lambda x: np.where(np.arange(64) == 3, np.nan, x),
            r"45 values are not finite, the first at \[0, 0, 3\]",
        ),
    ],
)
def test_bad_output(tmp_path, spoil, message):
    expected = writeAll(tmp_path, "decode")
    write(tmp_path, "fp8", spoil(expected))
    result = runCompare("decode", tmp_path)
    assert result.returncode == 1
    assert result.stdout == ""
    assert re.search(message, result.stderr), result.stderr
    # The other formats are not affected.
    result = runCompare("decode", tmp_path, "--formats", "bf16", "mxfp4")
    assert result.returncode == 0


@pytest.mark.parametrize("keep", [None, 0, 50, 1000])
def test_missing_or_truncated_output(tmp_path, keep):
    writeAll(tmp_path, "decode")
    path = tmp_path / "out_nvfp4.npy"
    contents = path.read_bytes()
    path.unlink()
    if keep is not None:
        path.write_bytes(contents[:keep])
    result = runCompare("decode", tmp_path)
    assert result.returncode == 1
    assert result.stderr.startswith("compare.py: error: ")
    assert "out_nvfp4.npy" in result.stderr
