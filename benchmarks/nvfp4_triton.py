"""Triton kernels of the jobs that gpu_kernels.py and decode_cost.py measure, on the
same bytes.

Written as one would for speed: each kernel decodes a stored byte once, with
hardware conversions where a chip has them (HARDWARE; FP8 is Triton's own where
it has it), and no value is moved between threads only to be interleaved.

Caches are HND: data [pages, HEADS, PAGE, D / 2] of bytes, scales [pages, HEADS,
PAGE, D / 16], in E2M1 and E4M3. Scales are taken to be positive and no NaN,
which kvq's kernels check.
"""

import triton
import triton.language as tl

# Four bytes to their low and high nibbles as f16, two in a register.
CONVERT = tl.constexpr("""{
    .reg .b8 b0, b1, b2, b3;
    .reg .b32 c0, c1, c2, c3;
    mov.b32 {b0, b1, b2, b3}, $4;
    cvt.rn.f16x2.e2m1x2 c0, b0;
    cvt.rn.f16x2.e2m1x2 c1, b1;
    cvt.rn.f16x2.e2m1x2 c2, b2;
    cvt.rn.f16x2.e2m1x2 c3, b3;
    prmt.b32 $0, c0, c1, 0x5410;
    prmt.b32 $1, c2, c3, 0x5410;
    prmt.b32 $2, c0, c1, 0x7632;
    prmt.b32 $3, c2, c3, 0x7632;
}""")

# The same times 2^-14: the bits of E2M1 are those of an f16 but for the bias.
SHIFT = tl.constexpr("""{
    .reg .b32 p, q, r;
    prmt.b32 p, $4, 0, 0x4140;
    prmt.b32 q, $4, 0, 0x4342;
    shl.b32 $0, p, 9;
    and.b32 $0, $0, 0x0e000e00;
    shl.b32 r, p, 12;
    and.b32 r, r, 0x80008000;
    or.b32 $0, $0, r;
    shl.b32 $1, q, 9;
    and.b32 $1, $1, 0x0e000e00;
    shl.b32 r, q, 12;
    and.b32 r, r, 0x80008000;
    or.b32 $1, $1, r;
    shl.b32 $2, p, 5;
    and.b32 $2, $2, 0x0e000e00;
    shl.b32 r, p, 8;
    and.b32 r, r, 0x80008000;
    or.b32 $2, $2, r;
    shl.b32 $3, q, 5;
    and.b32 $3, $3, 0x0e000e00;
    shl.b32 r, q, 8;
    and.b32 r, r, 0x80008000;
    or.b32 $3, $3, r;
}""")

# Pairs of f32 to bytes; the second source is the low nibble.
ENCODE = tl.constexpr("""{
    .reg .b8 b0, b1, b2, b3;
    cvt.rn.satfinite.e2m1x2.f32 b0, $5, $1;
    cvt.rn.satfinite.e2m1x2.f32 b1, $6, $2;
    cvt.rn.satfinite.e2m1x2.f32 b2, $7, $3;
    cvt.rn.satfinite.e2m1x2.f32 b3, $8, $4;
    mov.b32 $0, {b0, b1, b2, b3};
}""")


@triton.jit
def load_rows(data, scales, row, keep, D: tl.constexpr, HARDWARE: tl.constexpr):
    """Elements times block scales times 2^-7, as f16 and exactly: even and odd
    columns of rows, [rows, D / 16, 8]."""
    block = tl.arange(0, D // 16)
    byte = tl.arange(0, 8)
    at = row[:, None, None] * (D // 2) + block[None, :, None] * 8 + byte[None, None, :]
    bits = tl.load(data + at, keep[:, None, None], other=0)
    # E4M3 to f16: the same bits but for the bias, so times 2^-8.
    scale = tl.load(scales + row[:, None] * (D // 16) + block[None, :], keep[:, None], other=0)
    scale = (scale.to(tl.uint16) << 7).to(tl.float16, bitcast=True)
    scale *= 2.0 if HARDWARE else 32768.0
    even, odd = tl.inline_asm_elementwise(
        CONVERT if HARDWARE else SHIFT, "=r,=r,=r,=r,r", [bits],
        dtype=(tl.float16, tl.float16), is_pure=True, pack=4)
    return even * scale[:, :, None], odd * scale[:, :, None]


@triton.jit
def decode(q, k, k_scales, k_global, v, v_scales, v_global, table, lengths, out, pages,
           scale, HEADS: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr,
           PAGE: tl.constexpr, BLOCK: tl.constexpr, HARDWARE: tl.constexpr):
    """One query token of each sequence; a program is a KV head of a sequence."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    n = tl.load(lengths + sequence)
    rows = tl.arange(0, 16)
    half = tl.arange(0, D // 2)
    at = ((sequence * HEADS + head) * GROUP + rows[:, None]) * D + 2 * half[None, :]
    q_even = tl.load(q + at, rows[:, None] < GROUP, other=0)
    q_odd = tl.load(q + at + 1, rows[:, None] < GROUP, other=0)
    factor = scale * tl.load(k_global) * (128 * 1.4426950408889634)
    top = tl.full((16,), -float("inf"), tl.float32)
    total = tl.zeros((16,), tl.float32)
    even = tl.zeros((16, D // 2), tl.float32)
    odd = tl.zeros((16, D // 2), tl.float32)
    for start in range(0, n, BLOCK):
        token = start + tl.arange(0, BLOCK)
        keep = token < n
        page = tl.load(table + sequence * pages + token // PAGE, keep, other=0)
        row = (page.to(tl.int64) * HEADS + head) * PAGE + token % PAGE
        k_even, k_odd = load_rows(k, k_scales, row, keep, D, HARDWARE)
        s = tl.dot(q_even, tl.trans(tl.reshape(k_even, (BLOCK, D // 2))))
        s = tl.dot(q_odd, tl.trans(tl.reshape(k_odd, (BLOCK, D // 2))), s)
        s = tl.where(keep[None, :], s * factor, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        old = tl.exp2(top - new)
        total = total * old + tl.sum(p, 1)
        v_even, v_odd = load_rows(v, v_scales, row, keep, D, HARDWARE)
        p = p.to(tl.float16)
        even = tl.dot(p, tl.reshape(v_even, (BLOCK, D // 2)), even * old[:, None])
        odd = tl.dot(p, tl.reshape(v_odd, (BLOCK, D // 2)), odd * old[:, None])
        top = new
    factor = tl.load(v_global) * 128 / total
    pairs = tl.reshape(tl.join(even * factor[:, None], odd * factor[:, None]), (16, D))
    at = ((sequence * HEADS + head) * GROUP + rows[:, None]) * D + tl.arange(0, D)[None, :]
    tl.store(out + at, pairs.to(tl.float16), rows[:, None] < GROUP)


@triton.jit
def decode_bf16(q, k, v, table, lengths, out, pages, scale, HEADS: tl.constexpr,
                GROUP: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr,
                BLOCK: tl.constexpr):
    """As decode, over a cache of bf16, with P in bf16."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    n = tl.load(lengths + sequence)
    rows = tl.arange(0, 16)
    column = tl.arange(0, D)[None, :]
    at = ((sequence * HEADS + head) * GROUP + rows[:, None]) * D + column
    queries = tl.load(q + at, rows[:, None] < GROUP, other=0).to(tl.bfloat16)
    top = tl.full((16,), -float("inf"), tl.float32)
    total = tl.zeros((16,), tl.float32)
    sums = tl.zeros((16, D), tl.float32)
    for start in range(0, n, BLOCK):
        token = start + tl.arange(0, BLOCK)
        keep = token < n
        page = tl.load(table + sequence * pages + token // PAGE, keep, other=0)
        row = (page.to(tl.int64) * HEADS + head) * PAGE + token % PAGE
        keys = tl.load(k + row[:, None] * D + column, keep[:, None], other=0)
        s = tl.dot(queries, tl.trans(keys)) * (scale * 1.4426950408889634)
        s = tl.where(keep[None, :], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        old = tl.exp2(top - new)
        total = total * old + tl.sum(p, 1)
        values = tl.load(v + row[:, None] * D + column, keep[:, None], other=0)
        sums = tl.dot(p.to(tl.bfloat16), values, sums * old[:, None])
        top = new
    sums = sums / total[:, None]
    tl.store(out + at, sums.to(tl.float16), rows[:, None] < GROUP)


@triton.jit
def encode_e4m3(x, NATIVE: tl.constexpr):
    """Bytes of non-negative f32, rounded to nearest even, clamped."""
    x = tl.minimum(x, 448.0)
    if NATIVE:
        return x.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
    bits = x.to(tl.uint32, bitcast=True)
    normal = ((bits + 0x7FFFF + ((bits >> 20) & 1)) >> 20) - 960
    # The unit in the last place of 2^14 is that of subnormal E4M3.
    small = (x + 16384.0).to(tl.uint32, bitcast=True) & 0xFF
    return tl.where(x < 0.015625, small, normal).to(tl.uint8)


@triton.jit
def decode_e4m3(code):
    """f32 of bytes of positive E4M3."""
    return (code.to(tl.uint16) << 7).to(tl.float16, bitcast=True).to(tl.float32) * 256


@triton.jit
def encode_e2m1(x):
    """Codes of f32, rounded to nearest even, clamped."""
    sign = (x.to(tl.uint32, bitcast=True) >> 28) & 8
    x = tl.minimum(tl.abs(x), 6.0)
    bits = x.to(tl.uint32, bitcast=True)
    normal = ((bits + 0x1FFFFF + ((bits >> 22) & 1)) >> 22) - 252
    small = (x + 4194304.0).to(tl.uint32, bitcast=True) & 3
    return tl.where(x < 1.0, small, normal) | sign


@triton.jit
def append(x, slots, data, scales, global_scale, n, HEADS: tl.constexpr,
           D: tl.constexpr, PAGE: tl.constexpr, BLOCK: tl.constexpr,
           NATIVE: tl.constexpr, HARDWARE: tl.constexpr):
    """Quantizes f16 rows [n, HEADS, D] and stores them at the slots."""
    item = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = item < n * HEADS
    slot = tl.load(slots + item // HEADS, keep, other=-1)
    keep = keep & (slot >= 0)
    row = (slot // PAGE * HEADS + item % HEADS) * PAGE + slot % PAGE
    g = tl.load(global_scale)
    block = tl.arange(0, D // 16)
    column = tl.arange(0, 16)
    at = item[:, None, None] * D + block[None, :, None] * 16 + column[None, None, :]
    values = tl.load(x + at, keep[:, None, None], other=0).to(tl.float32)
    largest = tl.max(tl.abs(values), 2)
    code = encode_e4m3(tl.div_rn(largest, tl.zeros_like(largest) + 6 * g), NATIVE)
    divisor = decode_e4m3(code) * g
    divisor = tl.where(code == 0, float("inf"), divisor)
    values = tl.div_rn(values, tl.broadcast_to(divisor[:, :, None], (BLOCK, D // 16, 16)))
    even, odd = tl.split(tl.reshape(values, (BLOCK, D // 16, 8, 2)))
    if HARDWARE:
        bits = tl.inline_asm_elementwise(ENCODE, "=r,f,f,f,f,f,f,f,f", [even, odd],
                                         dtype=tl.uint8, is_pure=True, pack=4)
    else:
        bits = (encode_e2m1(even) | encode_e2m1(odd) << 4).to(tl.uint8)
    byte = tl.arange(0, 8)
    at = row[:, None, None] * (D // 2) + block[None, :, None] * 8 + byte[None, None, :]
    tl.store(data + at, bits, keep[:, None, None])
    tl.store(scales + row[:, None] * (D // 16) + block[None, :], code, keep[:, None])


@triton.jit
def gather(data, scales, table, lengths, data_out, scales_out, pages, length, n,
           HEADS: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr,
           BLOCK: tl.constexpr):
    """The stored bytes of sequences, [sequences, length, HEADS, ...]; zeros from
    the end of a sequence on. n is sequences x length x HEADS."""
    item = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = item < n
    head = item % HEADS
    token = item // HEADS % length
    sequence = item // HEADS // length
    keep = inside & (token < tl.load(lengths + sequence, inside, other=0))
    page = tl.load(table + sequence * pages + token // PAGE, keep, other=0)
    row = (page.to(tl.int64) * HEADS + head) * PAGE + token % PAGE
    byte = tl.arange(0, D // 2)[None, :]
    bits = tl.load(data + row[:, None] * (D // 2) + byte, keep[:, None], other=0)
    tl.store(data_out + item[:, None] * (D // 2) + byte, bits, inside[:, None])
    block = tl.arange(0, D // 16)[None, :]
    bits = tl.load(scales + row[:, None] * (D // 16) + block, keep[:, None], other=0)
    tl.store(scales_out + item[:, None] * (D // 16) + block, bits, inside[:, None])


@triton.jit
def dequantize(data, scales, out, n, global_scale, D: tl.constexpr, BLOCK: tl.constexpr,
               HARDWARE: tl.constexpr):
    """Rows [n, D] to f32."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    even, odd = load_rows(data, scales, row, row < n, D, HARDWARE)
    factor = global_scale * 128
    values = tl.join(even.to(tl.float32) * factor, odd.to(tl.float32) * factor)
    values = tl.reshape(values, (BLOCK, D))
    tl.store(out + row[:, None] * D + tl.arange(0, D)[None, :], values, row[:, None] < n)
