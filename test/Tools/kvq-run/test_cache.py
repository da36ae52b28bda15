# RUN: %pytest %s
# REQUIRES: python
"""kvq-run on a cache: low-bit types in and out, errors of indices."""

import os
import subprocess

import ml_dtypes
import numpy as np
import pytest

RUN = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-run")
CACHE = os.path.join(os.path.dirname(__file__), "Inputs", "cache.mlir")

# All codes of E2M1 twice: with scale 1 and global scale 1 they are stored as
# they are. The largest magnitude, 6, makes the block's scale 1.
VALUES = np.array(
    [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], "f4"
)
CODES = np.arange(16, dtype="u1")


@pytest.fixture(params=["cpu", "cpu-reference"])
def append(request, tmp_path):
    def call(slots, data, scales, g="1", ok=True):
        rows = np.tile(VALUES, (len(slots), 1, 2))
        np.save(tmp_path / "rows.npy", rows)
        np.save(tmp_path / "slots.npy", np.array(slots, "i4"))
        np.save(tmp_path / "data.npy", data)
        np.save(tmp_path / "scales.npy", scales)
        outputs = [tmp_path / "data2.npy", tmp_path / "scales2.npy"]
        done = subprocess.run(
            [RUN, CACHE, "--entry=append", f"--target={request.param}"]
            + [f"--arg={tmp_path}/{name}.npy"
               for name in ("rows", "slots", "data", "scales")]
            + [f"--arg={g}", f"--save=2:{outputs[0]}", f"--save=3:{outputs[1]}"],
            capture_output=True, text=True,
        )
        if not ok:
            assert done.returncode == 1
            assert not any(path.exists() for path in outputs)
            return done.stderr
        assert done.returncode == 0, done.stderr
        return [np.load(path) for path in outputs]

    return call


def test_uint8(append):
    data = np.full((3, 1, 4, 16), 0xAA, "u1")
    scales = np.full((3, 1, 4, 2), 0x55, "u1")
    data2, scales2 = append([5, -1], data, scales)
    # Slot 5 is row 1 of page 1; the even element is in the low nibble.
    data[1, 0, 1] = np.tile(CODES[0::2] | CODES[1::2] << 4, 2)
    scales[1, 0, 1] = np.array(1, ml_dtypes.float8_e4m3fn).view("u1")
    np.testing.assert_array_equal(data2, data)
    np.testing.assert_array_equal(scales2, scales)


def test_ml_dtypes(append):
    data = np.full((3, 1, 4, 32), 1.5, ml_dtypes.float4_e2m1fn)
    scales = np.full((3, 1, 4, 2), 0.25, ml_dtypes.float8_e4m3fn)
    data2, scales2 = append([0], data, scales)
    data2 = data2.view(ml_dtypes.float4_e2m1fn)
    scales2 = scales2.view(ml_dtypes.float8_e4m3fn)
    data[0, 0, 0] = np.tile(VALUES, 2)
    scales[0, 0, 0] = 1
    np.testing.assert_array_equal(data2.view("u1"), data.view("u1"))
    np.testing.assert_array_equal(scales2.view("u1"), scales.view("u1"))


@pytest.mark.parametrize("slots, g, message", [
    ([0, 12], "1", "slot in slot_mapping out of range: index 1, value 12, "
                   "accepted < 12"),
    ([3, 1, 3], "1", "slot named twice in slot_mapping: index 2, value 3, "
                     "named before at index 0"),
    ([0], "0", "global scale is not finite and positive: value 0"),
    ([0], "inf", "global scale is not finite and positive: value inf"),
    ([0], "nan", "global scale is not finite and positive: value nan"),
])
def test_runtime_errors(append, slots, g, message):
    data = np.zeros((3, 1, 4, 16), "u1")
    scales = np.zeros((3, 1, 4, 2), "u1")
    assert append(slots, data, scales, g, ok=False) == f"error: {message}\n"


def test_logical_shape_is_an_error(append):
    data = np.zeros((3, 1, 4, 32), "u1")
    scales = np.zeros((3, 1, 4, 2), "u1")
    err = append([0], data, scales, ok=False)
    assert "argument 2 (%data): " in err
    assert "expected uint8 (?, 1, 4, 16), two elements in a byte, or " in err
    assert "float4_e2m1fn (?, 1, 4, 32), found uint8 (3, 1, 4, 32)" in err
