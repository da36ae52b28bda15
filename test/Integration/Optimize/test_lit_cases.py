# RUN: %pytest %s
# REQUIRES: python, compiler
"""The functions of the lit tests of the optimizing passes compute after the pass that
the file tests, and after kvq-optimize, what they computed before: the same bytes of
caches, outputs within the contract.

Chunks that a pass is expected to reject run through passes without the option that
makes it an error, where there is one; otherwise there is nothing after them."""

import copy
import functools
import os
import pathlib
import re
import sys

import ml_dtypes
import numpy as np
import pytest
from oracle import cache as caches
from oracle import formats

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from execute import check_same, execute, optimize  # noqa: E402
from lit_case import module_of, parse_functions, parse_type, read_cases  # noqa: E402

TEST = pathlib.Path(__file__).resolve().parents[2]

FUSE_APPEND = "kvq-fuse-quantize-append"
FUSE_ATTENTION = "kvq-fuse-dequant-attention"
RAISE = "func.func(kvq-raise-attention)"
SELECT = "func.func(kvq-select-mma{chip=sm_100a})"
OPTIMIZE = "kvq-optimize"

#: The pass that a lit input tests, without options that turn misses into errors.
FILES = {
    "Dialect/KVQ/assign-block-scales-global.mlir": "kvq-assign-block-scales",
    "Dialect/KVQ/assign-block-scales-reader.mlir":
        "kvq-assign-block-scales{value-reader=trtllm-gen}",
    "Dialect/KVQ/assign-block-scales.mlir": "kvq-assign-block-scales",
    "Dialect/KVQ/fold-rope-missed.mlir": FUSE_APPEND,
    "Dialect/KVQ/fold-rope.mlir": FUSE_APPEND,
    "Dialect/KVQ/fuse-dequant-attention-missed.mlir": FUSE_ATTENTION,
    "Dialect/KVQ/fuse-dequant-attention.mlir": FUSE_ATTENTION,
    "Dialect/KVQ/fuse-quantize-append-missed.mlir": FUSE_APPEND,
    "Dialect/KVQ/fuse-quantize-append.mlir": FUSE_APPEND,
    "Dialect/KVQ/raise-attention-lse-sinks-missed.mlir": RAISE,
    "Dialect/KVQ/raise-attention-lse-sinks.mlir": RAISE,
    "Dialect/KVQ/raise-attention-masked-rows.mlir":
        "func.func(kvq-raise-attention{zero-masked-rows=true})",
    "Dialect/KVQ/raise-attention-missed.mlir": RAISE,
    "Dialect/KVQ/raise-attention-unit-dims.mlir": RAISE,
    "Dialect/KVQ/raise-attention.mlir": RAISE,
    "Dialect/KVQ/select-mma-override.mlir":
        "func.func(kvq-select-mma{chip=sm_100a qk=block_scaled:3 pv=bf16})",
    "Dialect/KVQ/select-mma.mlir": SELECT,
    "Dialect/KVQ/split-kv-dynamic.mlir": "func.func(kvq-split-kv{split-dynamic=false})",
    "Dialect/KVQ/split-kv.mlir": "func.func(kvq-split-kv{split-length=100})",
    "Pipelines/kvq-optimize-end-to-end.mlir": OPTIMIZE,
}

#: Sizes of dynamic dimensions, and numbers, by function and parameter.
SIZES = {
    "assign-block-scales-reader:raw": {8: 2},
    "convert-cache-format:flow": {2: 0},
    "convert-cache-format:main": {6: 9},
    "fuse-quantize-append:moved_rows": {0: (2,), 2: 2, 3: 3},
    "raise-attention:dynamic": {
        0: (2, 3),
        1: (2, 5),
        2: (2, 5),
        3: (3, 5),
        4: (2, 3, 5),
        5: (2, 3),
    },
    "split-kv-dynamic:ragged": {1: (3,), 4: (2, 1), 5: (2,)},
    "split-kv:dynamic": {1: (3,), 4: (2, 1), 5: (2,)},
}

EXTERNAL = "calls a function that has no body"
BRANCH = "upstream bufferizes no conditional branch"
LOOP = "upstream bufferizes no loop whose yielded tensor has another buffer"

#: What does not run on the CPU, and why.
NOT_RUN = {
    "assign-block-scales-reader:hoisted": LOOP,
    "assign-block-scales-reader:written": LOOP,
    "convert-cache-format-missed:calls": EXTERNAL,
    "convert-cache-format-missed:gets": "a handle is returned, which only the conversion allows",
    "convert-cache-format-missed:returns": "a handle is returned, which only the conversion allows",
    "fuse-dequant-attention-missed:blocks_write": BRANCH,
    "fuse-dequant-attention-missed:call_between": EXTERNAL,
    "fuse-dequant-attention-missed:loop_carried": LOOP,
    "fuse-dequant-attention-required:blocks_write": BRANCH,
    "fuse-dequant-attention-required:call_between": EXTERNAL,
    "fuse-dequant-attention-required:loop_carried": LOOP,
    "fuse-quantize-append-missed:call_between": EXTERNAL,
    "fuse-quantize-append-required:call_between": EXTERNAL,
    "kvq-optimize-formats:model": LOOP,
    "select-mma:odd_format": "its format has no preset, which arguments are made by",
}


@functools.cache
def cases_of(file, rejected=False):
    return read_cases(TEST / file, SIZES, rejected)


def run_cases(file):
    return [case for case in cases_of(file) if case.key not in NOT_RUN]


def prepared(text):
    """What the CPU exit takes: layouts decided, and nothing freed, as it does that
    itself."""
    text = re.sub(r"^ *memref\.dealloc .*\n", "", text, flags=re.MULTILINE)
    return text.replace(", ?>", ", linear>")


def interleaved(scales, kv_layout):
    """Scales in the linear layout as the kernels of trtllm-gen have them."""
    source = scales if kv_layout == "NHD" else scales.swapaxes(1, 2)
    count = source.shape[3]
    result = np.empty_like(source)
    for t in range(source.shape[1]):
        for s in range(count):
            row, column = divmod(caches.scale_offset("interleaved_4", t, s, count), count)
            result[:, row, :, column] = source[:, t, :, s]
    return result if kv_layout == "NHD" else result.swapaxes(1, 2)


class Program:
    """A module that calls cases."""

    def __init__(self, cases, directory):
        self.cases, self.directory = cases, directory
        self.text, self.arrays, self.types, self.undecided = module_of(cases)
        self.results = [type for case in cases for type in case.function.results]
        self.memrefs = [i for i, type in enumerate(self.types) if type.startswith("memref")]
        self.before = self.execute(prepared(self.text))

    def execute(self, text):
        return execute(text, self.arrays, self.memrefs, len(self.results), self.directory)

    def check(self, *flags):
        """Whether it computes the same after kvq-opt with these flags."""
        after = self.execute(prepared(optimize(self.text, *flags)))
        before = [list(arrays) for arrays in self.before]
        types = list(self.results)
        for i in reversed(range(len(self.memrefs))):
            index, a, b = self.memrefs[i], before[1][i], after[1][i]
            if self.types[index].endswith("xf32>"):  # An output, no cache.
                types.append(self.types[index])
                before[0].append(before[1].pop(i))
                after[0].append(after[1].pop(i))
            elif index in self.undecided and a.tobytes() != b.tobytes():
                before[1][i] = interleaved(a, self.undecided[index])
        # What is the same in all bytes may be anything: not all of it is attention.
        other = [i for i, (a, b) in enumerate(zip(before[0], after[0]))
                 if a.tobytes() != b.tobytes()]
        before[0], after[0], types = ([x[i] for i in other] for x in (before[0], after[0], types))
        elements = [parse_type(type)[1] if "<" in type else type for type in types]
        check_same(before, after, elements, lambda i: types[i])


@pytest.mark.parametrize("file", FILES)
def test_same_after_passes(file, tmp_path):
    program = Program(run_cases(file), tmp_path)
    for passes in dict.fromkeys((FILES[file], OPTIMIZE)):
        program.check(f"--pass-pipeline=builtin.module({passes})")


#: Scripts of the transform dialect, one for each chunk.
SCRIPTS = [
    "Dialect/KVQ/no-fusion.mlir",
    "Dialect/KVQ/transform-fuse.mlir",
]


@pytest.mark.parametrize("file", SCRIPTS)
def test_same_after_scripts(file, tmp_path):
    scripts = {case.script for case in cases_of(file)}
    assert scripts
    for number, script in enumerate(scripts):
        library = tmp_path / f"script_{number}.mlir"
        library.write_text(script)
        program = Program([case for case in run_cases(file) if case.script == script], tmp_path)
        program.check(
            "--pass-pipeline=builtin.module("
            f"transform-preload-library{{transform-library-paths={library}}},"
            "transform-interpreter)"
        )


#: Where misses are errors: the pass without the option that makes them so.
REQUIRED = {
    "Dialect/KVQ/fuse-dequant-attention-required.mlir": FUSE_ATTENTION,
    "Dialect/KVQ/fuse-quantize-append-required.mlir": FUSE_APPEND,
    "Dialect/KVQ/transform-fuse.mlir": f"{FUSE_APPEND},{FUSE_ATTENTION}",
}


@pytest.mark.parametrize("file", REQUIRED)
def test_same_where_not_required(file, tmp_path):
    cases = [case for case in cases_of(file, rejected=True) if case.key not in NOT_RUN]
    assert cases
    program = Program(cases, tmp_path)
    for passes in (REQUIRED[file], OPTIMIZE):
        program.check(f"--pass-pipeline=builtin.module({passes})")


# Caches of floats -------------------------------------------------------------

#: Lit inputs of the conversion, with the formats of keys and values it converts to
#: (values keep theirs without one), and further options.
CONVERSIONS = [
    ("Dialect/KVQ/convert-and-fuse.mlir", "nvfp4", "fp8", ""),
    ("Dialect/KVQ/convert-cache-format-missed.mlir", "nvfp4", "fp8", ""),
    ("Dialect/KVQ/convert-cache-format-without-caches.mlir", "nvfp4", "fp8", ""),
    ("Dialect/KVQ/convert-cache-format.mlir", "nvfp4", "fp8", ""),
    ("Dialect/KVQ/convert-cache-format.mlir", "nvfp4", "", "scale-layout=undecided"),
    ("Pipelines/kvq-optimize-formats.mlir", "nvfp4", "fp8", ""),
]
CONVERTED_FILES = list(dict.fromkeys(file for file, *_ in CONVERSIONS))

#: What starts in another format: test_convert.py compares such programs with NumPy.
QUANTIZED = {"convert-cache-format:keeps_global_scale", "convert-cache-format:requantize"}

#: By element type, for these conversions: one format has each.
CONVERTED = {"f4E2M1FN": formats.FORMATS["nvfp4"], "f8E4M3FN": formats.FORMATS["fp8"]}


def floats_of(array, type):
    if parse_type(type)[1] == "bf16":
        array = array.view(ml_dtypes.bfloat16)
    return array.astype(np.float32)


def quantized(arrays, types, new_types):
    """NumPy's conversion of the arguments of a program to those of the converted one:
    scales come at the end, in order."""
    result, scales = [], []
    for array, old, new in zip(arrays, types, new_types):
        if old != new:
            fmt = CONVERTED[parse_type(new)[1]]
            array, block_scales = formats.quantize(fmt, floats_of(array, old))
            if fmt.block:
                scales.append(block_scales)
        result.append(array)
    return result + scales


@pytest.mark.parametrize("file,k_format,v_format,more", CONVERSIONS)
def test_converted(file, k_format, v_format, more, tmp_path):
    """Caches hold what NumPy makes of the rows of the caches of floats, and
    kvq-optimize gives what the conversion alone gives."""
    program = Program([case for case in run_cases(file) if case.key not in QUANTIZED], tmp_path)
    options = f"key-format={k_format} value-format={v_format} global-scale=one {more}"
    text = optimize(program.text, f"--kvq-convert-cache-format={options}")
    converted = copy.copy(program)
    converted.text = text
    main = parse_functions(optimize(text, "--mlir-print-local-scope"))["main"]
    converted.types = [type for _, type in main.parameters]
    converted.arrays = quantized(program.arrays, program.types, converted.types)
    assert len(converted.arrays) == len(converted.types)
    converted.memrefs = [i for i, t in enumerate(converted.types) if t.startswith("memref")]
    converted.before = converted.execute(prepared(text))

    after = list(program.arrays)
    for index, array in zip(program.memrefs, program.before[1]):
        after[index] = array
    expected = quantized(after, program.types, converted.types)
    for index, found in zip(converted.memrefs, converted.before[1]):
        # What keeps its type is no cache, but may hold rows that were read.
        if converted.types[index] not in program.types[index : index + 1]:
            assert found.tobytes() == expected[index].tobytes(), converted.types[index]
    converted.check("--kvq-optimize")


# The lists --------------------------------------------------------------------

#: Where inputs of the optimizing passes lie.
PATTERNS = [
    "Dialect/KVQ/assign-block-scales*.mlir",
    "Dialect/KVQ/convert-*.mlir",
    "Dialect/KVQ/fold-rope*.mlir",
    "Dialect/KVQ/fuse-*.mlir",
    "Dialect/KVQ/no-fusion.mlir",
    "Dialect/KVQ/raise-attention*.mlir",
    "Dialect/KVQ/select-mma*.mlir",
    "Dialect/KVQ/split-kv*.mlir",
    "Dialect/KVQ/transform-fuse.mlir",
    "Pipelines/kvq-optimize*.mlir",
]
#: Its function does nothing.
EMPTY = "Dialect/KVQ/convert-cache-format-layers.mlir"
#: What starts in fp4 has no meaning before: test_convert.py compares what it becomes
#: with NumPy.
UNDECIDED = {
    "Dialect/KVQ/assign-block-scales-fp4-chips.mlir",
    "Dialect/KVQ/assign-block-scales-fp4.mlir",
    "Dialect/KVQ/convert-cache-format-fp4.mlir",
}


def test_every_input_is_here():
    files = {str(path.relative_to(TEST)) for p in PATTERNS for path in TEST.glob(p)}
    listed = {*FILES, *CONVERTED_FILES, *SCRIPTS, *REQUIRED, *UNDECIDED, EMPTY}
    assert listed <= files
    assert [file for file in sorted(files - listed) if cases_of(file)] == []


def test_what_does_not_run(tmp_path):
    found = {
        case.key: case for file in (*FILES, *CONVERTED_FILES, *SCRIPTS) for case in cases_of(file)
    }
    found |= {case.key: case for file in REQUIRED for case in cases_of(file, rejected=True)}
    assert {*SIZES, *NOT_RUN, *QUANTIZED} <= set(found)
    for key in NOT_RUN:
        with pytest.raises(AssertionError):
            Program([found[key]], tmp_path / key)
    assert len(found) - len(NOT_RUN) > 160
