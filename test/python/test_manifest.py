# RUN: %pytest %s
# REQUIRES: python, compiler
"""kvq.manifest: formulas, arguments and what it refuses."""

import copy

import numpy as np
import pytest

from kvq import manifest
from kvq.manifest import Manifest, ManifestError

SIZES = {"n": 7, "n2": 300, "_m": 2, "modulus": 5}


@pytest.mark.parametrize("formula, value", [
    ("1", 1), ("n", 7), ("n2 ceildiv 256", 2), ("n2 floordiv 256", 1),
    ("n2 mod 256", 44), ("2 + 3 * 4 - 5", 9), ("(2 + 3) * (4 - 5)", -5),
    ("10 - 3 - 2", 5), ("n ceildiv 2 ceildiv 2", 2), ("n*_m", 14),
    (" ( n ) ", 7), ("(0 - n) floordiv 2", -4), ("(0 - n) ceildiv 2", -3),
    ("(0 - n) mod 2", 1), ("modulus mod modulus", 0)])
def test_formula(formula, value):
    assert manifest.evaluate(formula, SIZES) == value


@pytest.mark.parametrize("formula", [
    "", "n3", "1 +", "(1", "1)", "n n", "n mod 0", "1 / 2", "* 2",
    "2 ceildiv -1", "n ceil 2", "n floordiv (2 - 2)"])
def test_no_formula(formula):
    with pytest.raises(ManifestError):
        manifest.evaluate(formula, SIZES)


FIELDS = {
    "schema": 1, "chip": "sm_80", "kernels": [{
        "name": "k", "operation": "kvq.k", "block": [32, 1, 1],
        "cluster": [1, 1, 1], "shared_bytes": 0, "caches": [],
        "grid": ["x_size0 ceildiv 4", "x_size0 - 100", "2"],
        "workspace": {"bytes": "x_size0 * 8", "zeroed": True},
        "parameters": [
            {"name": "x", "kind": "pointer", "bytes": 8, "alignment": 4,
             "read": True, "written": False, "element": "f32",
             "element_bits": 32, "shape": [None, 6],
             "element_strides": [None, 1]},
            {"name": "y", "kind": "pointer", "bytes": 8, "alignment": 1,
             "read": False, "written": True, "element": "f4E2M1FN",
             "element_bits": 4, "shape": [None, None],
             "element_strides": [8, 1]},
            {"name": "workspace", "kind": "workspace", "bytes": 8,
             "alignment": 16, "read": True, "written": True},
            {"name": "error_word", "kind": "error_word", "bytes": 8,
             "alignment": 8, "read": True, "written": True, "new": 1},
            {"name": "x_stride0", "kind": "stride", "bytes": 8, "of": "x",
             "dimension": 0},
            {"name": "x_size0", "kind": "size", "bytes": 4, "of": "x",
             "dimension": 0},
            {"name": "y_size1", "kind": "size", "bytes": 4, "of": "y",
             "dimension": 1},
            {"name": "g", "kind": "scalar", "bytes": 4}]}]}


def arrays():
    return {"x": np.zeros((10, 8), np.float32)[:, :6],
            "y": np.zeros((10, 4), np.uint8)}


def test_arguments():
    kernel, = Manifest(FIELDS).kernels
    operands = arrays()
    word, workspace = np.zeros(4, np.int64), np.zeros(80, np.uint8)
    values = kernel.arguments(operands, {"g": 0.5}, word, workspace)
    assert [v.value for v in values] == [
        operands["x"].ctypes.data, operands["y"].ctypes.data,
        workspace.ctypes.data, word.ctypes.data, 32, 10, 8, 0.5]
    sizes = kernel.sizes(operands)
    assert sizes == {"x_size0": 10, "y_size1": 8}
    assert kernel.grid(sizes) == (3, 1, 2)
    assert kernel.workspace_bytes(sizes) == 80
    # No error word is a null pointer.
    assert not kernel.arguments(operands, {"g": 0.5})[3].value


@pytest.mark.parametrize("change, message", [
    (lambda o: o.pop("x"), "k: no array for 'x'"),
    (lambda o: o.update(x=np.zeros(6, np.float32)),
     "'x': expected 2 dimensions, found 1"),
    (lambda o: o.update(x=np.zeros((2, 7), np.float32)),
     "'x': expected 6 elements in dimension 1, found 7"),
    (lambda o: o.update(x=np.zeros((2, 12), np.float32)[:, ::2]),
     "'x': expected a stride of 4 bytes in dimension 1, found 8"),
    (lambda o: o.update(y=np.zeros((2, 5), np.uint8)),
     "'y': expected a stride of 4 bytes in dimension 0, found 5"),
    (lambda o: o["y"].setflags(write=False), "'y': is written"),
    (lambda o: o.update(x=np.zeros(100, np.uint8)[1:49].view(np.float32)
                        .reshape(2, 6)), "'x': expected an address"),
    (lambda o: o.pop("g"), "k: no number for 'g'"),
])
def test_refused(change, message):
    kernel, = Manifest(FIELDS).kernels
    operands = {**arrays(), "g": 1.0}
    change(operands)
    with pytest.raises(ManifestError, match=message):
        kernel.arguments(operands, operands)


def test_manifest_refused(tmp_path):
    for fields in ({**FIELDS, "schema": 2}, {}, []):
        with pytest.raises(ManifestError, match="expected schema 1"):
            Manifest(fields)
    file = tmp_path / "m.json"
    file.write_text("{")
    with pytest.raises(ManifestError, match="m.json"):
        Manifest.load(file)
    fields = copy.deepcopy(FIELDS)
    fields["kernels"][0]["parameters"][-1]["kind"] = "beads"
    kernel, = Manifest(fields).kernels
    with pytest.raises(ManifestError, match="parameter of kind 'beads'"):
        kernel.arguments(arrays(), {"g": 1})
