"""Functions on tensors in linalg, as text under construction."""

from typing import NamedTuple


def tensor(shape, element="f32"):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


class Value(NamedTuple):
    name: str
    shape: tuple
    element: str = "f32"

    @property
    def type(self):
        return tensor(self.shape, self.element)

    def __str__(self):
        return f"{self.name} : {self.type}"


class Text:
    """Operations under construction."""

    def __init__(self):
        self.lines, self._count = [], 0

    def emit(self, text):
        self.lines.append(f"  {text}")

    def define(self, text):
        name = f"%{self._count}"
        self._count += 1
        self.emit(f"{name} = {text}")
        return name

    def empty(self, shape, element="f32"):
        name = self.define(f"tensor.empty() : {tensor(shape, element)}")
        return Value(name, shape, element)

    def fill(self, shape, number):
        constant = self.define(f"arith.constant {number} : f32")
        out = self.empty(shape)
        return out._replace(
            name=self.define(
                f"linalg.fill ins({constant} : f32) outs({out}) -> {out.type}"
            )
        )

    def generic(self, loops, inputs, out, body):
        """A linalg.generic with a loop for each letter of `loops`. Inputs and out
        are (value, letters), where 0 stands for a dimension of size 1. In `body`
        the inputs are %a, %b, ... and the output is %o; %y is yielded, or %a where
        there is no body."""
        maps = ", ".join(
            f"affine_map<({', '.join(loops)}) -> ({', '.join(letters)})>"
            for _, letters in [*inputs, out]
        )
        kinds = ", ".join(
            '"parallel"' if loop in out[1] else '"reduction"' for loop in loops
        )
        arguments = [
            f"%{chr(97 + i)}: {v.element}" for i, (v, _) in enumerate(inputs)
        ]
        arguments.append(f"%o: {out[0].element}")
        ins = ""
        if inputs:
            names = ", ".join(v.name for v, _ in inputs)
            ins = f"ins({names} : {', '.join(v.type for v, _ in inputs)}) "
        lines = [f"^bb0({', '.join(arguments)}):", *body.split("\n")]
        lines.append(
            f"linalg.yield {'%y' if body else '%a'} : {out[0].element}"
        )
        text = "".join(f"\n    {line.strip()}" for line in lines if line)
        return out[0]._replace(
            name=self.define(
                f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
                f"{ins}outs({out[0]}) {{{text}\n  }} -> {out[0].type}"
            )
        )

    def map(self, body, *values, element="f32"):
        """Elementwise, on values of one shape."""
        loops = "abcdefgh"[: len(values[0].shape)]
        out = self.empty(values[0].shape, element)
        return self.generic(
            loops, [(v, loops) for v in values], (out, loops), body
        )

    def reshape(self, value, groups, shape):
        """Splits or joins dimensions by groups, such as "[0, 1], [2]"."""
        op, sizes = "collapse_shape", ""
        if len(shape) > len(value.shape):
            op, sizes = "expand_shape", f" output_shape {list(shape)}"
        result = value._replace(shape=shape)
        return result._replace(
            name=self.define(
                f"tensor.{op} {value.name} [{groups}]{sizes} : {value.type} into {result.type}"
            )
        )

    def transpose(self, value, order):
        out = self.empty(tuple(value.shape[i] for i in order), value.element)
        return out._replace(
            name=self.define(
                f"linalg.transpose ins({value}) outs({out}) permutation = {list(order)}"
            )
        )

    def slice(self, value, offsets, sizes, shape):
        """A slice whose dimensions of size 1 that `shape` lacks are dropped."""
        result = value._replace(shape=shape)
        return result._replace(
            name=self.define(
                f"tensor.extract_slice {value.name}{list(offsets)} {list(sizes)} "
                f"{[1] * len(sizes)} : {value.type} to {result.type}"
            )
        )
