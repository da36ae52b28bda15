# RUN: %pytest %s
# REQUIRES: python
"""cta_group = 2 on the emulator: two CTAs of a cluster share each operation."""

import ml_dtypes
import numpy as np
import pytest

import kernels
import layouts
from layouts import Layout

GRID = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
BYTES, COLUMNS, BASE_B = 40960, 256, 32768


def matrix(generator, rows, k):
    return GRID[generator.integers(0, 8, (rows, k))] * generator.choice(
        [-1, 1], (rows, k)
    )


def check(results, want):
    for schedule, got in zip(kernels.SCHEDULES, results):
        bad = np.argwhere(got != want)
        assert not len(bad), f"{schedule}: {len(bad)} words differ, first {bad[0]}"


def setup(seed):
    generator = np.random.default_rng(seed)
    images = np.full((2, BYTES), layouts.POISON, np.uint8)
    words = generator.integers(0, 2**32, (2, 128, COLUMNS), dtype=np.uint32)
    return generator, images, words


# Kind, elements of A and B, M, and whether A is in tensor memory.
PRODUCTS = {
    "f16-m256": ("f16", "f16", 256, False),
    "f16-m128": ("f16", "bf16", 128, False),
    "f16-ts": ("f16", "f16", 256, True),
    "tf32": ("tf32", "tf32", 256, False),
    "f8f6f4": ("f8f6f4", "f8E5M2", 128, False),
    "i8": ("i8", "si8", 256, False),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_product(name):
    kind, element, m, tensor_a = PRODUCTS[name]
    generator, images, words = setup(m + tensor_a)
    n, layout = 64, Layout("k", "b128")
    k = 1024 // layouts.TYPES[element][1]
    d = "i32" if kind == "i8" else "f32"
    a, b = matrix(generator, m, k), matrix(generator, n, k)
    if kind == "i8":
        a, b = 2 * a, 2 * b
    old = generator.integers(-8, 8, (m, n)).astype(np.float64)
    rows = m // 2
    for cta in range(2):
        part = a[cta * rows : (cta + 1) * rows]
        if tensor_a:
            layouts.write_operand(words[cta], 128, part, element)
        else:
            layouts.write_tile(images[cta], 0, part, element, layout)
        layouts.write_tile(images[cta], BASE_B, b[cta * n // 2 : (cta + 1) * n // 2],
                           element, layout)  # fmt: skip
    want = words.copy()
    placement = "straight" if m == 256 else "folded64"
    for cta in range(2):
        part = slice(cta * rows, (cta + 1) * rows)
        layouts.write_accumulator(words[cta], 0, old[part], placement, kind=d)
        layouts.write_accumulator(
            want[cta], 0, (a @ b.T + old)[part], placement, kind=d
        )
    type_a = f"!kvq_tcgen05.tile<{rows}x{k}x{element}, k, b128>"
    make_a = f"      %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to {type_a}\n"
    if tensor_a:
        type_a = f"!kvq_tcgen05.tmem<128x{k}x{element}>"
        make_a = f"      %a = kvq_tcgen05.region %base at 128 : {type_a}\n"
    type_b = f"!kvq_tcgen05.tile<{n // 2}x{k}x{element}, k, b128>"
    type_d = f"!kvq_tcgen05.tmem<{rows}x{n}x{d}{', folded' * (m == 128)}>"
    text = f"""{make_a}      %pb = llvm.getelementptr %smem[{BASE_B}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %b = kvq_tcgen05.make_tile %pb : !llvm.ptr<3> to {type_b}
      %d = kvq_tcgen05.region %base at 0 : {type_d}
      kvq_tcgen05.mma {kind} ins(%a, %b : {type_a}, {type_b}) outs(%d : {type_d})
          accumulate(%true) {{cta_group = 2 : i64}}
"""
    check(kernels.run_pair(text, images, words), want)


def test_block_scaled():
    """Each CTA copies the scales of its rows of A, and those of all of B."""
    generator, images, words = setup(3)
    n, k, e4m3 = 32, 128, ml_dtypes.float8_e4m3fn
    a, b = matrix(generator, 256, k), matrix(generator, n, k)
    sa, sb = (generator.choice([0.25, 0.5, 1, 1.5, 2], (rows, 8)) for rows in (256, n))
    data_b = np.zeros((128, 8), np.uint8)
    data_b[:n] = sb.astype(e4m3).view(np.uint8)
    want, layout = words.copy(), Layout("k", "b64")
    exact = (a * np.repeat(sa, 16, 1)) @ (b * np.repeat(sb, 16, 1)).T
    for cta in range(2):
        rows = slice(128 * cta, 128 * cta + 128)
        layouts.write_tile(images[cta], 0, a[rows], "f4E2M1FN", layout)
        layouts.write_tile(
            images[cta], BASE_B, b[16 * cta : 16 * cta + 16], "f4E2M1FN", layout
        )
        data_a = sa[rows].astype(e4m3).view(np.uint8)
        for at, column, data in ((8192, 64, data_a), (10240, 72, data_b)):
            layouts.write_scales(images[cta], at, data)
            for m in range(128):
                for group in range(2):
                    word = data[m, 4 * group : 4 * group + 4].copy().view(np.uint32)[0]
                    want[cta, m % 32 :: 32, column + 4 * group + m // 32] = word
        layouts.write_accumulator(want[cta], 0, exact[rows])
    tile_a, tile_b = (
        "!kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>",
        "!kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>",
    )
    scale_tile, scales = (
        "!kvq_tcgen05.scale_tile<128x8xf8E4M3FN>",
        "!kvq_tcgen05.scales<128x8xf8E4M3FN>",
    )
    d = "!kvq_tcgen05.tmem<128x32xf32>"
    text = ""
    for name, at, type in (
        ("a", 0, tile_a),
        ("b", BASE_B, tile_b),
        ("ta", 8192, scale_tile),
        ("tb", 10240, scale_tile),
    ):
        text += f"""      %p{name} = llvm.getelementptr %smem[{at}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %{name} = kvq_tcgen05.make_tile %p{name} : !llvm.ptr<3> to {type}
"""
    text += f"""      %sa = kvq_tcgen05.region %base at 64 : {scales}
      %sb = kvq_tcgen05.region %base at 72 : {scales}
      %d = kvq_tcgen05.region %base at 0 : {d}
      kvq_tcgen05.copy_scales %ta to %sa {{cta_group = 2 : i64}} : {scale_tile} to {scales}
      kvq_tcgen05.copy_scales %tb to %sb {{cta_group = 2 : i64}} : {scale_tile} to {scales}
      kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%a, %b : {tile_a}, {tile_b})
          scales(%sa, %sb : {scales}, {scales}) outs(%d : {d})
          {{block = 16 : i64, cta_group = 2 : i64}}
"""
    check(kernels.run_pair(text, images, words), want)


def test_copy_and_shift():
    """Each CTA copies from its own shared memory."""
    generator, images, words = setup(4)
    want, layout = words.copy(), Layout("k", "b32")
    for cta in range(2):
        part = matrix(generator, 128, 16)
        layouts.write_tile(images[cta], 0, part, "f16", layout)
        layouts.write_operand(want[cta], 8, part, "f16")
        want[cta, 33:64, 16:24] = words[cta, 32:63, 16:24]
    tile, region = "!kvq_tcgen05.tile<128x16xf16, k, b32>", "!kvq_tcgen05.tmem<128x16xf16>"
    rows = "!kvq_tcgen05.tmem<32x8xi32, lane = 32>"
    text = f"""      %a = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to {tile}
      %t = kvq_tcgen05.region %base at 8 : {region}
      kvq_tcgen05.copy shape_128x256b %a to %t {{cta_group = 2 : i64}} : {tile} to {region}
      %r = kvq_tcgen05.region %base at 16 : {rows}
      kvq_tcgen05.shift %r {{cta_group = 2 : i64}} : {rows}
"""
    check(kernels.run_pair(text, images, words), want)
