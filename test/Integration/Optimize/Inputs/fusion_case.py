"""Random functions that quantize, append, gather and attend, with what the two
fusions are to make of them.

A case is one function over memrefs of a key and a value cache, with functions
that it calls. Everything is drawn from one seed: formats and layouts, shapes, how
rows are moved on the way, in which order operations come, which handles share
bytes, where handles come from, loops, branches and calls.
"""

import ml_dtypes
import numpy as np
from oracle import cache as caches
from oracle import formats

ELEMENTS = {"e2m1": "f4E2M1FN", "e4m3": "f8E4M3FN", "e8m0": "f8E8M0FNU",
            "bf16": "bf16", "f16": "f16"}


def tensor(shape, element):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


class Side:
    """The key or the value cache of a case."""

    def __init__(self, case, name, dim):
        r = case.random
        self.case, self.name, self.dim = case, name, dim
        self.fmt = formats.FORMATS[r.choice(case.formats)]
        self.scales = self.fmt.num_scales(dim)
        layouts = [layout for layout in ("linear", "interleaved_4")
                   if self.fmt.block and (layout == "linear" or name == "v")
                   and caches.scale_layout_is_legal(layout, case.page, self.scales)]
        self.layout = r.choice(layouts) if layouts else None
        self.kv_layout = r.choice(["NHD", "HND"])
        self.g = float(np.float32(r.choice([0.01, 0.37, 1.0])))
        side = "key" if name == "k" else "value"
        layout = f", {self.layout}" if self.layout else ""
        self.type = (f"!kvq.cache<{side}, {case.page}x{case.heads}x{dim}, "
                     f"{self.fmt.name}, {self.kv_layout}{layout}>")
        #: Whether handles are made of one memref, and not selected.
        self.known = True
        self.element = ELEMENTS[self.fmt.element]
        self.scale_element = ELEMENTS.get(self.fmt.scale)

    def parts(self, shape):
        """Types of data and scales of rows [..., dim]."""
        types = [tensor((*shape, self.dim), self.element)]
        if self.scales:
            types.append(tensor((*shape, self.scales), self.scale_element))
        return types

    def handle(self, fresh=True):
        """Emits the memref arguments, once, and a make_cache of them."""
        case = self.case
        if fresh:
            sizes = ((case.page, case.heads) if self.kv_layout == "NHD"
                     else (case.heads, case.page))
            # Zeros: valid scales whatever is read.
            bytes_ = np.zeros((case.pages, *sizes, self.fmt.data_bytes(self.dim)), np.uint8)
            if self.fmt.bits == 16:
                bytes_ = bytes_.view(np.float16 if self.fmt.name == "f16" else np.uint16)
            dims = "x".join(map(str, sizes))
            case.pools[len(case.arguments)] = self
            self.operands = [("data", *case.argument(
                f"memref<?x{dims}x{self.dim}x{self.element}>", bytes_))]
            if self.scales:
                self.operands.append(("scales", *case.argument(
                    f"memref<?x{dims}x{self.scales}x{self.scale_element}>",
                    np.zeros((case.pages, *sizes, self.scales), np.uint8))))
            if self.fmt.has_global:
                self.operands.append(("global_scale", *case.argument(
                    "memref<f32>", np.array(self.g, np.float32))))
        text = " ".join(f"{word}({value} : {type})" for word, value, type in self.operands)
        return case.define(f"kvq.make_cache {text} : {self.type}")

    def load_global_scale(self, handle, how):
        """An f32 that holds the global scale, or None."""
        if not self.fmt.has_global:
            return None
        if how == "argument":
            return self.case.argument("f32", f"{self.g:.9g}")[0]
        memref = self.operands[-1][1]
        if how == "accessor" or not self.known:
            memref = self.case.define(
                f"kvq.cache_global_scale {handle} : {self.type} -> memref<f32>")
        return self.case.define(f"memref.load {memref}[] : memref<f32>")


class FusionCase:
    def __init__(self, seed, index, floats=False):
        """With `floats` caches hold f16 or bf16."""
        self.random = r = np.random.default_rng([seed, index])
        self.name = f"case_{index}"
        self.formats = ["bf16", "f16"] if floats else sorted(formats.FORMATS)
        self.arguments, self.body, self.helpers = [], [], []
        #: The side whose data each of these arguments is.
        self.pools = {}
        #: Names of slot mappings.
        self.slots = []
        self.indent, self.count = "  ", 0
        self.page = int(r.choice([1, 4, 8]))
        self.heads = int(r.choice([1, 2, 3]))
        self.batch = int(r.choice([1, 2, 3]))
        self.group = int(r.choice([1, 2, 4]))
        self.queries = int(r.choice([1, 3]))
        self.table_pages = int(r.choice([1, 2, 3]))
        self.length = self.page * self.table_pages
        self.pages = self.batch * self.table_pages + 1
        self.k = Side(self, "k", int(r.choice([32, 64])))
        self.v = Side(self, "v", int(r.choice([32, 64])))
        #: What is to be left of each operation after both fusions.
        self.expected = {"kvq.append": 0, "kvq.quantize_append": 0,
                         "kvq.attention": 0, "kvq.dequant_attention": 0}
        self.build()

    # Emitting -----------------------------------------------------------------

    def emit(self, text):
        self.body.append(self.indent + text)

    def define(self, text, results=1):
        value = f"%v{self.count}"
        self.count += 1
        self.emit(f"{value}{f':{results}' if results > 1 else ''} = {text}")
        return value if results == 1 else [f"{value}#{i}" for i in range(results)]

    def argument(self, type, array):
        value = f"%a{len(self.arguments)}"
        self.arguments.append((value, type, array))
        return value, type

    def empty(self, type):
        return self.define(f"tensor.empty() : {type}")

    def generic(self, x, x_type, type, indices, init, source, element, body):
        """A linalg.generic over x; `body` computes from %in, None yields it."""
        dims = "abcde"[: type.count("x")]
        loops = f"({', '.join(dims)})"
        parallel = ", ".join(['"parallel"'] * len(dims))
        value = f"%v{self.count}"
        self.count += 1
        self.emit(f"{value} = linalg.generic {{indexing_maps = [affine_map<{loops} -> "
                  f"{indices or loops}>, affine_map<{loops} -> {loops}>], iterator_types = "
                  f"[{parallel}]}} ins({x} : {x_type}) outs({init} : {type}) {{")
        self.emit(f"^bb0(%in: {source}, %out: {element}):")
        if body:
            self.emit(f"  %y = {body}")
        self.emit(f"  linalg.yield {'%y' if body else '%in'} : {element}")
        self.emit(f"}} -> {type}")
        return value

    def elementwise(self, x, shape, source, element, body):
        type = tensor(shape, element)
        return self.generic(x, tensor(shape, source), type, None, self.empty(type),
                            source, element, body)

    def index(self, n):
        return self.define(f"arith.constant {n} : index")

    # Rows to the cache --------------------------------------------------------

    def move_rows(self, values, shape, element, how):
        """From [a, b, heads, n] or the like to [N, heads, n]."""
        n = shape[-1]
        if how == "collapse":
            out = tensor((shape[0] * shape[1], *shape[2:]), element)
            return self.define(f"tensor.collapse_shape {values} [[0, 1], [2], [3]] : "
                               f"{tensor(shape, element)} into {out}")
        if how == "transpose":
            out = tensor((shape[1], shape[0], n), element)
            init = self.empty(out)
            return self.define(f"linalg.transpose ins({values} : {tensor(shape, element)}) "
                               f"outs({init} : {out}) permutation = [1, 0, 2]")
        if how == "slice":
            out = (shape[0] - 2, *shape[1:])
            return self.define(f"tensor.extract_slice {values}[1, 0, 0] [{', '.join(map(str, out))}] "
                               f"[1, 1, 1] : {tensor(shape, element)} to {tensor(out, element)}")
        return values

    def append(self, side, handle, scale_of=None):
        """Quantizes and appends random rows. Returns whether it fuses."""
        r = self.random
        rows = int(r.choice([1, 2, 4]))
        how = str(r.choice(["none", "collapse", "transpose", "slice"]))
        lead = {"none": (rows, self.heads), "collapse": (rows, 2, self.heads),
                "transpose": (self.heads, rows), "slice": (rows + 2, self.heads)}[how]
        total = rows * 2 if how == "collapse" else rows
        source = str(r.choice(["f32", "f16", "bf16"]))
        values = r.standard_normal((*lead, side.dim)).astype(np.float32)
        array = {"f32": values, "f16": values.astype(np.float16),
                 "bf16": values.astype(ml_dtypes.bfloat16).view(np.uint16)}[source]
        x, x_type = self.argument(tensor((*lead, side.dim), source), array)
        if source != "f32" and r.random() < 0.5:
            x = self.elementwise(x, (*lead, side.dim), source, "f32",
                                 f"arith.extf %in : {source} to f32")
            x_type = tensor((*lead, side.dim), "f32")
        how_scale = str(r.choice(["memref", "accessor", "accessor", "argument"]))
        if scale_of:  # made before the loop: the accessor of the loop's handle is not there
            how_scale = "memref" if how_scale == "accessor" else how_scale
        g = side.load_global_scale(scale_of or handle, how_scale)
        types = side.parts(lead)
        inits = [self.empty(type) for type in types]
        attributes = f"format = #kvq.format<{side.fmt.name}>"
        if side.fmt.name == "nvfp4" and r.random() < 0.5:
            attributes += ", four_over_six"
        scale = f" global_scale({g})" if g else ""
        parts = self.define(
            f"kvq.quantize ins({x} : {x_type}){scale} outs({', '.join(inits)} : "
            f"{', '.join(types)}) {{{attributes}}} -> {', '.join(types)}", len(types))
        parts = [parts] if len(types) == 1 else parts
        data = self.move_rows(parts[0], (*lead, side.dim), side.element, how)
        operands = [(data, tensor((total, self.heads, side.dim), side.element))]
        if side.scales:
            scales = self.move_rows(parts[1], (*lead, side.scales), side.scale_element, how)
            operands.append((scales, tensor((total, self.heads, side.scales), side.scale_element)))
        capacity = self.pages * self.page
        slots = r.permutation(capacity)[:total]
        slots = np.concatenate([slots, np.full(max(0, total - len(slots)), -1)])
        slots[r.random(total) < 0.2] = -1
        width = str(r.choice(["i32", "i64"]))
        where, where_type = self.argument(
            tensor((total,), width), slots.astype(np.int32 if width == "i32" else np.int64))
        self.slots.append(where)
        names, kinds = zip(*operands)
        self.emit(f"kvq.append ins({', '.join(names)} : {', '.join(kinds)}) into({handle} : "
                  f"{side.type}) slot_mapping({where} : {where_type})")
        fuses = how_scale != "argument" or not side.fmt.has_global
        self.expected["kvq.quantize_append" if fuses else "kvq.append"] += 1
        return fuses

    # Rows from the cache ------------------------------------------------------

    def gather(self, side, handle):
        """Gathers and decodes. Returns (value, element)."""
        shape = (self.batch, self.length, self.heads)
        types = side.parts(shape)
        inits = [self.empty(type) for type in types]
        parts = self.define(
            f"kvq.gather cache({handle} : {side.type}) block_table({self.table[0]} : "
            f"{self.table[1]}) seq_lens({self.lens[0]} : {self.lens[1]}) "
            f"outs({', '.join(inits)} : {', '.join(types)}) -> {', '.join(types)}", len(types))
        if side.fmt.bits == 16 and self.random.random() < 0.5:
            return parts, side.element
        parts = [parts] if len(types) == 1 else parts
        # A number that is not known to be the handle's is a ratio to fold.
        g = side.load_global_scale(handle, str(self.random.choice(
            ["memref", "accessor", "argument"])))
        out = tensor((*shape, side.dim), "f32")
        init = self.empty(out)
        scale = f" global_scale({g})" if g else ""
        return self.define(
            f"kvq.dequantize ins({', '.join(parts)} : {', '.join(types)}){scale} "
            f"outs({init} : {out}) {{format = #kvq.format<{side.fmt.name}>}} -> {out}"), "f32"

    def broadcast_heads(self, x, shape, element, form):
        b, l, h, d = shape
        wide = tensor((b, l, h, self.group, d), element)
        init = self.empty(wide)
        if form == "broadcast":
            x = self.define(f"linalg.broadcast ins({x} : {tensor(shape, element)}) "
                            f"outs({init} : {wide}) dimensions = [3]")
        else:
            unit = tensor((b, l, h, 1, d), element)
            x = self.define(f"tensor.expand_shape {x} [[0], [1], [2, 3], [4]] output_shape "
                            f"[{b}, {l}, {h}, 1, {d}] : {tensor(shape, element)} into {unit}")
            x = self.generic(x, unit, wide, "(a, b, c, 0, e)", init, element, element, None)
        out = (b, l, h * self.group, d)
        return self.define(f"tensor.collapse_shape {x} [[0], [1], [2, 3], [4]] : {wide} into "
                           f"{tensor(out, element)}"), out

    def walk(self, x, element, dim, repeat):
        """Takes gathered rows through operations that end in [B, L, heads, D].
        Returns (value, type)."""
        r = self.random
        shape = (self.batch, self.length, self.heads, dim)
        if element != "f32" and r.random() < 0.5:
            x = self.elementwise(x, shape, element, "f32", f"arith.extf %in : {element} to f32")
            element = "f32"
        # Multiplied by a number; in f32, where that rounds little.
        if element == "f32" and r.random() < 0.4:
            factor = self.define(f"arith.constant {r.choice([0.3, 1.5, -2.0])} : f32")
            op = str(r.choice(["mulf", "divf"]))
            x = self.elementwise(x, shape, element, element,
                                 f"arith.{op} %in, {factor} : {element}")
        if r.random() < 0.4:  # [B, heads, L, D], batch and heads as one, and back
            b, l, h, d = shape
            first = tensor((b, h, l, d), element)
            init = self.empty(first)
            x = self.define(f"linalg.transpose ins({x} : {tensor(shape, element)}) "
                            f"outs({init} : {first}) permutation = [0, 2, 1, 3]")
            flat = tensor((b * h, l, d), element)
            x = self.define(f"tensor.collapse_shape {x} [[0, 1], [2], [3]] : {first} into {flat}")
            x = self.define(f"tensor.expand_shape {x} [[0, 1], [2], [3]] output_shape "
                            f"[{b}, {h}, {l}, {d}] : {flat} into {first}")
            init = self.empty(tensor(shape, element))
            x = self.define(f"linalg.transpose ins({x} : {first}) outs({init} : "
                            f"{tensor(shape, element)}) permutation = [0, 2, 1, 3]")
        if repeat:
            x, shape = self.broadcast_heads(x, shape, element, repeat)
        return x, tensor(shape, element)

    def attention(self, k, v, fuses, outputs):
        """Returns the outputs: the values, and the lse where the case has one."""
        r = self.random
        repeat = str(r.choice(["", "", "broadcast", "generic"]))
        kx, k_type = self.walk(*k, self.k.dim, repeat)
        vx, v_type = self.walk(*v, self.v.dim, repeat)
        options = str(r.choice(["", "causal", "causal, window_left = 2", "softcap = 2.0 : f32",
                                "window_left = 1, window_right = 2"]))
        options = f" {{options = #kvq.attention<{options}>}}" if options else ""
        options = options.replace("2.0 : f32", "2.000000e+00")
        masked = r.random() < 0.85
        lens = f" seq_lens({self.lens[0]} : {self.lens[1]})" if masked else ""
        sinks = f" sinks({self.sinks[0]} : {self.sinks[1]})" if self.sinks else ""
        fuses = fuses and masked
        types = ", ".join(self.out_types)
        result = self.define(
            f"kvq.attention ins({self.q[0]}, {kx}, {vx} : {self.q[1]}, {k_type}, {v_type}){lens} "
            f"scale({self.scale}){sinks} outs({', '.join(outputs)} : {types}){options} -> {types}",
            len(self.out_types))
        self.expected["kvq.dequant_attention" if fuses else "kvq.attention"] += 1
        return [result] if len(self.out_types) == 1 else result

    # The function -------------------------------------------------------------

    def build(self):
        r = self.random
        heads = self.heads * self.group
        self.q = self.argument(
            tensor((self.batch, self.queries, heads, self.k.dim), "f32"),
            r.standard_normal((self.batch, self.queries, heads, self.k.dim)).astype(np.float32))
        order = r.permutation(self.pages)[: self.batch * self.table_pages]
        self.table = self.argument(tensor((self.batch, self.table_pages), "i32"),
                                   order.reshape(self.batch, -1).astype(np.int32))
        lens = r.integers(0, self.length + 1, self.batch)
        lens[r.random(self.batch) < 0.3] = self.length
        self.lens = (*self.argument(tensor((self.batch,), "i32"), lens.astype(np.int32)), lens)
        self.scale = self.argument("f32", f"{np.float32(self.k.dim ** -0.5):.9g}")[0]
        rows = (self.batch, self.queries, heads)
        self.out_element = str(r.choice(["f32", "f32", "f16", "bf16"]))
        self.out_types = [tensor((*rows, self.v.dim), self.out_element)]
        self.sinks = None
        if r.random() < 0.2:
            self.sinks = self.argument(tensor((heads,), "f32"),
                                       r.standard_normal(heads).astype(np.float32))
        loop = r.random() < 0.25
        if not loop and r.random() < 0.2:
            self.out_types.append(tensor(rows, "f32"))
        k, v = self.k.handle(), self.v.handle()
        if not loop and r.random() < 0.15:
            v = self.select(self.v, v)
        outputs = [self.empty(type) for type in self.out_types]
        k_scale = v_scale = None
        if loop:
            zero, one, two = self.index(0), self.index(1), self.index(2)
            k_scale, v_scale, k_before = k, v, k
            head = f"%l{self.count}"
            self.emit(f"{head}:2 = scf.for %step = {zero} to {two} step {one} iter_args("
                      f"%acc = {outputs[0]}, %h = {k_before}) -> "
                      f"({self.out_types[0]}, {self.k.type}) {{")
            self.indent = "    "
            outputs, k = ["%acc"], "%h"
        self.append(self.k, k, k_scale)
        self.append(self.v, v, v_scale)
        rows = self.gather(self.k, k), self.gather(self.v, v)
        free = self.between(k, v, loop)
        outputs = self.attention(*rows, free, outputs)
        if r.random() < 0.3:  # a second reader of the same rows
            outputs = self.attention(*rows, free, outputs)
        if r.random() < 0.3:  # a write after the last reader
            self.append(self.k, k, k_scale)
        if loop:
            self.emit(f"scf.yield {outputs[0]}, %h : {self.out_types[0]}, {self.k.type}")
            self.indent = "  "
            self.emit("}")
            outputs = [f"{head}#0"]
        self.emit(f"return {', '.join(outputs)} : {', '.join(self.out_types)}")

    def between(self, k, v, loop):
        """What stands between gather and attention. Returns whether it is not in
        the way."""
        r = self.random
        kind = str(r.choice(["none", "none", "none", "same", "alias", "other", "page_copy",
                             "branch", "call", "call_other"]))
        if kind == "same":
            self.append(*((self.k, k) if r.random() < 0.5 else (self.v, v)))
        elif kind == "alias":
            # A second handle of the memrefs that the last one was made of.
            self.append(self.v, self.v.handle(fresh=False))
        elif kind == "other" and not loop:
            other = Side(self, "k", 32)
            self.append(other, other.handle())
        elif kind == "page_copy" and self.pages > 1:
            src, src_type = self.argument("tensor<1xi32>", np.array([0], np.int32))
            dst, dst_type = self.argument("tensor<1xi32>", np.array([1], np.int32))
            self.emit(f"kvq.copy_pages from({k}) to({k}) src_pages({src} : {src_type}) "
                      f"dst_pages({dst} : {dst_type}) : {self.k.type}")
        elif kind == "branch":
            self.emit(f"scf.if {self.condition()} {{")
            indent, self.indent = self.indent, self.indent + "  "
            self.append(self.v, v)
            self.indent = indent
            self.emit("}")
        elif kind in ("call", "call_other"):
            self.call(self.k, k if kind == "call" else "")
        return kind in ("none", "other")

    def condition(self):
        """A truth that only the program knows."""
        number = self.argument("i32", str(self.random.integers(2)))[0]
        one = self.define("arith.constant 1 : i32")
        return self.define(f"arith.cmpi eq, {number}, {one} : i32")

    def select(self, side, handle):
        """One of two handles over different memrefs."""
        other = side.handle()
        side.known = False
        return self.define(f"arith.select {self.condition()}, {handle}, {other} : {side.type}")

    def call(self, side, handle):
        """Calls a function that appends to a handle, or to one of its own where
        none is given: who sees the call alone cannot know."""
        outer = self.arguments, self.body, self.indent, side.operands
        name, first = f"{self.name}_write", len(self.arguments)
        self.arguments, self.body, self.indent = list(outer[0]), [], "  "
        known = side.known
        if handle:
            side.known = False
            target = "%handle"
        else:
            target = side.handle()
        self.append(side, target)
        side.known, side.operands = known, outer[3]
        added = self.arguments[first:]
        parameters = [f"{value}: {type}" for value, type, _ in added]
        names, types = [value for value, _, _ in added], [type for _, type, _ in added]
        if handle:
            parameters.append(f"%handle: {side.type}")
            names.append(handle)
            types.append(side.type)
        self.helpers.append(f"func.func private @{name}({', '.join(parameters)}) {{\n"
                            + "\n".join(self.body) + "\n  return\n}\n")
        arguments, (_, self.body, self.indent, _) = self.arguments, outer
        self.arguments = arguments
        self.emit(f"func.call @{name}({', '.join(names)}) : ({', '.join(types)}) -> ()")

    def text(self):
        arguments = ", ".join(f"{value}: {type}" for value, type, _ in self.arguments)
        return ("".join(self.helpers)
                + f"func.func private @{self.name}({arguments}) -> ({', '.join(self.out_types)}) {{\n"
                + "\n".join(self.body) + "\n}\n")


def module_of(cases):
    """A module whose @main calls each case with arguments of its own. Returns
    (text, arrays and numbers of the arguments, indices of memrefs)."""
    arguments, calls, values, results, arrays, memrefs = [], [], [], [], [], []
    for number, case in enumerate(cases):
        names = []
        for _, type, array in case.arguments:
            if type.startswith("memref"):
                memrefs.append(len(arrays))
            names.append(f"%m{len(arrays)}")
            arguments.append(f"{names[-1]}: {type}")
            arrays.append(array)
        types = ", ".join(type for _, type, _ in case.arguments)
        count = len(case.out_types)
        calls.append(f"  %r{number}:{count} = call @{case.name}({', '.join(names)}) : "
                     f"({types}) -> ({', '.join(case.out_types)})")
        values += [f"%r{number}#{i}" for i in range(count)]
        results += case.out_types
    main = (f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n"
            + "\n".join(calls) + f"\n  return {', '.join(values)} : {', '.join(results)}\n}}\n")
    return "\n".join(case.text() for case in cases) + main, arrays, memrefs
