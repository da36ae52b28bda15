# RUN: %pytest %s
# REQUIRES: python
"""Arrays travel between NumPy and kvq's .npy code, both ways."""

import io
import itertools
import os
import subprocess

import ml_dtypes
import numpy as np
import pytest

COPY = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-test-npy-copy")

NUMPY_TYPES = "? b h i q B H I Q e f d g F D G".split()
ML_TYPES = [
    name
    for name in (
        "bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn "
        "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu "
        "float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2"
    ).split()
    if hasattr(ml_dtypes, name)
]
SHAPES = [(), (1,), (7,), (0,), (3, 0, 2), (2, 3), (2, 3, 4, 5), (1,) * 32]


def copy(path, out):
    run = subprocess.run([COPY, path, out], capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def values(shape, dtype):
    rng = np.random.default_rng(5)
    if np.dtype(dtype).kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("code", NUMPY_TYPES)
def test_numpy_types(tmp_path, code, shape):
    array = values(shape, code)
    for order, byte_order in itertools.product("CF", "<>"):
        stored = np.asarray(
            array.astype(array.dtype.newbyteorder(byte_order)), order=order
        )
        np.save(tmp_path / "in.npy", stored)
        rc, out, err = copy(tmp_path / "in.npy", tmp_path / "out.npy")
        assert rc == 0, err
        name = np.dtype(code).name
        assert out.split(" ", 1)[0] == name.replace("longdouble", "float128")
        back = np.load(tmp_path / "out.npy")
        assert back.shape == shape and back.dtype == array.dtype
        assert back.flags.c_contiguous
        np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("byte_order", "<>")
@pytest.mark.parametrize("name", ML_TYPES)
def test_ml_dtypes(tmp_path, name, byte_order, order):
    dtype = np.dtype(getattr(ml_dtypes, name))
    array = np.arange(12).reshape(3, 4).astype(dtype)
    stored = np.asarray(array, order=order).astype(
        dtype.newbyteorder(byte_order), order="K"
    )
    np.save(tmp_path / "in.npy", stored)
    rc, out, err = copy(tmp_path / "in.npy", tmp_path / "out.npy")
    assert rc == 0, err
    assert out.endswith(" (3, 4)\n")
    if name == "float8_e5m2":  # NumPy writes "<f1" and cannot read it.
        data = (tmp_path / "out.npy").read_bytes()
        assert b"'descr': '<f1'" in data
        assert data.endswith(array.tobytes())
        return
    back = np.load(tmp_path / "out.npy")
    assert back.tobytes() == array.tobytes()
    assert repr(back.view(dtype)) == repr(array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)], ids=str)
def test_versions(tmp_path, version):
    array = np.arange(6, dtype="<i4").reshape(2, 3)
    with open(tmp_path / "in.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    rc, _, err = copy(tmp_path / "in.npy", tmp_path / "out.npy")
    assert rc == 0, err
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), array)
    # The header is NumPy's own, byte for byte, in the oldest version.
    expected = io.BytesIO()
    np.save(expected, array)
    assert (tmp_path / "out.npy").read_bytes() == expected.getvalue()


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(2, [("a", "<i4"), ("b", "<f8")]),
        np.array(["ab", "c"]),
        np.array([b"ab", b"c"]),
        np.zeros(2, "M8[ns]"),
        np.zeros(2, "m8[s]"),
        np.array([None, 1]),
        np.zeros(2, "V0"),
    ],
    ids=lambda array: str(array.dtype),
)
def test_other_types_are_errors(tmp_path, array):
    np.save(tmp_path / "in.npy", array)
    rc, _, err = copy(tmp_path / "in.npy", tmp_path / "out.npy")
    assert rc == 1
    assert "in.npy: in the .npy header: expected " in err
    assert ", found " in err
    assert not (tmp_path / "out.npy").exists()


def test_archives_are_errors(tmp_path):
    np.savez(tmp_path / "in.npz", a=np.zeros(2))
    rc, _, err = copy(tmp_path / "in.npz", tmp_path / "out.npy")
    assert rc == 1 and "not a .npy file" in err


def test_pipes(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    array = np.arange(5, dtype="<f4")
    content = io.BytesIO()
    np.save(content, array)
    with subprocess.Popen(
        [COPY, tmp_path / "pipe.npy", tmp_path / "out.npy"]
    ) as process:
        (tmp_path / "pipe.npy").write_bytes(content.getvalue())
        assert process.wait(timeout=60) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), array)
