# RUN: %pytest %s
# REQUIRES: python, compiler
"""A rotary position embedding that goes into the append leaves the same bytes. (NaN
has any sign before it does, so that there is none here.)"""

import os
import sys

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))

from execute import execute, optimize  # noqa: E402

ROWS, HEADS, DIM, PAGES, PAGE = 7, 3, 64, 2, 16
ELEMENTS = {"mxfp4": ("f4E2M1FN", 2), "mxfp8": ("f8E4M3FN", 1)}


class Builder:
    """The text of a function on rows [ROWS, HEADS, n] in f32."""

    def __init__(self):
        self.lines, self.count = [], 0

    def emit(self, text):
        self.count += 1
        self.lines.append(f"  %{self.count} = {text}")
        return f"%{self.count}"

    @staticmethod
    def type(*sizes):
        return f"tensor<{'x'.join(map(str, sizes))}xf32>"

    def rows(self, channels):
        return self.type(ROWS, HEADS, channels)

    def slice(self, value, channels, offset, size):
        return self.emit(f"tensor.extract_slice {value}[0, 0, {offset}] "
                         f"[{ROWS}, {HEADS}, {size}] [1, 1, 1] : "
                         f"{self.rows(channels)} to {self.rows(size)}")

    def concat(self, values, types, dim, result):
        return self.emit(f"tensor.concat dim({dim}) {', '.join(values)} : "
                         f"({', '.join(types)}) -> {result}")

    def spread(self, table, pairs):
        """A table of a row for each token as rows of all heads."""
        empty = self.emit(f"tensor.empty() : {self.rows(pairs)}")
        return self.emit(f"linalg.broadcast ins({table} : {self.type(ROWS, pairs)}) "
                         f"outs({empty} : {self.rows(pairs)}) dimensions = [1]")

    def map(self, body, operands, channels, element="f32"):
        """Elementwise; `body` makes %r of %a, and of %b of a second operand."""
        type = self.rows(channels)
        types = [type.replace("f32", element)] * len(operands)
        empty = self.emit(f"tensor.empty() : {type}")
        identity = "affine_map<(n, h, d) -> (n, h, d)>"
        maps = ", ".join([identity] * (len(operands) + 1))
        block = ", ".join(f"%{name}: {element}" for name, _ in zip("ab", operands))
        return self.emit(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = "
            f'["parallel", "parallel", "parallel"]}} ins({", ".join(operands)} : '
            f"{', '.join(types)}) outs({empty} : {type}) {{\n  ^bb0({block}, %out: f32):\n"
            f"    %r = {body}\n    linalg.yield %r : f32\n  }} -> {type}")

    def binary(self, op, lhs, rhs, channels):
        return self.map(f"arith.{op} %a, %b : f32", [lhs, rhs], channels)


def rotate_half(b, x, rotated):
    """As models of the Llama family write it: x * cos + rotate_half(x) * sin."""
    half = rotated // 2
    table = b.type(ROWS, half)
    cos, sin = (b.spread(b.concat([t, t], [table, table], 1, b.type(ROWS, rotated)), rotated)
                for t in ("%cos", "%sin"))
    low, high = b.slice(x, rotated, 0, half), b.slice(x, rotated, half, half)
    negative = b.map("arith.negf %a : f32", [high], half)
    turned = b.concat([negative, low], [b.rows(half)] * 2, 2, b.rows(rotated))
    return b.binary("addf", b.binary("mulf", x, cos, rotated),
                    b.binary("mulf", turned, sin, rotated), rotated)


def interleaved(b, x, rotated):
    half = rotated // 2
    cos, sin = b.spread("%cos", half), b.spread("%sin", half)
    pairs, plane = b.type(ROWS, HEADS, half, 2), b.rows(half)
    x = b.emit(f"tensor.expand_shape {x} [[0], [1], [2, 3]] output_shape "
               f"[{ROWS}, {HEADS}, {half}, 2] : {b.rows(rotated)} into {pairs}")
    low, high = (b.emit(f"tensor.extract_slice {x}[0, 0, 0, {i}] [{ROWS}, {HEADS}, {half}, 1] "
                        f"[1, 1, 1, 1] : {pairs} to {plane}") for i in (0, 1))
    first = b.binary("subf", b.binary("mulf", low, cos, half),
                     b.binary("mulf", high, sin, half), half)
    second = b.binary("addf", b.binary("mulf", low, sin, half),
                      b.binary("mulf", high, cos, half), half)
    result = b.emit(f"tensor.empty() : {pairs}")
    for i, part in enumerate((first, second)):
        result = b.emit(f"tensor.insert_slice {part} into {result}[0, 0, 0, {i}] "
                        f"[{ROWS}, {HEADS}, {half}, 1] [1, 1, 1, 1] : {plane} into {pairs}")
    return b.emit(f"tensor.collapse_shape {result} [[0], [1], [2, 3]] : {pairs} into "
                  f"{b.rows(rotated)}")


def module(style, rotated, element, fmt):
    b = Builder()
    x = "%x"
    if element != "f32":
        x = b.map(f"arith.extf %a : {element} to f32", ["%x"], DIM, element)
    part = x if rotated == DIM else b.slice(x, DIM, 0, rotated)
    y = style(b, part, rotated)
    if rotated != DIM:
        rest = b.slice(x, DIM, rotated, DIM - rotated)
        y = b.concat([y, rest], [b.rows(rotated), b.rows(DIM - rotated)], 2, b.rows(DIM))
    table = b.type(ROWS, rotated // 2)
    data = f"memref<{PAGES}x{PAGE}x{HEADS}x{DIM}x{ELEMENTS[fmt][0]}>"
    scales = f"memref<{PAGES}x{PAGE}x{HEADS}x{DIM // 32}xf8E8M0FNU>"
    cache = f"!kvq.cache<key, {PAGE}x{HEADS}x{DIM}, {fmt}, NHD, linear>"
    lines = "\n".join(b.lines)
    return f"""func.func @main(%x: tensor<{ROWS}x{HEADS}x{DIM}x{element}>, %cos: {table},
    %sin: {table}, %d: {data}, %s: {scales}, %slots: tensor<{ROWS}xi64>) {{
  %k = kvq.make_cache data(%d : {data}) scales(%s : {scales}) : {cache}
{lines}
  kvq.quantize_append ins({y} : {b.rows(DIM)}) into(%k : {cache})
      slot_mapping(%slots : tensor<{ROWS}xi64>)
  return
}}
"""


@pytest.mark.parametrize("fmt", ELEMENTS)
@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("rotated", [DIM, DIM // 2])
@pytest.mark.parametrize("style", [rotate_half, interleaved], ids=lambda style: style.__name__)
def test_bytes(style, rotated, element, fmt, tmp_path):
    random = np.random.default_rng(rotated)
    x = random.standard_normal((ROWS, HEADS, DIM)).astype(np.float32)
    x *= np.exp2(random.integers(-140, 100, (ROWS, HEADS, 1))).astype(np.float32)
    x[0, 0, ::5] = -0.0
    if element == "bf16":
        x = x.astype(ml_dtypes.bfloat16)
    angles = random.uniform(-4, 4, (ROWS, rotated // 2))
    arrays = [x, np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32),
              np.full((PAGES, PAGE, HEADS, DIM // ELEMENTS[fmt][1]), 0x5A, np.uint8),
              np.full((PAGES, PAGE, HEADS, DIM // 32), 0x5A, np.uint8),
              random.permutation(PAGES * PAGE)[:ROWS].astype(np.int64)]
    text = module(style, rotated, element, fmt)
    folded = optimize(text, "--kvq-fuse-quantize-append")
    assert "rope(" in folded and "arith.mulf" not in folded, folded
    before = execute(text, arrays, [3, 4], 0, tmp_path / "before")[1]
    after = execute(folded, arrays, [3, 4], 0, tmp_path / "after")[1]
    for a, b, start in zip(before, after, arrays[3:]):
        assert (a != start).any()
        assert a.tobytes() == b.tobytes()
