"""How results are compared with the oracle."""

import ml_dtypes
import numpy as np

#: Relative L2 error of f32 outputs, from the requirement on both lowerings.
F32_BOUND = 1e-5

#: The unit roundoff of each output type: its last rounding alone may put each
#: element, and so the L2 norm, off by this factor.
ROUNDOFF = {"f32": 0.0, "f16": 2.0**-11, "bf16": 2.0**-8}


def check_close(found, expected, element="f32", what="output", within=F32_BOUND):
    """Relative L2 error of all elements together: `within`, and what the last
    rounding adds. A row that the oracle says is exactly 0 has to be."""
    found = np.asarray(found).astype(np.float64)
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    assert np.isfinite(found).all(), (what, found)
    error = np.linalg.norm((found - expected).ravel())
    norm = np.linalg.norm(expected.ravel())
    bound = within + ROUNDOFF[element]
    # f16 is denormal below 2^-14: its steps of 2^-24 round by half of that.
    floor = 2.0**-25 * np.sqrt(found.size) if element == "f16" else 0.0
    assert error <= bound * norm + floor, (what, error / norm if norm else error, bound)
    assert not found[expected == 0].any(), what


def check_lse(found, expected, what="lse"):
    """-inf where the oracle has it; else the relative L2 error, with 1 as the
    least magnitude, since a logarithm near 0 has no relative accuracy."""
    assert found.dtype == np.float32 and found.shape == expected.shape, what
    none = np.isneginf(expected)
    np.testing.assert_array_equal(np.isneginf(found), none, what)
    difference = found[~none].astype(np.float64) - expected[~none]
    norm = np.linalg.norm(np.maximum(np.abs(expected[~none]), 1))
    assert np.linalg.norm(difference) <= F32_BOUND * norm, (what, difference)


def check_bytes(found, expected, what):
    """Equality byte for byte; reports the first difference."""
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    # Through bytes, as NumPy compares NaN as different.
    a = np.frombuffer(np.ascontiguousarray(found).tobytes(), np.uint8)
    b = np.frombuffer(np.ascontiguousarray(expected).tobytes(), np.uint8)
    assert a.size == b.size, (what, found.dtype, expected.dtype)
    different = np.flatnonzero(a != b)
    if different.size:
        at = different[0]
        raise AssertionError(
            f"{what}: {different.size} of {a.size} bytes differ, the first at "
            f"{at}: found {a[at]:#x}, expected {b[at]:#x}; shape {found.shape}")


def rounded(values, element):
    """Values rounded once to a type of MLIR's."""
    dtype = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype[element])
