"""Greedy decoding with a Llama-architecture model as one MLIR module.

Layers are written as a compiler front end emits them, over paged caches of bf16:
K and V of the step are appended, all rows of a sequence are gathered, and
attention is plain linalg on them: heads repeated for their group of queries,
batch_matmul, scale, mask, softmax, batch_matmul. kvq-optimize makes of it one
quantizing append per side and one attention over a quantized cache.
"""

from typing import NamedTuple

import decoding_loop
from linalg_text import Text, Value


class Config(NamedTuple):
    """Sizes of a model, of a batch of sequences and of their cache."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    width: int
    hidden: int
    vocabulary: int
    epsilon: float
    batch: int
    prompt: int  # tokens of the longest prompt
    steps: int  # tokens to generate
    page: int = 16

    @property
    def tokens(self):
        """Columns of the array of tokens: prompts, then what is generated."""
        return self.prompt + self.steps

    @property
    def table_pages(self):
        """Pages of a sequence. The last token generated is not cached."""
        return -(-(self.tokens - 1) // self.page)


def layer_weight_shapes(c):
    """Shapes of the weights of a layer by name. Matrices are [in, out]."""
    attention, cached = c.heads * c.head_dim, c.kv_heads * c.head_dim
    return {
        "attn_norm": (c.width,),
        "attn_q": (c.width, attention),
        "attn_k": (c.width, cached),
        "attn_v": (c.width, cached),
        "attn_output": (attention, c.width),
        "ffn_norm": (c.width,),
        "ffn_gate": (c.width, c.hidden),
        "ffn_up": (c.width, c.hidden),
        "ffn_down": (c.hidden, c.width),
    }


def weight_shapes(c):
    """Shapes of all weights, in order: those of all layers as one array. The
    output projection is the embedding table."""
    layers = layer_weight_shapes(c)
    shapes = {name: (c.layers, *shape) for name, shape in layers.items()}
    shapes["token_embd"] = (c.vocabulary, c.width)
    shapes["output_norm"] = (c.width,)
    return shapes


def cache_type(c):
    return f"memref<?x{c.kv_heads}x{c.page}x{c.head_dim}xbf16>"


class Function(Text):
    """A private function under construction, over the values of a step."""

    def __init__(self, config, name):
        super().__init__()
        self.c, self.name = config, name
        self.parameters = []
        self.weights = {
            key: Value(f"%{key}", shape)
            for key, shape in weight_shapes(config).items()
        }

    def take(self, value):
        self.parameters.append((value.name, value.type))
        return value

    def finish(self, result):
        """The text of the function, and that of a call with values that have the
        names of its parameters."""
        parameters = ", ".join(
            f"{name}: {type}" for name, type in self.parameters
        )
        types = ", ".join(type for _, type in self.parameters)
        names = ", ".join(name for name, _ in self.parameters)
        lines = "\n".join([*self.lines, f"  return {result}"])
        text = f"func.func private @{self.name}({parameters}) -> {result.type} {{\n{lines}\n}}\n"
        return (
            text,
            f"func.call @{self.name}({names}) : ({types}) -> {result.type}",
        )

    def norm(self, x, gain):
        b, w = x.shape
        power = self.generic(
            "bw",
            [(x, "bw")],
            (self.fill((b,), "0.0"), "b"),
            """%p = arith.mulf %a, %a : f32
            %y = arith.addf %o, %p : f32""",
        )
        size = self.define(f"arith.constant {float(w)} : f32")
        epsilon = self.define(f"arith.constant {self.c.epsilon:.9e} : f32")
        return self.generic(
            "bw",
            [(x, "bw"), (power, "b"), (gain, "w")],
            (self.empty((b, w)), "bw"),
            f"""%m = arith.divf %b, {size} : f32
            %e = arith.addf %m, {epsilon} : f32
            %r = math.sqrt %e : f32
            %n = arith.divf %a, %r : f32
            %y = arith.mulf %n, %c : f32""",
        )


class Layer(Function):
    """The function @layerN: x [batch, width] after the layer."""

    def __init__(self, config, number, global_scales):
        super().__init__(config, f"layer{number}")
        self.number, self.global_scales = number, global_scales
        b, half = config.batch, config.head_dim // 2
        self.x = self.take(Value("%x", (b, config.width)))
        self.slots = self.take(Value("%slots", (b,), "i32"))
        self.lengths = self.take(Value("%lengths", (b,), "i32"))
        self.table = self.take(Value("%table", (b, config.table_pages), "i32"))
        self.cos = self.take(Value("%cos", (b, half)))
        self.sin = self.take(Value("%sin", (b, half)))
        for name in layer_weight_shapes(config):
            self.take(self.weights[name])
        self.parameters += [
            (f"%{side}{number}", cache_type(config)) for side in "kv"
        ]

    def weight(self, name):
        value = self.weights[name]
        shape = value.shape[1:]
        return self.slice(
            value, [self.number, *[0] * len(shape)], [1, *shape], shape
        )

    def multiply(self, x, weight):
        """x [batch, in] by weight [in, out], rows of the weight in turn."""
        out = self.fill((x.shape[0], weight.shape[1]), "0.0")
        return self.generic(
            "kbn",
            [(x, "bk"), (weight, "kn")],
            (out, "bn"),
            """%p = arith.mulf %a, %b : f32
            %y = arith.addf %o, %p : f32""",
        )

    def rope(self, x):
        """Turns channel i of x [batch, heads, dim] with channel i + dim / 2."""
        b, h, d = x.shape
        low = self.slice(x, (0, 0, 0), (b, h, d // 2), (b, h, d // 2))
        high = self.slice(x, (0, 0, d // 2), (b, h, d // 2), (b, h, d // 2))
        out = self.empty(x.shape)
        for first, second, op, offset in (
            (low, high, "subf", 0),
            (high, low, "addf", d // 2),
        ):
            half = self.generic(
                "bhd",
                [
                    (first, "bhd"),
                    (second, "bhd"),
                    (self.cos, "bd"),
                    (self.sin, "bd"),
                ],
                (self.empty(first.shape), "bhd"),
                f"""%p = arith.mulf %a, %c : f32
                %q = arith.mulf %b, %d : f32
                %y = arith.{op} %p, %q : f32""",
            )
            out = out._replace(
                name=self.define(
                    f"tensor.insert_slice {half.name} into {out.name}[0, 0, {offset}] "
                    f"[{b}, {h}, {d // 2}] [1, 1, 1] : {half.type} into {out.type}"
                )
            )
        return out

    def heads(self, x, count):
        """[batch, heads * dim] to [batch, heads, dim]."""
        return self.reshape(
            x, "[0], [1, 2]", (self.c.batch, count, self.c.head_dim)
        )

    def cache(self, side, rows):
        """Appends rows [batch, heads, dim] to a cache, and gathers all rows of each
        sequence [batch, tokens, heads, dim]."""
        c = self.c
        kind = {"k": "key", "v": "value"}[side]
        type = (
            f"!kvq.cache<{kind}, {c.page}x{c.kv_heads}x{c.head_dim}, bf16, HND>"
        )
        scale = self.global_scales.get((side, self.number))
        attributes = (
            f" {{kvq.global_scale = {scale:.9e} : f32}}" if scale else ""
        )
        handle = self.define(
            f"kvq.make_cache data(%{side}{self.number} : {cache_type(c)}){attributes} : {type}"
        )
        rounded = self.map(
            "%y = arith.truncf %a : f32 to bf16", rows, element="bf16"
        )
        self.emit(
            f"kvq.append ins({rounded}) into({handle} : {type}) slot_mapping({self.slots})"
        )
        out = self.empty(
            (c.batch, c.table_pages * c.page, c.kv_heads, c.head_dim), "bf16"
        )
        gathered = self.define(
            f"kvq.gather cache({handle} : {type}) block_table({self.table}) "
            f"seq_lens({self.lengths}) outs({out}) -> {out.type}"
        )
        return self.map(
            "%y = arith.extf %a : bf16 to f32", out._replace(name=gathered)
        )

    def repeat_heads(self, x):
        """[batch, tokens, KV heads, dim] to [batch * heads, tokens, dim]."""
        b, l, h, d = x.shape
        group = self.c.heads // h
        x = self.transpose(x, (0, 2, 1, 3))
        wide = self.empty((b, h, group, l, d))
        wide = self.generic("bhgld", [(x, "bhld")], (wide, "bhgld"), "")
        return self.reshape(wide, "[0, 1, 2], [3], [4]", (b * h * group, l, d))

    def batch_matmul(self, x, y):
        out = self.fill((x.shape[0], x.shape[1], y.shape[2]), "0.0")
        return out._replace(
            name=self.define(
                f"linalg.batch_matmul ins({x.name}, {y.name} : {x.type}, {y.type}) "
                f"outs({out}) -> {out.type}"
            )
        )

    def attention(self, q, k, v):
        """q [batch, heads, dim], k and v [batch, tokens, KV heads, dim]."""
        c = self.c
        k, v = self.repeat_heads(k), self.repeat_heads(v)
        rows, length = c.batch * c.heads, k.shape[1]
        q = self.reshape(q, "[0, 1], [2]", (rows, c.head_dim))
        q = self.reshape(q, "[0], [1, 2]", (rows, 1, c.head_dim))
        scores = self.batch_matmul(q, self.transpose(k, (0, 2, 1)))
        scores = self.reshape(
            scores, "[0, 1], [2], [3]", (c.batch, c.heads, 1, length)
        )
        scale = self.define(f"arith.constant {c.head_dim ** -0.5!r} : f32")
        scores = self.map(f"%y = arith.mulf %a, {scale} : f32", scores)
        hidden = self.define("arith.constant 0xFF800000 : f32")
        scores = self.generic(
            "bhqj",
            [(scores, "bhqj"), (self.lengths, "b")],
            (self.empty(scores.shape), "bhqj"),
            f"""%j = linalg.index 3 : index
            %i = arith.index_cast %j : index to i32
            %s = arith.cmpi slt, %i, %b : i32
            %y = arith.select %s, %a, {hidden} : f32""",
        )
        row = (*scores.shape[:3], 1)
        top = self.generic(
            "bhqj",
            [(scores, "bhqj")],
            (self.fill(row, "0xFF800000"), "bhq0"),
            "%y = arith.maximumf %a, %o : f32",
        )
        weights = self.generic(
            "bhqj",
            [(scores, "bhqj"), (top, "bhq0")],
            (self.empty(scores.shape), "bhqj"),
            """%d = arith.subf %a, %b : f32
            %y = math.exp %d : f32""",
        )
        total = self.generic(
            "bhqj",
            [(weights, "bhqj")],
            (self.fill(row, "0.0"), "bhq0"),
            "%y = arith.addf %a, %o : f32",
        )
        weights = self.generic(
            "bhqj",
            [(weights, "bhqj"), (total, "bhq0")],
            (self.empty(scores.shape), "bhqj"),
            "%y = arith.divf %a, %b : f32",
        )
        weights = self.reshape(weights, "[0, 1], [2], [3]", (rows, 1, length))
        out = self.batch_matmul(weights, v)
        out = self.reshape(out, "[0], [1, 2]", (rows, c.head_dim))
        out = self.reshape(out, "[0, 1], [2]", (c.batch, c.heads, c.head_dim))
        return self.reshape(out, "[0], [1, 2]", (c.batch, c.heads * c.head_dim))

    def build(self):
        def project(x, name):
            return self.multiply(x, self.weight(name))

        h = self.norm(self.x, self.weight("attn_norm"))
        q = self.rope(self.heads(project(h, "attn_q"), self.c.heads))
        k = self.rope(self.heads(project(h, "attn_k"), self.c.kv_heads))
        v = self.heads(project(h, "attn_v"), self.c.kv_heads)
        o = self.attention(q, self.cache("k", k), self.cache("v", v))
        x = self.map(
            "%y = arith.addf %a, %b : f32", self.x, project(o, "attn_output")
        )

        h = self.norm(x, self.weight("ffn_norm"))
        one = self.define("arith.constant 1.0 : f32")
        gated = self.map(
            f"""%n = arith.negf %a : f32
            %e = math.exp %n : f32
            %d = arith.addf %e, {one} : f32
            %g = arith.divf %a, %d : f32
            %y = arith.mulf %g, %b : f32""",
            project(h, "ffn_gate"),
            project(h, "ffn_up"),
        )
        x = self.map(
            "%y = arith.addf %a, %b : f32", x, project(gated, "ffn_down")
        )
        return self.finish(x)


class Step(Function):
    """The function @step: the logits [batch, vocabulary] of one token of each
    sequence."""

    def __init__(self, config):
        super().__init__(config, "step")
        b, half = config.batch, config.head_dim // 2
        self.tokens = self.take(Value("%tokens", (b,), "i32"))
        self.positions = self.take(Value("%positions", (b,), "i32"))
        self.take(Value("%slots", (b,), "i32"))
        self.take(Value("%lengths", (b,), "i32"))
        own = len(self.parameters)
        self.take(Value("%table", (b, config.table_pages), "i32"))
        self.angle_tables = [
            self.take(Value(f"%{n}_table", (config.tokens, half)))
            for n in ("cos", "sin")
        ]
        for value in self.weights.values():
            self.take(value)
        self.parameters += [
            (f"%{side}{layer}", cache_type(config))
            for layer in range(config.layers)
            for side in "kv"
        ]
        #: What @generate takes, too.
        self.shared = self.parameters[own:]

    def angles(self, table):
        """The rows of a table of cosines or sines at the positions."""
        b, d = self.c.batch, table.shape[1]
        return self.generic(
            "bd",
            [(self.positions, "b")],
            (self.empty((b, d)), "bd"),
            f"""%p = arith.index_cast %a : i32 to index
            %d = linalg.index 1 : index
            %y = tensor.extract {table.name}[%p, %d] : {table.type}""",
        )

    def build(self, calls):
        b, embedding = self.c.batch, self.weights["token_embd"]
        x = self.generic(
            "bw",
            [(self.tokens, "b")],
            (self.empty((b, self.c.width)), "bw"),
            f"""%t = arith.index_cast %a : i32 to index
            %w = linalg.index 1 : index
            %y = tensor.extract {embedding.name}[%t, %w] : {embedding.type}""",
        )
        cos, sin = (self.angles(table).name for table in self.angle_tables)
        for call in calls:
            for name, value in (("%x", x.name), ("%cos", cos), ("%sin", sin)):
                call = call.replace(f"{name},", f"{value},", 1)
            x = x._replace(name=self.define(call))
        x = self.norm(x, self.weights["output_norm"])
        logits = self.generic(
            "nbk",
            [(x, "bk"), (embedding, "nk")],
            (self.fill((b, self.c.vocabulary), "0.0"), "bn"),
            """%p = arith.mulf %a, %b : f32
            %y = arith.addf %o, %p : f32""",
        )
        return self.finish(logits)


def module(config, global_scales=None):
    """The text of a module whose @generate takes tokens [batch, prompt + steps]
    that end column `prompt` - 1 with the prompts, the column where each begins,
    an array for logits [steps, batch, vocabulary], the block table, cosines and
    sines by position, the weights as `weight_shapes` says and the memrefs of the
    caches, keys and values of a layer in turn. It returns tokens and logits.

    `global_scales` holds calibrated scales by ("k" or "v", layer)."""
    c = config
    layers = [Layer(c, i, global_scales or {}).build() for i in range(c.layers)]
    step = Step(c)
    step_text, call = step.build([call for _, call in layers])
    loop = decoding_loop.text(c, step.shared, call)
    return "".join([*(text for text, _ in layers), step_text, loop])
