"""Kernels written in Triton. No GPU and no driver is needed to compile them."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask)


@triton.jit
def activations(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    v = tl.load(x + i, mask, other=0.0)
    tl.store(out + i, v * tl.sigmoid(v), mask)
    tl.store(out + n + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask)
    tl.store(out + 2 * n + i, tl.log(1 + tl.exp(v)), mask)
    tl.store(out + 3 * n + i, tl.sin(v) + tl.cos(v), mask)
    tl.store(out + 4 * n + i, tl.sqrt_rn(tl.abs(v)) + tl.floor(v), mask)
    tl.store(out + 5 * n + i, tl.where(v > 0, v, tl.exp2(v) - 1), mask)


@triton.jit
def softmax(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + i, i < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * cols + i, e / tl.sum(e, 0), i < cols)


@triton.jit
def layer_norm(x, w, b, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < cols
    v = tl.load(x + row * cols + i, mask, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / cols
    d = tl.where(mask, v - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(d * d, 0) / cols + 1e-5)
    y = d * scale * tl.load(w + i, mask) + tl.load(b + i, mask)
    tl.store(out + row * cols + i, y.to(tl.float16), mask)


@triton.jit
def sum_atomic(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0), 0))


@triton.jit
def scatter_atomic(index, value, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    at = tl.load(index + i, mask, other=0)
    tl.atomic_add(out + at, tl.load(value + i, mask), mask)
    tl.atomic_max(out + 16 + at, tl.load(value + i, mask), mask)


@triton.jit
def row_reductions(x, out, arg, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + i, i < cols, other=-1000000)
    tl.store(out + row * 2, tl.max(v, 0))
    tl.store(out + row * 2 + 1, tl.xor_sum(v, 0))
    tl.store(arg + row, tl.argmax(v, 0))


@triton.jit
def cumulative(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, tl.cumsum(v, 0))
    tl.store(out + BLOCK + i, tl.sort(v))
    tl.store(out + 2 * BLOCK + i, tl.flip(v))


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, BLOCK)
    h = tl.histogram(tl.load(x + i, i < n, other=0), BINS, mask=i < n)
    tl.store(out + tl.arange(0, BINS), h)


@triton.jit
def transpose(x, out, rows, cols, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    v = tl.load(x + r[:, None] * cols + c[None, :], mask)
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(v), tl.trans(mask))


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    if a.dtype.element_ty == tl.int8:
        acc = tl.zeros((BM, BN), dtype=tl.int32)
    else:
        acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :],
                    (rm[:, None] < M) & (k + rk[None, :] < K), other=0)
        y = tl.load(b + (k + rk[:, None]) * N + rn[None, :],
                    (k + rk[:, None] < K) & (rn[None, :] < N), other=0)
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc,
             (rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def attention(q, k, v, out, n, scale, D: tl.constexpr, BM: tl.constexpr,
              BN: tl.constexpr, CAUSAL: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + rows[:, None] * D + d[None, :], rows[:, None] < n, other=0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = n
    if CAUSAL:
        end = tl.minimum(n, (tl.program_id(0) + 1) * BM)
    for start in range(0, end, BN):
        cols = start + tl.arange(0, BN)
        y = tl.load(k + cols[None, :] * D + d[:, None], cols[None, :] < n, other=0)
        s = tl.dot(x, y) * scale
        keep = cols[None, :] < n
        if CAUSAL:
            keep = keep & (cols[None, :] <= rows[:, None])
        s = tl.where(keep, s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2((s - new[:, None]) * 1.4426950408889634)
        factor = tl.exp2((top - new) * 1.4426950408889634)
        total = total * factor + tl.sum(p, 1)
        z = tl.load(v + cols[:, None] * D + d[None, :], cols[:, None] < n, other=0)
        acc = tl.dot(p.to(tl.float16), z, acc * factor[:, None])
        top = new
    tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None],
             rows[:, None] < n)


@triton.jit
def paged_decode(q, cache, table, lengths, out, pages, scale, D: tl.constexpr,
                 PAGE: tl.constexpr):
    seq = tl.program_id(0)
    d = tl.arange(0, D)
    x = tl.load(q + seq * D + d).to(tl.float32)
    n = tl.load(lengths + seq)
    top = -float("inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for page in range(0, tl.cdiv(n, PAGE)):
        at = tl.load(table + seq * pages + page)
        t = tl.arange(0, PAGE)
        keep = page * PAGE + t < n
        base = cache + at * 2 * PAGE * D + t[:, None] * D + d[None, :]
        key = tl.load(base, keep[:, None], other=0).to(tl.float32)
        s = tl.where(keep, tl.sum(key * x[None, :], 1) * scale, -float("inf"))
        new = tl.maximum(top, tl.max(s, 0))
        p = tl.exp(s - new)
        factor = tl.exp(top - new)
        value = tl.load(base + PAGE * D, keep[:, None], other=0).to(tl.float32)
        acc = acc * factor + tl.sum(p[:, None] * value, 0)
        total = total * factor + tl.sum(p, 0)
        top = new
    tl.store(out + seq * D + d, acc / total)


@triton.jit
def convert(x, out, half, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mask = i < n
    v = tl.load(x + i, mask)
    code = v.to(tl.float8e5)
    tl.store(out + i, code.to(tl.uint8, bitcast=True), mask)
    tl.store(half + i, code.to(tl.float16), mask)


@triton.jit
def random_bits(out, seed, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.randint(seed, i))


@triton.jit
def compare_and_swap(lock, out, BLOCK: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    value = tl.load(out)
    # All threads load the scalar, one of them stores it.
    tl.debug_barrier()
    tl.store(out, value + tl.program_id(0) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def descriptor_copy(x, out, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [BR, BC])
    target = tl.make_tensor_descriptor(out, [rows, cols], [cols, 1], [BR, BC])
    r, c = tl.program_id(0) * BR, tl.program_id(1) * BC
    target.store([r, c], source.load([r, c]) + 1)


@triton.jit
def persistent_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                      BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    across = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, tl.num_programs(0)):
        m, n = tile // across * BM, tile % across * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(da.load([m, k]), db.load([k, n]), acc)
        dc.store([m, n], acc.to(tl.float16))


@triton.jit
def matmul_fp8(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + start + k[None, :])
        y = tl.load(b + n[None, :] * K + start + k[:, None])
        acc = tl.dot(x.to(tl.float8e5, bitcast=True), y.to(tl.float8e5, bitcast=True),
                     acc)
    tl.store(c + m[:, None] * BN + n[None, :], acc)


@triton.jit
def scaled_matmul(a, b, sa, sb, c, K, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr, VECTOR: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    packed, scale = tl.arange(0, BK // 2), tl.arange(0, BK // VECTOR)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K // BK):
        x = tl.load(a + m[:, None] * (K // 2) + k * (BK // 2) + packed[None, :])
        y = tl.load(b + n[None, :] * (K // 2) + k * (BK // 2) + packed[:, None])
        at = k * (BK // VECTOR) + scale[None, :]
        p = tl.load(sa + m[:, None] * (K // VECTOR) + at)
        q = tl.load(sb + n[:, None] * (K // VECTOR) + at)
        if VECTOR == 16:
            p = p.to(tl.float8e4nv, bitcast=True)
            q = q.to(tl.float8e4nv, bitcast=True)
        acc = tl.dot_scaled(x, p, "e2m1", y, q, "e2m1", acc)
    tl.store(c + m[:, None] * BN + n[None, :], acc)


@triton.jit
def scaled_matmul_fp8(a, b, sa, sb, c, K, BM: tl.constexpr, BN: tl.constexpr,
                      BK: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    along, scale = tl.arange(0, BK), tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K // BK):
        x = tl.load(a + m[:, None] * K + k * BK + along[None, :])
        y = tl.load(b + n[None, :] * K + k * BK + along[:, None])
        at = k * (BK // 32) + scale[None, :]
        p = tl.load(sa + m[:, None] * (K // 32) + at)
        q = tl.load(sb + n[:, None] * (K // 32) + at)
        acc = tl.dot_scaled(x.to(tl.float8e4nv, bitcast=True), p, "e4m3",
                            y.to(tl.float8e4nv, bitcast=True), q, "e4m3", acc)
    tl.store(c + m[:, None] * BN + n[None, :], acc)


@triton.jit
def specialized_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                       BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True):
        acc = tl.dot(da.load([m, k]), db.load([n, k]).T, acc)
    dc.store([m, n], acc.to(tl.float16))
