# RUN: %pytest %s
# REQUIRES: python
"""kvq-run on functions without kvq operations: values in, values out."""

import os
import subprocess

import ml_dtypes
import numpy as np
import pytest

RUN = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-run")
BASIC = os.path.join(os.path.dirname(__file__), "Inputs", "basic.mlir")


@pytest.fixture(params=["cpu", "cpu-reference"])
def run(request, tmp_path):
    """Calls an entry; returns (results, saved memrefs) as arrays."""

    def call(entry, *args, results=0, saves=(), flags=(), ok=True):
        command = [RUN, BASIC, f"--entry={entry}", f"--target={request.param}"]
        for i, arg in enumerate(args):
            if isinstance(arg, np.ndarray):
                np.save(tmp_path / f"arg{i}.npy", arg)
                arg = tmp_path / f"arg{i}.npy"
            command.append(f"--arg={arg}")
        outputs = [tmp_path / f"result{i}.npy" for i in range(results)]
        command += [f"--result={path}" for path in outputs]
        saved = [tmp_path / f"save{i}.npy" for i in saves]
        command += [f"--save={i}:{path}" for i, path in zip(saves, saved)]
        done = subprocess.run([*command, *flags], capture_output=True, text=True)
        if not ok:
            assert done.returncode == 1, done
            assert not any(path.exists() for path in outputs + saved)
            return done.stderr
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return [np.load(path) for path in outputs], [
            np.load(path) for path in saved
        ]

    return call


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_memref_is_in_out(run, rows):
    x = np.arange(rows * 4, dtype="f").reshape(rows, 4)
    n = min(rows, 3)
    _, [saved] = run("scale_rows", x, "2.5", n, saves=[0])
    x[:n] *= 2.5
    assert saved.dtype == x.dtype
    np.testing.assert_array_equal(saved, x)


@pytest.mark.parametrize("order", [">f4", "<f4"])
def test_fortran_and_byte_order(run, order):
    x = np.asfortranarray(np.arange(12).reshape(3, 4).astype(order))
    _, [saved] = run("scale_rows", x, "1", 3, saves=[0])
    np.testing.assert_array_equal(saved, x)


def test_several_results(run):
    a = np.array([1, 2, 3], "f")
    b = np.array([10, 20, 30], "f")
    [true, total, first, count], _ = run("add", a, b, results=4)
    assert true.dtype == bool and true
    assert total.dtype == np.float32 and total.tolist() == [11, 22, 33]
    assert first.dtype == np.float32 and first == 11 and first.shape == ()
    assert count.dtype == np.int64 and count == 3


def test_results_that_alias(run):
    a = np.array([1, 2, 3], "f")
    [first, second, constant], _ = run("alias", a, results=3)
    assert first.tolist() == second.tolist() == [1, 2, 3]
    assert constant.dtype == np.int32 and constant.tolist() == [7, 8]


def test_one_tensor_result(run):
    a = np.arange(6.0).reshape(2, 3)
    [transposed], _ = run("return_tensor", a, results=1)
    np.testing.assert_array_equal(transposed, a.T)
    # A result without a file is dropped.
    assert run("return_tensor", a) == ([], [])


@pytest.mark.parametrize(
    "text, value",
    [("5", 10), ("-5", -10), ("0x21", 66), ("-128", 0), ("255", -2)],
)
def test_i8_scalar(run, text, value):
    [result], _ = run("twice_i8", text, results=1)
    assert result.dtype == np.int8 and result == value


@pytest.mark.parametrize(
    "entry, dtype, texts",
    [
        ("store_f16", np.float16, ["1.5", "-0.0", "inf", "5.9604645e-8", "0.1"]),
        ("store_f64", np.float64, ["0.1", "-1e-320", "0x1.8p3", "nan"]),
        ("store_i1", np.bool_, ["true", "false", "1", "0"]),
        ("store_i64", np.int64, ["-9223372036854775808", "9223372036854775807"]),
    ],
)
def test_scalars(run, entry, dtype, texts):
    for text in texts:
        _, [saved] = run(entry, text, np.zeros((), dtype), saves=[1])
        if dtype is np.bool_:
            expected = text in ("true", "1")
        elif dtype is np.int64:
            expected = int(text)
        elif text.startswith("0x"):
            expected = float.fromhex(text)
        else:
            expected = dtype(text)
        np.testing.assert_array_equal(saved, dtype(expected))
        assert saved.dtype == dtype
        assert np.signbit(saved) == np.signbit(expected) or np.isnan(saved)


def test_bf16(run):
    x = np.array([1, 2], ml_dtypes.bfloat16)
    _, [saved] = run("store_bf16", "0.1", x, saves=[1])
    assert saved.dtype == np.dtype("V2")
    assert saved.view(ml_dtypes.bfloat16).tolist() == [1, ml_dtypes.bfloat16(0.1)]
    _, [saved] = run("store_bf16", "0.1", x.view(np.uint16), saves=[1])
    assert saved.dtype == np.uint16


def test_number_for_an_array_without_dimensions(run):
    _, [saved] = run("keep_scalar", "1.5", saves=[0])
    assert saved.dtype == np.float32 and saved.shape == () and saved == 1.5


@pytest.mark.parametrize("entry, dtypes", [
    ("keep_i8", ["i1", "u1"]),
    ("keep_index", ["i8", "u8"]),
    ("keep_bf16", ["u2", ml_dtypes.bfloat16]),
])
def test_accepted_types(run, entry, dtypes):
    for dtype in dtypes:
        x = np.arange(5).astype(dtype)
        _, [saved] = run(entry, x, saves=[0])
        assert saved.tobytes() == x.tobytes()


@pytest.mark.parametrize(
    "entry, array, expected, found",
    [
        ("keep_i8", np.zeros(3, "f4"), "int8 or uint8 (?,)", "float32 (3,)"),
        ("keep_i8", np.zeros((3, 1), "i1"), "int8 or uint8 (?,)", "int8 (3, 1)"),
        ("keep_i8", np.zeros(3, bool), "int8 or uint8 (?,)", "bool (3,)"),
        ("keep_i32", np.zeros((2, 2), "i8"), "int32 or uint32 (?, ?)", "int64"),
        ("keep_bf16", np.zeros(2, "f2"), "bfloat16 or uint16 (?,)", "float16"),
        ("keep_index", np.zeros(2, "i4"), "int64 or uint64 (?,)", "int32 (2,)"),
        ("keep_scalar", np.zeros(1, "f4"), "float32 ()", "float32 (1,)"),
        ("strided", np.zeros((3, 2), "f4"), "float32 (2, 3)", "float32 (3, 2)"),
    ],
)
def test_wrong_arrays(run, entry, array, expected, found):
    err = run(entry, array, saves=[0], ok=False)
    assert err.startswith("error: argument 0 (%x): ")
    assert f"arg0.npy: expected {expected}, found {found}" in err


def test_truncated_file(run, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(100, "i1"))
    data = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(data[:-1])
    err = run("keep_i8", tmp_path / "x.npy", saves=[0], ok=False)
    assert "argument 0 (%x)" in err
    assert "has 100 bytes, found 99" in err


def test_static_layout(run):
    x = np.arange(6, dtype="f").reshape(2, 3)
    _, [saved] = run("strided", x, saves=[0])
    assert saved.tolist() == [[0, 5, 2], [3, 4, 1]]


def test_dynamic_layout(run):
    x = np.arange(6, dtype="f").reshape(2, 3)
    [value], _ = run("dynamic_layout", x, results=1)
    assert value == 5


@pytest.mark.parametrize("flags, layout", [
    ((), (0, 6, 2)),
    (["--layout=0:8,2"], (0, 8, 2)),
    (["--layout=0:64,2+5"], (5, 64, 2)),
])
def test_chosen_layout(run, flags, layout):
    x = np.arange(6, dtype="f").reshape(2, 3)
    results, [saved] = run("layout_of", x, results=4, saves=[0], flags=flags)
    assert [*map(int, results[:3])] == [*layout] and results[3] == 5
    np.testing.assert_array_equal(saved, x)


@pytest.mark.parametrize("flags", [[], ["--layout=0:4,1"], ["--layout=0:10,1+6"]])
def test_chosen_layout_of_4_bit_elements(run, flags):
    """Strides and the offset count elements, not bytes."""
    x = np.arange(1, 7, dtype=np.uint8).reshape(3, 2) * 37
    _, saved = run("copy_rows", x, np.zeros((3, 2), np.uint8), saves=[0, 1], flags=flags)
    for array in saved:
        np.testing.assert_array_equal(array, x)


F32 = np.zeros((2, 3), "f")
E2M1 = [np.zeros((3, 2), np.uint8)] * 2


@pytest.mark.parametrize("entry, arguments, layout, message", [
    ("layout_of", [F32], "0:8,3", "argument 0 (%x): expected stride 1 to be 2 for "
     "memref<2x3xf32, strided<[?, 2], offset: ?>>, found 3"),
    ("layout_of", [F32], "0:8", "expected 2 strides for"),
    ("layout_of", [F32], "0:-8,2", "a negative stride or offset cannot be made"),
    ("layout_of", [F32], "0:8,2+-1", "a negative stride or offset cannot be made"),
    ("layout_of", [F32], "0:2,2", "the elements of the layout overlap"),
    ("layout_of", [F32], "0:4611686018427387904,2", "the layout is too large"),
    ("strided", [F32], "0:8,2+4", "expected an offset of 5 for"),
    ("copy_rows", E2M1, "0:5,1", "needs even outer strides, found 5"),
    ("copy_rows", E2M1, "0:4,1+1", "needs an even offset"),
    ("keep_i32", [np.zeros((2, 2), "i4")], "0:2,1", "expected no layout, as only "
     "memrefs with a strided layout leave one open, for memref<?x?xi32>"),
    ("layout_of", [F32], "1:8,2", "'layout_of' has 1 arguments"),
    ("layout_of", [F32], "0", "expected --layout=I:STRIDE,...[+OFFSET], found"),
    ("layout_of", [F32], "0:8,2+", "expected --layout=I:STRIDE,...[+OFFSET], found"),
    ("layout_of", [F32], "0:8,x", "expected --layout=I:STRIDE,...[+OFFSET], found"),
    ("layout_of", [F32], "x:8,2", "expected --layout=I:STRIDE,...[+OFFSET], found"),
    ("layout_of", [F32], "0:8,2 --layout=0:8,2", "has a layout already"),
])
def test_layouts_that_cannot_be_chosen(run, entry, arguments, layout, message):
    flags = f"--layout={layout}".split()
    assert message in run(entry, *arguments, saves=[0], flags=flags, ok=False)


@pytest.mark.parametrize("entry", ["overlapping", "broadcast"])
def test_layouts_that_cannot_be_made(run, entry):
    err = run(entry, np.zeros((2, 3), "f"), saves=[0], ok=False)
    assert "the elements of the layout overlap or interleave" in err


def test_runtime_errors(run):
    """A report is an error, and nothing is written."""
    x = np.zeros(1, "i4")
    err = run("report", x, 3, results=1, saves=[0], ok=False)
    assert err == (
        "error: slot in slot_mapping out of range: index 3, value -7, "
        "accepted < 100\n"
    )


def test_calls(run):
    [result], _ = run("four_times", 5, results=1)
    assert result == 20


@pytest.mark.parametrize("size", [0, 1, 10000])
def test_threads(run, size):
    x = np.arange(size, dtype="f")
    _, [saved] = run("parallel", x, saves=[0])
    np.testing.assert_array_equal(saved, 2 * x)


def test_runtime_library(run):
    x = np.arange(24, dtype="f").reshape(4, 6)
    _, [saved] = run("copy_columns", x, np.zeros((4, 3), "f"), saves=[1])
    np.testing.assert_array_equal(saved, x[:, 1::2])


def test_report(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 4), "f"))
    done = subprocess.run(
        [RUN, BASIC, "--entry=scale_rows", f"--arg={tmp_path}/x.npy",
         "--arg=1", "--arg=3", "--report", "--repeat=3"],
        capture_output=True, text=True, check=True,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == (
        "argument 0 (%x): memref<?x4xf32>, float32 (3, 4), 48 bytes"
    )
    times = [line.split(":")[0] for line in lines if line.startswith("time ")]
    assert times == [
        "time load", "time lower", "time compile", "time run",
        "time fastest run", "time slowest run", "time write",
    ]
