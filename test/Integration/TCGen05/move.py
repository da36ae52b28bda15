# RUN: %pytest %s
# REQUIRES: python
"""Loads, stores, copies of every shape and count, and shifts, against NumPy."""

import zlib

import numpy as np
import pytest

import kernels
import layouts
from layouts import Layout

# Registers and 32-bit columns of x1, and the largest count.
SHAPES = {
    "16x64b": (1, 2, 128),
    "16x128b": (2, 4, 64),
    "16x256b": (4, 8, 32),
    "32x32b": (1, 1, 128),
    "16x32bx2": (1, 1, 128),
}


# Loads and stores are waited for by the warp that issues them; the seeded
# schedules are for the products.
SCHEDULES = ["eager", "lazy"]


def rng(*seed):
    return np.random.default_rng(zlib.crc32(repr(seed).encode()))


def cell(shape, t, r, split):
    """Lane and column of register r of thread t (PTX ISA 9.7.16.8.2)."""
    if shape == "32x32b":
        return t, r
    if shape == "16x64b":
        return t // 4 + 8 * (t % 2), 2 * r + t // 2 % 2
    if shape == "16x128b":
        return t // 4 + 8 * (r % 2), 4 * (r // 2) + t % 4
    if shape == "16x256b":
        return t // 4 + 8 * (r // 2 % 2), 8 * (r // 4) + 2 * (t % 4) + r % 2
    return t % 16, r + (split if t >= 16 else 0)


def counts():
    for shape, (_, columns, most) in SHAPES.items():
        count = 1
        while count <= most:
            yield shape, count, False
            if shape != "16x32bx2" and 2 * columns * count <= 512:
                yield shape, count, True
            count *= 2


def setup(shape, count, packed):
    per, columns, _ = SHAPES[shape]
    registers = per * count
    half = shape != "32x32b"
    width = columns * count * (2 if packed else 1)
    split = width + 4 if shape == "16x32bx2" else 0
    column = 8 if width + split + 8 <= 512 else 0
    return registers, 16 * half, split, column, width


def access(shape, lane, split, packed):
    attributes = [f"lane = {lane} : i64"] * bool(lane)
    attributes += [f"split = {split} : i64"] * (shape == "16x32bx2")
    return f"warp(%warp) {packed} {{{', '.join(attributes)}}}"


@pytest.mark.parametrize("shape,count,packed", list(counts()))
def test_load(shape, count, packed):
    registers, lane, split, column, width = setup(shape, count, packed)
    words = rng("load", shape, count).integers(0, 2**32, (128, 512), dtype=np.uint32)
    out = np.zeros((128, registers), np.uint32)
    region = (
        "!kvq_tcgen05.tmem<128x512xf16, word>"
        if packed
        else "!kvq_tcgen05.tmem<128x512xi32>"
    )
    vector = f"vector<{2 * registers}xf16>" if packed else f"vector<{registers}xi32>"
    text = f"""
    %r = kvq_tcgen05.region %base at 0 : {region}
    %v = kvq_tcgen05.load shape_{shape} %r[{column}] {access(shape, lane, split, "pack" * packed)} : {region} -> {vector}
    kvq_tcgen05.wait load
    %registers = arith.constant {registers} : i32
    %at = arith.muli %tid, %registers : i32
    %to = llvm.getelementptr %out[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %v, %to {{alignment = 4 : i64}} : {vector}, !llvm.ptr<1>
"""
    want = np.zeros_like(out)
    for thread in range(128):
        for r in range(registers):
            at, col = cell(shape, thread % 32, r, split)
            at += 32 * (thread // 32) + lane
            if packed:
                low, high = words[at, column + 2 * col : column + 2 * col + 2]
                want[thread, r] = (low & 0xFFFF) | (high & 0xFFFF) << 16
            else:
                want[thread, r] = words[at, column + col]
    for schedule, got in zip(
        SCHEDULES, kernels.run_threads(text, words, out, SCHEDULES)
    ):
        assert (got == want).all(), schedule


@pytest.mark.parametrize("shape,count,packed", list(counts()))
def test_store(shape, count, packed):
    registers, lane, split, column, width = setup(shape, count, packed)
    words = rng("store", shape, count).integers(0, 2**32, (128, 512), dtype=np.uint32)
    values = rng("values", shape, count).integers(
        0, 2**32, (128, registers), dtype=np.uint32
    )
    image = np.zeros(-(-values.nbytes // 2048) * 2048, np.uint8)
    image[: values.nbytes] = values.reshape(-1).view(np.uint8)
    region = (
        "!kvq_tcgen05.tmem<128x512xf16, word>"
        if packed
        else "!kvq_tcgen05.tmem<128x512xi32>"
    )
    vector = f"vector<{2 * registers}xf16>" if packed else f"vector<{registers}xi32>"
    read = "".join(kernels.READ.format(c=c, columns=512) for c in range(0, 512, 32))
    text = f"""
    %r = kvq_tcgen05.region %base at 0 : {region}
    %registers = arith.constant {registers} : i32
    %at = arith.muli %tid, %registers : i32
    %vfrom = llvm.getelementptr %in[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %v = llvm.load %vfrom {{alignment = 4 : i64}} : !llvm.ptr<1> -> {vector}
    kvq_tcgen05.store shape_{shape} %v to %r[{column}] {access(shape, lane, split, "unpack" * packed)} : {vector}, {region}
    kvq_tcgen05.wait store
{read}"""
    want = words.copy()
    for thread in range(128):
        for r in range(registers):
            at, col = cell(shape, thread % 32, r, split)
            at += 32 * (thread // 32) + lane
            if packed:
                want[at, column + 2 * col] = values[thread, r] & 0xFFFF
                want[at, column + 2 * col + 1] = values[thread, r] >> 16
            else:
                want[at, column + col] = values[thread, r]
    results = kernels.run_threads(text, words, np.zeros_like(words), SCHEDULES, image)
    for schedule, got in zip(SCHEDULES, results):
        assert (got == want).all(), schedule


COPIES = {
    "128x256b": ("shape_128x256b", 128, "", lambda r: [r]),
    "128x128b": ("shape_128x128b", 128, "", lambda r: [r]),
    "4x256b": ("shape_4x256b", 4, "", lambda r: [32 * r]),
    "64x128b-02-13": ("shape_64x128b", 64, "multicast warpx2_02_13",
                      lambda r: [r, r + 64]),
    "64x128b-01-23": ("shape_64x128b", 64, "multicast warpx2_01_23",
                      lambda r: [r // 32 * 64 + r % 32, r // 32 * 64 + r % 32 + 32]),
    "32x128b": ("shape_32x128b", 32, "multicast warpx4",
                lambda r: [r, r + 32, r + 64, r + 96]),
}  # fmt: skip
SOURCES = {
    "f16": ("f16", Layout("k", "none")),
    "f16-b128": ("f16", Layout("k", "b128")),
    "e4m3-b32": ("f8E4M3FN", Layout("k", "b32")),
    "e2m1": ("f4E2M1FN", Layout("k", "b64")),
    "e2m1-padded": ("f4E2M1FN", Layout("k", "none", True)),
    "e3m2-padded": ("f6E3M2FN", Layout("k", "b32", True)),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", COPIES)
def test_copy(name, source):
    """32 bytes of each row: one or two instructions."""
    shape, rows, multicast, lanes = COPIES[name]
    element, layout = SOURCES[source]
    k = 32 * 8 // layout.bits(element)
    generator = rng(name, source)
    grid = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    values = grid[generator.integers(0, 8, (rows, k))] * generator.choice(
        [-1, 1], (rows, k)
    )
    image = np.full(32768, layouts.POISON, np.uint8)
    layouts.write_tile(image, 1024, values, element, layout)
    words = generator.integers(0, 2**32, (128, 64), dtype=np.uint32)
    flat = np.zeros((rows, 8), np.uint32)
    layouts.write_operand(flat, 0, values, element, layout.padded)
    want = words.copy()
    for row in range(rows):
        want[lanes(row), 4:12] = flat[row]
    tile = f"!kvq_tcgen05.tile<{rows}x{k}x{element}, {layout.text()}>"
    region = f"!kvq_tcgen05.tmem<128x{k}x{element}{', byte' * layout.padded}>"
    text = f"""
      %p = llvm.getelementptr %smem[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %s = kvq_tcgen05.make_tile %p : !llvm.ptr<3> to {tile}
      %t = kvq_tcgen05.region %base at 4 : {region}
      kvq_tcgen05.copy {shape} %s to %t {multicast} : {tile} to {region}
"""
    for schedule, got in zip(kernels.SCHEDULES, kernels.run_issue(text, image, words)):
        bad = np.argwhere(got != want)
        assert not len(bad), f"{schedule}: {len(bad)} words differ, first {bad[0]}"


@pytest.mark.parametrize("lane", [0, 96])
def test_shift(lane):
    """31 rows of 32 bytes go to the next lane; the first one keeps its words."""
    words = rng("shift").integers(0, 2**32, (128, 64), dtype=np.uint32)
    region = "!kvq_tcgen05.tmem<32x8xi32" + f", lane = {lane}" * bool(lane) + ">"
    text = f"""
      %t = kvq_tcgen05.region %base at 24 : {region}
      kvq_tcgen05.shift %t : {region}
"""
    want = words.copy()
    want[lane + 1 : lane + 32, 24:32] = words[lane : lane + 31, 24:32]
    image = np.zeros(2048, np.uint8)
    for got in kernels.run_issue(text, image, words):
        assert (got == want).all()


def test_element_vectors():
    """Registers as elements, and a column that is only known at run time."""
    words = rng("elements").integers(0, 2**32, (128, 64), dtype=np.uint32)
    region = "!kvq_tcgen05.tmem<128x128xf16>"
    read = "".join(kernels.READ.format(c=c, columns=64) for c in (0, 32))
    text = f"""
    %r = kvq_tcgen05.region %base at 0 : {region}
    %v = kvq_tcgen05.load shape_32x32b %r[%c16] warp(%warp) : {region} -> vector<16xf16>
    kvq_tcgen05.wait load
    %w = arith.negf %v : vector<16xf16>
    kvq_tcgen05.store shape_32x32b %w to %r[96] warp(%warp) : vector<16xf16>, {region}
    kvq_tcgen05.wait store
{read}"""
    want = words.copy()
    want[:, 48:56] = words[:, 8:16] ^ 0x80008000
    for got in kernels.run_threads(text, words, np.zeros_like(words)):
        assert (got == want).all()


def test_windows():
    """Regions of one and of two quarters, and a cast between lanes."""
    words = rng("windows").integers(0, 2**32, (128, 32), dtype=np.uint32)
    high, single = (
        "!kvq_tcgen05.tmem<64x8xf32, lane = 64>",
        "!kvq_tcgen05.tmem<32x8xf32, lane = 96>",
    )
    read = kernels.READ.format(c=0, columns=32)
    text = f"""
    %r = kvq_tcgen05.region %base at 16 : {high}
    %s = kvq_tcgen05.cast %r : {high} to {single}
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    %is2 = arith.cmpi eq, %warp, %c2_i32 : i32
    %is3 = arith.cmpi eq, %warp, %c3_i32 : i32
    scf.if %is2 {{
      %v = kvq_tcgen05.load shape_32x32b %r warp(%c2_i32) : {high} -> vector<8xf32>
      %n = arith.negf %v : vector<8xf32>
      kvq_tcgen05.wait load
      kvq_tcgen05.store shape_32x32b %n to %r warp(%c2_i32) : vector<8xf32>, {high}
      kvq_tcgen05.wait store
    }}
    scf.if %is3 {{
      %v = kvq_tcgen05.load shape_16x64b %s {{lane = 16 : i64}} : {single} -> vector<4xf32>
      %n = arith.negf %v : vector<4xf32>
      kvq_tcgen05.wait load
      kvq_tcgen05.store shape_16x64b %n to %s {{lane = 16 : i64}} : vector<4xf32>, {single}
      kvq_tcgen05.wait store
    }}
{read}"""
    want = words.copy()
    want[64:96, 16:24] ^= 0x80000000
    want[112:128, 16:24] ^= 0x80000000
    for got in kernels.run_threads(text, words, np.zeros_like(words)):
        assert (got == want).all()
