"""The functions of lit tests as programs that run: each gets a caller that makes
the handles that it takes of memrefs, and arguments that are valid for the
operations that use them."""

import re
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
from execute import optimize
from oracle import formats

#: Of each cache. Tables name them with steps that are coprime to it.
PAGES = 9
CACHE = re.compile(
    r"!kvq\.cache<(?:key|value), (\d+)x(\d+)x(\d+), (\w+), (NHD|HND)(?:, ([\w?]+))?>"
)
ELEMENTS = {"e2m1": "f4E2M1FN", "e4m3": "f8E4M3FN", "e8m0": "f8E8M0FNU"}
INTEGERS = {"i1": np.bool_, "i32": np.int32, "i64": np.int64, "index": np.int64}


def split_list(text):
    """The parts of a list between commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    text = text.replace("->", "  ")
    for i, character in enumerate(text):
        depth += (character in "<([{") - (character in ">)]}")
        if character == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def closing(text, start):
    """The index of the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "([{<") - (text[i] in ")]}") - (text[i] == ">" and text[i - 1] != "-")
        if not depth:
            return i
    raise ValueError(text[start : start + 80])


def parse_type(type):
    """(sizes, with None for dynamic ones, element) of a tensor or memref type."""
    body = re.match(r"(?:tensor|memref)<([^,>]*)", type)[1]
    *sizes, element = body.split("x") if not body.startswith("f8") else [body]
    return [None if size == "?" else int(size) for size in sizes], element


@dataclass
class Function:
    name: str
    parameters: list  # of (name, type)
    results: list
    text: str  # from its name to the end

    def uses(self, parameter):
        """How operations of the module use a parameter: names of clauses."""
        return set(re.findall(rf"(\w+)\({re.escape(parameter)}(?: : |\))", self.text))

    def calls(self):
        """(callee, operands) of each call."""
        return [
            (name, [o.strip() for o in operands.split(",")])
            for name, operands in re.findall(r"call @([\w$.]+)\(([^)]*)\)", self.text)
        ]


def parse_functions(text):
    """The functions with bodies of a printed module by name."""
    functions = {}
    for part in re.split(r"\n  (?=func\.func )", text)[1:]:
        start = part.index("(")
        name = re.match(r"func\.func (?:private )?@([\w$.]+)", part)[1]
        end = closing(part, start)
        line = part[end + 1 : part.find("\n") if "\n" in part else None]
        if not line.rstrip().endswith("{"):
            continue
        parameters = [p.split(": ", 1) for p in split_list(part[start + 1 : end])]
        parameters = [(n, re.sub(r" \{.*\}$", "", t)) for n, t in parameters]
        results = line.rstrip()[:-1].split("->", 1)[1].strip() if "->" in line else ""
        results = re.sub(r" attributes .*$", "", results)
        results = split_list(results[1:-1] if results.startswith("(") else results)
        functions[name] = Function(name, parameters, results, part)
    return functions


@dataclass
class LitCase:
    """A function of a chunk of a file, with the caller's arguments."""

    key: str  # file:function
    module: str  # functions of the chunk, without the caller
    function: Function
    functions: dict
    sizes: dict = field(default_factory=dict)  # of dynamic dimensions by parameter
    script: str = None  # of the transform dialect
    arguments: list = field(default_factory=list)  # of (type, array)
    #: The kv_layout of scales whose own layout is not decided, by argument.
    undecided: dict = field(default_factory=dict)

    def __post_init__(self):
        self.random = np.random.default_rng(sum(map(ord, self.key)))

    def clauses(self, function, parameter):
        found = function.uses(parameter)
        for callee, operands in function.calls():
            for i, operand in enumerate(operands):
                if operand == parameter and callee in self.functions:
                    callee_function = self.functions[callee]
                    found |= self.clauses(callee_function, callee_function.parameters[i][0])
        return found

    # Arguments ------------------------------------------------------------------

    def floats(self, shape, element):
        values = self.random.standard_normal(shape).astype(np.float32)
        if element == "bf16":
            return values.astype(ml_dtypes.bfloat16).view(np.uint16)
        return values.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[element])

    def elements(self, shape, element):
        """Any finite values."""
        r = self.random
        if element == "f4E2M1FN":
            return r.integers(0, 256, (*shape[:-1], shape[-1] // 2), np.uint8)
        if element == "f8E4M3FN":
            return r.integers(0x28, 0x40, shape, np.uint8) | r.integers(0, 2, shape, np.uint8) << 7
        if element == "f8E8M0FNU":
            return r.integers(125, 129, shape, np.uint8)
        return self.floats(shape, element)

    def pages(self):
        """How many pages each cache has at least."""
        counts = [PAGES]
        for function in self.functions.values():
            for _, type in function.parameters:
                if type.startswith("memref") and len(parse_type(type)[0]) == 4:
                    counts.append(parse_type(type)[0][0] or PAGES)
        return min(counts)

    def page_size(self):
        return min((int(m[1]) for m in CACHE.finditer(self.module)), default=1)

    def integers(self, shape, element, clauses):
        r, pages = self.random, self.pages()
        count = int(np.prod(shape))
        if element == "i1":
            return r.random(shape) < 0.8
        if clauses & {"block_table"}:
            values = np.arange(count) * 7 % pages
        elif clauses & {"seq_lens"}:
            values = self.lengths(count)
        elif clauses & {"qo_indptr"}:
            values = np.linspace(0, self.queries(), count).astype(int)
        elif clauses & {"slot_mapping"}:
            values = r.permutation(pages * self.page_size())[:count]
            values[r.random(count) < 0.2] = -1
        elif clauses & {"src_pages"}:
            values = np.arange(count)
        elif clauses & {"dst_pages"}:
            values = np.arange(count) + count
        else:
            values = np.arange(count) % 2
        return values.reshape(shape).astype(INTEGERS[element])

    def lengths(self, count):
        """Lengths for the smallest table and the smallest rows that are gathered."""
        limits = [self.page_size() * width for width in self.table_widths()]
        for function in self.functions.values():
            for outs in re.findall(r"kvq\.gather .*? outs\([^:]*: (?:tensor|memref)<(\S+?)>",
                                   function.text):
                size = outs.split("x")[1]
                limits.append(int(size) if size != "?" else self.page_size())
        for rows in re.findall(r"kvq\.attention ins\([^:]*: [^,]*, (?:tensor|memref)<(\S+?)>",
                               self.module):
            size = rows.split("x")[1]
            limits.append(int(size) if size != "?" else self.page_size())
        limit = min(limits, default=1)
        values = self.random.integers(0, limit + 1, count)
        values[0] = limit
        return values

    def table_widths(self):
        for function in self.functions.values():
            for width in re.findall(r"block_table\(%\w+ : (?:tensor|memref)<\w+x(\d+|\?)xi32",
                                    function.text):
                yield 1 if width == "?" else int(width)

    def queries(self):
        found = re.search(
            r"ins\(%\w+(?:, [^:]*)? : (?:tensor|memref)<(\d+|\?)x[^\n]*qo_indptr", self.module)
        return 1 if not found or found[1] == "?" else int(found[1])

    def add(self, type, array):
        self.arguments.append((type, array))
        return f"%a{len(self.arguments) - 1}"

    def handle(self, type, lines):
        match = CACHE.fullmatch(type)
        assert match, f"{type} has no preset"
        page, heads, dim, name, layout, scale_layout = match.groups()
        fmt, dim = formats.FORMATS[name], int(dim)
        sizes = (int(page), int(heads)) if layout == "NHD" else (int(heads), int(page))
        shape = (PAGES, *sizes)
        element = ELEMENTS.get(fmt.element, fmt.element)

        def memref(inner, element):
            return f"memref<{'x'.join(map(str, (*shape, inner)))}x{element}>"

        operands = [("data", memref(dim, element), self.elements((*shape, dim), element))]
        if fmt.block:
            count = fmt.num_scales(dim)
            # All the same: whatever the layout, these are the scales.
            one = 127 if fmt.scale == "e8m0" else 0x38
            array = np.full((*shape, count), one, np.uint8)
            operands.append(("scales", memref(count, ELEMENTS[fmt.scale]), array))
            if scale_layout == "?":
                self.undecided[len(self.arguments) + 1] = layout
        if fmt.has_global:
            operands.append(("global_scale", "memref<f32>", np.array(0.25, np.float32)))
        names = [self.add(kind, array) for _, kind, array in operands]
        text = " ".join(
            f"{word}({value} : {kind})" for (word, kind, _), value in zip(operands, names))
        lines.append(f"%h{names[0][1:]} = kvq.make_cache {text} : {type}")
        return f"%h{names[0][1:]}"

    def argument(self, number, parameter, type, lines):
        if type.startswith("!kvq.cache"):
            return self.handle(type, lines)
        clauses = self.clauses(self.function, parameter)
        if not type.startswith(("tensor", "memref")):
            value = "1" if type in INTEGERS else "0.5"
            value = str(self.sizes.get(number, value))
            return self.add(type, value)
        sizes, element = parse_type(type)
        chosen = self.sizes.get(number, ())
        dynamic = iter(chosen)
        if type.startswith("memref") and (len(sizes) == 5 or sizes[:1] == [None]):
            default = PAGES
        else:
            default = self.page_size() if len(sizes) == 4 else 1
        shape = [next(dynamic, default) if size is None else size for size in sizes]
        if element in INTEGERS:
            array = self.integers(shape, element, clauses)
        elif clauses & {"scales"}:
            array = np.full(shape, 127 if element == "f8E8M0FNU" else 0x38, np.uint8)
        elif type == "memref<f32>":
            array = np.array(0.25, np.float32)
        else:
            array = self.elements(shape, element)
        if type.startswith("memref") and "," in type:  # Strides: those of its shape.
            plain = f"memref<{'x'.join(map(str, shape))}x{element}>"
            value = self.add(plain, array)
            lines.append(f"%m{value[1:]} = memref.cast {value} : {plain} to {type}")
            return f"%m{value[1:]}"
        return self.add(type, array)

    def caller(self, name):
        """A function that calls this one, with parameters for `arguments`."""
        self.arguments, self.undecided, lines = [], {}, []
        operands = [
            self.argument(number, parameter, type, lines)
            for number, (parameter, type) in enumerate(self.function.parameters)
        ]
        types = ", ".join(type for _, type in self.function.parameters)
        results = ", ".join(self.function.results)
        count = len(self.function.results)
        left = f"%r:{count} = " if count else ""
        lines.append(f"{left}func.call @{self.function.name}({', '.join(operands)}) : ({types}) "
                     f"-> ({results})")
        values = ", ".join(f"%r#{i}" for i in range(count))
        lines.append(f"return {values} : {results}" if count else "return")
        parameters = ", ".join(f"%a{i}: {type}" for i, (type, _) in enumerate(self.arguments))
        body = "\n".join(f"    {line}" for line in lines)
        return f"  func.func private @{name}({parameters}) -> ({results}) {{\n{body}\n  }}\n"


def read_chunks(path):
    """The chunks of a lit input without comments, and whether a pass is expected to
    reject them."""
    text = path.read_text()
    text = re.sub(r"\A[\s\S]*?^//--- \S+\.mlir$|^//--- [\s\S]*\Z", "", text, flags=re.MULTILINE)
    for chunk in re.split(r"^// -----.*$", text, flags=re.MULTILINE):
        yield re.sub(r"^\s*//.*$", "", chunk, flags=re.MULTILINE), "expected-error" in chunk


#: The script of the transform dialect in a chunk.
SCRIPT = re.compile(r"^module attributes \{transform\.with_named_sequence\}[\s\S]*?^\}$", re.MULTILINE)


def read_cases(path, sizes, rejected=False):
    """The functions with bodies in the chunks of a lit input that no pass is expected
    to reject, or in those that one is. Symbols get the number of their chunk."""
    cases = []
    for number, (chunk, is_rejected) in enumerate(read_chunks(path)):
        if is_rejected != rejected or "func.func" not in chunk:
            continue
        script = SCRIPT.search(chunk)
        text = optimize(SCRIPT.sub("", chunk), "--mlir-print-local-scope")
        text = re.sub(r"@([\w$.]+)", rf"@\1__{number}", text)
        body = text[text.index("{\n") + 2 : text.rindex("}")]
        functions = parse_functions(text)
        for function in functions.values():
            key = f"{path.stem}:{function.name.rsplit('__', 1)[0]}"
            cases.append(LitCase(key, body, function, functions, sizes.get(key, {}),
                                 script and script[0]))
    return cases


def module_of(cases):
    """A module whose @main calls each case. Returns (text, arrays, types of the
    arguments, kv_layout of scales whose own layout is not decided by argument)."""
    bodies, parameters, lines, values, results, arrays, types = {}, [], [], [], [], [], []
    undecided = {}
    for number, case in enumerate(cases):
        bodies[case.module] = None
        caller = case.caller(f"call_{number}")
        bodies[caller] = None
        undecided |= {len(arrays) + i: layout for i, layout in case.undecided.items()}
        names = []
        for type, array in case.arguments:
            names.append(f"%a{len(arrays)}")
            parameters.append(f"{names[-1]}: {type}")
            arrays.append(array)
            types.append(type)
        operands = ", ".join(type for type, _ in case.arguments)
        kinds = case.function.results
        left = f"%r{number}:{len(kinds)} = " if kinds else ""
        lines.append(f"    {left}func.call @call_{number}({', '.join(names)}) : ({operands}) -> "
                     f"({', '.join(kinds)})")
        values += [f"%r{number}#{i}" for i in range(len(kinds))]
        results += kinds
    end = f"return {', '.join(values)} : {', '.join(results)}" if values else "return"
    body = "\n".join(lines)
    main = (f"  func.func @main({', '.join(parameters)}) -> ({', '.join(results)}) {{\n{body}\n"
            f"    {end}\n  }}\n")
    return "module {\n" + "\n".join(bodies) + main + "}\n", arrays, types, undecided
