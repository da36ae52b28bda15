# RUN: %pytest %s
# REQUIRES: python, llc-nvptx
"""LLVM IR through llc, for what C++ seldom makes the back end print."""

import ml_dtypes
import numpy as np
import pytest

from emu_harness import compile_llvm, launch


@pytest.fixture(
    params=[
        ("sm_70", "-mattr=+ptx63"),
        ("sm_90", "-mattr=+ptx80"),
        ("sm_100a", "-mattr=+ptx88", "-O0"),
    ],
    ids=lambda p: p[0],
)
def run(request):
    ptx = compile_llvm("features.ll", *request.param)

    def call(kernel, block, *arguments, **options):
        options.setdefault("check", "all")
        return launch(ptx, kernel, 1, block, *arguments, **options)

    return call


def rng():
    return np.random.default_rng(11)


def test_wide(run):
    x = rng().integers(0, 2**64, (33, 2), dtype=np.uint64)
    got = run("wide", 32, x, np.zeros((32, 2), np.uint64))[1]
    v = [int(low) | int(high) << 64 for low, high in x]
    for t in range(32):
        want = ((v[t] * v[t + 1]) ^ (v[t] << 37 & 2**128 - 1)) - v[t + 1]
        assert int(got[t][0]) | int(got[t][1]) << 64 == want % 2**128


def test_jump(run):
    got = run("jump", 10, np.zeros(10, np.int32))[0]
    np.testing.assert_array_equal(got, [100, 7, 34, 1, -5, -5, 42, -7, -8, -9])


def test_aggregates(run):
    point = np.dtype([("tag", "i1"), ("x", "f8"), ("h", "i2", 3)], align=True)
    p = np.zeros(1, point)
    p["tag"], p["x"], p["h"] = -7, 1.25, [5, 32767, -3]
    out = np.zeros((8, point.itemsize), np.uint8)
    got = run("aggregates", 8, ("hex", p.tobytes().hex()), out)[1].view(point)[:, 0]
    assert (got["tag"] == -7).all()
    np.testing.assert_array_equal(got["x"], 1.25 * np.arange(8))
    np.testing.assert_array_equal(got["h"], [[5, -32768, -3]] * 8)


def test_halves(run):
    h = rng().standard_normal((16, 8)).astype(np.float16)
    b = rng().standard_normal((16, 4)).astype(ml_dtypes.bfloat16)
    got = run("halves", 16, h, b.view(np.uint16))
    np.testing.assert_array_equal(got[0], (h + np.float16(1.5)) * h)
    # Each operation rounds to bfloat16; nothing may fuse them.
    product = (b.astype(np.float32) * 3).astype(ml_dtypes.bfloat16)
    want = product.astype(np.float32) - np.float32([1, 0, -1, 2])
    want = want.astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(got[1].view(ml_dtypes.bfloat16), want)


def test_integers(run):
    x = rng().integers(0, 2**64, 40, dtype=np.uint64)
    x[:5] = [0, 1, 2**63, 2**64 - 1, 0x7FFFFFFF7FFFFFFF]
    got = run("integers", 40, x, np.zeros((40, 8), np.uint64))[1]

    def signed(v, n=32):
        return v - (1 << n) if v >> (n - 1) else v

    for t in range(40):
        v = int(x[t])
        lo, hi = v & 0xFFFFFFFF, v >> 32
        want = [
            ((lo << 32 | hi) << t % 32) >> 32,
            (v << 64 | t) >> (v % 64),
            int(f"{v:064b}"[::-1], 2),
            bin(v).count("1") + ((v & -v).bit_length() - 1 if v else 64),
            max(-(2**31), min(2**31 - 1, signed(lo) + signed(hi))),
            v * t,
            int(v * t >= 2**64),
            int.from_bytes(hi.to_bytes(4, "little"), "big"),
        ]
        want[0] &= 0xFFFFFFFF
        assert [int(g) for g in got[t]] == [w % 2**64 for w in want]


def test_atomics(run):
    record = np.dtype([("i", "i4"), ("b", "u1"), ("pad", "u1"), ("h", "u2"),
                       ("d", "f8"), ("n", "u4"), ("f", "f4")])  # fmt: skip
    r = np.zeros(1, record)
    r["n"], r["f"], r["pad"] = 0xF0F0F0F0, 1.5, 77
    # LLVM's loops around cas begin with a plain load, which is a race by the
    # letter of PTX.
    bytes = np.frombuffer(r.tobytes(), np.uint8)
    got = run("atomics", 64, bytes, check="uninitialized,protocol")[0].view(record)[0]
    assert got["i"] == 64 * 63 // 2 and got["b"] == 63 and got["pad"] == 77
    assert got["h"] == 64 and got["d"] == 32.0 and got["f"] == 3.0
    # nand with all ones inverts: an even number of times.
    assert got["n"] == 0xF0F0F0F0


def test_stack(run):
    got = run("stack", 40, np.zeros(40, np.int32))[0]
    want = [3 * sum(range(100)) + 6 * (t + 1) for t in range(40)]
    np.testing.assert_array_equal(got, want)


def test_pointers(run):
    got = run("pointers", 6, np.zeros(6, np.int32))[0]
    want = [(30 + t) * 2 if t % 2 == 0 else (40 + t) ** 2 for t in range(6)]
    np.testing.assert_array_equal(got, want)
