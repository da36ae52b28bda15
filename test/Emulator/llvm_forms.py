# RUN: %pytest %s
# REQUIRES: python
"""Instructions of sm_100a as LLVM's back end spells them, against NumPy."""

import numpy as np
import pytest

from emu_harness import launch, ptx_file

SCHEDULES = ["eager", "lazy", "random:1", "random:2"]
# Where nothing is asynchronous and one warp runs.
ORDERED = ["eager"]


def run(name, body, *arguments, shared="", block=32, cluster=None,
        schedules=SCHEDULES):  # fmt: skip
    """The arrays after each schedule, with nothing found."""
    path = ptx_file(name, body, ("u64",) * len(arguments), shared=shared)
    for schedule in schedules:
        arrays = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        yield launch(path, name, cluster or 1, block, *arrays, cluster=cluster,
                     schedule=schedule, check="all")  # fmt: skip


# Each thread's row of words: %rd0 in the input %a0, %rd1 in the output %a1.
ROWS = """mov.u32 %r0, %tid.x;
mul.wide.u32 %rd0, %r0, {0};
add.u64 %rd0, %rd0, %a0;
mul.wide.u32 %rd1, %r0, {1};
add.u64 %rd1, %rd1, %a1;
"""


def words(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 2**32, shape, dtype=np.uint32)


# ---------------------------------------------------------------------------
# Global memory
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("load,store", [
    ("ld.global.v4.b64 {%rd2, %rd3, %rd4, %rd5}", "st.global.v4.b64 [%rd1]"),
    ("ld.global.nc.v4.b64 {%rd2, %rd3, %rd4, %rd5}", "st.global.v4.b64 [%rd1]"),
    ("ld.global.nc.v2.b64 {%rd2, %rd3}", "st.global.v2.b64 [%rd1]"),
    ("ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}",
     "st.global.v8.b32 [%rd1]"),
])  # fmt: skip
def test_wide_accesses(load, store):
    names = load[load.index("{") :]
    count = 4 if "v2" in load else 8
    body = ROWS.format(32, 32) + f"{load}, [%rd0];\n{store}, {names};\n"
    data = words(32, 8)
    want = np.zeros_like(data)
    want[:, :count] = data[:, :count]
    for got in run("wide", body, data, np.zeros_like(data), schedules=ORDERED):
        np.testing.assert_array_equal(got[1], want)


def test_maximum_by_compare_and_swap():
    """What LLVM makes of an atomic maximum of floats, by all threads at once."""
    body = ROWS.format(4, 4) + """ld.global.b32 %r1, [%rd0];
ld.relaxed.sys.global.b32 %r4, [%a1];
RETRY:
max.f32 %r3, %r4, %r1;
atom.relaxed.sys.global.cas.b32 %r2, [%a1], %r4, %r3;
setp.ne.b32 %p1, %r2, %r4;
mov.b32 %r4, %r2;
@%p1 bra RETRY;
"""
    data = np.random.default_rng(1).normal(size=128).astype(np.float32)
    low = np.full(1, -100, np.float32)
    for got in run("maximum", body, data, low, block=128):
        assert got[1][0] == data.max()


# ---------------------------------------------------------------------------
# Within a warp
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("op,want", [
    ("max", lambda x: np.nanmax(x)),
    ("min", lambda x: np.nanmin(x)),
    ("max.abs", lambda x: np.nanmax(abs(x))),
    ("min.abs", lambda x: np.nanmin(abs(x))),
    ("max.NaN", lambda x: x.max()),
    ("min.NaN", lambda x: x.min()),
    ("max.abs.NaN", lambda x: abs(x).max()),
    ("min.abs.NaN", lambda x: abs(x).min()),
])  # fmt: skip
@pytest.mark.parametrize("nans", [0, 1, 32])
def test_reductions_of_floats(op, want, nans):
    body = ROWS.format(4, 4) + (
        "ld.global.b32 %r1, [%rd0];\nmov.b32 %r2, -1;\n"
        f"redux.sync.{op}.f32 %r3, %r1, %r2;\nst.global.b32 [%rd1], %r3;\n"
    )
    data = np.random.default_rng(2).normal(size=32).astype(np.float32)
    data[:nans] = np.nan
    value = np.float32(np.nan) if nans == 32 else want(data)
    expected = 0x7FFFFFFF if np.isnan(value) else value.view(np.uint32)
    for got in run("reduce", body, data, np.zeros(32, np.float32), schedules=ORDERED):
        assert set(got[1].view(np.uint32)) == {expected}


def test_what_has_no_result():
    """Hints run, and change nothing."""
    body = """griddepcontrol.wait;
setmaxnreg.inc.sync.aligned.u32 208;
setmaxnreg.dec.sync.aligned.u32 40;
prefetch.global.L2 [%a0];
membar.gl;
fence.acq_rel.gpu;
fence.proxy.async.global;
griddepcontrol.launch_dependents;
"""
    data = words(32)
    for got in run("hints", body, data, block=128):
        np.testing.assert_array_equal(got[0], data)


# ---------------------------------------------------------------------------
# Matrices
# ---------------------------------------------------------------------------

FILL = """mov.u32 %r1, tile;
shl.b32 %r2, %r0, 4;
add.u32 %r1, %r1, %r2;
"""
TILE = ".shared .align 1024 .b8 tile[512];"


def nibbles(rows):
    """The 16 values of 4 bits in the first 8 bytes of each row of 16."""
    packed = rows[..., :8]
    return np.stack([packed & 15, packed >> 4], -1).reshape(*rows.shape[:-1], 16)


def load_8x8(rows, t, r):
    return rows[8 * r + t // 4, 4 * (t % 4) : 4 * (t % 4) + 4]


def load_8x8_transposed(rows, t, r):
    halves = rows[8 * r : 8 * r + 8].view(np.uint16)
    pair = halves[2 * (t % 4) : 2 * (t % 4) + 2, t // 4]
    return np.ascontiguousarray(pair).view(np.uint8)


def load_8x16(rows, t, r):
    return nibbles(rows)[8 * r + t // 4, 4 * (t % 4) : 4 * (t % 4) + 4]


def load_16x16_transposed(rows, t, r):
    return rows[16 * (r // 2) + 4 * (t % 4) :][:4, t // 4 + 8 * (r % 2)]


def load_16x16_nibbles(rows, t, r):
    return load_16x16_transposed(nibbles(rows), t, r)


@pytest.mark.parametrize("form,element", [
    ("m8n8.x4.shared.b16", load_8x8),
    ("m8n8.x4.trans.shared.b16", load_8x8_transposed),
    ("m8n16.x4.shared.b8x16.b4x16_p64", load_8x16),
    ("m16n16.x2.trans.shared.b8", load_16x16_transposed),
    ("m16n16.x2.trans.shared.b8x16.b4x16_p64", load_16x16_nibbles),
])  # fmt: skip
def test_matrix_loads(form, element):
    body = ROWS.format(16, 16) + FILL + f"""
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd0];
st.shared.v4.b32 [%r1], {{%r4, %r5, %r6, %r7}};
bar.warp.sync -1;
ldmatrix.sync.aligned.{form} {{%r8, %r9, %r10, %r11}}, [%r1];
st.global.v4.b32 [%rd1], {{%r8, %r9, %r10, %r11}};
"""
    data = words(32, 4)
    rows = data.view(np.uint8)
    want = [[element(rows, t, r) for r in range(4)] for t in range(32)]
    for got in run("load", body, data, np.zeros_like(data), shared=TILE,
                   schedules=ORDERED):  # fmt: skip
        moved = got[1].view(np.uint8).reshape(32, 4, 4)
        np.testing.assert_array_equal(moved, np.array(want))


def store_16x8_transposed(rows, t, r):
    """Two neighbours of row t/4 and of the row 8 below; memory has columns."""
    columns = rows[8 * r + 2 * (t % 4) :][:2]
    return columns[:, [t // 4, t // 4 + 8]].T.ravel()


@pytest.mark.parametrize("form,element", [
    ("m8n8.x4.shared.b16", load_8x8),
    ("m8n8.x4.trans.shared.b16", load_8x8_transposed),
    ("m16n8.x4.trans.shared.b8", store_16x8_transposed),
])  # fmt: skip
def test_matrix_stores(form, element):
    body = ROWS.format(16, 16) + FILL + f"""
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd0];
stmatrix.sync.aligned.{form} [%r1], {{%r4, %r5, %r6, %r7}};
bar.warp.sync -1;
ld.shared.v4.b32 {{%r8, %r9, %r10, %r11}}, [%r1];
st.global.v4.b32 [%rd1], {{%r8, %r9, %r10, %r11}};
"""
    data = words(32, 4)
    for got in run("store", body, data, np.zeros_like(data), shared=TILE,
                   schedules=ORDERED):  # fmt: skip
        rows, given = got[1].view(np.uint8), data.view(np.uint8).reshape(32, 4, 4)
        for t in range(32):
            for r in range(4):
                np.testing.assert_array_equal(element(rows, t, r), given[t, r])


# ---------------------------------------------------------------------------
# mbarrier
# ---------------------------------------------------------------------------

BARRIER = ".shared .align 1024 .b8 tile[4096];\n.shared .align 8 .b64 bar;"
INIT = """mov.u32 %r0, %tid.x;
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], {0};
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
"""
MEET = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"


def test_transactions_by_hand():
    """Bytes are announced and completed by relaxed operations; the tests see the
    phase end with the last of them."""
    body = INIT.format(1) + """@!%p0 bra DONE;
mov.b32 %r1, 24;
mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], %r1;
mbarrier.arrive.shared.b64 %rd0, [bar];
mbarrier.test_wait.shared.b64 %p1, [bar], %rd0;
selp.b32 %r2, 1, 0, %p1;
mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 8;
mbarrier.try_wait.parity.relaxed.cluster.shared.b64 %p1, [bar], 0, 20;
selp.b32 %r3, 1, 0, %p1;
mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 16;
mbarrier.test_wait.shared.b64 %p1, [bar], %rd0;
selp.b32 %r4, 1, 0, %p1;
mbarrier.try_wait.parity.relaxed.cluster.shared.b64 %p1, [bar], 0, 20;
selp.b32 %r5, 1, 0, %p1;
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 1;
selp.b32 %r6, 1, 0, %p1;
mbarrier.pending_count.b64 %r7, %rd0;
st.global.v4.b32 [%a0], {%r2, %r3, %r4, %r5};
st.global.v2.b32 [%a0+16], {%r6, %r7};
DONE:
"""
    for got in run("transactions", body, np.zeros(6, np.uint32), shared=BARRIER):
        assert list(got[0]) == [0, 0, 1, 1, 0, 1]


def test_arrival_at_another_cta():
    """Every CTA of four arrives at the next one's mbarrier and waits at its own;
    what it wrote there before is then there."""
    body = INIT.format(32) + MEET + """mov.u32 %r1, %cluster_ctarank;
add.u32 %r2, %r1, 1;
and.b32 %r2, %r2, 3;
mov.b64 %rd0, bar;
mapa.shared::cluster.u64 %rd1, %rd0, %r2;
mov.b64 %rd2, tile;
mapa.shared::cluster.u64 %rd3, %rd2, %r2;
mul.wide.u32 %rd4, %r0, 4;
add.u64 %rd3, %rd3, %rd4;
mad.lo.u32 %r3, %r1, 100, %r0;
st.shared::cluster.b32 [%rd3], %r3;
mov.b32 %r4, 1;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rd1], %r4;
WAIT:
mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [bar], 0, 1000;
@!%p1 bra WAIT;
add.u64 %rd2, %rd2, %rd4;
ld.shared.b32 %r5, [%rd2];
mad.lo.u32 %r6, %r1, 32, %r0;
mul.wide.u32 %rd5, %r6, 4;
add.u64 %rd5, %rd5, %a0;
st.global.b32 [%rd5], %r5;
""" + MEET
    want = 100 * ((np.arange(128) // 32 + 3) % 4) + np.arange(128) % 32
    for got in run("arrive", body, np.zeros(128, np.uint32), shared=BARRIER,
                   cluster=4):  # fmt: skip
        np.testing.assert_array_equal(got[0], want)


@pytest.mark.parametrize("noinc", [False, True])
def test_copies_arrive(noinc):
    """With .noinc the arrivals are among those that the mbarrier expects."""
    form = ".noinc" if noinc else ""
    body = INIT.format(64 if noinc else 32) + ROWS.format(16, 16) + f"""
mov.u32 %r1, tile;
shl.b32 %r2, %r0, 4;
add.u32 %r1, %r1, %r2;
cp.async.cg.shared.global [%r1], [%rd0], 16;
cp.async.mbarrier.arrive{form}.shared.b64 [bar];
mbarrier.arrive.shared.b64 %rd2, [bar];
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
xor.b32 %r1, %r1, 16;
ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r1];
st.global.v4.b32 [%rd1], {{%r4, %r5, %r6, %r7}};
"""
    data = words(32, 4)
    for got in run("copies", body, data, np.zeros_like(data), shared=BARRIER):
        np.testing.assert_array_equal(got[1], data[np.arange(32) ^ 1])


# ---------------------------------------------------------------------------
# Copies by the asynchronous proxy
# ---------------------------------------------------------------------------

WAIT = """@%p0 mbarrier.arrive.shared.b64 _, [bar];
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
"""


def move_words(count, store_to=None):
    """One thread copies words: of the tile to [%a1], or of [%a1] to the tile."""
    lines = []
    for i in range(count):
        places = [f"ld.shared.b32 %r9, [tile+{4 * i}];",
                  f"st.global.b32 [%a1+{4 * i}], %r9;"]  # fmt: skip
        if store_to:
            places = [f"ld.global.b32 %r9, [%a1+{4 * i}];",
                      f"st.shared.b32 [tile+{4 * i}], %r9;"]  # fmt: skip
        lines += ["@%p0 " + line for line in places]
    return "\n".join(lines) + "\n"


def make_map(dims, box):
    """Makes a tensor map of words in [%a2], of the tensor at %a0."""
    fields = [("rank", "", len(dims) - 1), ("elemtype", "", 2),
              ("interleave_layout", "", 0), ("swizzle_mode", "", 0),
              ("fill_mode", "", 0)]  # fmt: skip
    for i, (size, part) in enumerate(zip(dims, box)):
        fields += [("global_dim", f"{i}, ", size), ("box_dim", f"{i}, ", part),
                   ("element_stride", f"{i}, ", 1)]  # fmt: skip
    replace = "@%p0 tensormap.replace.tile"
    lines = [f"{replace}.global_address.global.b1024.b64 [%a2], %a0;"]
    lines += [f"{replace}.{field}.global.b1024.b32 [%a2], {ordinal}{value};"
              for field, ordinal, value in fields]  # fmt: skip
    for i in range(len(dims) - 1):
        stride = 4 * int(np.prod(dims[: i + 1]))
        lines.append(
            f"{replace}.global_stride.global.b1024.b64 [%a2], {i}, {stride};"
        )
    return "\n".join(lines) + """
fence.proxy.tensormap::generic.release.gpu;
fence.proxy.tensormap::generic.acquire.gpu [%a2], 128;
"""


# Sizes, boxes and places of tensors, innermost first; all boxes reach outside.
TENSORS = [
    ([40], [16], [31]),
    ([20, 6], [8, 3], [-3, 4]),
    ([12, 5, 3], [4, 3, 2], [9, -1, 2]),
    ([8, 4, 3, 3], [4, 2, 2, 2], [5, 3, -1, 1]),
    ([8, 3, 3, 2, 3], [4, 2, 1, 2, 2], [-1, 2, 1, 1, 2]),
]


def inside(dims, box, start):
    """Places of the box in the tensor and in the box itself, as NumPy slices."""
    tensor, part = [], []
    for size, length, first in zip(dims[::-1], box[::-1], start[::-1]):
        low, high = max(first, 0), min(first + length, size)
        tensor.append(slice(low, high))
        part.append(slice(low - first, high - first))
    return tuple(tensor), tuple(part)


@pytest.mark.parametrize("tensor,form", [
    *((tensor, "cta") for tensor in TENSORS),
    *((tensor, form) for tensor in TENSORS[1::2] for form in ("cluster", "hint")),
])  # fmt: skip
def test_tensor_loads(tensor, form):
    dims, box, start = tensor
    count = int(np.prod(box))
    place = "{" + ", ".join(map(str, start)) + "}"
    copy = f"cp.async.bulk.tensor.{len(dims)}d.shared::"
    rest = ".global.tile.mbarrier::complete_tx::bytes"
    if form == "cta":
        copy += f"cta{rest} [tile], [%a2, {place}], [bar];"
    elif form == "cluster":
        copy += f"cluster{rest} [%rd2], [%a2, {place}], [bar];"
    else:
        copy += (f"cluster{rest}.L2::cache_hint.cta_group::1 [%rd2], "
                 f"[%a2, {place}], [bar], %rd3;")  # fmt: skip
    body = INIT.format(1) + make_map(dims, box) + f"""
mov.b64 %rd1, tile;
cvta.shared.u64 %rd2, %rd1;
cvta.to.shared::cluster.u64 %rd2, %rd2;
mov.b64 %rd3, 0x12f0000000000000;
@%p0 prefetch.tensormap [%a2];
@%p0 cp.async.bulk.prefetch.tensor.{len(dims)}d.L2.global.tile [%a2, {place}];
@%p0 mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], {4 * count};
@%p0 {copy}
""" + WAIT + move_words(count)
    data = words(*dims[::-1])
    want = np.zeros(box[::-1], np.uint32)
    source, target = inside(*tensor)
    want[target] = data[source]
    for got in run("tensor", body, data, np.zeros(count, np.uint32),
                   np.zeros(32, np.uint32), shared=BARRIER):  # fmt: skip
        np.testing.assert_array_equal(got[1], want.ravel())


@pytest.mark.parametrize("tensor,reduce", [
    *((tensor, reduce) for tensor in TENSORS for reduce in (None, "add")),
    (TENSORS[1], "xor"), (TENSORS[2], "max"),
])  # fmt: skip
def test_tensor_stores(tensor, reduce):
    dims, box, start = tensor
    count = int(np.prod(box))
    place = "{" + ", ".join(map(str, start)) + "}"
    op = f"cp.reduce.async.bulk.tensor.{len(dims)}d.global.shared::cta.{reduce}"
    if not reduce:
        op = f"cp.async.bulk.tensor.{len(dims)}d.global.shared::cta"
    body = INIT.format(1) + make_map(dims, box) + move_words(count, True) + f"""
fence.proxy.async.shared::cta;
@%p0 {op}.tile.bulk_group [%a2, {place}], [tile];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
"""
    data, part = words(*dims[::-1]), words(*box[::-1], seed=1)
    operation = {None: lambda a, b: b, "add": np.add, "xor": np.bitwise_xor,
                 "max": np.maximum}[reduce]  # fmt: skip
    target, source = inside(*tensor)
    want = data.copy()
    want[target] = operation(data[target], part[source])
    for got in run("tensor", body, data, part, np.zeros(32, np.uint32),
                   shared=BARRIER):  # fmt: skip
        np.testing.assert_array_equal(got[0], want)


def test_copy_to_another_cta():
    """CTA 0 copies to CTA 1, whose mbarrier hears of it, and stores a word there."""
    body = INIT.format(1) + MEET + """mov.u32 %r1, %cluster_ctarank;
setp.eq.u32 %p2, %r1, 0;
mov.b64 %rd0, tile;
mapa.shared::cluster.u64 %rd1, %rd0, 1;
mov.b64 %rd2, bar;
mapa.shared::cluster.u64 %rd3, %rd2, 1;
and.pred %p3, %p0, %p2;
not.pred %p4, %p2;
and.pred %p5, %p0, %p4;
@%p5 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 68;
""" + MEET + """
@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1], [%a0], 64, [%rd3];
cvt.u32.u64 %r2, %rd1;
cvt.u32.u64 %r3, %rd3;
@%p3 st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r2+64], 77, [%r3];
@%p2 bra DONE;
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
""" + move_words(17) + "DONE:\n" + MEET
    data = words(16)
    for got in run("remote", body, data, np.zeros(17, np.uint32), shared=BARRIER,
                   cluster=2):  # fmt: skip
        np.testing.assert_array_equal(got[1], [*data, 77])
