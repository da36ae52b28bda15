# RUN: %pytest %s
# REQUIRES: python
"""Layouts of tcgen05 from the PTX document's formulas, written here once more."""

import numpy as np
import pytest

from emu_harness import launch, ptx_file

SCHEDULES = ["eager", "lazy", "random:1", "random:2"]

SHARED = """.shared .align 1024 .b8 tile[16384];
.shared .align 8 .b64 bar;
.shared .align 4 .b32 slot;"""
COLUMNS = 64

# Thread, warp and CTA; tensor memory in %r3 (the warp's lanes: %r4).
START = """mov.u32 %r0, %tid.x;
shr.u32 %r1, %r0, 5;
mov.u32 %r2, %cluster_ctarank;
setp.eq.u32 %p0, %r0, 0;
setp.eq.u32 %p1, %r1, 0;
@%p0 mbarrier.init.shared.b64 [bar], 1;
@%p0 fence.mbarrier_init.release.cluster;
@!%p1 bra ALLOCATED;
tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [slot], {columns};
ALLOCATED:
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
ld.shared.u32 %r3, [slot];
shl.b32 %r4, %r1, 21;
add.u32 %r4, %r4, %r3;
"""
END = """bar.sync 0;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
@!%p1 bra FREED;
tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %r3, {columns};
FREED:
"""


def kernel(name, group, body):
    text = START + body + END
    text = text.replace("{group}", str(group)).replace("{columns}", str(COLUMNS))
    return ptx_file(name, text, shared=SHARED)


def registers(first, count):
    return "{" + ", ".join(f"%r{first + i}" for i in range(count)) + "}"


def move(op, shape, count, regs, address="%r4", suffix="", extra=""):
    """tcgen05.ld or st of `count` registers from %r16 on, and the wait for it."""
    names = registers(16, regs)
    operands = f"{names}, [{address}]" if op == "ld" else f"[{address}]"
    operands += extra + (f", {names}" if op == "st" else "")
    return (
        f"tcgen05.{op}.sync.aligned.{shape}.x{count}{suffix}.b32 {operands};\n"
        f"tcgen05.wait::{op}.sync.aligned;\n"
    )


def rows(count, parameter, load=True):
    """Loads or stores `count` words of each thread's row of an array."""
    lines = [
        "mov.u32 %r5, %ntid.x;",
        "mad.lo.u32 %r5, %r2, %r5, %r0;",
        f"mul.wide.u32 %rd0, %r5, {4 * count};",
        f"add.u64 %rd0, %rd0, %a{parameter};",
    ]
    for i in range(count):
        address = f"[%rd0+{4 * i}]"
        lines.append(
            f"ld.global.b32 %r{16 + i}, {address};"
            if load
            else f"st.global.b32 {address}, %r{16 + i};"
        )
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------
# Loads and stores
# ---------------------------------------------------------------------------

# Registers of .x1 per thread, lanes, and the cell of register r of thread t.
SHAPES = {
    "32x32b": (1, 32, lambda t, r: (t, r)),
    "16x64b": (1, 16, lambda t, r: (t // 4 + 8 * (t % 2), 2 * r + t // 2 % 2)),
    "16x128b": (2, 16, lambda t, r: (t // 4 + 8 * (r % 2), 4 * (r // 2) + t % 4)),
    "16x256b": (
        4,
        16,
        lambda t, r: (t // 4 + 8 * (r // 2 % 2), 8 * (r // 4) + 2 * (t % 4) + r % 2),
    ),
    "16x32bx2": (1, 16, lambda t, r: (t % 16, r + (32 if t >= 16 else 0))),
}


@pytest.mark.parametrize("half", [0, 16])
@pytest.mark.parametrize("count", [1, 2, 8, 16])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("op", ["ld", "st"])
def test_shapes(op, shape, count, half):
    per, lanes, cell = SHAPES[shape]
    if half and lanes == 32:
        pytest.skip("reaches all lanes of its warp")
    regs = per * count
    width = {"16x64b": 2, "16x128b": 4, "16x256b": 8}.get(shape, 1) * count
    if width > COLUMNS:
        pytest.skip("more columns than are allocated")
    extra = ", 32" if shape == "16x32bx2" else ""
    address = f"add.u32 %r6, %r4, {half << 16};\n"
    fill, drain = (move(o, "32x32b", COLUMNS, COLUMNS) for o in ("st", "ld"))
    special = address + move(op, shape, count, regs, "%r6", "", extra)
    body = rows(COLUMNS, 0) + fill
    if op == "ld":
        body += special + rows(regs, 1, load=False)
    else:
        body += rows(regs, 1) + special + drain + rows(COLUMNS, 0, load=False)
    path = kernel("move", 1, body)
    rng = np.random.default_rng(count)
    cells = rng.integers(0, 2**32, (128, COLUMNS), dtype=np.uint32)
    moved = rng.integers(0, 2**32, (128, regs), dtype=np.uint32)
    want_cells, want_moved = cells.copy(), moved.copy()
    for thread in range(128):
        for r in range(regs):
            lane, column = cell(thread % 32, r)
            lane += thread // 32 * 32 + half
            if op == "ld":
                want_moved[thread, r] = cells[lane, column]
            else:
                want_cells[lane, column] = moved[thread, r]
    for schedule in SCHEDULES:
        got = launch(path, "move", 1, 128, cells, moved, ("u64", 0), ("u64", 0),
                     schedule=schedule, check="all")  # fmt: skip
        np.testing.assert_array_equal(got[0], want_cells)
        np.testing.assert_array_equal(got[1], want_moved)


@pytest.mark.parametrize("lane", [8, 16, 32])
def test_lanes_of_another_warp(lane):
    body = f"add.u32 %r6, %r4, {lane << 16};\n" + move("ld", "32x32b", 1, 1, "%r6")
    path = kernel("move", 1, body)
    got = launch(path, "move", 1, 128, *[("u64", 0)] * 4, expect_findings=True)
    assert got.report["findings"][0]["kind"] == "tensor-memory"


# ---------------------------------------------------------------------------
# Products
# ---------------------------------------------------------------------------


def k_major(matrix):
    """Rows of 32 bytes without swizzle: core matrices of 8 rows by 16 bytes."""
    data = np.ascontiguousarray(matrix).view(np.uint8)
    count = len(data)
    return data.reshape(count // 8, 8, 2, 16).transpose(2, 0, 1, 3).ravel()


def product(m, n, group, a_in_tensor=False, ashift=False, mask=None, scale=None):
    """A kernel for one kind::f16 product of f16: D = A B (+ D 2^-scale)."""
    a_bytes, b_bytes = 32 * m // group, 32 * n // group
    descriptor = 128 >> 4 << 32 | 1 << 46
    body = f"""
mov.u32 %r6, tile;
mul.wide.u32 %rd1, %r2, {a_bytes + b_bytes};
add.u64 %rd1, %rd1, %a0;
shl.b32 %r7, %r0, 4;
FILL:
cvt.u64.u32 %rd2, %r7;
add.u64 %rd2, %rd2, %rd1;
ld.global.v4.b32 {{%r8, %r9, %r10, %r11}}, [%rd2];
add.u32 %r12, %r6, %r7;
st.shared.v4.b32 [%r12], {{%r8, %r9, %r10, %r11}};
add.u32 %r7, %r7, 2048;
setp.lt.u32 %p2, %r7, {a_bytes + b_bytes};
@%p2 bra FILL;
fence.proxy.async.shared::cta;
"""
    body += rows(n, 1) + move("st", "32x32b", n, n)
    if a_in_tensor:
        # Behind D: 8 columns with the 32 bytes of a row.
        body += "add.u32 %r6, %r4, 32;\n" + rows(8, 2) + move("st", "32x32b", 8, 8, "%r6")
        body += "add.u32 %r6, %r3, 32;\n"
    a = "[%r6]" if a_in_tensor else "%rd4"
    lanes = ""
    if mask is not None:
        lanes = "{" + ", ".join(f"0x{word:08x}" for word in mask) + "}, "
    shift = f", {scale}" if scale is not None else ""
    commit = ".multicast::cluster.b64 [%rd6], 3" if group == 2 else ".b64 [bar]"
    mma = f"tcgen05.mma.cta_group::{group}.kind::f16"
    mma += ".collector::a::discard.ashift" if ashift else ""
    idesc = 1 << 4 | n >> 3 << 17 | m >> 4 << 24
    body += f"""
tcgen05.fence::before_thread_sync;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
tcgen05.fence::after_thread_sync;
setp.eq.u32 %p2, %r2, 0;
and.pred %p3, %p0, %p2;
@!%p3 bra WAIT;
mov.u32 %r7, tile;
cvt.u64.u32 %rd3, %r7;
shr.u64 %rd3, %rd3, 4;
or.b64 %rd4, %rd3, {descriptor | a_bytes // 2 >> 4 << 16};
add.u64 %rd3, %rd3, {a_bytes >> 4};
or.b64 %rd5, %rd3, {descriptor | b_bytes // 2 >> 4 << 16};
setp.ne.u32 %p4, %r0, {0 if scale is None else 1};
mov.u32 %r7, bar;
cvt.u64.u32 %rd6, %r7;
{mma} [%r3], {a}, %rd5, {idesc}, {lanes}%p4{shift};
tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster{commit};
WAIT:
mbarrier.try_wait.parity.shared.b64 %p5, [bar], 0;
@!%p5 bra WAIT;
tcgen05.fence::after_thread_sync;
"""
    body += move("ld", "32x32b", n, n) + rows(n, 1, load=False)
    return kernel("product", group, body)


def place(m, n, group):
    """CTA, lane and column of every element of D."""
    row, column = np.meshgrid(np.arange(m), np.arange(n), indexing="ij")
    if group == 2 and m == 256:
        return row // 128, row % 128, column
    if group == 2:
        return row // 64, row % 64 + 64 * (column // (n // 2)), column % (n // 2)
    if m == 64:
        return 0 * row, row % 16 + 32 * (row // 16), column
    return 0 * row, row, column


def run_product(m, n, group, **options):
    """D of all lanes before and after, and the product; exact data."""
    path = product(m, n, group, **options)
    rng = np.random.default_rng(m + n)
    a = rng.integers(-8, 9, (m, 16)).astype(np.float16)
    b = rng.integers(-8, 9, (n, 16)).astype(np.float16)
    before = rng.integers(-64, 64, (128 * group, n)).astype(np.float32)
    parts = [
        np.concatenate([k_major(x) for x in pair])
        for pair in zip(np.split(a, group), np.split(b, group))
    ]
    rows_of_a = np.zeros((128, 16), np.float16)
    rows_of_a[:m] = a[:128]
    for schedule in SCHEDULES:
        got = launch(path, "product", group, 128, np.concatenate(parts), before,
                     rows_of_a.view(np.uint32), ("u64", 0), schedule=schedule,
                     cluster=group, check="all")  # fmt: skip
        yield before, got[1], a.astype(np.float32), b.astype(np.float32)


@pytest.mark.parametrize("group,m,n", [
    (1, 64, 8), (1, 64, 32), (1, 128, 16), (2, 128, 32), (2, 256, 16), (2, 256, 32),
])  # fmt: skip
def test_products(group, m, n):
    cta, lane, column = place(m, n, group)
    for before, after, a, b in run_product(m, n, group):
        want = before.copy()
        want[128 * cta + lane, column] = a @ b.T
        np.testing.assert_array_equal(after, want)


def test_rows_of_a_shifted():
    for _, after, a, b in run_product(128, 16, 1, a_in_tensor=True, ashift=True):
        np.testing.assert_array_equal(after, a[[0, *range(127)]] @ b.T)


@pytest.mark.parametrize("group", [1, 2])
def test_lanes_that_are_not_written(group):
    mask = [0x80000001, 0, 0xFFFF0000, 0x0F0F0F0F, 1, 2, 4, 8][: 4 * group]
    masked = np.array([mask[i // 32] >> i % 32 & 1 for i in range(128 * group)], bool)
    for before, after, a, b in run_product(128 * group, 16, group, mask=mask):
        want = np.where(masked[:, None], before, a @ b.T)
        np.testing.assert_array_equal(after, want)


def test_input_scaled():
    for before, after, a, b in run_product(128, 16, 1, scale=3):
        np.testing.assert_array_equal(after, a @ b.T + before / 8)
