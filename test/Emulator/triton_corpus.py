# RUN: %pytest %s
# REQUIRES: python, triton
"""Kernels that Triton compiles, with NumPy's results, under every schedule."""

import os

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
os.environ["TRITON_CACHE_DIR"] = os.path.join(
    os.environ.get("KVQ_BUILD_DIR", "/tmp"), "test", "Emulator", "triton-cache"
)

import functools

import ml_dtypes
import numpy as np
import pytest
import triton
import triton_kernels as kernels
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import emu_harness

TYPES = {
    "float32": "fp32", "float16": "fp16", "int32": "i32", "int8": "i8",
    "uint8": "u8", "bfloat16": "bf16",
}  # fmt: skip


CHECKS = "all"


@functools.lru_cache(maxsize=None)
def compile_triton(name, arch, signature, constants, options):
    function = getattr(kernels, name)
    compiled = triton.compile(
        ASTSource(function, dict(signature), constexprs=dict(constants)),
        target=GPUTarget("cuda", arch, 32),
        options=dict(options) | {"ptx_version": 88},
    )
    path = os.path.join(
        emu_harness._scratch, f"{name}-{arch}-{abs(hash((signature, constants)))}.ptx"
    )
    with open(path, "w") as file:
        file.write(compiled.asm["ptx"])
    return path, compiled.metadata


@pytest.fixture(params=[80, 90, 100], ids=lambda a: f"sm_{a}")
def arch(request):
    return request.param


@pytest.fixture(params=["eager", "lazy", "random:3"])
def run(request, arch):
    """Launches `name` with arrays and scalars; the rest are constants."""

    def call(name, grid, *arguments, num_warps=4, num_stages=2, check=CHECKS,
             **constants):  # fmt: skip
        names = getattr(kernels, name).arg_names
        signature, values = {}, []
        for parameter, argument in zip(names, arguments):
            if isinstance(argument, np.ndarray):
                signature[parameter] = "*" + TYPES[argument.dtype.name]
                if argument.dtype == ml_dtypes.bfloat16:
                    argument = argument.view(np.uint16)
                values.append(argument)
            elif isinstance(argument, float):
                signature[parameter] = "fp32"
                values.append(("f32", argument))
            else:
                signature[parameter] = "i32"
                values.append(("s32", argument))
        for parameter in constants:
            signature[parameter] = "constexpr"
        path, metadata = compile_triton(
            name, arch, tuple(signature.items()), tuple(constants.items()),
            (("num_warps", num_warps), ("num_stages", num_stages)),
        )  # fmt: skip
        # Two scratch pointers follow the arguments.
        programs = int(np.prod(grid))
        scratch = max(getattr(metadata, "global_scratch_size", 0) * programs, 1)
        return emu_harness.launch(
            path, metadata.name, grid, metadata.num_warps * 32, *values,
            ("zeros", scratch), ("u64", 0), shared=metadata.shared,
            schedule=request.param, check=check,
        )  # fmt: skip

    return call


def rng():
    return np.random.default_rng(9)


def normal(*shape):
    return rng().standard_normal(shape).astype(np.float32)


def test_vector_add(run):
    x, y = normal(2, 300)
    got = run("vector_add", 3, x, y, np.zeros_like(x), 300, BLOCK=128)
    np.testing.assert_array_equal(got[2], x + y)


def test_activations(run):
    x = normal(200) * 3
    got = run("activations", 2, x, np.zeros((6, 200), np.float32), 200, BLOCK=128)[1]
    import math

    z = x.astype(np.float64)
    erf = np.vectorize(math.erf)
    want = [z / (1 + np.exp(-z)), 0.5 * z * (1 + erf(z / np.sqrt(2))),
            np.log1p(np.exp(z)), np.sin(z) + np.cos(z),
            np.sqrt(np.abs(z)) + np.floor(z), np.where(z > 0, z, 2**z - 1)]  # fmt: skip
    np.testing.assert_allclose(got, want, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("cols", [1, 100, 256])
def test_softmax(run, cols):
    x = normal(3, cols)
    got = run("softmax", 3, x, np.zeros_like(x), cols, BLOCK=256)[1]
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(got, e / e.sum(1, keepdims=True), rtol=3e-6)


def test_layer_norm(run):
    x = normal(4, 200).astype(np.float16)
    w, b = normal(2, 200)
    got = run("layer_norm", 4, x, w, b, np.zeros_like(x), 200, BLOCK=256)[3]
    z = x.astype(np.float64)
    d = z - z.mean(1, keepdims=True)
    want = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-3)


def test_sum_atomic(run):
    x = rng().integers(-1000, 1000, 700).astype(np.int32)
    got = run("sum_atomic", 3, x, np.zeros(1, np.int32), 700, BLOCK=256)
    assert got[1][0] == x.sum()


def test_scatter_atomic(run):
    at = rng().integers(0, 16, 300).astype(np.int32)
    value = rng().integers(-50, 50, 300).astype(np.int32)
    got = run("scatter_atomic", 3, at, value, np.zeros(32, np.int32), 300, BLOCK=128)
    want = np.zeros(32, np.int32)
    np.add.at(want, at, value)
    np.maximum.at(want, 16 + at, value)
    np.testing.assert_array_equal(got[2], want)


def test_row_reductions(run):
    x = rng().permutation(4 * 128).reshape(4, 128).astype(np.int32)
    got = run("row_reductions", 4, x, np.zeros((4, 2), np.int32),
              np.zeros(4, np.int32), 128, BLOCK=128)  # fmt: skip
    np.testing.assert_array_equal(got[1][:, 0], x.max(1))
    np.testing.assert_array_equal(got[1][:, 1], np.bitwise_xor.reduce(x, 1))
    np.testing.assert_array_equal(got[2], x.argmax(1))


def test_cumulative(run):
    x = rng().integers(-100, 100, 256).astype(np.int32)
    got = run("cumulative", 1, x, np.zeros((3, 256), np.int32), BLOCK=256)[1]
    np.testing.assert_array_equal(got, [np.cumsum(x), np.sort(x), x[::-1]])


def test_histogram(run):
    x = rng().integers(0, 32, 500).astype(np.int32)
    got = run("histogram", 1, x, np.zeros(32, np.int32), 500, BLOCK=512, BINS=32)
    np.testing.assert_array_equal(got[1], np.bincount(x, minlength=32))


def test_transpose(run):
    x = normal(40, 70)
    got = run("transpose", (2, 3), x, np.zeros((70, 40), np.float32), 40, 70, BLOCK=32)
    np.testing.assert_array_equal(got[1], x.T)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "float32"])
def test_matmul(run, dtype):
    # Small integers: every sum is exact in every type, in any order.
    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    a = rng().integers(-4, 5, (40, 70)).astype(dtype)
    b = rng().integers(-4, 5, (70, 50)).astype(dtype)
    out = np.zeros((40, 50), np.int32 if dtype == np.int8 else np.float32)
    got = run("matmul", (2, 2), a, b, out, 40, 50, 70, num_stages=3,
              BM=32, BN=32, BK=32)  # fmt: skip
    np.testing.assert_array_equal(got[2], a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("causal", [False, True])
def test_attention(run, causal):
    n, d = 70, 32
    q, k, v = normal(3, n, d).astype(np.float16)
    got = run("attention", 3, q, k, v, np.zeros((n, d), np.float32), n, d**-0.5,
              D=d, BM=32, BN=32, CAUSAL=causal)[3]  # fmt: skip
    s = q.astype(np.float64) @ k.T.astype(np.float64) * d**-0.5
    if causal:
        s[np.triu_indices(n, 1)] = -np.inf
    p = np.exp(s - s.max(1, keepdims=True))
    want = p / p.sum(1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("length", [1, 15, 16, 17])
def test_paged_decode(run, length):
    page, d = 16, 64
    lengths = np.array([length, 33], np.int32)
    table = np.array([[5, 0, 0], [2, 6, 1]], np.int32)
    cache = normal(7, 2, page, d).astype(np.float16)
    if length > page:
        table[0, 1] = 3
    # Nothing may read what lies past the end of a sequence.
    last = table[0, (length - 1) // page]
    cache[last, :, (length - 1) % page + 1 :] = np.nan
    q = normal(2, d).astype(np.float16)
    got = run("paged_decode", 2, q, cache, table, lengths,
              np.zeros((2, d), np.float32), 3, d**-0.5, D=d, PAGE=page)[4]  # fmt: skip
    for seq in range(2):
        n = lengths[seq]
        kv = np.concatenate([cache[p] for p in table[seq]], 1)[:, :n].astype(np.float64)
        s = kv[0] @ q[seq].astype(np.float64) * d**-0.5
        p = np.exp(s - s.max())
        np.testing.assert_allclose(got[seq], p / p.sum() @ kv[1], rtol=2e-5, atol=2e-6)


def test_convert(run):
    x = normal(128) * 1000
    got = run("convert", 1, x, np.zeros(128, np.uint8), np.zeros(128, np.float16),
              128, BLOCK=128)  # fmt: skip
    want = x.astype(ml_dtypes.float8_e5m2)
    np.testing.assert_array_equal(got[1], want.view(np.uint8))
    np.testing.assert_array_equal(got[2], want.astype(np.float16))


def test_random_bits(run):
    """Philox 4x32-10, written out."""

    def philox(counter, key):
        c, k = [counter, 0, 0, 0], [key & 0xFFFFFFFF, key >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF,
                 a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]  # fmt: skip
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        return c[0]

    got = run("random_bits", 1, np.zeros(128, np.int32), 1234, BLOCK=128)[0]
    want = [philox(i, 1234) for i in range(128)]
    np.testing.assert_array_equal(got.view(np.uint32), want)


def test_compare_and_swap(run):
    got = run("compare_and_swap", 5, np.zeros(1, np.int32), np.zeros(1, np.int32),
              BLOCK=1)  # fmt: skip
    assert got[1][0] == 15


def skip_without_descriptors(arch):
    if arch < 90:
        pytest.skip("tensor copies need sm_90")


def test_descriptor_copy(arch, run):
    skip_without_descriptors(arch)
    x = rng().integers(-100, 100, (40, 80)).astype(np.int32)
    got = run("descriptor_copy", (2, 3), x, np.zeros_like(x), 40, 80, BR=32, BC=32)
    np.testing.assert_array_equal(got[1], x + 1)


@pytest.mark.parametrize("block", [16, 32, 64, 128])
def test_persistent_matmul(arch, run, block):
    skip_without_descriptors(arch)
    m, n, k = block + 8, block + 16, 96
    a = rng().integers(-4, 5, (m, k)).astype(np.float16)
    b = rng().integers(-4, 5, (k, n)).astype(np.float16)
    got = run("persistent_matmul", 2, a, b, np.zeros((m, n), np.float16), m, n, k,
              BM=block, BN=block, BK=64)[2]  # fmt: skip
    np.testing.assert_array_equal(got, a @ b)


def test_matmul_fp8(run):
    a = rng().integers(-3, 4, (16, 64)).astype(ml_dtypes.float8_e5m2)
    b = rng().integers(-3, 4, (32, 64)).astype(ml_dtypes.float8_e5m2)
    got = run("matmul_fp8", 1, a.view(np.uint8), b.view(np.uint8),
              np.zeros((16, 32), np.float32), 64, BM=16, BN=32, BK=32)[2]  # fmt: skip
    np.testing.assert_array_equal(got, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "float32"])
def test_large_matmul(arch, run, dtype):
    """Tiles large enough for the fifth generation's tensor cores."""
    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    a = rng().integers(-4, 5, (130, 96)).astype(dtype)
    b = rng().integers(-4, 5, (96, 70)).astype(dtype)
    out = np.zeros((130, 70), np.int32 if dtype == np.int8 else np.float32)
    got = run("matmul", (2, 2), a, b, out, 130, 70, 96, num_stages=3,
              BM=128, BN=64, BK=32)  # fmt: skip
    np.testing.assert_array_equal(got[2], a.astype(np.float64) @ b.astype(np.float64))


def test_large_attention(arch, run):
    n, d = 150, 64
    q, k, v = normal(3, n, d).astype(np.float16)
    got = run("attention", 2, q, k, v, np.zeros((n, d), np.float32), n, d**-0.5,
              D=d, BM=128, BN=64, CAUSAL=True)[3]  # fmt: skip
    s = q.astype(np.float64) @ k.T.astype(np.float64) * d**-0.5
    s[np.triu_indices(n, 1)] = -np.inf
    p = np.exp(s - s.max(1, keepdims=True))
    want = p / p.sum(1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("vector", [16, 32])
def test_scaled_matmul(arch, run, vector):
    """NVFP4 (E4M3 scales of 16) and MXFP4 (powers of two of 32)."""
    if arch < 100:
        pytest.skip("block scales need sm_100")
    m, n, k = 128, 64, 256
    r = rng()
    codes = [r.integers(0, 16, (rows, k)).astype(np.uint8) for rows in (m, n)]
    if vector == 16:
        scales = [np.exp2(r.integers(-2, 3, (rows, k // 16))) * 1.25
                  for rows in (m, n)]  # fmt: skip
        bits = [s.astype(ml_dtypes.float8_e4m3fn).view(np.uint8) for s in scales]
    else:
        exponents = [r.integers(-2, 3, (rows, k // 32)) for rows in (m, n)]
        scales = [np.exp2(e) for e in exponents]
        bits = [(e + 127).astype(np.uint8) for e in exponents]
    packed = [c[:, ::2] | c[:, 1::2] << 4 for c in codes]
    got = run("scaled_matmul", 1, *packed, *bits, np.zeros((m, n), np.float32), k,
              BM=m, BN=n, BK=128, VECTOR=vector)[4]  # fmt: skip
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    table = np.concatenate([table, -table])
    x, y = (table[c] * np.repeat(s, vector, 1) for c, s in zip(codes, scales))
    # Products are multiples of 2^-10; sums below 2^14 of them are exact.
    assert (np.abs(x) @ np.abs(y).T).max() < 2**14
    np.testing.assert_array_equal(got, x @ y.T)


def test_scaled_matmul_fp8(arch, run):
    """MXFP8: E4M3 with powers of two of 32 elements."""
    if arch < 100:
        pytest.skip("block scales need sm_100")
    m, n, k = 128, 64, 256
    r = rng()
    x, y = (r.integers(-6, 7, (rows, k)).astype(ml_dtypes.float8_e4m3fn)
            for rows in (m, n))  # fmt: skip
    exponents = [r.integers(-2, 3, (rows, k // 32)) for rows in (m, n)]
    bits = [(e + 127).astype(np.uint8) for e in exponents]
    got = run("scaled_matmul_fp8", 1, x.view(np.uint8), y.view(np.uint8), *bits,
              np.zeros((m, n), np.float32), k, BM=m, BN=n, BK=128)[4]  # fmt: skip
    a, b = (v.astype(np.float64) * np.repeat(np.exp2(e), 32, 1)
            for v, e in zip((x, y), exponents))  # fmt: skip
    np.testing.assert_array_equal(got, a @ b.T)


def test_specialized_matmul(arch, run):
    """Loads, products and stores in warps of their own."""
    if arch < 100:
        pytest.skip("Triton specializes warps from sm_100 on")
    m, n, k = 200, 96, 320
    a = rng().integers(-4, 5, (m, k)).astype(np.float16)
    b = rng().integers(-4, 5, (n, k)).astype(np.float16)
    result = run("specialized_matmul", (2, 2), a, b, np.zeros((m, n), np.float16),
                 m, n, k, BM=128, BN=64, BK=64, num_stages=3)  # fmt: skip
    np.testing.assert_array_equal(result[2], a @ b.T)
    # More than the four warps that the kernel was compiled for.
    assert len(result.report["counters"]["warps"]) > 4
