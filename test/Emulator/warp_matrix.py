# RUN: %pytest %s
# REQUIRES: python
"""wmma, and the mma.sync forms of sm_120a, which no compiler of the other tests
prints."""

import ml_dtypes
import numpy as np
import pytest

from emu_harness import launch, ptx_file


def names(prefix, count):
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


# ---------------------------------------------------------------------------
# wmma
# ---------------------------------------------------------------------------

COMMON = [(16, 16, 16), (8, 32, 16), (32, 8, 16)]
# PTX types of A and C, NumPy's, range of A, shapes.
WMMA = [
    ("f16", "f32", np.float16, np.float32, 8, COMMON),
    ("f16", "f16", np.float16, np.float16, 4, COMMON),
    ("bf16", "f32", ml_dtypes.bfloat16, np.float32, 8, COMMON),
    ("tf32", "f32", np.float32, np.float32, 64, [(16, 16, 8)]),
    ("f64", "f64", np.float64, np.float64, 1000, [(8, 8, 4)]),
    ("s8", "s32", np.int8, np.int32, 127, COMMON),
    ("u8", "s32", np.uint8, np.int32, 255, COMMON),
]
CASES = [(*case[:5], shape) for case in WMMA for shape in case[5]]


def fragment(kind, elements, is_factor):
    """Registers per thread, by the tables of the PTX document."""
    if kind == "f16" and is_factor:
        return 8
    bits = {"f16": 16, "bf16": 16, "s8": 8, "u8": 8, "f64": 64}.get(kind, 32)
    return elements * bits // 32 // max(32, bits)


def wmma(m, n, k, a_type, c_type, layouts, pads):
    a_row, b_row, c_row = layouts
    strides = [
        (k if a_row else m) + pads[0],
        (n if b_row else k) + pads[1],
        (n if c_row else m) + pads[2],
    ]
    counts = [
        fragment(a_type, m * k, True),
        fragment(a_type, k * n, True),
        fragment(c_type, m * n, False),
    ]
    word = ["col", "row"]
    shape = f"m{m}n{n}k{k}"
    wide = "f64" if a_type == "f64" else "b32"
    text = [f".reg .{wide} %{x}<8>;" for x in ("fa", "fb", "fc")]
    for i, (x, row) in enumerate(zip("abc", layouts)):
        kind = c_type if x == "c" else a_type
        # Without a stride where it is the default one.
        stride = f", {strides[i]}" if pads[i] else ""
        text.append(
            f"wmma.load.{x}.sync.aligned.{word[row]}.{shape}.global.{kind} "
            f"{names('f' + x, counts[i])}, [%a{i}]{stride};"
        )
    types = f"{c_type}.{a_type}.{a_type}.{c_type}"
    types = f"{c_type}.{c_type}" if a_type == "f16" else types
    a, b, c = (names("f" + x, count) for x, count in zip("abc", counts))
    text.append(
        f"wmma.mma.sync.aligned.{word[a_row]}.{word[b_row]}.{shape}.{types} "
        f"{c}, {a}, {b}, {c};"
    )
    stride = f", {strides[2]}" if pads[2] else ""
    text.append(
        f"wmma.store.d.sync.aligned.{word[c_row]}.{shape}.global.{c_type} "
        f"[%a2], {c}{stride};"
    )
    return ptx_file("product", "\n".join(text), ("u64",) * 3, target="sm_90"), strides


def strided(matrix, row, stride):
    """The matrix as memory has it, with 77 in the gaps."""
    lines = matrix if row else matrix.T
    memory = np.full((lines.shape[0], stride), 77, lines.dtype)
    memory[:, : lines.shape[1]] = lines
    return memory


def as_stored(array):
    return array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array


@pytest.mark.parametrize("layouts", [(1, 0, 1), (0, 1, 0), (1, 1, 1)])
@pytest.mark.parametrize("a_type,c_type,a_np,c_np,limit,shape", CASES)
def test_wmma(a_type, c_type, a_np, c_np, limit, shape, layouts):
    m, n, k = shape
    rng = np.random.default_rng(m + k)
    low = 0 if a_type == "u8" else -limit
    for pads in [(0, 0, 0), (16, 8, 16)]:
        path, strides = wmma(m, n, k, a_type, c_type, layouts, pads)
        a = rng.integers(low, limit + 1, (m, k)).astype(a_np)
        b = rng.integers(low, limit + 1, (k, n)).astype(a_np)
        c = rng.integers(-50, 51, (m, n)).astype(c_np)
        arrays = [
            as_stored(strided(x, row, stride))
            for x, row, stride in zip((a, b, c), layouts, strides)
        ]
        got = launch(path, "product", 1, 32, *arrays, check="all")[2]
        exact = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
        want = strided(exact.astype(c_np), layouts[2], strides[2])
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind,k,bits", [("s4", 32, 4), ("u4", 32, 4), ("b1", 128, 1)])
def test_wmma_of_parts_of_bytes(kind, k, bits):
    rng = np.random.default_rng(k)
    packed = rng.integers(0, 256, (2, 8, k * bits // 8), dtype=np.uint8)
    c = rng.integers(-50, 51, (8, 8)).astype(np.int32)
    unpacked = np.unpackbits(packed, axis=-1, bitorder="little")
    values = unpacked.reshape(2, 8, k, bits) @ (1 << np.arange(bits))
    if kind == "s4":
        values = (values ^ 8) - 8
    want = c + values[0] @ values[1].T
    op = ".and.popc" if kind == "b1" else ""
    body = f"""
.reg .b32 %f<6>;
wmma.load.a.sync.aligned.row.m8n8k{k}.global.{kind} {{%f0}}, [%a0];
wmma.load.b.sync.aligned.col.m8n8k{k}.global.{kind} {{%f1}}, [%a1];
wmma.load.c.sync.aligned.row.m8n8k{k}.global.s32 {{%f2, %f3}}, [%a2];
wmma.mma{op}.sync.aligned.row.col.m8n8k{k}.s32.{kind}.{kind}.s32 {{%f4, %f5}}, {{%f0}}, {{%f1}}, {{%f2, %f3}};
wmma.store.d.sync.aligned.row.m8n8k{k}.global.s32 [%a2], {{%f4, %f5}};
"""
    path = ptx_file("product", body, ("u64",) * 3, target="sm_90")
    got = launch(path, "product", 1, 32, packed[0], packed[1], c, check="all")
    np.testing.assert_array_equal(got[2], want)


@pytest.mark.parametrize("line,message", [
    ("wmma.load.a.sync.aligned.row.m16n16k8.global.f16 {%r0, %r1}, [%a0];",
     "needs m16n16k16, m8n32k16 or m32n8k16"),
    ("wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%r0, %r1}, [%a0];",
     "the fragment has 4 registers"),
    ("wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%r0}, [%a0];",
     "need A in rows and B in columns"),
    ("wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.u4.s32 "
     "{%r0, %r1}, {%r2}, {%r3}, {%r4, %r5};", "needs one type for A and B"),
])  # fmt: skip
def test_wmma_that_there_is_not(line, message):
    path = ptx_file("product", line, ("u64",), target="sm_90")
    with pytest.raises(AssertionError, match=message):
        launch(path, "product", 1, 32, np.zeros(512, np.uint8))


# ---------------------------------------------------------------------------
# mma.sync with block scales (sm_120a)
# ---------------------------------------------------------------------------

E2M1 = ml_dtypes.float4_e2m1fn
E4M3 = ml_dtypes.float8_e4m3fn
UE8M0 = ml_dtypes.float8_e8m0fnu
# Kind with its vector size, K, chunks of K, type of a scale, bits of an element.
SCALED = [
    ("mxf4nvf4.block_scale.scale_vec::4X", 64, 4, "ue4m3", 4),
    ("mxf4nvf4.block_scale.scale_vec::2X", 64, 2, "ue8m0", 4),
    ("mxf4.block_scale.scale_vec::2X", 64, 2, "ue8m0", 4),
    ("mxf8f6f4.block_scale.scale_vec::1X", 32, 1, "ue8m0", 8),
]


@pytest.mark.parametrize("kind,k,chunks,scale,bits", SCALED)
def test_block_scales(kind, k, chunks, scale, bits):
    rng = np.random.default_rng(chunks)
    element = E2M1 if bits == 4 else E4M3
    codes = rng.integers(0, 16 if bits == 4 else 256, (24, k), dtype=np.uint8)
    if bits == 8:
        codes &= 0xBF  # No NaN, small values.
    values = codes.view(element)
    a, b = np.split(values.astype(np.float64), [16])
    scale_type = E4M3 if scale == "ue4m3" else UE8M0
    scale_codes = rng.integers(*((40, 80) if scale == "ue4m3" else (124, 131)),
                               (24, chunks)).astype(np.uint8)  # fmt: skip
    scales = scale_codes.view(scale_type).astype(np.float64)
    c = rng.integers(-8, 9, (16, 8)).astype(np.float32)
    scaled = values.astype(np.float64) * np.repeat(scales, k // chunks, axis=1)
    want = c + scaled[:16] @ scaled[16:].T

    per = 32 // bits
    packed = np.zeros((24, k // per), np.uint32)
    for i in range(per):
        packed |= codes[:, i::per].astype(np.uint32) << np.uint32(bits * i)
    byte = 2 if chunks == 2 else 0
    a_thread, b_thread = 1, 2
    inputs = np.zeros((32, 8), np.uint32)
    for t in range(32):
        group, thread = t // 4, t % 4
        for r in range(4):
            inputs[t, r] = packed[group + 8 * (r % 2), thread + 4 * (r // 2)]
        for r in range(2):
            inputs[t, 4 + r] = packed[16 + group, thread + 4 * r]

        def word(line):
            return sum(
                int(x) << 8 * (byte + j) for j, x in enumerate(scale_codes[line])
            )

        # Of A one thread of the pair has rows 0 to 7, the other 8 to 15.
        if thread // 2 == a_thread:
            inputs[t, 6] = word(group + 8 * (thread % 2))
        if thread == b_thread:
            inputs[t, 7] = word(16 + group)
    fragment_of_c = np.zeros((32, 4), np.float32)
    for t in range(32):
        for i in range(4):
            fragment_of_c[t, i] = c[t // 4 + 8 * (i // 2), t % 4 * 2 + i % 2]

    types = "e2m1.e2m1" if bits == 4 else "e4m3.e4m3"
    body = f"""
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd0, %r0, 32;
add.u64 %rd0, %rd0, %a0;
ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%rd0];
ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%rd0+16];
mul.wide.u32 %rd1, %r0, 16;
add.u64 %rd1, %rd1, %a1;
ld.global.v4.b32 {{%r9, %r10, %r11, %r12}}, [%rd1];
mma.sync.aligned.m16n8k{k}.row.col.kind::{kind}.f32.{types}.f32.{scale}
  {{%r9, %r10, %r11, %r12}}, {{%r1, %r2, %r3, %r4}}, {{%r5, %r6}},
  {{%r9, %r10, %r11, %r12}}, %r7, {{BYTE, THREAD}}, %r8, {{{byte}, {b_thread}}};
st.global.v4.b32 [%rd1], {{%r9, %r10, %r11, %r12}};
"""
    text = body.replace("BYTE", str(byte)).replace("THREAD", str(a_thread))
    path = ptx_file("product", text, ("u64",) * 2, target="sm_120a")
    got = launch(path, "product", 1, 32, inputs, fragment_of_c, check="all")[1]
    for t in range(32):
        for i in range(4):
            row, column = t // 4 + 8 * (i // 2), t % 4 * 2 + i % 2
            assert got[t, i] == np.float32(want[row, column])

    # Threads that there are not.
    wrong = body.replace("BYTE", str(byte)).replace("THREAD", "2")
    path = ptx_file("product", wrong, ("u64",) * 2, target="sm_120a")
    report = launch(path, "product", 1, 32, inputs, fragment_of_c,
                    expect_findings=True).report  # fmt: skip
    assert report["findings"][0]["kind"] == "illegal-operand"
