"""How the tests of this folder run a module."""

import os
import subprocess

import numpy as np

RUN = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-run")


def execute(text, arrays, memrefs, results, directory):
    """Calls @main with arrays and numbers on the CPU, unoptimized, as compiling
    takes nearly all of the time. Returns the arrays of the results and of the
    arguments with the indices `memrefs`."""
    os.makedirs(directory, exist_ok=True)

    def path(name):
        return os.path.join(directory, name)

    with open(path("main.mlir"), "w") as file:
        file.write(text)
    command = [RUN, path("main.mlir"), "--entry=main", "--target=cpu-reference",
               "--opt-level=0"]
    for i, array in enumerate(arrays):
        if isinstance(array, np.ndarray):
            np.save(path(f"arg{i}.npy"), array)
            array = path(f"arg{i}.npy")
        command.append(f"--arg={array}")
    command += [f"--save={i}:{path(f'save{i}.npy')}" for i in memrefs]
    command += [f"--result={path(f'result{i}.npy')}" for i in range(results)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{done.stderr[:2000]}\n{text}"
    return ([np.load(path(f"result{i}.npy")) for i in range(results)],
            [np.load(path(f"save{i}.npy")) for i in memrefs])
