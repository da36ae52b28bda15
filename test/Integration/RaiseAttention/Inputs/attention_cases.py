"""Random attention in linalg: layouts, forms of products, places of the scale,
kinds of softmax and masks, grouped queries, element types, sinks, and the
logarithm of the sum as a further column of the result."""

import math

import numpy as np
from attention_text import NINF, Text

CHOICES = {
    "product": ("generic", "generic", "batch_matmul", "five"),
    "scale": ("none", "query", "key", "scores", "both", "divide"),
    "softcap": ("none", "none", "cap"),
    "softmax": ("plain", "plain", "named", "exp2", "no_max", "late",
                "reciprocal", "fused", "log", "unit_dims"),
    "mask": ("none", "none", "causal", "causal_finite", "top_left", "window",
             "bias", "bool", "constant", "padding", "bias_scaled", "lengths",
             "causal_lengths"),
    "group": (1, 1, 2, 3),
    "element": ("f32", "f32", "f32", "f16", "bf16"),
    "batch": (1, 2, 3), "heads": (1, 2, 3), "queries": (1, 2, 4, 5),
    "keys": (5, 6, 9), "head_dim": (4, 6), "value_dim": (3, 4),
    "merged": (True, False),
    "sink": (None, None, "last_column", "first_column", "term"),
    "lse": (False, False, True),
}


def configuration(seed):
    random = np.random.default_rng([seed, 2026])
    config = {name: values[random.integers(len(values))]
              for name, values in CHOICES.items()}
    config["seed"] = seed
    return config


class Case:
    """One variant: its text, and its value in float64."""

    def __init__(self, config, replace_named=False):
        self.config = config
        self.random = np.random.default_rng([config["seed"], 6])
        self.replace_named = replace_named
        self.t = Text({"b": config["batch"], "h": config["heads"],
                       "g": config["group"], "i": config["queries"],
                       "j": config["keys"], "d": config["head_dim"],
                       "e": config["value_dim"], "o": 1,
                       "J": config["keys"] + 1, "E": config["value_dim"] + 1})
        self.arrays = []
        self.text = self.build()

    def shuffled(self, letters):
        return [letters[n] for n in self.random.permutation(len(letters))]

    def argument(self, dims, element, array):
        """An argument; `array` has its letters in alphabetical order."""
        value = self.t.argument(dims, element)
        letters = "".join(value[1])
        order = sorted(letters)
        array = np.transpose(array, [order.index(c) for c in letters])
        self.arrays.append(np.ascontiguousarray(array.reshape(
            self.t.shape(value[1]))))
        return value

    def floats(self, letters):
        sizes = [self.t.sizes[c] for c in sorted(letters)]
        return self.random.standard_normal(sizes).astype(np.float32)

    def build(self):
        t, c = self.t, self.config
        element = c["element"]
        self.q, self.k, self.v = (self.floats(x) for x in ("bhgid", "bhjd", "bhje"))
        q_dims = self.shuffled(["b", "hg", "i", "d"] if c["merged"]
                               else ["b", "h", "g", "i", "d"])
        q = self.argument(q_dims, element, self.q)
        k = self.argument(self.shuffled("bhjd"), element, self.k)
        v = self.argument(self.shuffled("bhje"), element, self.v)
        fine = [d for dims in q[1] for d in dims]
        q = t.expand(q, fine)
        self.scale = 1.0
        if c["scale"] in ("query", "key", "both") and element == "f32":
            half = c["scale"] == "both"
            factor = 0.75 if half else 0.4
            if c["scale"] in ("query", "both"):
                q = t.scaled("arith.mulf", q, factor)
                self.scale *= factor
            if c["scale"] in ("key", "both"):
                k = t.scaled("arith.mulf", k, factor)
                self.scale *= factor
        scores = self.emit_scores(q, k)
        if c["scale"] == "scores":
            self.scale = 0.375
            scores = t.scaled("arith.mulf", scores, self.scale)
        elif c["scale"] == "divide":
            self.scale = 1 / 2.5
            scores = t.scaled("arith.divf", scores, 2.5)
        self.cap = None
        if c["softcap"] == "cap":
            self.cap = 1.5
            scores = t.scaled("arith.divf", scores, self.cap)
            scores = t.scaled("arith.mulf", t.unary(scores, "math.tanh"), self.cap)
        scores = self.emit_mask(scores)
        late = c["softmax"] == "late"
        weights, divisor = self.emit_softmax(scores)
        if element != "f32":
            weights = t.cast(weights, element)
        out = self.emit_output(weights, v)
        if late:
            out = t.binary("arith.divf", out, divisor)
        if self.lse is not None:
            dims = ["o" if d == "e" else d for d in out[1]]
            column = t.map([self.lse], lambda a, out: ([], a), dims=dims)
            out = t.concat([out, column], "e", "E")
        return t.function(out)

    def emit_scores(self, q, k):
        t, c = self.t, self.config
        if c["product"] == "generic":
            dims = self.shuffled("bhgij")
            return t.dot(q, k, dims, "f32", swap=bool(self.random.integers(2)))
        if c["product"] == "five":
            q = t.transpose(q, "bhgid")
            k = t.transpose(k, "bhdj")
            return t.dot(q, k, "bhgij", "f32")
        # Repeated heads, merged batch dimensions.
        q = t.collapse(t.transpose(q, "bhgid"), ["bhg", "i", "d"])
        k = t.transpose(k, "bhdj")
        k = t.map([k], lambda a, out: ([], a), dims=list("bhgdj"))
        k = t.collapse(k, ["bhg", "d", "j"])
        scores = t.batch_matmul(q, k, ["bhg", "i", "j"], "f32")
        return t.expand(scores, list("bhgij"))

    def emit_output(self, weights, v):
        t, c = self.t, self.config
        if c["product"] == "batch_matmul":
            weights = t.collapse(t.transpose(weights, "bhgij"), ["bhg", "i", "j"])
            v = t.transpose(v, "bhje")
            v = t.map([v], lambda a, out: ([], a), dims=list("bhgje"))
            v = t.collapse(v, ["bhg", "j", "e"])
            out = t.batch_matmul(weights, v, ["bhg", "i", "e"], "f32")
            out = t.expand(out, list("bhgie"))
            return t.transpose(out, self.out_dims())
        dims = self.out_dims()
        return t.dot(weights, v, dims, "f32", swap=bool(self.random.integers(2)))

    def out_dims(self):
        self.result = self.shuffled("bhgie")
        return self.result

    def emit_select(self, scores, condition, fill):
        """`condition` emits an i1 %keep from indices %i and %j."""
        i, j = scores[1].index("i"), scores[1].index("j")

        def body(a, out):
            return ([f"%i = linalg.index {i} : index", f"%j = linalg.index {j} : index",
                     *condition, f"%fill = arith.constant {fill} : f32",
                     f"%r = arith.select %keep, {a}, %fill : f32"], "%r")
        return self.t.map([scores], body)

    def emit_mask(self, scores):
        t, c, kind = self.t, self.config, self.config["mask"]
        n, length = c["queries"], c["keys"]
        i, j = np.arange(n)[:, None], np.arange(length)[None, :]
        offset = length - n
        self.bias = np.zeros((1, 1, 1, 1, 1))
        self.fill = None
        if kind in ("causal", "causal_finite"):
            fill = NINF["f32"] if kind == "causal" else "-1.0e9"
            self.bias = np.where(j <= i + offset, 0, -np.inf)
            return self.emit_select(scores, [
                f"%o = arith.constant {offset} : index", "%p = arith.addi %i, %o : index",
                "%keep = arith.cmpi sle, %j, %p : index"], fill)
        if kind == "top_left":
            self.bias = np.where(j <= i, 0, -np.inf)
            return self.emit_select(
                scores, ["%keep = arith.cmpi uge, %i, %j : index"], NINF["f32"])
        if kind == "window":
            self.bias = np.where((j <= i + offset) & (j > i + offset - 3), 0, -np.inf)
            return self.emit_select(scores, [
                f"%o = arith.constant {offset} : index", "%p = arith.addi %i, %o : index",
                "%c = arith.cmpi sgt, %j, %p : index", "%true = arith.constant true",
                "%c1 = arith.xori %c, %true : i1", "%w = arith.constant 3 : index",
                "%l = arith.subi %p, %w : index", "%c2 = arith.cmpi sgt, %j, %l : index",
                "%keep = arith.andi %c1, %c2 : i1"], NINF["f32"])
        if kind in ("lengths", "causal_lengths"):
            lens = self.random.integers(n, length + 1, t.sizes["b"]).astype(np.int32)
            value = self.argument("b", "i32", lens)
            last = lens[:, None, None] - 1
            causal = kind == "causal_lengths"
            if causal:
                last = last - n + 1 + i
            self.bias = self.spread(np.where(j <= last + 0 * i, 0, -np.inf), "bij")
            at = {d: scores[1].index(d) for d in "ij"}
            extra = [f"%i = linalg.index {at['i']} : index",
                     "%i32 = arith.index_cast %i : index to i32",
                     f"%n = arith.constant {n} : i32", "%m1 = arith.subi %m, %n : i32",
                     "%p = arith.addi %m1, %i32 : i32",
                     "%keep = arith.cmpi sle, %j32, %p : i32"]
            lines = extra if causal else ["%keep = arith.cmpi slt, %j32, %m : i32"]
            return t.map([scores, value], lambda a, m, out: (
                ["%zero = arith.constant 0 : i32", f"%m = arith.addi {m}, %zero : i32",
                 f"%j = linalg.index {at['j']} : index",
                 "%j32 = arith.index_cast %j : index to i32", *lines,
                 f"%fill = arith.constant {NINF['f32']} : f32",
                 f"%r = arith.select %keep, {a}, %fill : f32"], "%r"))
        if kind in ("bias", "bias_scaled"):
            dims = self.shuffled("hgij" if self.random.integers(2) else "bij")
            letters = sorted(dims)
            bias = self.floats(letters)
            value = self.argument(dims, "f32", bias)
            factor = 1.0
            if kind == "bias_scaled":
                factor = 0.5
                scores = t.binary("arith.addf", scores, value)
                # The capped scores cannot be scaled again.
                if self.cap is None:
                    scores = t.scaled("arith.mulf", scores, factor)
                    self.scale *= factor
                else:
                    factor = 1.0
            else:
                scores = t.binary("arith.addf", scores, value)
            self.bias = factor * self.spread(bias, letters)
            return scores
        if kind == "bool":
            dims = self.shuffled("bij")
            keep = self.random.integers(0, 2, [t.sizes[d] for d in "bij"]).astype(bool)
            keep[:, :, 0] = True
            value = self.argument(dims, "i1", keep)
            self.bias = self.spread(np.where(keep, 0, -np.inf), "bij")
            ninf = t.constant(NINF["f32"], "f32")
            return t.map([scores, value], lambda a, m, out: (
                [f"%r = arith.select {m}, {a}, {ninf} : f32"], "%r"))
        if kind == "constant":
            bias = np.where(j <= i + offset, 0, -1e9).astype(np.float32)
            rows = ", ".join("[" + ", ".join("0.0" if x == 0 else "-1.0e9" for x in row)
                             + "]" for row in bias)
            name = t.emit(f"arith.constant dense<[{rows}]> : tensor<{n}x{length}xf32>")
            self.bias = np.where(bias == 0, 0, -np.inf)
            return t.binary("arith.addf", scores, (name, ["i", "j"], "f32"))
        if kind == "padding":
            # (1 - m) * -1e9 added, as BERT does.
            keep = np.ones((t.sizes["b"], length), np.float32)
            for b in range(1, t.sizes["b"]):
                keep[b, length - b:] = 0
            value = self.argument("bj", "f32", keep)
            one, low = t.constant("1.0", "f32"), t.constant("-1.0e9", "f32")
            bias = t.map([value], lambda a, out: (
                [f"%s = arith.subf {one}, {a} : f32",
                 f"%r = arith.mulf %s, {low} : f32"], "%r"))
            self.bias = self.spread((1 - keep.astype(np.float64)) * -1e9, "bj")
            return t.binary("arith.addf", scores, bias)
        return scores

    def spread(self, array, letters):
        """An array over sorted letters as one over bhgij."""
        order = [c for c in "bhgij" if c in letters]
        array = np.transpose(array, [sorted(letters).index(c) for c in order])
        return array.reshape([self.t.sizes[c] if c in letters else 1 for c in "bhgij"])

    def emit_sink(self, scores):
        """The sinks, one for each query head, with the dimensions of the scores
        but for that of the keys."""
        self.sink = None
        if not self.config["sink"]:
            return None
        self.sink = self.floats("hg") + 1
        value = self.t.expand(self.argument(["hg"], "f32", self.sink), "hg")
        dims = ["o" if d == "j" else d for d in scores[1]]
        return self.t.map([value], lambda a, out: ([], a), dims=dims)

    def emit_softmax(self, scores):
        """Returns the weights, and for a late division what divides them."""
        t, kind = self.t, self.config["softmax"]
        sink, form = self.emit_sink(scores), self.config["sink"]
        named = kind == "named" and not self.replace_named
        is_column = sink and (form != "term" or kind == "named")
        first = form == "first_column"
        key = "j"
        if is_column:
            parts = [sink, scores] if first else [scores, sink]
            scores = t.concat(parts, "o" if first else "j", "J")
            key = "J"

        def keep(weights):
            return t.slice(weights, "J", "j", int(first)) if is_column else weights

        self.lse = None
        f = "arith.subf"
        if named:
            out = t.empty(scores[1], "f32")
            name = t.emit(
                f"linalg.softmax dimension({scores[1].index(key)}) ins({scores[0]} : "
                f"{t.type(scores)}) outs({out[0]} : {t.type(out)}) -> {t.type(out)}")
            return keep((name, scores[1], "f32")), None
        exp = "math.exp"
        if kind == "exp2":
            exp = "math.exp2"
            scores = t.scaled("arith.mulf", scores, repr(math.log2(math.e)))
            if sink and not is_column:
                sink = t.scaled("arith.mulf", sink, repr(math.log2(math.e)))
        unit = kind == "unit_dims"
        largest = None
        if kind != "no_max":
            largest = t.reduce(scores, key, "arith.maximumf", NINF["f32"], unit)
        if kind == "fused":
            weights = t.map([scores, largest], lambda a, m, out: (
                [f"%s = arith.subf {a}, {m} : f32", f"%r = {exp} %s : f32"], "%r"))
        else:
            shifted = scores if largest is None else t.binary(f, scores, largest)
            weights = t.unary(shifted, exp)
        total = t.reduce(weights, key, "arith.addf", "0.0", unit)
        if sink and not is_column:
            total = self.add_sink(total, sink, largest, exp)
        if self.config["lse"] and self.config["softmax"] != "named":
            self.emit_lse(total, largest)
        if kind == "late":
            return keep(weights), total
        if kind == "log":
            lse = t.unary(total, "math.log")
            return keep(t.unary(t.binary(f, shifted, lse), exp)), None
        if kind == "reciprocal":
            one = t.constant("1.0", "f32")
            inverse = t.map([total], lambda a, out: (
                [f"%r = arith.divf {one}, {a} : f32"], "%r"))
            return keep(t.binary("arith.mulf", weights, inverse)), None
        return keep(t.binary("arith.divf", weights, total)), None

    @staticmethod
    def named(value, old, new):
        """The same with another letter for a dimension, such as a unit one."""
        return (value[0], [new if d == old else d for d in value[1]], value[2])

    def add_sink(self, total, sink, largest, exp):
        """The sum with the exponential of the sink."""
        if "" not in total[1]:
            sink = self.named(sink, "o", "")
        inputs = [self.named(total, "", "o"), sink]
        if largest:
            inputs.append(self.named(largest, "", "o"))

        def add(a, z, *rest):
            shift = f"%z = arith.subf {z}, {rest[0]} : f32"
            return ([*([shift] if largest else []),
                     f"%e = {exp} {'%z' if largest else z} : f32",
                     f"%r = arith.addf {a}, %e : f32"], "%r")
        return self.named(self.t.map(inputs, add), "o", "")

    def emit_lse(self, total, largest):
        t = self.t
        self.lse = t.unary(self.named(total, "", "o"), "math.log")
        if largest:
            largest = self.named(largest, "", "o")
            if self.config["softmax"] == "exp2":
                largest = t.scaled("arith.mulf", largest, repr(math.log(2)))
            self.lse = t.binary("arith.addf", self.lse, largest)
        self.lse = self.named(self.lse, "o", "")

    def inputs(self):
        """The arguments in their element types."""
        import ml_dtypes
        types = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
                 "i1": np.bool_, "i32": np.int32}
        return [array.astype(types[value[2]])
                for value, array in zip(self.t.arguments, self.arrays)]

    def expected(self):
        """In float64, with the inputs rounded to their types."""
        import ml_dtypes
        types = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
        dtype = types[self.config["element"]]
        sort = {"q": "bhgid", "k": "bhjd", "v": "bhje"}
        q, k, v = (np.transpose(getattr(self, n).astype(dtype).astype(np.float64),
                                [sorted(d).index(c) for c in d])
                   for n, d in sort.items())
        s = np.einsum("bhgid,bhjd->bhgij", q, k) * self.scale
        if self.cap is not None:
            s = self.cap * np.tanh(s / self.cap)
        s = s + self.bias
        if self.sink is not None:
            z = np.broadcast_to(self.sink.T[None, :, :, None, None], (*s.shape[:-1], 1))
            s = np.concatenate([s, z], axis=-1)
        with np.errstate(invalid="ignore"):
            largest = s.max(-1, keepdims=True)
            p = np.exp(s - largest)
        total = p.sum(-1, keepdims=True)
        p = (p / total)[..., :self.t.sizes["j"]]
        # A row without keys is 0 in kvq.attention, NaN in linalg.
        out = np.einsum("bhgij,bhje->bhgie", p, v)
        if self.lse is not None:
            out = np.concatenate([out, np.log(total) + largest], axis=-1)
        return np.transpose(out, ["bhgie".index(c) for c in self.result])
