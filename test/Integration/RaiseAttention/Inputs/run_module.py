"""Runs kvq-raise-attention, and functions before and after it."""

import os
import re
import subprocess

import ml_dtypes
import numpy as np

BIN = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin")


def raise_module(text, directory, options="", passes=""):
    """Returns (attribute aliases, {name: text of the raised function})."""
    path = os.path.join(directory, "in.mlir")
    with open(path, "w") as file:
        file.write(text)
    pipeline = (f"builtin.module({passes}func.func(kvq-raise-attention{options},"
                f"canonicalize,cse))")
    done = subprocess.run(
        [os.path.join(BIN, "kvq-opt"), path, f"--pass-pipeline={pipeline}"],
        capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return split_module(done.stdout)


def split_module(text):
    """Returns (attribute aliases, {name: function}) of printed text."""
    header = "\n".join(line for line in text.splitlines() if re.match(r"#\w", line))
    functions = {}
    for match in re.finditer(r"^  func\.func (?:public )?@(\w+)\(.*?^  }$", text,
                             re.M | re.S):
        functions[match[1]] = match[0]
    return header, functions


def signature_of(function):
    """(argument types, result type) of a printed function."""
    first = function.split("{\n", 1)[0]
    arguments = re.findall(r"%\w+: (tensor<[^>]*>)", first)
    result = re.search(r"-> \(?(tensor<[^>]*>)", first)[1]
    return arguments, result


def compare_functions(header, before, after, arrays, directory,
                      target="cpu-reference", resources=""):
    """Calls both functions on the same arguments; returns both results."""
    types, result = signature_of(after)
    after = re.sub(r"@\w+", "@after", after, count=1)
    names = [f"%x{i}" for i in range(len(types))]
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types))
    uses, given = ", ".join(names), ", ".join(types)
    calls = "".join(
        f"  %{f} = call @{f}({uses}) : ({given}) -> {result}\n"
        for f in ("before", "after"))
    text = (f"{header}\n{before}\n{after}\n"
            f"func.func @main({arguments}) -> ({result}, {result}) {{\n{calls}"
            f"  return %before, %after : {result}, {result}\n}}\n{resources}")
    path = os.path.join(directory, "main.mlir")
    with open(path, "w") as file:
        file.write(text)
    command = [os.path.join(BIN, "kvq-run"), path, "--entry=main",
               f"--target={target}"]
    for i, array in enumerate(arrays):
        np.save(os.path.join(directory, f"arg{i}.npy"), array)
        command.append(f"--arg={os.path.join(directory, f'arg{i}.npy')}")
    outputs = [os.path.join(directory, f"result{i}.npy") for i in range(2)]
    command += [f"--result={path}" for path in outputs]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stderr == "", done.stderr[:2000] + text
    return [load_floats(path) for path in outputs]


def load_floats(path):
    """An array of floats, as f32."""
    array = np.load(path)
    # NumPy reads bfloat16 as two bytes without a meaning.
    if array.dtype.kind == "V":
        array = array.view(ml_dtypes.bfloat16)
    return array.astype(np.float32)
