"""Caches of many kinds, and kernels of operations on them."""

import copy
import itertools

import device
import numpy as np
import programs
import pytest
from oracle import cache as caches, formats

CASES = [
    # format, page, heads, head_dim, kv_layout, scale_layout, strided, input
    ("nvfp4", 16, 2, 128, "NHD", "linear", False, "bf16"),
    ("nvfp4", 16, 3, 64, "HND", "interleaved_4", True, "f32"),
    ("nvfp4", 128, 1, 64, "NHD", "blocked_128x4", False, "f16"),
    ("nvfp4", 1, 2, 48, "HND", "linear", True, "bf16"),
    ("mxfp4", 4, 2, 128, "HND", "interleaved_4", False, "bf16"),
    ("mxfp8", 8, 3, 96, "NHD", "linear", True, "f16"),
    ("fp8", 16, 2, 128, "HND", None, False, "bf16"),
    ("fp8", 3, 1, 40, "NHD", None, True, "f32"),
    ("bf16", 16, 2, 64, "NHD", None, False, "f32"),
    ("f16", 5, 2, 24, "HND", None, True, "f16"),
]
#: One chip of each set of conversions.
CHIPS = ("sm_80", "sm_89", "sm_100a")


def in_turns(*others, cases=CASES):
    """Each case, with each of some other values, on one of the chips: with all
    chips where there are as many values. A case has a readable id."""
    turns = []
    for i, case in enumerate(cases):
        for j, other in enumerate(itertools.product(*others)):
            chip = CHIPS[(i + j) % len(CHIPS)]
            turns.append(pytest.param(
                case, *other, chip,
                id="-".join([case[0], str(case[1]), *other, chip])))
    return turns


#: What unused bytes hold.
POISON = 0xA5


class Pool:
    """A cache of six pages with the arrays that hold its bytes. Where it is strided
    data lies at multiples of `strided` bytes, if that is a number, else of no more
    than the elements need."""

    def __init__(self, case, random=None):
        (fmt, page, heads, dim, kv_layout, scale_layout, strided,
         self.input) = case
        shape = (page, heads) if kv_layout == "NHD" else (heads, page)
        fmt = formats.FORMATS[fmt]

        def make(width, step):
            # Gaps after rows, and a start that is a multiple of no more than
            # the step.
            offset, gap = (step, 2 * step) if strided else (0, 0)
            return programs.padded((6, *shape, width), np.uint8, POISON, offset,
                                   gap)

        self.strided = strided
        self.data, self.data_all = make(
            fmt.data_bytes(dim), max(1, fmt.bits // 8, int(strided)))
        self.scales = self.scales_all = None
        if fmt.block:
            self.scales, self.scales_all = make(fmt.num_scales(dim), 1)
        self.g = np.array(0.0107 if fmt.has_global else 1, np.float32)
        if random is not None:
            self.data[...] = random.integers(0, 256, self.data.shape)
            if fmt.block:
                self.scales[...] = random.integers(0, 256, self.scales.shape)
        self.cache = caches.Cache(
            self.data, self.scales, self.g, page=page, heads=heads,
            head_dim=dim, fmt=fmt, kv_layout=kv_layout,
            scale_layout=scale_layout or "linear")

    def arrays(self):
        return [self.data_all, self.scales_all, self.g]

    def operands(self, prefix):
        return {prefix + "data": self.data, prefix + "scales": self.scales,
                prefix + "global_scale": self.g}

    def declare(self, name):
        """(arguments, operation that makes the handle). A handle whose name is
        "value" is one of values."""
        cache, fmt = self.cache, self.cache.fmt
        shape = cache.shape(cache.head_dim)

        def type(shape, element):
            layout = ", strided<[?, ?, ?, 1], offset: ?>" if self.strided else ""
            sizes = "x".join(map(str, shape[1:]))
            return f"memref<?x{sizes}x{element}{layout}>"

        data = type(shape, programs.ELEMENTS[fmt.element])
        arguments = [f"%{name}_data: {data}"]
        make = f"%{name} = kvq.make_cache data(%{name}_data : {data})"
        if fmt.block:
            scales = type(cache.shape(cache.num_scales),
                          programs.ELEMENTS[fmt.scale])
            arguments.append(f"%{name}_scales: {scales}")
            make += f" scales(%{name}_scales : {scales})"
        if fmt.has_global:
            arguments.append(f"%{name}_g: memref<f32>")
            make += f" global_scale(%{name}_g : memref<f32>)"
        handle = programs.cache_type(cache)
        if name == "value":
            handle = handle.replace("cache<key", "cache<value")
        return arguments, f"{make} : {handle}"


def compare(pool, expected):
    for found, wanted in zip(pool.arrays(), expected.arrays()):
        np.testing.assert_array_equal(found, wanted)


def clone(pool):
    """A pool of the same bytes. (The views are made again over the copies.)"""
    other = copy.copy(pool)

    def move(view, whole):
        start = view.ctypes.data - whole.ctypes.data
        copied = whole.copy()
        return np.ndarray(view.shape, view.dtype, copied, start,
                          view.strides), copied

    other.data, other.data_all = move(pool.data, pool.data_all)
    if pool.scales is not None:
        other.scales, other.scales_all = move(pool.scales, pool.scales_all)
    cache = pool.cache
    other.cache = caches.Cache(
        other.data, other.scales, cache.g, page=cache.page, heads=cache.heads,
        head_dim=cache.head_dim, fmt=cache.fmt, kv_layout=cache.kv_layout,
        scale_layout=cache.scale_layout)
    return other


def compile_op(pools, arguments, op, chip, directory):
    made = [pool.declare(name) for name, pool in pools.items()]
    arguments = [a for args, _ in made for a in args] + arguments
    lines = [text for _, text in made] + [op, "return"]
    body = "\n  ".join(lines)
    return device.Compiled(
        f"func.func @main({', '.join(arguments)}) {{\n  {body}\n}}\n", chip,
        directory).only


def check_error(word, *expected):
    assert tuple(int(n) for n in word) == expected, word
