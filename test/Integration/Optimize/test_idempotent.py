# RUN: %pytest %s
# REQUIRES: python, compiler
"""Running a pass or the optimizing pipeline a second time changes nothing: checked
over all modules that the lit tests and the examples hold."""

import difflib
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]

#: Options that passes are run with, beside none.
OPTIONS = {
    "kvq-convert-cache-format": [
        "key-format=fp8 value-format=mxfp4",
        "scale-layout=undecided global-scale=one",
        "key-format=fp4 value-format=fp4",
    ],
    "kvq-raise-attention": ["zero-masked-rows=true"],
    "kvq-assign-block-scales": [
        "value-reader=trtllm-gen",
        "chip=cpu",
        "chip=sm_90a max-stored-error=0.2",
    ],
    "kvq-select-mma": ["chip=sm_80", "chip=sm_90a", "chip=sm_120a"],
    "kvq-split-kv": ["split-length=32 max-queries=1000"],
    "kvq-verify-target": ["chip=cpu"],
    "kvq-optimize": [
        "chip=cpu",
        "chip=sm_90a key-format=nvfp4 value-format=fp8",
        "value-reader=trtllm-gen split-length=16 key-format=nvfp4 value-format=nvfp4",
    ],
}


def all_passes():
    """The names of the project's passes and pipelines."""
    done = subprocess.run(["kvq-opt", "--help"], capture_output=True, text=True, check=True)
    names = re.findall(r"^  +--((?:convert-)?kvq-[\w-]+) ", done.stdout, re.MULTILINE)
    return sorted(set(names))


#: Each run of these adds something, as their documentation says: a status, a wrapper.
ADDING = {
    "kvq-insert-runtime-checks",
    "kvq-isolate-float-mode",
    "kvq-to-cpu",
    "kvq-to-nvvm",
    "kvq-to-ptx",
}
PASSES = [name for name in all_passes() if name not in ADDING]


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """One file with all modules that are valid, between separators."""
    chunks = []
    for file in sorted([*ROOT.glob("test/**/*.mlir"), *ROOT.glob("examples/**/*.mlir")]):
        # Lines of RUN and checks are no part of it.
        text = re.sub(r"^\s*//(?! -----).*$", "", file.read_text(), flags=re.MULTILINE)
        chunks += [c for c in text.split("// -----") if c.strip()]
    path = tmp_path_factory.mktemp("modules") / "all.mlir"
    write(path, chunks)
    valid = optimize(path, [])
    assert len(valid) > 300, len(valid)
    write(path, valid)
    return path


def flag_of(name, options):
    """The flag that runs a pass on modules, or on the functions in them."""
    braces = f"{name}{{{options}}}"
    for pipeline in (f"builtin.module({braces})", f"builtin.module(func.func({braces}))"):
        flag = f"--pass-pipeline={pipeline}"
        done = subprocess.run(["kvq-opt", flag], input="", capture_output=True, text=True)
        if done.returncode == 0:
            return flag
    raise AssertionError(done.stderr)


def write(path, chunks):
    path.write_text("\n// -----\n".join(chunks))


def optimize(path, flags):
    """The modules for which kvq-opt succeeds, in order."""
    done = subprocess.run(
        ["kvq-opt", path, "--split-input-file=// -----", *flags], capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr[-2000:]
    assert "unable to schedule" not in done.stderr, done.stderr
    # What fails leaves nothing between separators.
    chunks = [chunk.strip() for chunk in done.stdout.split("// -----")]
    return [chunk for chunk in chunks if chunk not in ("", "module {\n}")]


@pytest.mark.parametrize("name", PASSES)
def test_second_run_changes_nothing(name, modules, tmp_path):
    for options in ["", *OPTIONS.get(name, [])]:
        flag = flag_of(name, options)
        once = optimize(modules, [flag])
        assert len(once) > 20, flag
        write(tmp_path / "once.mlir", once)
        twice = optimize(tmp_path / "once.mlir", [flag])
        different = [(a, b) for a, b in zip(once, twice) if a != b]
        if different:
            first, second = (text.split("\n") for text in different[0])
            lines = difflib.unified_diff(first, second, "once", "twice", lineterm="", n=6)
            pytest.fail(
                f"{flag}: {len(different)} modules change, one so:\n"
                + "\n".join(line[:200] for _, line in zip(range(80), lines))
            )
        assert len(once) == len(twice), flag


def test_options_are_those_of_passes():
    assert set(OPTIONS) <= set(PASSES)
    assert ADDING <= set(all_passes())
    assert len(PASSES) >= 17
