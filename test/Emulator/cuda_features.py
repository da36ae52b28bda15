# RUN: %pytest %s
# REQUIRES: python, nvcc
"""CUDA C++ with NVIDIA's headers: math library, intrinsics, atomics, warps."""

import ml_dtypes
import numpy as np
import pytest

from emu_harness import compile_cuda, launch


@pytest.fixture(params=["sm_80", "sm_90a", "sm_100a"])
def ptx(request):
    return compile_cuda("nvcc", "cuda_features.cu", request.param)


@pytest.fixture(params=["eager", "lazy", "random:5"])
def run(request, ptx):
    def call(kernel, grid, block, *arguments, **options):
        options.setdefault("check", "all")
        return launch(
            ptx, kernel, grid, block, *arguments, schedule=request.param, **options
        )

    return call


def inputs(n=64, scale=3.0):
    return (np.random.default_rng(3).standard_normal(n) * scale).astype(np.float32)


def test_math_float(run):
    x = inputs()
    got = run("mathFloat", 1, 64, x, np.zeros((10, 64), np.float32), ("s32", 64))
    z = x.astype(np.float64)
    erf = np.vectorize(__import__("math").erf)
    want = [np.sin(z), np.cos(z), np.exp(z), np.log(np.abs(z) + np.float32(1e-3)),
            np.tanh(z), np.abs(z) ** np.float64(np.float32(1.7)),
            np.arctan2(z, 2), erf(z), np.cbrt(z),
            np.fmod(x, np.float32(0.7))]  # fmt: skip
    # The library's own bounds are a few units in the last place.
    np.testing.assert_allclose(got[1], want, rtol=1e-6, atol=3e-7)


def test_math_fast(run):
    x = inputs()
    got = run("mathFast", 1, 64, x, np.zeros((5, 64), np.float32), ("s32", 64))
    z = x.astype(np.float64)
    want = [np.sin(z), np.exp(z), np.log(np.abs(z) + 1e-3), 1 / z,
            1 / np.sqrt(np.abs(z))]  # fmt: skip
    np.testing.assert_allclose(got[1], want, rtol=2e-6, atol=1e-6)


def test_math_double(run):
    import math

    x = inputs().astype(np.float64)
    got = run("mathDouble", 1, 64, x, np.zeros((7, 64)), ("s32", 64))
    a = np.abs(x)
    want = [np.sin(x), np.exp(x), np.log(a + 1e-3), a**1.7, np.sqrt(a), 1 / x,
            [math.gamma(v + 0.5) for v in a]]  # fmt: skip
    np.testing.assert_allclose(got[1], want, rtol=1e-13, atol=1e-15)


def test_rounding(run):
    """Exact values rounded with Python's fractions, one direction each."""
    from fractions import Fraction

    n = 64
    x = inputs(n)
    got = run("rounding", 1, n, x, np.zeros((6, n), np.float32), ("s32", n))[1]

    def neighbours(value):
        near = np.float32(float(value))
        below = near if Fraction(float(near)) <= value else np.nextafter(
            near, np.float32(-np.inf))  # fmt: skip
        above = below if Fraction(float(below)) == value else np.nextafter(
            below, np.float32(np.inf))  # fmt: skip
        return below, above

    for t in range(n):
        a, b = Fraction(float(x[t])), Fraction(float(x[(t + 1) % n]))
        assert got[0][t] == neighbours(a + b)[1]
        assert got[1][t] == neighbours(a + b)[0]
        assert got[2][t] == neighbours(a * b)[0 if a * b > 0 else 1]
        assert got[3][t] == np.float32(x[t]) / np.float32(x[(t + 1) % n])
        root = got[4][t]
        below = np.nextafter(root, np.float32(0))
        assert Fraction(float(root)) ** 2 >= abs(a) > Fraction(float(below)) ** 2
        assert got[5][t] == neighbours(a * b + a)[0]


def test_halves(run):
    n = 32
    x = inputs(n).astype(np.float16)
    y = np.roll(x, -1)
    got = run("halves", 1, n, x, np.zeros((5, n), np.float16),
              np.zeros((2, n), np.uint16), ("s32", n))  # fmt: skip
    x64, y64 = x.astype(np.float64), y.astype(np.float64)
    want = [x + y, x * y, (x64 * y64 + x64).astype(np.float16),
            np.maximum(x, y), y + y]  # fmt: skip
    np.testing.assert_array_equal(got[1], want)
    bf = x.astype(np.float32).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(got[2][0], bf.view(np.uint16))
    three = (bf.astype(np.float32) * 3).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(got[2][1], three.view(np.uint16))


def test_fp8(run):
    n = 256
    # A block has at most 1024 threads: one value for each.
    x = inputs(n, 200.0)
    x[:6] = [0, -0.0, 1e6, -1e6, 2**-9, 2**-17]
    got = run("fp8", 1, n, x, np.zeros(n, np.uint8), np.zeros(n, np.uint8),
              np.zeros((2, n), np.float16), ("s32", n))  # fmt: skip
    for codes, back, dtype in ((got[1], got[3][0], ml_dtypes.float8_e4m3fn),
                               (got[2], got[3][1], ml_dtypes.float8_e5m2)):
        top = float(ml_dtypes.finfo(dtype).max)
        want = np.clip(x, -top, top).astype(dtype)
        np.testing.assert_array_equal(codes, want.view(np.uint8))
        np.testing.assert_array_equal(back, want.astype(np.float16))


def test_atomics(run):
    i = np.zeros(16 + 96, np.int32)
    i[3] = -1
    got = run("atomics", 2, 48, i, np.zeros(2, np.uint64),
              np.zeros(1, np.float32), np.zeros(1), np.zeros(2, np.float16))  # fmt: skip
    r = got[0]
    assert r[0] == 96 * 95 // 2 and r[1] == -95 and r[2] == 95
    assert r[3] == 0 and r[4] == 0xFFFF
    assert r[5] == np.bitwise_xor.reduce(np.arange(96))
    # 96 steps of 0..9 and around; down from 0: 9, 8, ..
    assert r[6] == 96 % 10 and r[7] == (-96) % 10
    # Each value is taken by one thread, but the last, and 0 was there twice.
    assert sorted([*r[16:], r[8]]) == sorted([0, *range(96)])
    np.testing.assert_array_equal(got[1], [96 << 33, 95 << 40])
    assert got[2][0] == 48 and got[3][0] == 24
    np.testing.assert_array_equal(got[4], [96, 192])


def test_warps(run):
    x = np.random.default_rng(5).integers(-100, 100, 64).astype(np.int32)
    got = run("warps", 1, 64, np.zeros((64, 12), np.uint32), x)[0].view(np.int32)
    for t in range(64):
        lane, base = t % 32, t - t % 32
        w = x[base : base + 32]

        def ballot(condition):
            return int(np.uint32(sum(1 << k for k in range(32) if condition(k))).view(
                np.int32))  # fmt: skip

        want = [
            ballot(lambda k: w[k] & 1),
            int((w > 90).any()),
            int((w > -90).all()),
            w[lane * 5 % 32],
            w[lane - 3] if lane % 16 >= 3 else w[lane],
            w[lane + 5] if lane % 8 + 5 < 8 else w[lane],
            w[lane ^ 9],
            ballot(lambda k: w[k] & 3 == w[lane] & 3),
            w.sum(),
            w.max(),
            ballot(lambda k: k < 10) if lane < 10 else 0,
            (w[lane + 1] if lane % 8 < 7 else w[lane]) + lane % 8 + t // 8,
        ]
        np.testing.assert_array_equal(got[t], want)


@pytest.mark.parametrize("tiles", [0, 1, 2, 7])
def test_pipelined(run, tiles):
    x = np.arange(max(tiles, 1) * 256, dtype=np.float32).reshape(-1, 64, 4)
    got = run("pipelined", 1, 64, x, np.zeros_like(x), ("s32", tiles))
    want = x[:, np.arange(64) ^ 1] + 1 if tiles else np.zeros_like(x)
    np.testing.assert_array_equal(got[1], want)


def test_mma(run):
    r = np.random.default_rng(1)
    a = r.integers(-8, 8, (16, 16)).astype(np.float16)
    b = r.integers(-8, 8, (16, 8)).astype(np.float16)
    got = run("mmaHalf", 1, 32, a, b, np.zeros((16, 8), np.float32))
    np.testing.assert_array_equal(got[2], a.astype(np.float32) @ b)


def test_fragments(run):
    r = np.random.default_rng(4)
    a, b = r.integers(-8, 8, (2, 16, 16)).astype(np.float16)
    c = r.integers(-8, 8, (16, 16)).astype(np.float32)
    got = run("fragments", 1, 32, a, b, c, np.zeros((16, 16), np.float32))
    np.testing.assert_array_equal(got[3], 2 * a.astype(np.float32) @ b.T + c.T)


def test_inline_scopes(run):
    got = run("inlineScopes", 1, 32, np.zeros(64, np.int32))[0]
    np.testing.assert_array_equal(got[:32], np.where(np.arange(32) < 10, 1, 2))
    np.testing.assert_array_equal(got[32:], np.where(np.arange(32) >= 20, 3, 4))


def test_wide_integers(run):
    x = np.random.default_rng(2).integers(0, 2**64, 33, dtype=np.uint64)
    got = run("wide", 1, 32, np.zeros((32, 4, 2), np.uint64), x)[0]
    for t in range(32):
        a, b = int(x[t]), int(x[t + 1])
        want = [a * b, (a << 64 | b) - (b << 61), (a << 64 | b) // (b | 1),
                (a << 64) % (b | 1)]  # fmt: skip
        for value, words in zip(want, got[t]):
            assert int(words[0]) | int(words[1]) << 64 == value % 2**128


def test_printf(ptx):
    got = launch(ptx, "prints", 1, 32, ("s32", 2))
    want = [f"thread {t} of 32: even {t * 1.25:5.2f} c 1234567890123 ff%"
            for t in range(2)]  # fmt: skip
    assert sorted(got.stdout.splitlines()) == want


def test_assert(ptx):
    assert launch(ptx, "asserts", 1, 32, ("s32", 32)).report["completed"]
    got = launch(ptx, "asserts", 1, 32, ("s32", 31), expect_findings=True)
    finding = got.report["findings"][0]
    assert finding["kind"] == "assert-failed"
    assert "threadIdx.x < n" in finding["message"]
