# RUN: %pytest %s
# REQUIRES: python, clang-nvptx
"""Kernels that clang and nvcc compile run to the results that NumPy gives."""

import numpy as np
import pytest

from emu_harness import NVCC, compile_cuda, launch

COMPILERS = [
    ("clang", "sm_80"),
    ("clang", "sm_80", "-O0"),
    ("clang", "sm_90"),
    pytest.param(
        ("nvcc", "sm_80"), marks=pytest.mark.skipif(not NVCC, reason="no nvcc")
    ),
    pytest.param(
        ("nvcc", "sm_100", "-G"),
        marks=pytest.mark.skipif(not NVCC, reason="no nvcc"),
    ),
]
SCHEDULES = ["eager", "random:1"]


@pytest.fixture(params=COMPILERS, ids=lambda p: "-".join(p))
def ptx(request):
    compiler, arch, *flags = request.param
    return compile_cuda(compiler, "portable.cu", arch, *flags)


@pytest.fixture(params=SCHEDULES)
def run(request, ptx):
    """Launches with all checks; a kernel that is right has no finding."""

    def call(kernel, grid, block, *arguments, **options):
        options.setdefault("check", "all")
        return launch(
            ptx, kernel, grid, block, *arguments, schedule=request.param, **options
        )

    return call


def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("n", [1, 31, 64, 100])
def test_saxpy(run, n):
    x, y = rng().standard_normal((2, n)).astype(np.float32)
    got = run("saxpy", 2, 64, y, x, ("f32", 1.5), ("s32", n))
    # Compilers fuse the product and the sum: computed exactly, rounded once.
    exact = (1.5 * x.astype(np.float64) + y).astype(np.float32)
    np.testing.assert_allclose(got[0], exact, rtol=2e-7, atol=1e-7)
    np.testing.assert_array_equal(got[1], x)


def test_grid3d(run):
    got = run("grid3d", (2, 3, 2), (4, 2, 3), np.zeros((6, 6, 8), np.int32))
    z, y, x = np.indices((6, 6, 8))
    np.testing.assert_array_equal(got[0], x + 100 * y + 10000 * z)


@pytest.mark.parametrize("n, block", [(1, 32), (1000, 96), (257, 256)])
def test_reduce_sum(run, n, block):
    x = rng().integers(-(2**20), 2**20, n).astype(np.int32)
    got = run("reduceSum", 3, block, x, np.zeros(1, np.int32), ("s32", n))
    assert got[1][0] == x.sum()


def test_matmul(run):
    n = 32
    a, b = rng().integers(-8, 8, (2, n, n)).astype(np.float32)
    got = run("matmul", (2, 2), (16, 16), a, b, np.zeros_like(a), ("s32", n))
    np.testing.assert_array_equal(got[2], a @ b)


def test_scan(run):
    x = rng().integers(-100, 100, 256).astype(np.int32)
    got = run("scan", 1, 256, x, np.zeros_like(x))
    np.testing.assert_array_equal(got[1], np.cumsum(x))


def test_histogram(run):
    x = rng().integers(0, 256, 1000).astype(np.uint8)
    got = run("histogram", 1, 256, x, np.zeros(256, np.int32), ("s32", x.size))
    np.testing.assert_array_equal(got[1], np.bincount(x, minlength=256))


@pytest.mark.parametrize("n", [1, 32, 77])
def test_softmax(run, n):
    x = rng().standard_normal((3, n)).astype(np.float32)
    got = run("softmax", 3, 32, x, np.zeros_like(x), ("s32", n))
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(got[1], e / e.sum(1, keepdims=True), rtol=2e-6)


def test_bitonic_sort(run):
    x = rng().integers(-1000, 1000, 256).astype(np.int32)
    np.testing.assert_array_equal(run("bitonicSort", 1, 256, x)[0], np.sort(x))


def test_collatz(run):
    def steps(value):
        count = 0
        while value != 1:
            value = 3 * value + 1 if value % 2 else value // 2
            count += 1
        return count

    got = run("collatz", 1, 70, np.zeros(70, np.int32))
    np.testing.assert_array_equal(got[0], [steps(i + 1) for i in range(70)])


def test_recursion(run):
    numbers = [0, 1]
    while len(numbers) < 12:
        numbers.append(numbers[-1] + numbers[-2])
    got = run("recursion", 1, 40, np.zeros(40, np.int32))
    np.testing.assert_array_equal(got[0], [numbers[i % 12] for i in range(40)])


def test_indirect(run):
    calls = [lambda x: x + 3, lambda x: x * 5, lambda x: -x]
    got = run("indirect", 1, 50, np.zeros(50, np.int32))
    np.testing.assert_array_equal(got[0], [calls[i % 3](i) for i in range(50)])


def test_switches(run):
    n = 1234
    cases = {
        0: lambda x: x * x, 1: lambda x: x // 3, 2: lambda x: n - x,
        3: lambda x: x % 7, 4: lambda x: x << 3, 5: lambda x: -x,
        6: lambda x: x ^ n, 7: lambda x: n // (x + 1),
    }  # fmt: skip
    got = run("switches", 1, 64, np.zeros(64, np.int32), ("s32", n))
    want = [cases.get(x % 11, lambda x: 1000 + x)(x) for x in range(64)]
    np.testing.assert_array_equal(got[0], want)


def test_local_array(run):
    def one(thread, n):
        table = [i * i for i in range(64)]
        for i in range(n):
            table[(i * 7 + thread) & 63] += i
        total = 0
        for value in table:
            total = (total * 31 + value) & 0xFFFFFFFF
        return total

    got = run("localArray", 1, 40, np.zeros(40, np.uint32), ("s32", 100))
    np.testing.assert_array_equal(got[0], [one(i, 100) for i in range(40)])


def test_structs(run):
    pair = np.zeros(1, np.dtype([("tag", "i1"), ("scale", "f8"),
                                 ("offsets", "i2", 3)], align=True))  # fmt: skip
    pair["tag"], pair["scale"], pair["offsets"] = 65, 0.5, [7, -8, 9]
    got = run("structs", 1, 32, np.zeros(32), ("hex", pair.tobytes().hex()))
    weights = [1, -2, 3, -4, 5, -6, 7, -8]
    names = ["even", "odd\0"]
    want = [0.5 * weights[i % 8] + [7, -8, 9][i % 3] + 65
            + ord(names[i & 1][i % 3]) for i in range(32)]  # fmt: skip
    np.testing.assert_array_equal(got[0], want)


def test_bits(run):
    x = rng().integers(0, 2**32, 64, dtype=np.uint32)
    x[:6] = [0, 1, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFF, 3]
    got = run("bits", 1, 64, np.zeros((64, 10), np.uint32), x)[0]

    def signed(v, n=32):
        return v - (1 << n) if v >> (n - 1) else v

    def quotient(a, b):
        return int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)

    for i in range(64):
        a, b = int(x[i]), int(x[i ^ 1])
        w = a << 32 | b
        want = [
            bin(a).count("1"),
            32 - a.bit_length(),
            int(f"{a:032b}"[::-1], 2),
            a * b >> 32,
            a // (b | 1),
            quotient(signed(a), signed(b | 1)),
            (w // (a | 1)) ^ (w % (b | 1)),
            (w * w & (1 << 64) - 1) >> 29,
            a >> (b & 31) | a << (-b & 31),
            (a & 255) * signed(b & 255, 8),
        ]
        # INT_MIN / -1 does not fit, and C++ leaves it open.
        if signed(a) == -(2**31) and signed(b | 1) == -1:
            want[5] = int(got[i][5])
        np.testing.assert_array_equal(got[i], [v & 0xFFFFFFFF for v in want])


def test_floats(run):
    f = np.zeros(160, np.float32)
    d = np.zeros(96)
    f[:32] = rng().standard_normal(32) * 100 + 0.5
    d[:32] = rng().random(32) * 200
    f[1] = f[0]
    got = run("floats", 1, 32, f, d, np.zeros(96, np.int32))
    x, y, z = f[:32], f[:32][np.arange(32) ^ 1], d[:32]
    # By default division and square root are rounded correctly.
    np.testing.assert_array_equal(got[0][32:64], x / y)
    np.testing.assert_array_equal(got[0][64:96], np.sqrt(x * x))
    np.testing.assert_array_equal(got[0][96:128], z.astype(np.float32))
    np.testing.assert_array_equal(got[0][128:], np.floor(x) + np.trunc(y))
    np.testing.assert_array_equal(got[1][32:64], z / x)
    np.testing.assert_allclose(got[1][64:], z * z + x, rtol=1e-15)
    np.testing.assert_array_equal(got[2][:32], np.trunc(x))
    np.testing.assert_array_equal(got[2][32:64], z.astype(np.int32) & 255)
    np.testing.assert_array_equal(
        got[2][64:], np.where(x < y, 1, np.where(x == y, 2, 3))
    )


def test_spin_lock(run):
    # The lock is correct, but its release is a volatile store.
    got = run("spinLock", 2, 48, np.zeros(1, np.uint32), np.zeros(1, np.int32),
              check="none")  # fmt: skip
    assert got[1][0] == 96


def test_ballots(run):
    got = run("ballots", 1, 64, np.zeros(64, np.uint32))
    for warp in range(2):
        want = sum(1 << i for i in range(32) if (warp * 32 + i) % 3 == 0)
        assert (got[0][warp * 32 : warp * 32 + 32] == want).all()


def test_dynamic_shared(run):
    x = np.arange(50, dtype=np.float32)
    got = run("reverse", 1, 50, x, shared=200)
    np.testing.assert_array_equal(got[0], x[::-1])
