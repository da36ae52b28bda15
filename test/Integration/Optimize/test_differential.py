# RUN: %pytest %s
# REQUIRES: python, compiler
"""Passes and the whole pipeline keep what programs compute: random functions run on
the CPU before and after give the same bytes of caches and the same outputs.

By default each function runs once after, after a few of the passes or the whole
pipeline. KVQ_DIFFERENTIAL=all runs it after each pass and with all options."""

import os
import subprocess
import sys

import numpy as np
import pytest
from oracle import cache as caches
from oracle import formats

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from execute import call, check_same, execute, optimize  # noqa: E402
from fusion_case import FusionCase, module_of  # noqa: E402

SEED, CASES, BATCH = 77, 400, 20
FLOAT_CASES = 140
ALL = os.environ.get("KVQ_DIFFERENTIAL") == "all"

#: The passes in the order of the pipeline: after each the functions are the same.
SEQUENCE = [
    "func.func(kvq-raise-attention)",
    "kvq-fuse-quantize-append",
    "kvq-fuse-dequant-attention",
    "kvq-assign-block-scales{chip=sm_90a}",
    "func.func(kvq-select-mma{chip=sm_90a})",
    "func.func(kvq-split-kv{split-length=4 max-queries=100})",
]
#: The last, as only some values can be laid out for it.
READER = "value-reader=trtllm-gen split-length=4"
PIPELINES = ["chip=cpu", "chip=sm_90a split-length=8", "chip=sm_100a split-length=4", READER]


def check(cases, before, text, arrays, memrefs, directory):
    types = [type for case in cases for type in case.out_types]
    owners = [case for case in cases for _ in case.out_types]
    after = execute(text, arrays, memrefs, len(types), directory)
    check_same(before, after, types, lambda i: (owners[i].name, owners[i].text()))


def run_passes(text, *passes):
    return optimize(text, f"--pass-pipeline=builtin.module({','.join(passes)})")


def can_interleave(case):
    """Whether the kernels of trtllm-gen can read the values."""
    v = case.v
    return not v.fmt.block or caches.scale_layout_is_legal("interleaved_4", case.page, v.scales)


def executed(cases, directory):
    """A module of cases with its arguments and what it computes."""
    text, arrays, memrefs = module_of(cases)
    count = sum(len(case.out_types) for case in cases)
    return text, arrays, memrefs, execute(text, arrays, memrefs, count, directory)


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_passes(batch, tmp_path):
    cases = [FusionCase(SEED, i) for i in range(batch * BATCH, (batch + 1) * BATCH)]
    # Odd batches run through the pipeline, even ones through passes.
    stages = range(1, len(SEQUENCE) + 1)
    pipelines = PIPELINES
    if not ALL:
        stages = [] if batch % 2 else [2 + batch // 2 % (len(SEQUENCE) - 1)]
        pipelines = [PIPELINES[batch // 2 % len(PIPELINES)]] if batch % 2 else []
    if pipelines == [READER]:
        cases = [case for case in cases if can_interleave(case)]
    text, arrays, memrefs, before = executed(cases, tmp_path / "before")
    last = optimize(text)
    for stage in stages:
        optimized = run_passes(text, *SEQUENCE[:stage])
        if optimized != last:  # Else it computes the same.
            check(cases, before, optimized, arrays, memrefs, tmp_path / "after")
        last = optimized
        assert run_passes(optimized, SEQUENCE[stage - 1]) == optimized
    for options in pipelines:
        if ALL and options == READER:
            cases = [case for case in cases if can_interleave(case)]
            text, arrays, memrefs, before = executed(cases, tmp_path / "before")
        optimized = optimize(text, f"--kvq-optimize={options}")
        check(cases, before, optimized, arrays, memrefs, tmp_path / "after")
        assert optimize(optimized, f"--kvq-optimize={options}") == optimized


# Caches of floats -------------------------------------------------------------

FORMATS = [
    ("nvfp4", "nvfp4"),
    ("fp8", "mxfp4"),
    ("nvfp4", "fp8"),
    ("mxfp8", "nvfp4"),
    ("mxfp4", "mxfp8"),
    ("f16", "nvfp4"),
    ("fp4", "fp4"),
]
#: What fp4 becomes on the chip.
DECIDED = "nvfp4"


def converted_arrays(cases, arrays, k_format, v_format):
    """The arguments of a module of cases over floats after the conversion, with
    global-scale=one: bytes of the formats, and block scales at the end."""
    arrays, scales, first = list(arrays), [], 0
    for case in cases:
        for index, side in sorted(case.pools.items()):
            name = k_format if side.type.startswith("!kvq.cache<key") else v_format
            fmt = formats.FORMATS[DECIDED if name == "fp4" else name]
            shape = arrays[first + index].shape[:-1]
            data = np.zeros((*shape, fmt.data_bytes(side.dim)), np.uint8)
            arrays[first + index] = data.view(np.float16) if fmt.name == "f16" else data
            if fmt.block:
                scales.append(np.zeros((*shape, fmt.num_scales(side.dim)), np.uint8))
        first += len(case.arguments)
    return arrays + scales


@pytest.mark.parametrize("batch", range(FLOAT_CASES // BATCH))
def test_converted_caches(batch, tmp_path):
    """What the pipeline makes of converted caches is what the conversion alone
    gives, which test_convert.py compares with NumPy."""
    cases = [
        FusionCase(SEED + 1, i, floats=True) for i in range(batch * BATCH, (batch + 1) * BATCH)
    ]
    text, arrays, memrefs = module_of(cases)
    k_format, v_format = FORMATS[batch % len(FORMATS)]
    options = f"key-format={k_format} value-format={v_format} global-scale=one"
    converted = optimize(text, f"--kvq-convert-cache-format={options}")
    if "fp4" in (k_format, v_format):
        converted = optimize(converted, "--kvq-assign-block-scales=global-scale=one")
    inputs = converted_arrays(cases, arrays, k_format, v_format)
    memrefs += range(len(arrays), len(inputs))
    results = sum(len(case.out_types) for case in cases)
    before = execute(converted, inputs, memrefs, results, tmp_path / "before")
    for rest in (SEQUENCE[:3], None) if ALL else (None,):
        if rest:
            optimized = run_passes(converted, *rest)
        else:
            optimized = optimize(text, f"--kvq-optimize={options} chip=sm_100a split-length=4")
        check(cases, before, optimized, inputs, memrefs, tmp_path / "after")


# Errors -----------------------------------------------------------------------


def spoil(case, kind):
    """Makes an argument of a case wrong. Returns whether it has such an argument."""
    for index, (value, type, array) in enumerate(case.arguments):
        array = np.copy(array)
        if kind == "page" and value == case.table[0]:
            array[:, 0] = case.pages
        elif kind == "length" and value == case.lens[0]:
            array[-1] = case.length + 1
        elif kind == "slot" and value in case.slots:
            array[0] = case.pages * case.page
        elif kind == "twice" and value in case.slots and len(array) > 1:
            array[:2] = 0
        else:
            continue
        case.arguments[index] = (value, type, array)
        return True
    return False


@pytest.mark.parametrize("kind", ["page", "length", "slot", "twice"])
def test_run_time_errors(kind, tmp_path):
    """What is an error when an unoptimized program runs is one after, with the same
    text."""
    found = 0
    for index in range(CASES):
        case = FusionCase(SEED, index)
        # Without attention that is masked the wrong length may not be looked at.
        if not case.lens[2].all() or not spoil(case, kind):
            continue
        text, arrays, memrefs = module_of([case])
        count = len(case.out_types)
        optimized = optimize(text, "--kvq-optimize=chip=sm_100a split-length=4")
        before, _ = call(text, arrays, memrefs, count, tmp_path)
        after, _ = call(optimized, arrays, memrefs, count, tmp_path)
        assert before.returncode == after.returncode == 1, text
        assert before.stderr == after.stderr != "", text
        found += 1
        if found == (20 if ALL else 4):
            return
    pytest.fail("few cases have such an argument")


def test_every_miss_is_reported():
    """What stays apart has a remark, and nothing else has."""
    for first in range(0, CASES, BATCH):
        cases = [FusionCase(SEED, i) for i in range(first, first + BATCH)]
        done = subprocess.run(
            [
                "kvq-opt",
                "--kvq-fuse-quantize-append",
                "--kvq-fuse-dequant-attention",
                "--remarks-filter-missed=kvq.*",
            ],
            input=module_of(cases)[0],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        for case in cases:
            for op, name in (
                ("kvq.append", "kvq-fuse-quantize-append"),
                ("kvq.attention", "kvq-fuse-dequant-attention"),
            ):
                remarks = [
                    line
                    for line in done.stderr.splitlines()
                    if f"Category:{name} " in line
                    and (f"Function={case.name} " in line or f"Function={case.name}_" in line)
                ]
                assert len(remarks) == case.expected[op], (case.text(), remarks)
