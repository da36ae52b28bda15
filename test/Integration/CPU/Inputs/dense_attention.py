"""A case of kvq.attention on tensors as a program, and its check."""

import numpy as np
from oracle import attention as att

from attention_case import emit_destination_style, options_text
from compare import check_close, check_lse, rounded
from program import Program

OPTIONS = {
    "none": att.Options(),
    "causal": att.Options(causal=True),
    "window": att.Options(causal=True, window_left=3),
    "band": att.Options(window_left=2, window_right=1),
}


class DenseAttention:
    """`config` has q, kv and out (types), mask (none or a type), mask_shape,
    options, softcap, lengths, queries, ragged, group, kv_heads, dims, sinks,
    lse and dynamic."""

    BATCH, LENGTH = 3, 11

    def __init__(self, config, seed):
        c = self.config = config
        random = np.random.default_rng(seed)
        n, (dim, value_dim) = c["queries"], c["dims"]
        self.heads = c["kv_heads"] * c["group"]
        counts = [n, 2, 0]
        shape = (sum(counts),) if c["ragged"] else (self.BATCH, n)
        q = random.standard_normal((*shape, self.heads, dim))
        rows = (self.BATCH, self.LENGTH, c["kv_heads"])
        k = random.standard_normal((*rows, dim))
        v = random.standard_normal((*rows, value_dim))
        self.lens = np.array([11, 0, 6], np.int32) if c["lengths"] else None
        if c["lengths"]:  # what no sequence covers
            for b, tokens in enumerate(self.lens):
                k[b, tokens:] = v[b, tokens:] = np.nan
        self.q, self.k, self.v = (rounded(x, c[t]) for x, t in (
            (q, "q"), (k, "kv"), (v, "kv")))
        self.options = OPTIONS[c["options"]]._replace(softcap=c["softcap"])
        self.scale = np.float32(0.35 / np.sqrt(dim))
        self.indptr = None
        if c["ragged"]:
            self.indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        self.sinks = None
        if c["sinks"]:
            self.sinks = random.standard_normal(self.heads).astype(np.float32)
        self.mask = None
        if c["mask"] != "none":
            self.mask = self.make_mask(random)

    def make_mask(self, random):
        c, n = self.config, self.config["queries"]
        sizes = {"full": (self.BATCH, self.heads, n), "one": (1, 1, 1),
                 "heads": (self.BATCH, 1, n), "queries": (1, self.heads, 1),
                 }[c["mask_shape"]]
        sees = random.random((*sizes, self.LENGTH)) < 0.6
        if c["mask"] == "i1":
            return sees
        bias = np.where(sees, random.standard_normal(sees.shape), -np.inf)
        return rounded(bias, c["mask"])

    def program(self):
        """Returns (program, values of output and, if it has one, lse)."""
        c, p = self.config, Program()
        leading = range(self.q.ndim - 2) if c["dynamic"] else ()
        outer = (0, 1) if c["dynamic"] else ()
        operands = [p.array("q", "tensor", c["q"], self.q, leading),
                    p.array("k", "tensor", c["kv"], self.k, outer),
                    p.array("v", "tensor", c["kv"], self.v, outer)]
        values, types = zip(*operands)
        text = f"kvq.attention ins({', '.join(values)} : {', '.join(types)})"
        for name, array in (("seq_lens", self.lens), ("qo_indptr", self.indptr)):
            if array is not None:
                value, type = p.array(name, "tensor", "i32", array, c["dynamic"])
                text += f" {name}({value} : {type})"
        text += " scale({})".format(p.argument("scale", "f32", f"{self.scale:.9g}"))
        if self.mask is not None:
            dims = {d for d in (0, 2, 3) if self.mask.shape[d] != 1}
            value, type = p.array("mask", "tensor", c["mask"], self.mask,
                                  dims if c["dynamic"] else ())
            text += f" mask({value} : {type})"
        if self.sinks is not None:
            value, type = p.array("sinks", "tensor", "f32", self.sinks)
            text += f" sinks({value} : {type})"
        shape = (*self.q.shape[:-1], self.v.shape[-1])
        outs = [p.outs("o", "tensor", c["out"], shape, leading)]
        if c["lse"]:
            outs.append(p.outs("lse", "tensor", "f32", shape[:-1], leading))
        attributes = {"options": options_text(self.options)}
        return p, emit_destination_style(p, text, outs, attributes)

    def check(self, arrays):
        """Compares the arrays of the values of `program` with the oracle."""
        mask = self.mask
        if mask is not None and mask.dtype != bool:
            mask = mask.astype(np.float64)
        out, lse = att.attention(
            *(x.astype(np.float64) for x in (self.q, self.k, self.v)),
            float(self.scale), self.options, mask, self.sinks, self.lens,
            self.indptr)
        check_close(arrays[0], out, self.config["out"])
        for array in arrays[1:]:
            check_lse(array, lse)
