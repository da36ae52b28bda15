# RUN: %pytest %s
# REQUIRES: python
"""Block-scaled products on the emulator, against NumPy.

Scales come through tcgen05.cp. Scales are powers of two times small integers,
so that results are exact.
"""

import zlib

import ml_dtypes
import numpy as np
import pytest

import kernels
import layouts
from layouts import Layout

GRID = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
SCALE_BYTES = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}


def rng(*seed):
    return np.random.default_rng(zlib.crc32(repr(seed).encode()))


def scales(generator, shape, name):
    if name == "f8E4M3FN":
        return generator.choice([0.25, 0.5, 1, 1.5, 2, 3.5], shape)
    return generator.choice([0.25, 0.5, 1, 2, 4], shape)


CASES = {
    "nvfp4": ("mxf4nvf4", "f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 16, 16, 128,
              Layout("k", "b64"), Layout("k", "b64")),
    "nvfp4-k64-none": ("mxf4nvf4", "f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 16, 40, 64,
                       Layout("k", "none"), Layout("k", "b32")),
    "nvfp4-e8m0-16": ("mxf4nvf4", "f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 16, 8, 128,
                      Layout("k", "b64"), Layout("k", "none")),
    "nvfp4-e8m0-32": ("mxf4nvf4", "f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 32, 16, 256,
                      Layout("k", "b128"), Layout("k", "b128")),
    "nvfp4-n256": ("mxf4nvf4", "f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 16, 256, 128,
                   Layout("k", "b64"), Layout("k", "b64")),
    "mxfp4": ("mxf4", "f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 32, 24, 256,
              Layout("k", "b128"), Layout("k", "b64")),
    "mxfp8": ("mxf8f6f4", "f8E4M3FN", "f8E4M3FN", "f8E8M0FNU", 32, 16, 256,
              Layout("k", "b128"), Layout("k", "b128")),
    "mxfp8-mn": ("mxf8f6f4", "f8E5M2", "f8E4M3FN", "f8E8M0FNU", 32, 32, 128,
                 Layout("mn", "b128"), Layout("mn", "b32")),
    "mxfp6": ("mxf8f6f4", "f6E2M3FN", "f6E3M2FN", "f8E8M0FNU", 32, 16, 128,
              Layout("k", "b128", True), Layout("k", "b64", True)),
    "mxfp4-padded": ("mxf8f6f4", "f4E2M1FN", "f8E4M3FN", "f8E8M0FNU", 32, 16, 128,
                     Layout("k", "b128", True), Layout("k", "b128")),
    "nvfp4-ts": ("mxf4nvf4", "f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 16, 16, 128,
                 None, Layout("k", "b64")),
    "mxfp4-ts": ("mxf4", "f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 32, 16, 128,
                 None, Layout("k", "b64")),
    "mxfp8-ts": ("mxf8f6f4", "f8E4M3FN", "f4E2M1FN", "f8E8M0FNU", 32, 16, 128,
                 None, Layout("k", "b128", True)),
}  # fmt: skip


def product(name, accumulate=None, attributes="", sliced=False, sign=1):
    """Runs one kvq_tcgen05.mma_block_scaled, of which `sign` is the sign."""
    kind, type_a, type_b, scale, block, n, k, layout_a, layout_b = CASES[name]
    generator = rng(name)

    def matrix(rows):
        return GRID[generator.integers(0, 8, (rows, k))] * generator.choice(
            [-1, 1], (rows, k)
        )

    a, b = matrix(128), matrix(n)
    rows_b = 256 if n > 128 else 128
    per_k = k // block
    columns = -(-per_k // 4) * 4
    sa, sb = scales(generator, (128, per_k), scale), scales(
        generator, (n, per_k), scale
    )
    image = np.full(47104, layouts.POISON, np.uint8)
    words = generator.integers(0, 2**32, (128, 512), dtype=np.uint32)
    text, want = "", words.copy()

    def scale_tile(at, values, rows):
        data = np.full((rows, columns), 0x7F if scale == "f8E4M3FN" else 0xFF, np.uint8)
        data[: values.shape[0], :per_k] = values.astype(SCALE_BYTES[scale]).view(
            np.uint8
        )
        layouts.write_scales(image, at, data)
        return data

    size_a = 128 * k * layout_a.bits(type_a) // 8 if layout_a else 0
    base_b = size_a
    base_sa = base_b + n * k * layout_b.bits(type_b) // 8
    base_sb = base_sa + 128 * columns
    data_a, data_b = scale_tile(base_sa, sa, 128), scale_tile(base_sb, sb, rows_b)
    for index, at in enumerate((base_b, base_sa, base_sb)):
        text += f"      %p{index} = llvm.getelementptr %smem[{at}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n"
    tile_b = f"!kvq_tcgen05.tile<{n}x{k}x{type_b}, {layout_b.text()}>"
    layouts.write_tile(image, base_b, b, type_b, layout_b)
    if layout_a:
        layouts.write_tile(image, 0, a, type_a, layout_a)
        operand = f"!kvq_tcgen05.tile<128x{k}x{type_a}, {layout_a.text()}>"
        text += f"      %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to {operand}\n"
    else:
        layouts.write_operand(words, 256, a, type_a)
        want = words.copy()
        operand = f"!kvq_tcgen05.tmem<128x{k}x{type_a}>"
        text += f"      %a = kvq_tcgen05.region %base at 256 : {operand}\n"
    d = f"!kvq_tcgen05.tmem<128x{n}xf32>"
    sides = [("a", 128, 400, data_a), ("b", rows_b, 448, data_b)]
    types = []
    for index, (side, rows, column, data) in enumerate(sides):
        types.append(f"!kvq_tcgen05.scales<{rows}x{columns}x{scale}>")
        tile = f"!kvq_tcgen05.scale_tile<{rows}x{columns}x{scale}>"
        region = f"%s{side} = kvq_tcgen05.region %base at {column} : {types[index]}"
        if sliced:
            # The second half of twice as many scales.
            whole = types[index].replace(f"x{columns}x", f"x{2 * columns}x")
            at = f"%half{side}" if side == "a" else columns
            region = f"""%half{side} = arith.constant {columns} : index
      %w{side} = kvq_tcgen05.region %base at {column - columns // 4 * rows // 32} : {whole}
      %s{side} = kvq_tcgen05.slice %w{side}[{at}] : {whole} to {types[index]}"""
        text += f"""      %t{side} = kvq_tcgen05.make_tile %p{index + 1} : !llvm.ptr<3> to {tile}
      {region}
      kvq_tcgen05.copy_scales %t{side} to %s{side} : {tile} to {types[index]}
"""
        for m in range(rows):
            for j in range(columns):
                for quarter in range(4):
                    lane = 32 * quarter + m % 32
                    at = column + j // 4 * (rows // 32) + m // 32
                    shift = 8 * (j % 4)
                    word = int(want[lane, at]) & ~(0xFF << shift)
                    want[lane, at] = word | int(data[m, j]) << shift
    text += f"""      %b = kvq_tcgen05.make_tile %p0 : !llvm.ptr<3> to {tile_b}
      %d = kvq_tcgen05.region %base at 0 : {d}
      kvq_tcgen05.mma_block_scaled {kind} ins(%a, %b : {operand}, {tile_b})
          scales(%sa, %sb : {types[0]}, {types[1]}) outs(%d : {d})
          {"accumulate(%true)" if accumulate else ""} {{block = {block} : i64{attributes}}}
"""
    exact = sign * (a * np.repeat(sa, block, 1)) @ (b * np.repeat(sb, block, 1)).T
    if accumulate:
        old = generator.integers(-8, 8, (128, n)).astype(np.float64)
        layouts.write_accumulator(words, 0, old)
        exact += old
    layouts.write_accumulator(want, 0, exact)
    for schedule, got in zip(kernels.SCHEDULES, kernels.run_issue(text, image, words)):
        bad = np.argwhere(got != want)
        assert not len(bad), f"{schedule}: {len(bad)} words differ, first {bad[0]}"


@pytest.mark.parametrize("accumulate", [None, True])
@pytest.mark.parametrize("name", CASES)
def test_product(name, accumulate):
    product(name, accumulate)


@pytest.mark.parametrize("name", ["nvfp4", "mxfp8"])
def test_negate(name):
    product(name, attributes=", negate_a", sign=-1)
    product(name, attributes=", negate_b", sign=-1)


@pytest.mark.parametrize("hint", ["lastuse", "fill", "use"])
def test_collector(hint):
    product("nvfp4", attributes=f", collector = #kvq_tcgen05<collector {hint}>")


@pytest.mark.parametrize("name", ["nvfp4", "nvfp4-n256", "mxfp8"])
def test_sliced_scales(name):
    product(name, sliced=True)
