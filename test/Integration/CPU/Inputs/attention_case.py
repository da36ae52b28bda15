"""A case of kvq.dequant_attention as a program, and its check."""

import numpy as np
from oracle import attention as att
from oracle import cases

from compare import F32_BOUND, check_close, check_lse, rounded
from placement import TOKEN_FORMATS, Placed, TokenCache
from program import Program, shaped

#: What the oracle's generator takes in place of a format along the tokens, for
#: the lengths, tables and queries of the case.
STAND_INS = {"nvfp4_token": "nvfp4", "mxfp4_token": "nvfp4", "mxfp8_token": "fp8"}


def options_text(options):
    """#kvq.attention<...>, or None for the default."""
    parts = ["causal"] if options.causal else []
    for name in ("window_left", "window_right"):
        if getattr(options, name) is not None:
            parts.append(f"{name} = {getattr(options, name)}")
    if options.softcap is not None:
        parts.append(f"softcap = {options.softcap:e}")
    return f"#kvq.attention<{', '.join(parts)}>" if parts else None


class AttentionCase:
    """Data of a case, with the program that runs it and what is expected."""

    #: How the program rounds weights and values, see oracle.attention.attend.
    round_weights = round_values = None

    def __init__(self, config, seed=0):
        """`config` has the options of the oracle's generator, and q and out
        (types), lse, kind (tensor or memref), dynamic, placement, and may have
        qk and pv (kinds of the products)."""
        self.config = config
        self.random = np.random.default_rng([seed, 1])
        base = {name: config[name] for name in cases.DOMAINS if name in config}
        base["strided"] = False
        for side in "kv":
            base[f"{side}_format"] = STAND_INS.get(
                config[f"{side}_format"], config[f"{side}_format"])
        case = cases.make_case(base, seed)
        sides = {"key": case.k_cache, "value": case.v_cache}
        for side, cache in sides.items():
            fmt = TOKEN_FORMATS.get(config[f"{side[0]}_format"])
            if fmt:
                sides[side] = TokenCache.random(
                    cache, fmt, 0.37 if fmt.has_global else 1.0, case.seq_lens,
                    case.block_table, self.random)
        self.q = rounded(case.q, config["q"])
        self.set_up(case, sides)

    def set_up(self, case, sides):
        self.placed = Placed(sides, self.config["placement"], self.random,
                             self.config["dynamic"])
        self.block_table, self.seq_lens = case.block_table, case.seq_lens
        self.qo_indptr, self.sinks = case.qo_indptr, case.sinks
        self.scale = np.float32(case.scale)
        self.options, self.kv_split = case.options, case.kv_split
        self.num_chunks = None
        if self.kv_split:  # one chunk more than any sequence has
            self.num_chunks = -(-int(self.seq_lens.max(initial=0)) // self.kv_split) + 1

    def expected(self):
        """(output, lse), with a leading dimension of chunks under a split."""
        return att.attention_over_cache(
            self.q.astype(np.float64), self.placed.caches["key"],
            self.placed.caches["value"], self.block_table, self.seq_lens,
            float(self.scale), self.options, self.qo_indptr, self.sinks,
            self.kv_split, self.num_chunks, self.round_weights, self.round_values)

    def program(self):
        """Returns (program, values of the outputs by name)."""
        config, p = self.config, Program()
        kind, dynamic = config["kind"], config["dynamic"]
        handles = self.placed.emit(p)
        # The number of heads and head_dim are static.
        rank = self.q.ndim
        open_dims = range(rank - 2) if dynamic else ()
        q, q_type = p.array("q", kind, config["q"], self.q, open_dims)
        table, table_type = p.array("table", kind, "i32", self.block_table, dynamic)
        # Without qo_indptr q's sizes are those of the other operands.
        lens, lens_type = p.array("lens", kind, "i32", self.seq_lens, dynamic)
        scale = p.argument("scale", "f32", f"{self.scale:.9g}")
        (k, k_type), (v, v_type) = handles["key"], handles["value"]
        text = (f"kvq.dequant_attention ins({q} : {q_type}) "
                f"caches({k}, {v} : {k_type}, {v_type}) "
                f"block_table({table} : {table_type}) seq_lens({lens} : {lens_type})")
        if self.qo_indptr is not None:
            indptr, type = p.array("indptr", kind, "i32", self.qo_indptr, dynamic)
            text += f" qo_indptr({indptr} : {type})"
        text += f" scale({scale})"
        if self.sinks is not None:
            sinks, type = p.array("sinks", kind, "f32", self.sinks)
            text += f" sinks({sinks} : {type})"
        attributes = {"options": options_text(self.options)}
        attributes.update((name, f"#kvq.mma_kind<{config[name]}>")
                          for name in ("qk", "pv") if name in config)
        lead = ()
        if self.kv_split:
            attributes["kv_split"] = f"{self.kv_split} : i64"
            lead = (self.num_chunks,)

        element = "f32" if self.kv_split else config["out"]
        shape = (*lead, *self.q.shape[:-1], self.placed.caches["value"].head_dim)
        open_dims = range(len(shape) - 2) if dynamic else ()
        outs = [p.outs("out", kind, element, shape, open_dims)]
        if self.kv_split or config["lse"]:
            outs.append(p.outs("lse", kind, "f32", shape[:-1], open_dims))
        parts = emit_destination_style(p, text, outs, attributes)
        names = ["out", "lse"][: len(parts)]
        if not self.kv_split:
            return p, dict(zip(names, parts))

        values = {"partial_out": parts[0], "partial_lse": parts[1]}
        text = "kvq.merge_states ins({}, {} : {}, {})".format(
            *parts, *(type for _, type in outs))
        open_dims = range(len(shape) - 3) if dynamic else ()
        outs = [p.outs("out", kind, config["out"], shape[1:], open_dims)]
        if config["lse"]:
            outs.append(p.outs("lse", kind, "f32", shape[1:-1], open_dims))
        values.update(zip(["out", "lse"], emit_destination_style(p, text, outs, {})))
        return p, values

    def check(self, target, directory, flags=(), within=F32_BOUND):
        """Runs the program and compares outputs to a relative error; returns
        its arrays by name."""
        p, values = self.program()
        arrays = p.run(target, directory, flags)
        self.placed.check(arrays, "cache")
        found = {name: arrays[value] for name, value in values.items()}
        out, lse = self.expected()
        if self.kv_split:
            check_close(found["partial_out"], out, what="partial output",
                        within=within)
            check_lse(found["partial_lse"], lse, "partial lse")
            out, lse = att.merge_states(out, lse)
        check_close(found["out"], out, self.config["out"], within=within)
        if "lse" in found:
            check_lse(found["lse"], lse)
        return found


def emit_destination_style(p, text, outs, attributes, tail=""):
    """Emits an operation with outs, [(value, type)], and returns the values
    that hold what it writes: its results, or memref arguments."""
    values, types = zip(*outs)
    text += f" outs({', '.join(values)} : {', '.join(types)}){tail}"
    attributes = [f"{name} = {value}" if value != "" else name
                  for name, value in attributes.items() if value is not None]
    if attributes:
        text += f" {{{', '.join(attributes)}}}"
    if types[0].startswith("memref"):
        p.emit(text)
        return list(values)
    results = [p.value("r") for _ in outs]
    p.emit(f"{', '.join(results)} = {text} -> {', '.join(types)}")
    for result, type in zip(results, types):
        p.result(result, type)
    return results
