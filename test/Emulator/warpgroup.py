# RUN: %pytest %s
# REQUIRES: python
"""wgmma of every type, A from registers and from shared memory, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

from emu_harness import launch, ptx_file

SCHEDULES = ["eager", "lazy", "random:1"]
ROWS = 64

E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
# D, A and B as PTX and as NumPy have them, and N; single bits are None.
PRODUCTS = {
    "f16": ("f32.f16.f16", np.float32, np.float16, np.float16, 24),
    "f16-half": ("f16.f16.f16", np.float16, np.float16, np.float16, 16),
    "bf16": ("f32.bf16.bf16", np.float32, ml_dtypes.bfloat16, ml_dtypes.bfloat16, 8),
    "tf32": ("f32.tf32.tf32", np.float32, np.float32, np.float32, 40),
    "fp8": ("f32.e4m3.e5m2", np.float32, E4M3, E5M2, 64),
    "fp8-half": ("f16.e5m2.e4m3", np.float16, E5M2, E4M3, 16),
    "s8": ("s32.s8.u8", np.int32, np.int8, np.uint8, 48),
    "u8": ("s32.u8.s8", np.int32, np.uint8, np.int8, 16),
    "b1": ("s32.b1.b1", np.int32, None, None, 32),
}


def operand(kind, lines, seed):
    """Lines of 32 bytes along K: their bytes, and their values."""
    rng = np.random.default_rng(seed)
    if kind is None:
        packed = rng.integers(0, 256, (lines, 32), dtype=np.uint8)
        return packed, np.unpackbits(packed, axis=1, bitorder="little").astype(int)
    k = 32 // np.dtype(kind).itemsize
    low = 0 if kind is np.uint8 else -3
    values = rng.integers(low, 4, (lines, k))
    return values.astype(kind).view(np.uint8), values


def core_matrices(data, across=False):
    """Bytes of a matrix without swizzle: rows of 16 bytes, 8 to a core matrix.

    Of lines of 32 bytes along K, or `across`, of one line for each k.
    """
    lines, width = data.shape
    blocks = data.reshape(lines // 8, 8, width // 16, 16)
    order = (0, 2, 1, 3) if across else (2, 0, 1, 3)
    return blocks.transpose(order).ravel()


def descriptor(leading, stride):
    return leading >> 4 << 16 | stride >> 4 << 32


def fragments_of_a(data):
    """Four registers of each thread: rows g and g + 8 of its warp's 16, twice."""
    words = data.view(np.uint32)
    out = np.zeros((128, 4), np.uint32)
    for thread in range(128):
        warp, group, t = thread // 32, thread % 32 // 4, thread % 4
        for r in range(4):
            out[thread, r] = words[16 * warp + group + 8 * (r % 2), t + 4 * (r // 2)]
    return out


def kernel(types, n, registers, a_desc, b_desc, b_at, tail, options):
    shape, (d, a, _) = "", types.split(".")
    k = {"f16": 16, "bf16": 16, "tf32": 8, "b1": 256}.get(a, 32)
    shape = f"m64n{n}k{k}"
    count = n // 4 if d == "f16" else n // 2
    names = "{" + ", ".join(f"%r{16 + i}" for i in range(count)) + "}"
    first = "{%r8, %r9, %r10, %r11}" if registers else "%rd4"
    after = ".and.popc" if a == "b1" else ""
    moves = ["", ""]
    for i in range(count):
        moves[0] += f"ld.global.b32 %r{16 + i}, [%rd1+{4 * i}];\n"
        moves[1] += f"st.global.b32 [%rd1+{4 * i}], %r{16 + i};\n"
    body = f"""
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd0, %r0, 16;
add.u64 %rd2, %a1, %rd0;
ld.global.v4.b32 {{%r8, %r9, %r10, %r11}}, [%rd2];
mul.wide.u32 %rd1, %r0, {4 * count};
add.u64 %rd1, %rd1, %a2;
{moves[0]}
mov.u32 %r1, tile;
shl.b32 %r2, %r0, 4;
FILL:
cvt.u64.u32 %rd3, %r2;
add.u64 %rd3, %rd3, %a0;
ld.global.v4.b32 {{%r3, %r4, %r5, %r6}}, [%rd3];
add.u32 %r7, %r1, %r2;
st.shared.v4.b32 [%r7], {{%r3, %r4, %r5, %r6}};
add.u32 %r2, %r2, 2048;
setp.lt.u32 %p0, %r2, 8192;
@%p0 bra FILL;
fence.proxy.async.shared::cta;
bar.sync 0;
cvt.u64.u32 %rd4, %r1;
shr.u64 %rd4, %rd4, 4;
add.u64 %rd5, %rd4, {b_at >> 4};
or.b64 %rd4, %rd4, {a_desc};
or.b64 %rd5, %rd5, {b_desc};
setp.ne.u32 %p1, %r1, 0;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.{shape}{options}.{types}{after} {names}, {first}, %rd5, %p1{tail};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{moves[1]}
"""
    return ptx_file("product", body, ("u64",) * 3, target="sm_90a",
                    shared=".shared .align 1024 .b8 tile[8192];")  # fmt: skip


def fragments_of_d(matrix, kind):
    """Registers of D: pairs of columns of rows g and g + 8."""
    count = matrix.shape[1] // 2
    out = np.zeros((128, count), kind)
    for thread in range(128):
        warp, group, t = thread // 32, thread % 32 // 4, thread % 4
        for i in range(count):
            row = 16 * warp + group + 8 * (i // 2 % 2)
            out[thread, i] = matrix[row, 8 * (i // 4) + 2 * t + i % 2]
    return out


@pytest.mark.parametrize("registers", [False, True])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, registers):
    types, d_kind, a_kind, b_kind, n = PRODUCTS[name]
    a_bytes, a = operand(a_kind, ROWS, 1)
    b_bytes, b = operand(b_kind, n, 2)
    image = np.zeros(8192, np.uint8)
    image[:2048] = core_matrices(a_bytes)
    image[2048 : 2048 + 32 * n] = core_matrices(b_bytes)
    old = np.random.default_rng(3).integers(-9, 10, (ROWS, n))
    integers = d_kind is np.int32
    tail = "" if integers else ", 1, -1"
    if "f16" in types.split(".")[1]:
        tail += ", 0" if registers else ", 0, 0"
    path = kernel(types, n, registers, descriptor(1024, 128), descriptor(16 * n, 128),
                  2048, tail, "")  # fmt: skip
    want = fragments_of_d(old + (a if integers else -a) @ b.T, d_kind)
    before = fragments_of_d(old, d_kind)
    for schedule in SCHEDULES:
        got = launch(path, "product", 1, 128, image, fragments_of_a(a_bytes), before,
                     schedule=schedule, check="all")[2]  # fmt: skip
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("a_across,b_across", [(0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_transposed(kind, a_across, b_across):
    """MN-major operands: leading and stride dimensions change places."""
    number = np.float16 if kind == "f16" else ml_dtypes.bfloat16
    n = 16
    a_bytes, a = operand(number, ROWS, 4)
    b_bytes, b = operand(number, n, 5)
    image = np.zeros(8192, np.uint8)
    parts, descriptors = [], []
    for values, lines, across in ((a, ROWS, a_across), (b, n, b_across)):
        matrix = values.T if across else values
        data = np.ascontiguousarray(matrix.astype(number)).view(np.uint8)
        parts.append(core_matrices(data, across))
        # The next 8 lines, and the next 16 bytes.
        descriptors.append(descriptor(16 * lines, 128))
    image[:2048], image[2048 : 2048 + 32 * n] = parts
    path = kernel(f"f32.{kind}.{kind}", n, False, *descriptors, 2048,
                  f", 1, 1, {a_across}, {b_across}", "")  # fmt: skip
    want = fragments_of_d(a @ b.T, np.float32)
    got = launch(path, "product", 1, 128, image, fragments_of_a(a_bytes), want * 0,
                 check="all")[2]  # fmt: skip
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("saturates", [False, True])
def test_overflow(saturates):
    n = 16
    image = np.zeros(8192, np.uint8)
    image[: 2048 + 32 * n] = 127
    high = 2**31 - 1000
    path = kernel("s32.s8.s8", n, False, descriptor(1024, 128),
                  descriptor(16 * n, 128), 2048, "", ".satfinite" * saturates)  # fmt: skip
    before = np.full((128, n // 2), high, np.int32)
    got = launch(path, "product", 1, 128, image, np.zeros((128, 4), np.uint32), before,
                 check="all")[2]  # fmt: skip
    total = high + 32 * 127 * 127
    assert set(got.ravel()) == {2**31 - 1 if saturates else total - 2**32}


def test_bits_need_their_operation():
    body = ("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1 "
            "{%r0, %r1, %r2, %r3}, %rd0, %rd1, %p0;")  # fmt: skip
    path = ptx_file("product", body, (), target="sm_90a")
    with pytest.raises(AssertionError, match="not supported"):
        launch(path, "product", 1, 128)
