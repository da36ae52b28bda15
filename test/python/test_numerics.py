# RUN: %pytest %s
# REQUIRES: python
"""The C++ block quantizer against NumPy's arithmetic, byte for byte."""

import os
import subprocess

import numpy as np
import pytest

from oracle import formats

TOOL = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-test-numerics")


def run(tmp_path, action, fmt, columns, files, *flags):
    paths = [str(tmp_path / name) for name in ("x", "g", "data", "scales")]
    for path, array in zip(paths, files):
        if array is not None:
            array.tofile(path)
    subprocess.run([TOOL, action, fmt, str(columns), *paths, *flags], check=True)
    return paths


def quantize(tmp_path, fmt, x, g, *flags):
    rows, columns = x.shape
    paths = run(tmp_path, "quantize", fmt, columns, [x, g, None, None], *flags)
    f = formats.FORMATS[fmt]
    return (
        np.fromfile(paths[2], np.uint8).reshape(rows, f.data_bytes(columns)),
        np.fromfile(paths[3], np.uint8).reshape(rows, f.num_scales(columns)),
    )


def dequantize(tmp_path, fmt, data, scales, g, columns, *flags):
    paths = run(
        tmp_path, "dequantize", fmt, columns, [None, g, data, scales], *flags
    )
    return np.fromfile(paths[0], np.float32).reshape(len(g), columns)


def rows_of(random, kind, rows, columns, has_global):
    """Rows of one kind, and a global scale for each."""
    normal = random.standard_normal((rows, columns), np.float32)
    g = np.ones(rows, np.float32)
    if kind == "typical":
        x = normal
        g = (np.abs(x).max(axis=-1) / np.float32(448)).astype(np.float32)
    elif kind == "outliers":
        x = normal * np.exp2(random.integers(-12, 12, normal.shape)).astype("f4")
        g = np.exp(random.uniform(-8, 2, rows)).astype(np.float32)
    elif kind == "coarse":  # ties are frequent
        x = np.round(normal * 8) / np.float32(4)
        g = np.exp2(random.integers(-4, 1, rows)).astype(np.float32)
    else:  # any bits at all: NaN, infinities, subnormals
        bits = random.integers(0, 2**32, (rows, columns), np.uint32)
        # Half of the rows stay within a few binades of one another.
        near = random.integers(0, 254, (rows // 2, 1), np.uint32)
        few = near + random.integers(0, 6, (rows // 2, columns), np.uint32)
        few = np.minimum(few, 255)
        half = bits[: rows // 2]
        bits[: rows // 2] = (half & 0x807FFFFF) | few << 23
        x = bits.view(np.float32)
        g = random.integers(1, 0x7F800000, rows, np.uint32).view(np.float32)
        # And their global scales are close to them, subnormal ones included.
        g_bits = np.maximum(near[:, 0].astype(np.int64) - 5, 0) << 23
        g_bits += random.integers(1, 2**23, rows // 2)
        g[: rows // 2] = g_bits.astype(np.uint32).view(np.float32)
    return np.ascontiguousarray(x, np.float32), g if has_global else np.ones_like(g)


def assert_same_floats(found, expected):
    """Bit for bit, except that a NaN is any NaN."""
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), nan)
    np.testing.assert_array_equal(
        found.view(np.uint32)[~nan], expected.view(np.uint32)[~nan]
    )


KINDS = ("typical", "outliers", "coarse", "bits")


@pytest.mark.parametrize(
    "fmt, four_over_six",
    [(f, False) for f in formats.FORMATS] + [("nvfp4", True)],
    ids=lambda v: str(v),
)
@pytest.mark.parametrize("kind", KINDS)
def test_random_blocks(tmp_path, fmt, four_over_six, kind):
    """262,144 blocks of each kind and format: more than 10^6 for each format."""
    columns = 64
    f = formats.FORMATS[fmt]
    rows = 262144 * (f.block or 16) // columns
    random = np.random.default_rng([len(fmt), four_over_six, KINDS.index(kind)])
    x, g = rows_of(random, kind, rows, columns, f.has_global)
    flags = ["--four-over-six"] if four_over_six else []
    data, scales = quantize(tmp_path, fmt, x, g, *flags)
    expected_data, expected_scales = formats.quantize(fmt, x, g, four_over_six)
    np.testing.assert_array_equal(scales, expected_scales)
    np.testing.assert_array_equal(data, expected_data)
    if kind == "typical" and f.block:
        assert len(np.unique(data)) > 100  # the data exercise the format
    values = dequantize(tmp_path, fmt, data, scales, g, columns, "--flush")
    assert_same_floats(values, formats.dequantize(fmt, data, scales, g))


@pytest.mark.parametrize("fmt", formats.FORMATS)
def test_flush_to_zero_changes_nothing(tmp_path, fmt):
    f = formats.FORMATS[fmt]
    x, g = rows_of(np.random.default_rng(5), "bits", 4096, 64, f.has_global)
    data, scales = quantize(tmp_path, fmt, x, g, "--flush")
    expected_data, expected_scales = formats.quantize(fmt, x, g)
    np.testing.assert_array_equal(scales, expected_scales)
    np.testing.assert_array_equal(data, expected_data)


@pytest.mark.parametrize("fmt", formats.FORMATS)
def test_dequantizes_any_bytes(tmp_path, fmt):
    f = formats.FORMATS[fmt]
    random = np.random.default_rng(6)
    columns, rows = 64, 8192
    data = random.integers(0, 256, (rows, f.data_bytes(columns)), np.uint8)
    scales = random.integers(0, 256, (rows, f.num_scales(columns)), np.uint8)
    _, g = rows_of(random, "bits", rows, columns, f.has_global)
    values = dequantize(tmp_path, fmt, data, scales, g, columns)
    assert_same_floats(values, formats.dequantize(fmt, data, scales, g))
