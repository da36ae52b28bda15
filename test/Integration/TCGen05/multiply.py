# RUN: %pytest %s
# REQUIRES: python
"""Every kind of product on the emulator, against NumPy.

Values are small integers times powers of two, so that results are exact and
are compared bit for bit, all of tensor memory with them.
"""

import zlib

import numpy as np
import pytest

import kernels
import layouts
from layouts import Layout


def rng(*seed):
    return np.random.default_rng(zlib.crc32(repr(seed).encode()))


def values(generator, shape, element):
    """Values that all types hold: E2M1 has 0, 0.5, 1, 1.5, 2, 3, 4, 6."""
    if element in ("si8", "ui8"):
        low = -128 if element == "si8" else 0
        return generator.integers(low, low + 256, shape).astype(np.float64)
    grid = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    return grid[generator.integers(0, 8, shape)] * generator.choice([-1, 1], shape)


def check(results, want):
    for schedule, got in zip(kernels.SCHEDULES, results):
        bad = np.argwhere(got != want)
        assert not len(bad), (
            f"{schedule}: {len(bad)} words differ, first at lane {bad[0][0]}, "
            f"column {bad[0][1]}: {got[tuple(bad[0])]:#x}, not {want[tuple(bad[0])]:#x}"
        )


def product(
    kind,
    element_a,
    element_b,
    m,
    n,
    k,
    layout_a=None,
    layout_b=None,
    d="f32",
    lane=0,
    ws=False,
    accumulate=None,
    d_scale=1.0,
    attributes="",
    operands="",
    expect=None,
    expect_b=None,
    disabled=(),
    before="",
):
    """Runs one kvq_tcgen05.mma; `layout_a` None puts A into tensor memory."""
    generator = rng(kind, element_a, element_b, m, n, k)
    a, b = values(generator, (m, k), element_a), values(generator, (n, k), element_b)
    image = np.full(47104, layouts.POISON, np.uint8)
    if kind == "i8":
        d = "i32"
    d_column, a_column, columns = 0, 256, 512
    words = generator.integers(0, 2**32, (128, columns), dtype=np.uint32)
    placement = "straight"
    if m == 64:
        placement = "folded64" if ws else "scattered"
    if m == 32:
        placement = "folded32"
    base_b = 32768
    layouts.write_tile(image, base_b, b, element_b, layout_b)
    narrow = layouts.TYPES[element_a][1] < 8
    text = "      %sb = llvm.getelementptr %smem[32768] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n"
    tile_b = f"!kvq_tcgen05.tile<{n}x{k}x{element_b}, {layout_b.text()}>"
    if layout_a:
        layouts.write_tile(image, 0, a, element_a, layout_a)
        type_a = f"!kvq_tcgen05.tile<{m}x{k}x{element_a}, {layout_a.text()}>"
        text += f"      %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to {type_a}\n"
    else:
        where = lane if m == 64 else None
        layouts.write_operand(words, a_column, a, element_a, narrow, where)
        type_a = f"!kvq_tcgen05.tmem<{m}x{k}x{element_a}" + ", byte" * narrow
        type_a += (
            (", scattered" if m == 64 else "")
            + (f", lane = {lane}" if lane else "")
            + ">"
        )
        text += f"      %a = kvq_tcgen05.region %base at {a_column} : {type_a}\n"
    type_d = f"!kvq_tcgen05.tmem<{m}x{n}x{d}" + (", word" if d == "f16" else "")
    type_d += {"straight": "", "scattered": ", scattered"}.get(placement, ", folded")
    type_d += (f", lane = {lane}" if lane else "") + ">"
    text += f"      %b = kvq_tcgen05.make_tile %sb : !llvm.ptr<3> to {tile_b}\n"
    text += f"      %d = kvq_tcgen05.region %base at {d_column} : {type_d}\n"
    text += before
    text += f"      kvq_tcgen05.mma {kind} ins(%a, %b : {type_a}, {tile_b}) outs(%d : {type_d})"
    if accumulate is not None:
        text += f" accumulate(%{'true' if accumulate else 'false'})"
        old = generator.integers(-8, 8, (m, n)).astype(np.float64)
        layouts.write_accumulator(words, d_column, old, placement, lane, d)
    text += f" {operands} {{{attributes}}}\n"
    exact = (expect(a) if expect else a) @ (expect_b(b) if expect_b else b).T
    if accumulate:
        exact = exact + old * d_scale
    want = words.copy()
    layouts.write_accumulator(want, d_column, exact, placement, lane, d)
    for masked in disabled:
        want[masked] = words[masked]
    check(kernels.run_issue(text, image, words), want)


K16 = Layout("k", "none")
CASES = {
    # Majors and swizzles of both operands, K of several instructions.
    "k-none": ("f16", "f16", "f16", 128, 16, 32, K16, K16),
    "k-b32": ("f16", "f16", "f16", 128, 16, 64, Layout("k", "b32"), Layout("k", "b32")),
    "k-b64": ("f16", "bf16", "bf16", 128, 24, 64, Layout("k", "b64"), Layout("k", "b64")),
    "k-b128": ("f16", "f16", "f16", 128, 8, 128, Layout("k", "b128"), Layout("k", "b128")),
    "k-strides": ("f16", "f16", "f16", 64, 32, 32, Layout("k", "none", leading=128, stride=512),
                  Layout("k", "none", leading=1024, stride=256)),
    "k-panels": ("f16", "f16", "f16", 64, 16, 64, Layout("k", "b64", leading=8192),
                 Layout("k", "b64", stride=1024)),
    "mn-none": ("f16", "f16", "f16", 128, 16, 32, Layout("mn", "none"), Layout("mn", "none")),
    "mn-b32": ("f16", "f16", "f16", 128, 32, 32, Layout("mn", "b32"), Layout("mn", "b32")),
    "mn-b64": ("f16", "f16", "f16", 128, 64, 32, Layout("mn", "b64"), Layout("mn", "b64")),
    "mn-b128": ("f16", "bf16", "bf16", 128, 64, 32, Layout("mn", "b128"), Layout("mn", "b128")),
    "mn-strides": ("f16", "f16", "f16", 128, 32, 64, Layout("k", "b128"),
                   Layout("mn", "none", leading=128, stride=2048)),
    "m64": ("f16", "f16", "f16", 64, 72, 16, K16, K16),
    "n256": ("f16", "f16", "f16", 128, 256, 16, K16, K16),
    "tf32-k": ("tf32", "tf32", "tf32", 128, 16, 32, Layout("k", "b128"), Layout("k", "none")),
    "tf32-mn": ("tf32", "tf32", "tf32", 128, 32, 16, Layout("mn", "b128_atom32"),
                Layout("mn", "b128_atom32")),
    "e4m3": ("f8f6f4", "f8E4M3FN", "f8E4M3FN", 128, 16, 64, Layout("k", "b64"), K16),
    "e5m2-mn": ("f8f6f4", "f8E5M2", "f8E4M3FN", 128, 32, 32, Layout("mn", "b128"),
                Layout("mn", "b32")),
    "e2m3": ("f8f6f4", "f6E2M3FN", "f6E3M2FN", 128, 8, 64, Layout("k", "b64", True),
             Layout("k", "none", True)),
    "e2m1": ("f8f6f4", "f4E2M1FN", "f8E4M3FN", 64, 16, 128, Layout("k", "b128", True),
             Layout("k", "b128")),
    "e4m3-e2m1": ("f8f6f4", "f8E5M2", "f4E2M1FN", 128, 40, 32, K16,
                  Layout("k", "b32", True)),
    "s8": ("i8", "si8", "si8", 128, 48, 64, Layout("k", "b64"), Layout("k", "b64")),
    "u8-mn": ("i8", "ui8", "si8", 64, 16, 32, Layout("mn", "b64"), Layout("mn", "none")),
    "i8-n8": ("i8", "ui8", "ui8", 64, 8, 32, K16, K16),
    "i8-n24": ("i8", "si8", "ui8", 128, 24, 32, K16, K16),
    # A in tensor memory.
    "ts-f16": ("f16", "f16", "f16", 128, 16, 64, None, Layout("k", "b128")),
    "ts-m64": ("f16", "bf16", "bf16", 64, 8, 32, None, Layout("k", "b64")),
    "ts-tf32": ("tf32", "tf32", "tf32", 128, 16, 16, None, Layout("k", "b64")),
    "ts-e4m3": ("f8f6f4", "f8E4M3FN", "f8E5M2", 128, 16, 64, None, Layout("k", "b64")),
    "ts-e2m1": ("f8f6f4", "f4E2M1FN", "f8E4M3FN", 128, 32, 64, None, Layout("k", "b64")),
    "ts-e3m2": ("f8f6f4", "f6E3M2FN", "f4E2M1FN", 128, 16, 32, None, Layout("k", "none", True)),
    "ts-i8": ("i8", "si8", "ui8", 128, 32, 64, None, Layout("k", "b64")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_operands(name):
    product(*CASES[name])


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("d", ["f32", "f16"])
def test_accumulate(d, accumulate):
    layout = Layout("k", "b64")
    product(
        "f16", "f16", "f16", 128, 16, 32, layout, layout, d=d, accumulate=accumulate
    )


def test_f16_accumulator_of_e4m3():
    product("f8f6f4", "f8E4M3FN", "f4E2M1FN", 128, 16, 32, K16,
            Layout("k", "none", True), d="f16")  # fmt: skip


def test_lane_16():
    layout = Layout("k", "b64")
    product("f16", "f16", "f16", 64, 16, 32, layout, layout, lane=16, accumulate=True)
    product("f16", "f16", "f16", 64, 16, 32, None, layout, lane=16)


@pytest.mark.parametrize("kind", ["f16", "tf32"])
def test_scale_d(kind):
    layout = Layout("k", "b64")
    product(kind, kind, kind, 128, 16, 32, layout, layout, accumulate=True,
            d_scale=0.125, attributes="scale_d = 3 : i64")  # fmt: skip


def test_negate():
    layout = Layout("k", "b64")
    for attribute in ("negate_a", "negate_b"):
        product("f16", "f16", "f16", 128, 16, 32, layout, layout,
                attributes=attribute, expect=lambda a: -a)  # fmt: skip
    product("f8f6f4", "f8E4M3FN", "f8E4M3FN", 128, 16, 32, layout, layout,
            attributes="negate_a, negate_b")  # fmt: skip


def test_collector():
    layout = Layout("k", "b64")
    for hint in ("lastuse", "fill", "use"):
        product("f16", "f16", "f16", 128, 16, 32, layout, layout,
                attributes=f"collector = #kvq_tcgen05<collector {hint}>")  # fmt: skip


def test_disabled_lanes():
    layout = Layout("k", "b64")
    # Lanes 1, 33 and 96 to 127 keep their words.
    product("f16", "f16", "f16", 128, 16, 32, layout, layout,
            before="      %mask = arith.constant dense<[2, 2, 0, -1]> : vector<4xi32>\n",
            operands="disable_lanes(%mask : vector<4xi32>)",
            disabled=[1, 33, *range(96, 128)])  # fmt: skip


def test_shifted_a():
    """Row i of the product has row i - 1 of A, but for row 0 its own."""
    product("f16", "f16", "f16", 128, 16, 32, None, Layout("k", "b64"),
            attributes="shift_a, collector = #kvq_tcgen05<collector lastuse>",
            expect=lambda a: a[[0, *range(127)]])  # fmt: skip


STATIONARY = {
    "f16-m32": ("f16", "f16", "f16", 32, 128, 32),
    "f16-m64": ("f16", "bf16", "bf16", 64, 64, 32),
    "f16-m128": ("f16", "f16", "f16", 128, 64, 32),
    "tf32-m64": ("tf32", "tf32", "tf32", 64, 64, 16),
    "f8f6f4-m32": ("f8f6f4", "f8E4M3FN", "f8E5M2", 32, 64, 64),
    "i8-m64": ("i8", "si8", "ui8", 64, 128, 64),
}


@pytest.mark.parametrize("name", STATIONARY)
def test_weight_stationary(name):
    layout = Layout("k", "b64")
    product(*STATIONARY[name], layout, layout, ws=True, accumulate=True,
            attributes="weight_stationary, collector_b = 2 : i64")  # fmt: skip


def test_weight_stationary_tensor_a():
    product("f16", "f16", "f16", 128, 64, 32, None, Layout("k", "b64"), ws=True,
            attributes="weight_stationary")  # fmt: skip


# Descriptors of masks and the masks that they are to give, one for each part
# of N, column 0 first: the examples 2 to 4 of the PTX ISA 9.7.16.4.3. All have
# runs of three zeroed and four used columns.
MASKS = {
    "m128": (128, dict(), ["0000111"]),
    "m64": (64, dict(first=[1, 0]), ["1110000", "0000111"]),
    "m32": (32, dict(first=[1, 1, 0, 0], start=[0, 1, 2, 1], shift=2),
            ["1110000", "1100001", "0011100", "0001110"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
def test_zero_columns(name):
    m, fields, parts = MASKS[name]
    shift, n = fields.get("shift", 0), 64
    word = 1 << 39 | 2 << 40 | 3 << 48 | shift << 56
    for index, start in enumerate(fields.get("start", [])):
        word |= start << 8 * index
    for index, first in enumerate(fields.get("first", [])):
        word |= first << 32 + index
    width = n // len(parts)
    zero = [part[c % 7] == "1" for part in parts for c in range(width)]

    def masked(b):
        shifted = np.vstack([b[shift:], np.zeros((shift, b.shape[1]))])
        shifted[zero] = 0
        return shifted

    layout = Layout("k", "b64")
    product("f16", "f16", "f16", m, n, 32, layout, layout, ws=True, expect_b=masked,
            before=f"      %zeros = arith.constant {word} : i64\n",
            operands="zero_columns(%zeros)",
            attributes="weight_stationary" + ", max_shift = 8 : i64" * bool(shift),
            )  # fmt: skip


def test_saturate():
    """Each step of 32 saturates: the sum of the steps does not wrap."""
    a, b = np.full((128, 64), 127.0), np.full((16, 64), 127.0)
    image = np.full(16384, layouts.POISON, np.uint8)
    layout = Layout("k", "b64")
    layouts.write_tile(image, 0, a, "si8", layout)
    layouts.write_tile(image, 8192, b, "si8", layout)
    words = np.zeros((128, 32), np.uint32)
    start = np.full((128, 16), 2**31 - 1000.0)
    layouts.write_accumulator(words, 0, start, kind="i32")
    ta = f"!kvq_tcgen05.tile<128x64xsi8, {layout.text()}>"
    tb = f"!kvq_tcgen05.tile<16x64xsi8, {layout.text()}>"
    td = "!kvq_tcgen05.tmem<128x16xi32>"
    text = f"""
      %sb = llvm.getelementptr %smem[8192] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to {ta}
      %b = kvq_tcgen05.make_tile %sb : !llvm.ptr<3> to {tb}
      %d = kvq_tcgen05.region %base at 0 : {td}
      kvq_tcgen05.mma i8 ins(%a, %b : {ta}, {tb}) outs(%d : {td}) accumulate(%true) {{saturate}}
"""
    want = words.copy()
    layouts.write_accumulator(want, 0, np.full((128, 16), 2**31 - 1.0), kind="i32")
    check(kernels.run_issue(text, image, words), want)


def test_slices():
    """A part of a tile, by rows and along K, and a part of D."""
    generator = rng("slices")
    whole = values(generator, (128, 128), "f16")
    b = values(generator, (32, 128), "f16")
    image = np.full(47104, layouts.POISON, np.uint8)
    layout = Layout("k", "b128")
    layouts.write_tile(image, 0, whole, "f16", layout)
    layouts.write_tile(image, 32768, b, "f16", layout)
    words = np.zeros((128, 64), np.uint32)
    a_type = "!kvq_tcgen05.tile<128x128xf16, k, b128>"
    a_part = "!kvq_tcgen05.tile<64x32xf16, k, b128, leading = 16384>"
    b_type = "!kvq_tcgen05.tile<32x128xf16, k, b128>"
    b_part = "!kvq_tcgen05.tile<16x32xf16, k, b128, leading = 4096>"
    d_type = "!kvq_tcgen05.tmem<64x64xf32, scattered>"
    d_part = "!kvq_tcgen05.tmem<64x16xf32, scattered>"
    text = f"""
      %sb = llvm.getelementptr %smem[32768] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to {a_type}
      %b = kvq_tcgen05.make_tile %sb : !llvm.ptr<3> to {b_type}
      %a1 = kvq_tcgen05.slice_tile %a[64, 80] : {a_type} to {a_part}
      %b1 = kvq_tcgen05.slice_tile %b[16, 80] : {b_type} to {b_part}
      %d = kvq_tcgen05.region %base at 0 : {d_type}
      %d1 = kvq_tcgen05.slice %d[16] : {d_type} to {d_part}
      %d2 = kvq_tcgen05.slice %d[%c16] : {d_type} to {d_type.replace('64x64', '64x48')}
      %d3 = kvq_tcgen05.slice %d2[%c16] : {d_type.replace('64x64', '64x48')} to {d_part}
      kvq_tcgen05.mma f16 ins(%a1, %b1 : {a_part}, {b_part}) outs(%d1 : {d_part})
      kvq_tcgen05.mma f16 ins(%a1, %b1 : {a_part}, {b_part}) outs(%d3 : {d_part})
"""
    want = words.copy()
    d = whole[64:, 80:112] @ b[16:, 80:112].T
    layouts.write_accumulator(want, 16, d, "scattered")
    layouts.write_accumulator(want, 32, d, "scattered")
    check(kernels.run_issue(text, image, words), want)
