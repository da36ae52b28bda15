"""How the tests of this folder optimize and run modules."""

import os
import subprocess

import ml_dtypes
import numpy as np

RUN = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-run")

#: Relative L2 error of outputs in f32, which two orders of summation differ by.
BOUND = 1e-5
#: What the last rounding of both outputs adds.
ROUNDOFF = {"f32": 0.0, "f16": 2.0**-11, "bf16": 2.0**-8}


def optimize(text, *flags):
    """The text that kvq-opt makes of a text."""
    done = subprocess.run(["kvq-opt", *flags], input=text, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(flags)}\n{done.stderr[:2000]}\n{text}"
    return done.stdout


def call(text, arrays, memrefs, results, directory):
    """Calls @main with arrays and numbers on the CPU, unoptimized, as compiling
    takes nearly all of the time. Returns the process and the files of the results
    and of the arguments with the indices `memrefs`."""
    os.makedirs(directory, exist_ok=True)

    def path(name):
        return os.path.join(directory, name)

    with open(path("main.mlir"), "w") as file:
        file.write(text)
    command = [RUN, path("main.mlir"), "--entry=main", "--target=cpu-reference", "--opt-level=0"]
    for i, array in enumerate(arrays):
        if isinstance(array, np.ndarray):
            np.save(path(f"arg{i}.npy"), array)
            array = path(f"arg{i}.npy")
        command.append(f"--arg={array}")
    outputs = (
        [path(f"result{i}.npy") for i in range(results)],
        [path(f"save{i}.npy") for i in memrefs],
    )
    command += [f"--result={file}" for file in outputs[0]]
    command += [f"--save={i}:{file}" for i, file in zip(memrefs, outputs[1])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return done, outputs


def execute(text, arrays, memrefs, results, directory):
    """The arrays of the results and of the memrefs after a call that succeeds."""
    done, outputs = call(text, arrays, memrefs, results, directory)
    assert done.returncode == 0, f"{done.stderr[:2000]}\n{text}"
    return [[np.load(file) for file in files] for files in outputs]


def check_same(before, after, types, what):
    """Whether two executions agree: memrefs in all bytes, results of the types
    `types` within the bounds. `what` describes a result by its index."""
    assert len(before[0]) == len(after[0]) == len(types)
    for index, (a, b, type) in enumerate(zip(before[0], after[0], types)):
        element = type.rstrip(">").split("x")[-1]
        if element == "bf16":
            a, b = (x.view(ml_dtypes.bfloat16) for x in (a, b))
        a, b = a.astype(np.float64), b.astype(np.float64)
        # The lse of a row without keys.
        none = np.isneginf(a)
        np.testing.assert_array_equal(np.isneginf(b), none, what(index))
        a, b = np.where(none, 0, a), np.where(none, 0, b)
        assert np.isfinite(a).all(), what(index)
        error, norm = np.linalg.norm(a - b), np.linalg.norm(a)
        if a.ndim == 3:  # An lse: a logarithm near 0 has no relative accuracy.
            norm = np.linalg.norm(np.maximum(np.abs(a), 1))
        assert error <= (BOUND + ROUNDOFF[element]) * norm + 1e-7, (what(index), error, norm)
    for index, (a, b) in enumerate(zip(before[1], after[1])):
        assert a.tobytes() == b.tobytes(), f"memref {index}"
