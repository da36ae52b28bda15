# RUN: %pytest %s
# REQUIRES: python, emulator
"""quantize_append on sm_100a: its bytes for every f16 and bf16 under every scale,
and the accesses to memory that it takes."""

import json
import os
import re
import sys
import tempfile

import ml_dtypes
import numpy as np
import pytest

REPORT = tempfile.NamedTemporaryFile("r", suffix=".json")
# Read by the emulator when it is loaded.
os.environ["KVQ_EMU_REPORT"] = REPORT.name

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import device
import programs
from oracle import formats
from pools import Pool, compile_op

PAGE, DIM, BLOCK = 4096, 128, 16
CAPACITY = 6 * PAGE


def blocks_of_all_values(x, g):
    """Blocks of an element type that have each magnitude under each scale at
    which a block with it may be stored, in turns with either sign; and the codes
    of the scales. The first value of a block is what gives it its scale."""
    dtype = programs.DTYPES[x]
    codes = np.arange(0x8000, dtype=np.uint16)
    values = codes.view(dtype)
    with np.errstate(all="ignore"):
        wide = values.astype(np.float32)
        codes, wide = codes[np.isfinite(wide)], wide[np.isfinite(wide)]
        quotient = np.minimum(wide / (np.float32(g) * np.float32(6)), np.float32(448))
    scales = quotient.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    blocks, firsts = [], {}
    for scale in range(0x7F):
        found = codes[scales == scale]
        if not len(found):
            continue
        # Codes are in the order of the values.
        largest = firsts[scale] = int(found[-1])
        rest = np.arange(largest + 1, dtype=np.uint16)
        rest |= (rest + np.uint16(scale) & 1) << 15
        rest.resize(-(-len(rest) // (BLOCK - 1)), BLOCK - 1)
        first = np.full((len(rest), 1), largest, np.uint16)
        blocks.append(np.concatenate([first, rest], 1))
    return np.concatenate(blocks).view(dtype), list(firsts)


def make_kernel(x, directory, rope=False, strided=False):
    pool = Pool(("nvfp4", PAGE, 1, DIM, "NHD", "linear", strided, x))
    table = f"memref<?x{DIM // 2}xf32>"
    type = f"memref<?x1x{DIM}x{x}>"
    arguments = [f"%x: {type}", "%slots: memref<?xi32>"]
    op = (f"kvq.quantize_append ins(%x : {type}) into(%k : "
          f"{programs.cache_type(pool.cache)}) slot_mapping(%slots : memref<?xi32>)")
    if rope:
        arguments += [f"%cos: {table}", f"%sin: {table}"]
        op += f" rope(%cos, %sin : {table}, {table})"
    return pool, compile_op({"k": pool}, arguments, op, "sm_100a", directory)


def append(pool, kernel, x, **tables):
    slots = np.arange(len(x), dtype=np.int32)
    with device.registered(x, slots, *tables.values(), *pool.arrays()):
        kernel.launch({"input": x, "slot_mapping": slots, **tables,
                       **pool.operands("cache_")})


@pytest.mark.parametrize("g", (1.0, 0.0107))
@pytest.mark.parametrize("x", ("f16", "bf16"))
def test_all_values(x, g, tmp_path):
    """The kernel divides; a product with a reciprocal is not the same."""
    pool, kernel = make_kernel(x, tmp_path)
    pool.g[...] = g
    blocks, scales = blocks_of_all_values(x, pool.g)
    assert scales == list(range(0x7F))
    rest = -len(blocks) % (DIM // BLOCK)
    rows = np.concatenate([blocks, blocks[:rest]]).reshape(-1, 1, DIM)
    data, codes = formats.quantize("nvfp4", programs.widen(rows), pool.g)
    assert set(codes.ravel()) == set(scales)
    for first in range(0, len(rows), CAPACITY):
        part = slice(first, first + CAPACITY)
        count = len(rows[part])
        append(pool, kernel, rows[part].copy())
        np.testing.assert_array_equal(pool.data.reshape(CAPACITY, -1)[:count],
                                      data[part, 0])
        np.testing.assert_array_equal(pool.scales.reshape(CAPACITY, -1)[:count],
                                      codes[part, 0])


#: Warp instructions on global memory of a warp, in which each thread has a block:
#: its slot and the global scale; 16 bytes of the row and of tables of f32 at a
#: time, with those of the other halves of pairs; and the codes and the scale of the
#: block. Every other thread stores codes, 16 bytes, where data is aligned to that.
ACCESSES = {
    ("f16", False): 2 + 2 + 2,
    ("bf16", False): 2 + 2 + 2,
    ("f32", False): 2 + 4 + 2,
    ("f16", True): 2 + 2 * 2 + 2 * 4 + 2,
    ("f32", True): 2 + 2 * 4 + 2 * 4 + 2,
}


@pytest.mark.parametrize("x, rope, strided", [
    *((*key, False) for key in ACCESSES), ("f16", False, 8)])
def test_accesses(x, rope, strided, tmp_path):
    pool, kernel = make_kernel(x, tmp_path, rope, strided)
    random = np.random.default_rng(1)
    rows = programs.padded((64, 1, DIM), programs.DTYPES[x], 0)[0]
    rows[...] = random.standard_normal(rows.shape)
    tables = {}
    if rope:
        for name in ("cos", "sin"):
            tables[name] = programs.padded((64, DIM // 2), np.float32, 0)[0]
            tables[name][...] = random.uniform(-1, 1, (64, DIM // 2))
    append(pool, kernel, rows, **tables)
    REPORT.seek(0)
    counters = json.loads(REPORT.readlines()[-1])["report"]["counters"]
    warps = 64 * DIM // BLOCK // 32
    accesses = ACCESSES[x, rope]
    assert counters["warpInstructions"]["global"] == warps * accesses
    idle = 0 if strided else 16
    assert counters["threadInstructions"]["global"] == warps * (32 * accesses - idle)


def test_instructions(tmp_path):
    """Conversions of the chip, and divisions that round correctly."""
    make_kernel("f16", tmp_path)
    ptx = (tmp_path / "module.ptx").read_text()
    assert len(re.findall(r"cvt\.rn\.satfinite\.e2m1x2\.f32", ptx)) == BLOCK // 2
    assert len(re.findall(r"cvt\.rn\.satfinite\.e4m3x2\.f32", ptx)) == 1
    assert len(re.findall(r"div\.rn\.f32", ptx)) == BLOCK + 1
    assert not re.search(r"\brcp\.|div\.(approx|full)", ptx)
