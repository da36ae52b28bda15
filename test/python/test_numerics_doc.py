# RUN: %pytest %s
# REQUIRES: python
"""What docs/numerics.md says is what the code does."""

import itertools
import os
import subprocess

import numpy as np
import pytest

from oracle import formats

TOOL = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-test-numerics")
PAGE = os.path.join(os.environ["KVQ_SOURCE_DIR"], "docs", "numerics.md")


def tables():
    """The rows of each table of the page, by the first cell of its header."""
    result, current = {}, None
    with open(PAGE, encoding="utf-8") as page:
        for line in page:
            if not line.startswith("|"):
                current = None
                continue
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if current is None:
                current = result.setdefault(cells[0], [])
            elif not set(cells[0]) <= set("-"):
                current.append(cells)
    return result


def parse_values(text):
    values = []
    for word in text.split():
        if ".." in word:
            first, last = word.split("..")
            values += range(int(first), int(last) + 1)
        elif "*" in word:
            count, value = word.split("*")
            values += [float(value)] * int(count)
        else:
            values.append(float(word))
    return np.array(values, np.float32)


def parse_scale(text):
    numerator, _, denominator = text.partition("/")
    return np.float32(float(numerator) / float(denominator or 1))


VECTORS = tables()["name"]


def test_all_vectors_are_there():
    assert [row[0] for row in VECTORS] == [f"V{i}" for i in range(1, 16)]


@pytest.mark.parametrize("row", VECTORS, ids=lambda row: row[0])
def test_vector(tmp_path, row):
    _, values, g, scale, data = row
    x, g = parse_values(values), parse_scale(g)
    assert x.shape == (16,)
    found = formats.quantize("nvfp4", x, g)
    assert found[0].tobytes() == bytes.fromhex(data)
    assert found[1].tobytes() == bytes.fromhex(scale)
    paths = [tmp_path / name for name in ("x", "g", "data", "scales")]
    x.tofile(paths[0])
    np.array([g]).tofile(paths[1])
    subprocess.run([TOOL, "quantize", "nvfp4", "16", *paths], check=True)
    assert paths[2].read_bytes() == bytes.fromhex(data)
    assert paths[3].read_bytes() == bytes.fromhex(scale)


def test_formats():
    rows = tables()["format"]
    assert [row[0].strip("`") for row in rows] == list(formats.FORMATS)
    names = {"E2M1": "e2m1", "E4M3": "e4m3", "E8M0": "e8m0", "none": None,
             "bfloat16": "bf16", "binary16": "f16"}
    for name, element, scale, block, has_global, largest, bits in rows:
        f = formats.FORMATS[name.strip("`")]
        assert names[element] == f.element and names[scale] == f.scale
        assert int(block or 0) == f.block
        assert (has_global == "yes") == f.has_global
        if largest:
            assert float(largest) == f.max
        stored = f.data_bytes(128) + f.num_scales(128)
        assert float(bits) == stored * 8 / 128


def test_claims_about_products():
    scales = formats.decode(np.arange(1, 0x7F, dtype=np.uint8), "e4m3")
    elements = formats.decode(np.arange(1, 8, dtype=np.uint8), "e2m1")
    products = [s * e for s, e in itertools.product(scales, elements)]
    products = np.array(products, np.float32)
    for kind in ("bf16", "f16"):
        back = products.astype(formats.DTYPES[kind]).astype(np.float32)
        np.testing.assert_array_equal(back, products)
    back = formats.decode(formats.encode(products, "e4m3"), "e4m3")
    inexact = (back != products) & (products <= 448)
    counts = len(products), inexact.sum(), (products > 448).sum()
    assert counts == (882, 212, 63)
    eighths = products / 8
    back = formats.decode(formats.encode(eighths, "e4m3"), "e4m3")
    assert ((back != eighths).sum(), eighths.max()) == (332, 336)
