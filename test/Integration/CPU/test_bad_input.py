# RUN: %pytest %s
# REQUIRES: python
"""What kvq-run says to input that is wrong: the place, what was found, what is
accepted; exit code 1, and no file."""

import os
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from program import RUN, TARGETS

MODULE = """
func.func @step(%d: memref<?x4x1x32xf4E2M1FN>, %s: memref<?x4x1x2xf8E4M3FN>,
    %g: memref<f32>, %x: tensor<?x1x32xf32>, %slots: tensor<?xi32>) -> tensor<?xi32> {
  %k = kvq.make_cache data(%d : memref<?x4x1x32xf4E2M1FN>)
      scales(%s : memref<?x4x1x2xf8E4M3FN>) global_scale(%g : memref<f32>)
      : !kvq.cache<key, 4x1x32, nvfp4, NHD, linear>
  kvq.quantize_append ins(%x : tensor<?x1x32xf32>)
      into(%k : !kvq.cache<key, 4x1x32, nvfp4, NHD, linear>)
      slot_mapping(%slots : tensor<?xi32>)
  return %slots : tensor<?xi32>
}
"""


def arrays():
    return [np.zeros((2, 4, 1, 16), np.uint8), np.zeros((2, 4, 1, 2), np.uint8),
            np.float32(0.5).reshape(()), np.ones((3, 1, 32), np.float32),
            np.arange(3, dtype=np.int32)]


@pytest.fixture
def call(tmp_path):
    def run(module=MODULE, arguments=None, entry="step", target="cpu", flags=(),
            ok=False):
        (tmp_path / "in.mlir").write_text(module)
        command = [RUN, str(tmp_path / "in.mlir"), f"--entry={entry}",
                   f"--target={target}"]
        for i, array in enumerate(arrays() if arguments is None else arguments):
            if isinstance(array, np.ndarray):
                np.save(tmp_path / f"{i}.npy", array)
                array = tmp_path / f"{i}.npy"
            command.append(f"--arg={array}")
        outputs = [tmp_path / "result.npy", tmp_path / "save.npy"]
        command += [f"--result={outputs[0]}", f"--save=0:{outputs[1]}", *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if ok:
            assert done.returncode == 0, done.stderr
            assert all(path.exists() for path in outputs)
            return None
        assert done.returncode == 1, done
        assert not any(path.exists() for path in outputs)
        assert "Stack dump" not in done.stderr and done.stdout == ""
        return done.stderr

    return run


@pytest.mark.parametrize("target", TARGETS)
def test_the_module_is_right(call, target):
    call(target=target, ok=True)


#: Edits of the module, and what the error has.
EDITS = {
    "syntax": ("kvq.quantize_append ins(%x :", "kvq.quantize_append ins(%x ;",
               ["in.mlir:7:30: error: "]),
    "truncated": (MODULE[-60:], "", ["in.mlir:"]),
    "operation": ("kvq.quantize_append", "kvq.quantise_append",
                  ["in.mlir:7:3: error: ", "kvq.quantise_append"]),
    "format": ("nvfp4", "nvfp5", ["in.mlir:6:33: error: ", "one of nvfp4, mxfp4, mxfp8, fp8"]),
    "page_layout": ("NHD", "NDH", ["unknown page layout 'NDH', expected NHD or HND"]),
    "scale_layout": ("NHD, linear", "NHD, blocked", [
        "unknown scale layout 'blocked', expected linear, interleaved_4, "
        "blocked_128x4 or ?"]),
    "no_scale_layout": ("NHD, linear", "NHD", [
        "format has block scales but no scale layout is given"]),
    "undecided": ("NHD, linear", "NHD, ?", ["in.mlir:", "scale layout"]),
    "layout_of_page": ("NHD, linear", "NHD, blocked_128x4",
                       ["blocked_128x4", "128"]),
    "layout_of_side": ("NHD, linear", "NHD, interleaved_4", [
        "scale layout interleaved_4 is of the value side, found side key"]),
    "page": ("key, 4x1x32", "key, 8x1x32", [
        "data has shape [?, 4, 1, 32], expected [?, 8, 1, 32]"]),
    "no_page": ("key, 4x1x32", "key, 0x1x32", ["page x heads x head_dim = 0x1x32"]),
    "head_dim": ("4x1x32, nvfp4", "4x1x24, nvfp4", [
        "head_dim is 24, expected a multiple of the block size 16"]),
    "kv_layout": ("nvfp4, NHD", "nvfp4, HND", [
        "data has shape [?, 4, 1, 32], expected [?, 1, 4, 32]"]),
    "side": ("into(%k : !kvq.cache<key", "into(%k : !kvq.cache<value",
             ["in.mlir:8:", "'%k' expects different type"]),
    "no_scales": ("scales(%s : memref<?x4x1x2xf8E4M3FN>) ", "", ["needs scales"]),
    "no_global_scale": (" global_scale(%g : memref<f32>)", "",
                        ["needs global_scale"]),
    "addressing": ("slot_mapping(%slots : tensor<?xi32>)", "",
                   ["needs slot_mapping, or block_table with positions"]),
    "rows": ("tensor<?x1x32xf32>", "tensor<?x2x32xf32>", [
        "input has shape [?, 2, 32], expected [?, 1, 32]", "note:"]),
    "type_of_rows": ("tensor<?x1x32xf32>", "tensor<?x1x32xi32>", [
        "must be rank-3 tensor or memref of f32, f16 or bf16"]),
    "returned_handle": (") -> tensor<?xi32> {", """) -> tensor<?xi32> {
  %h = func.call @make(%d, %s, %g) : (memref<?x4x1x32xf4E2M1FN>,
    memref<?x4x1x2xf8E4M3FN>, memref<f32>)
    -> !kvq.cache<key, 4x1x32, nvfp4, NHD, linear>""", ["handle"]),
    "empty": (MODULE, "", ["expected a public function 'step' with a body, found "
                           "no such function"]),
    "private": ("func.func @step", "func.func private @step", ["is private"]),
}
RETURNS_HANDLE = """
func.func private @make(%d: memref<?x4x1x32xf4E2M1FN>, %s: memref<?x4x1x2xf8E4M3FN>,
    %g: memref<f32>) -> !kvq.cache<key, 4x1x32, nvfp4, NHD, linear> {
  %k = kvq.make_cache data(%d : memref<?x4x1x32xf4E2M1FN>)
      scales(%s : memref<?x4x1x2xf8E4M3FN>) global_scale(%g : memref<f32>)
      : !kvq.cache<key, 4x1x32, nvfp4, NHD, linear>
  return %k : !kvq.cache<key, 4x1x32, nvfp4, NHD, linear>
}
"""


@pytest.mark.parametrize("name", EDITS)
def test_modules(call, name):
    old, new, expected = EDITS[name]
    assert old in MODULE
    module = MODULE.replace(old, new)
    if name == "returned_handle":
        module += RETURNS_HANDLE
    error = call(module)
    for text in ["error: ", *expected]:
        assert text in error, error


def test_bytes_that_are_no_text(call, tmp_path):
    random = np.random.default_rng(0)
    module = random.integers(1, 255, 4000, np.uint8).tobytes().decode("latin-1")
    assert "error: " in call(module)


def test_no_module(tmp_path):
    done = subprocess.run([RUN, str(tmp_path / "none.mlir"), "--entry=step"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "none.mlir" in done.stderr


def test_missing_entry(call):
    error = call(entry="stop")
    assert "expected a public function 'stop' with a body, found 'step'" in error


@pytest.mark.parametrize("count", [0, 4, 6])
def test_number_of_arguments(call, count):
    error = call(arguments=(arrays() + arrays())[:count])
    assert error == f"error: 'step' takes 5 arguments, found {count} of --arg\n"


#: (argument, what is passed, what the error has).
ARGUMENTS = {
    "shape_of_data": (0, np.zeros((2, 4, 1, 32), np.uint8),
                      ["argument 0 (%d)", "(?, 4, 1, 16)", "found uint8 (2, 4, 1, 32)"]),
    "rank_of_data": (0, np.zeros((4, 1, 16), np.uint8),
                     ["argument 0 (%d)", "found uint8 (4, 1, 16)"]),
    "type_of_data": (0, np.zeros((2, 4, 1, 16), np.float32),
                     ["argument 0 (%d)", "found float32 (2, 4, 1, 16)"]),
    "type_of_scales": (1, np.zeros((2, 4, 1, 2), np.int8),
                       ["argument 1 (%s)", "found int8 (2, 4, 1, 2)"]),
    "shape_of_g": (2, np.ones(1, np.float32),
                   ["argument 2 (%g)", "expected float32 ()", "found float32 (1,)"]),
    "type_of_g": (2, np.ones((), np.float64), ["argument 2 (%g)", "found float64 ()"]),
    "type_of_rows": (3, np.ones((3, 1, 32), np.float16),
                     ["argument 3 (%x)", "expected float32 (?, 1, 32)",
                      "found float16 (3, 1, 32)"]),
    "type_of_slots": (4, np.arange(3), ["argument 4 (%slots)", "expected int32",
                                        "found int64 (3,)"]),
    "number_for_rows": (3, "1.5", ["argument 3 (%x)"]),
    "no_file": (3, "/nowhere/x.npy", ["argument 3 (%x)", "/nowhere/x.npy"]),
    "object": (3, np.array([None] * 3), ["argument 3 (%x)"]),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(call, name):
    index, found, expected = ARGUMENTS[name]
    arguments = arrays()
    arguments[index] = found
    error = call(arguments=arguments)
    assert error.startswith("error: argument ")
    for text in expected:
        assert text in error, error


@pytest.mark.parametrize("keep", [0, 5, 9, 40, 127, 128, 130, -1])
def test_truncated_arrays(call, tmp_path, keep):
    np.save(tmp_path / "x.npy", arrays()[3])
    data = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(data[:keep])
    arguments = arrays()
    arguments[3] = tmp_path / "x.npy"
    error = call(arguments=arguments)
    assert error.startswith("error: argument 3 (%x): "), error
    assert "x.npy" in error


@pytest.mark.parametrize("change", [(0, b"\x92"), (6, b"\x09"), (8, b"\xff\xff"),
                                    (10, b"[" * 20)])
def test_damaged_arrays(call, tmp_path, change):
    at, new = change
    np.save(tmp_path / "x.npy", arrays()[3])
    data = bytearray((tmp_path / "x.npy").read_bytes())
    data[at : at + len(new)] = new
    (tmp_path / "x.npy").write_bytes(data)
    arguments = arrays()
    arguments[3] = tmp_path / "x.npy"
    assert call(arguments=arguments).startswith("error: argument 3 (%x): ")


@pytest.mark.parametrize("flag, expected", [
    ("--save=7:/tmp/never.npy", "'step' has 5 arguments"),
    ("--save=3:/tmp/never.npy", "expected argument 3 (%x) to be a memref"),
    ("--save=x", "expected --save=I:FILE.npy, found '--save=x'"),
    ("--result=/nowhere/r.npy", "'step' has 1 results, found 2 of --result"),
    ("--repeat=0", "expected --repeat of at least 1, found 0"),
    ("--save=1:/nowhere/s.npy", "/nowhere/s.npy"),
])
def test_flags(call, flag, expected):
    assert expected in call(flags=[flag])
    assert not os.path.exists("/tmp/never.npy")
