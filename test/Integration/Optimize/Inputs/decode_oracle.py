"""Greedy decoding in NumPy next to a compiled decoder.py module.

Rounding makes the two differ in last bits, and a quantizer makes of a last bit a
step of the format, which the layers above multiply: without more they drift apart in
a few tokens, right as they are. So the oracle attends to the bytes that the compiled
module stored, and says where it would have stored others.
"""

import ml_dtypes
import numpy as np
from oracle import cache as caches


class DecodeOracle:
    """Decodes the tokens of a generate.Program over the caches that the compiled
    module left, each slot of which was written once."""

    def __init__(self, program, stored):
        """`stored` is what Program.run returns for caches."""
        self.program, self.c = program, program.config
        c = self.c
        self.cos, self.sin = program.angles()
        #: The caches of the compiled module, those of the oracle, and the values of
        #: the former by position.
        self.stored, self.own, self.rows = [], [], []
        names = [(name, side, i) for i, name in enumerate(program.formats) for side in "kv"]
        for (name, side, layer), (data, scales) in zip(names, stored):
            sizes = dict(
                page=c.page,
                heads=c.kv_heads,
                head_dim=c.head_dim,
                fmt=name,
                kv_layout="HND",
                g=program.global_scales.get((side, layer), 1.0),
            )
            self.own.append(caches.Cache.allocate(program.pages, fill=0xFF, **sizes))
            g = sizes.pop("g")
            self.stored.append(caches.Cache(data.view(np.uint8), scales, g, **sizes))
            self.rows.append(np.full((c.batch, c.tokens, c.kv_heads, c.head_dim), np.nan))

    def weight(self, name, layer=None):
        prefix = "" if layer is None else f"blk.{layer}."
        return self.program.model.weights[f"{prefix}{name}.weight"]

    def norm(self, x, gain):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(self.c.epsilon)) * gain

    def rope(self, x, positions):
        cos, sin = self.cos[positions][:, None], self.sin[positions][:, None]
        low, high = np.split(x, 2, axis=-1)
        return np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)

    def append(self, index, rows, alive, positions):
        """Quantizes rows [batch, heads, dim], once rounded to bf16, and reads what
        the compiled module has there."""
        page = self.c.page
        rows = rows.astype(ml_dtypes.bfloat16).astype(np.float32)
        slots = [
            int(self.program.table[b, p // page]) * page + p % page if up else -1
            for b, (up, p) in enumerate(zip(alive, positions))
        ]
        caches.quantize_append(self.own[index], rows, slots)
        for b, slot in enumerate(slots):
            if slot >= 0:
                self.rows[index][b, positions[b]] = self.stored[index].values(
                    slot // page, slot % page
                )

    def attend(self, q, layer, alive, positions):
        """q [batch, heads, dim]; rows of sequences that did not start give 0."""
        c, out = self.c, np.zeros_like(q)
        group = c.heads // c.kv_heads
        for b in np.flatnonzero(alive):
            k, v = (self.rows[2 * layer + side][b, : positions[b] + 1] for side in (0, 1))
            k, v = (np.repeat(x, group, axis=1) for x in (k, v))
            logits = np.einsum("hd,jhd->hj", q[b].astype(np.float64), k) * c.head_dim**-0.5
            weights = np.exp(logits - logits.max(-1, keepdims=True))
            weights /= weights.sum(-1, keepdims=True)
            out[b] = np.einsum("hj,jhd->hd", weights, v)
        return out

    def layer(self, x, layer, alive, positions):
        c = self.c

        def project(x, name):
            return x @ self.weight(name, layer).T

        def heads(x):
            return x.reshape(c.batch, -1, c.head_dim)

        h = self.norm(x, self.weight("attn_norm", layer))
        q = self.rope(heads(project(h, "attn_q")), positions)
        self.append(2 * layer, self.rope(heads(project(h, "attn_k")), positions), alive, positions)
        self.append(2 * layer + 1, heads(project(h, "attn_v")), alive, positions)
        o = self.attend(q, layer, alive, positions).reshape(c.batch, -1)
        x = x + project(o, "attn_output")
        h = self.norm(x, self.weight("ffn_norm", layer))
        gate = project(h, "ffn_gate")
        gate = gate / (1 + np.exp(-gate)) * project(h, "ffn_up")
        return x + project(gate, "ffn_down")

    def logits(self, tokens):
        """The logits [steps, batch, vocabulary] after each of the tokens [batch,
        columns] from the end of the prompts on."""
        c, program = self.c, self.program
        result = []
        for t in range(c.tokens - 1):
            alive = t >= program.starts
            positions = np.maximum(t - program.starts, 0)
            x = self.weight("token_embd")[tokens[:, t]]
            for layer in range(c.layers):
                x = self.layer(x, layer, alive, positions)
            if t + 1 >= c.prompt:
                x = self.norm(x, self.weight("output_norm"))
                result.append(x @ self.weight("token_embd").T)
        return np.stack(result)

    def differences(self):
        """The share of bytes in which the caches differ."""
        counts = []
        for own, stored in zip(self.own, self.stored):
            different = (own.data != stored.data).sum()
            size = own.data.size
            if own.scales is not None:
                different += (own.scales != stored.scales).sum()
                size += own.scales.size
            counts.append((different, size))
        different, size = np.sum(counts, axis=0)
        return different / size
