"""Attention written in linalg, in many ways, as the text of a function."""

import numpy as np

NINF = {"f32": "0xFF800000", "f16": "0xFC00", "bf16": "0xFF80"}


def tensor(shape, element):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def affine(rank, results):
    dims = ", ".join(f"d{i}" for i in range(rank))
    return f"affine_map<({dims}) -> ({', '.join(map(str, results))})>"


class Text:
    """A function @main under construction. A tensor is (name, dims, element):
    dims names each dimension by a letter whose size is in `sizes`."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.lines, self.arguments, self.count = [], [], 0

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def shape(self, dims):
        return tuple(int(np.prod([self.sizes[d] for d in dim])) for dim in dims)

    def type(self, value):
        return tensor(self.shape(value[1]), value[2])

    def emit(self, text):
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name

    def argument(self, dims, element):
        """dims: a string of letters, or a list of strings (merged letters)."""
        name = f"%arg{len(self.arguments)}"
        value = (name, list(dims), element)
        self.arguments.append(value)
        return value

    def constant(self, number, element):
        return self.emit(f"arith.constant {number} : {element}")

    def empty(self, dims, element):
        value = (None, list(dims), element)
        name = self.emit(f"tensor.empty() : {self.type(value)}")
        return (name, list(dims), element)

    def fill(self, number, dims, element):
        cst = self.constant(number, element)
        out = self.empty(dims, element)
        name = self.emit(f"linalg.fill ins({cst} : {element}) outs({out[0]} : "
                         f"{self.type(out)}) -> {self.type(out)}")
        return (name, list(dims), element)

    def generic(self, loops, inputs, out, body):
        """A generic over single-letter loops; `body` takes the names of the
        block's arguments and returns (lines, yielded)."""
        def results(dims):
            return [f"d{loops.index(d)}" if d else 0 for d in dims]
        maps = ", ".join(affine(len(loops), results(v[1])) for v in [*inputs, out])
        kinds = ", ".join('"parallel"' if d in out[1] else '"reduction"'
                          for d in loops)
        names = [f"%a{i}" for i in range(len(inputs))] + ["%out"]
        block = ", ".join(f"{n}: {v[2]}" for n, v in zip(names, [*inputs, out]))
        lines, result = body(*names)
        ins = ""
        if inputs:
            ins = (f"ins({', '.join(v[0] for v in inputs)} : "
                   f"{', '.join(map(self.type, inputs))}) ")
        inner = "".join(f"\n    {line}" for line in lines)
        name = self.emit(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"{ins}outs({out[0]} : {self.type(out)}) {{\n  ^bb0({block}):{inner}\n"
            f"    linalg.yield {result} : {out[2]}\n  }} -> {self.type(out)}")
        return (name, out[1], out[2])

    def map(self, inputs, body, dims=None, element=None):
        """Elementwise, with the inputs broadcast to `dims`."""
        dims = dims or inputs[0][1]
        out = self.empty(dims, element or inputs[0][2])
        return self.generic(dims, inputs, out, body)

    def unary(self, value, op):
        return self.map([value], lambda a, out: (
            [f"%r = {op} {a} : {value[2]}"], "%r"))

    def binary(self, op, lhs, rhs):
        return self.map([lhs, rhs], lambda a, b, out: (
            [f"%r = {op} {a}, {b} : {lhs[2]}"], "%r"))

    def scaled(self, op, value, number):
        cst = self.constant(number, value[2])
        return self.map([value], lambda a, out: (
            [f"%r = {op} {a}, {cst} : {value[2]}"], "%r"))

    def cast(self, value, element):
        if value[2] == element:
            return value
        wider = {"f16": 16, "bf16": 16, "f32": 32}
        op = "extf" if wider[element] > wider[value[2]] else "truncf"
        return self.map([value], lambda a, out: (
            [f"%r = arith.{op} {a} : {value[2]} to {element}"], "%r"),
            element=element)

    def reduce(self, value, dim, op, init, unit=False):
        """Over one dimension; with `unit` it stays, of size 1."""
        dims = ["" if d == dim else d for d in value[1]]
        if not unit:
            dims.remove("")
        out = self.fill(init, dims, value[2])
        return self.generic(value[1], [value], out, lambda a, out: (
            [f"%r = {op} {a}, {out} : {value[2]}"], "%r"))

    def transpose(self, value, dims):
        dims = list(dims)
        if dims == value[1]:
            return value
        out = self.empty(dims, value[2])
        order = [value[1].index(d) for d in dims]
        name = self.emit(
            f"linalg.transpose ins({value[0]} : {self.type(value)}) outs({out[0]} : "
            f"{self.type(out)}) permutation = {order}")
        return (name, dims, value[2])

    def reshape(self, op, value, dims, fine):
        """tensor.expand_shape or collapse_shape; `fine` is the longer list."""
        dims = list(dims)
        coarse = value[1] if op == "expand_shape" else dims
        groups, position = [], 0
        for dim in coarse:
            count = 0
            letters = ""
            while letters != dim or (dim == "" and count == 0):
                letters += fine[position + count]
                count += 1
            # Empty dimensions that follow belong to this one.
            groups.append(list(range(position, position + count)))
            position += count
        result = (None, dims, value[2])
        sizes = ""
        if op == "expand_shape":
            sizes = f" output_shape {list(self.shape(dims))}"
        name = self.emit(f"tensor.{op} {value[0]} {groups}{sizes} : "
                         f"{self.type(value)} into {self.type(result)}")
        return (name, dims, value[2])

    def expand(self, value, dims):
        dims = list(dims)
        return value if dims == value[1] else self.reshape(
            "expand_shape", value, dims, dims)

    def collapse(self, value, dims):
        dims = list(dims)
        return value if dims == value[1] else self.reshape(
            "collapse_shape", value, dims, value[1])

    def concat(self, values, dim, letter):
        """Along the dimension `dim` of the first; the sum is called `letter`."""
        position = values[0][1].index(dim)
        dims = list(values[0][1])
        dims[position] = letter
        result = (None, dims, values[0][2])
        types = ", ".join(map(self.type, values))
        name = self.emit(f"tensor.concat dim({position}) {', '.join(v[0] for v in values)}"
                         f" : ({types}) -> {self.type(result)}")
        return (name, dims, values[0][2])

    def slice(self, value, dim, letter, offset):
        """A part of one dimension, which is then called `letter`."""
        position = value[1].index(dim)
        dims = list(value[1])
        dims[position] = letter
        result = (None, dims, value[2])
        offsets = [offset if i == position else 0 for i in range(len(dims))]
        name = self.emit(f"tensor.extract_slice {value[0]}{offsets} "
                         f"{list(self.shape(dims))} {[1] * len(dims)} : "
                         f"{self.type(value)} to {self.type(result)}")
        return (name, dims, value[2])

    def dot(self, lhs, rhs, dims, element, swap=False):
        """sum of lhs * rhs over the dimensions that `dims` has not."""
        out = self.fill("0.0", dims, element)
        loops = list(dict.fromkeys([*dims, *lhs[1], *rhs[1]]))
        if swap:
            lhs, rhs = rhs, lhs

        def body(a, b, out):
            lines = []
            names = []
            for name, value in ((a, lhs), (b, rhs)):
                if value[2] != element:
                    lines.append(f"{name}e = arith.extf {name} : {value[2]} to {element}")
                    name += "e"
                names.append(name)
            lines += [f"%p = arith.mulf {names[0]}, {names[1]} : {element}",
                      f"%r = arith.addf {out}, %p : {element}"]
            return lines, "%r"
        return self.generic(loops, [lhs, rhs], out, body)

    def batch_matmul(self, lhs, rhs, dims, element):
        """A named one, of rank 3."""
        out = self.fill("0.0", dims, element)
        name = self.emit(
            f"linalg.batch_matmul ins({lhs[0]}, {rhs[0]} : {self.type(lhs)}, "
            f"{self.type(rhs)}) outs({out[0]} : {self.type(out)}) -> {self.type(out)}")
        return (name, list(dims), element)

    def function(self, result):
        arguments = ", ".join(f"{v[0]}: {self.type(v)}" for v in self.arguments)
        body = "".join(f"  {line}\n" for line in self.lines)
        return (f"func.func @main({arguments}) -> {self.type(result)} {{\n{body}"
                f"  return {result[0]} : {self.type(result)}\n}}\n")
