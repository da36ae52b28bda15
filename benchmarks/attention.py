#!/usr/bin/env python3
"""Attention over a quantized cache on the CPU, beside PyTorch's.

One query token (decode) or --queries of them (a chunk of a prefill) of one
sequence attend to all of a long paged cache. Prints tokens and bytes per second
of kvq for each format, of PyTorch's scaled_dot_product_attention on f32 and
bf16 caches of the same shape (skipped where PyTorch is not installed), and the
machine's copy bandwidth, all on the same cores in one run. Results are checked
against float64 first.

The tokens that are counted are those of the cache for decode, and the query
tokens for a chunk.

Needs NumPy and ml_dtypes, and a build of kvq-run.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import ml_dtypes
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = 16
E2M1 = np.float32([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])

#: Elements per byte, block, element and scale types, and whether values carry
#: a global scale.
FORMATS = {
    "nvfp4": (2, 16, "f4E2M1FN", "f8E4M3FN", True),
    "mxfp4": (2, 32, "f4E2M1FN", "f8E8M0FNU", False),
    "mxfp8": (1, 32, "f8E4M3FN", "f8E8M0FNU", False),
    "fp8": (1, 0, "f8E4M3FN", None, True),
}
GLOBAL_SCALE = np.float32(0.25)


class Failure(Exception):
    pass


class Cache:
    """Random stored rows, [pages, heads, PAGE, ...], and their values."""

    def __init__(self, rng, name, pages, heads, dim):
        packing, block, self.element, self.scale_type, self.has_global = FORMATS[name]
        shape = (pages, heads, PAGE)
        self.data = rng.integers(0, 256, (*shape, dim // packing), np.uint8)
        self.scales = None
        if self.element == "f4E2M1FN":
            values = np.stack([E2M1[self.data & 15], E2M1[self.data >> 4]], -1)
            values = values.reshape(*shape, dim)
        else:
            self.data &= 0xBF  # below 2 in magnitude, no NaN
            values = self.data.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
        if block:
            # Between 1/4 and 4: E4M3 has its 1 at 0x38, E8M0 at 127.
            low, high = (0x28, 0x48) if self.scale_type == "f8E4M3FN" else (125, 129)
            self.scales = rng.integers(low, high, (*shape, dim // block), np.uint8)
            kind = (ml_dtypes.float8_e4m3fn if self.scale_type == "f8E4M3FN"
                    else ml_dtypes.float8_e8m0fnu)
            values *= np.repeat(self.scales.view(kind).astype(np.float32), block, -1)
        if self.has_global:
            values *= GLOBAL_SCALE
        self.values = values
        self.bytes = self.data.nbytes + (0 if self.scales is None else self.scales.nbytes)

    def arguments(self):
        """The arrays of the handle and their MLIR types."""
        _, heads, page, size = self.data.shape
        size *= 2 if self.element == "f4E2M1FN" else 1
        parts = [("data", f"memref<?x{heads}x{page}x{size}x{self.element}>", self.data)]
        if self.scales is not None:
            parts.append(("scales",
                          f"memref<?x{heads}x{page}x{self.scales.shape[-1]}x{self.scale_type}>",
                          self.scales))
        if self.has_global:
            parts.append(("global_scale", "memref<f32>", np.array(GLOBAL_SCALE)))
        return parts


def module(name, k, v, queries, query_heads, kv_heads, dim):
    """The text of @main and the arrays that it takes."""
    layout = ", linear" if k.scales is not None else ""
    arguments, body, arrays = [], [], []
    for side, cache in (("key", k), ("value", v)):
        parts = []
        for part, type, array in cache.arguments():
            arguments.append(f"%{side}_{part}: {type}")
            parts.append(f"{part}(%{side}_{part} : {type})")
            arrays.append(array)
        body.append(f"  %{side} = kvq.make_cache {' '.join(parts)}\n"
                    f"      : !kvq.cache<{side}, {PAGE}x{kv_heads}x{dim}, {name}, HND{layout}>")
    caches = ", ".join(f"!kvq.cache<{side}, {PAGE}x{kv_heads}x{dim}, {name}, HND{layout}>"
                       for side in ("key", "value"))
    row = f"memref<1x{queries}x{query_heads}x{dim}xf32>"
    text = f"""func.func @main(%q: {row}, {", ".join(arguments)},
    %table: memref<1x?xi32>, %lengths: memref<1xi32>, %scale: f32, %o: {row}) {{
{chr(10).join(body)}
  kvq.dequant_attention ins(%q : {row}) caches(%key, %value : {caches})
      block_table(%table : memref<1x?xi32>) seq_lens(%lengths : memref<1xi32>)
      scale(%scale) outs(%o : {row})
  return
}}
"""
    return text, arrays


def run_kvq(arguments, name, k, v, q, table):
    """Seconds of the median and the fastest call, and the output."""
    text, arrays = module(name, k, v, arguments.queries, arguments.heads,
                          arguments.kv_heads, arguments.dim)
    output = np.zeros_like(q)
    arrays = [q, *arrays, table, np.array([arguments.tokens], np.int32)]
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        (directory / "attention.mlir").write_text(text)
        command = [arguments.kvq_run, directory / "attention.mlir", "--entry=main",
                   "--target=cpu", "--report", f"--repeat={arguments.repeat}"]
        for i, array in enumerate(arrays):
            np.save(directory / f"{i}.npy", array)
            command.append(f"--arg={directory / f'{i}.npy'}")
        np.save(directory / "o.npy", output)
        command += [f"--arg={arguments.dim ** -0.5!r}", f"--arg={directory / 'o.npy'}",
                    f"--save={len(arrays) + 1}:{directory / 'result.npy'}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"kvq-run failed:\n{done.stderr}")
        times = dict(re.findall(r"time (.*): ([0-9.]+) ms", done.stdout))
        output = np.load(directory / "result.npy")
    fastest = times.get("fastest run", times["run"])
    return float(times["run"]) / 1e3, float(fastest) / 1e3, output


def fold(q, kv_heads):
    """[queries, heads, D] to [kv_heads, heads of a group times queries, D]."""
    queries, heads, dim = q.shape
    q = q.reshape(queries, kv_heads, heads // kv_heads, dim)
    return np.ascontiguousarray(q.transpose(1, 2, 0, 3)).reshape(kv_heads, -1, dim)


def reference(q, k, v):
    """Attention in float64. q is [queries, heads, D], k and v [kv_heads, tokens,
    D]."""
    queries, heads, dim = q.shape
    kv_heads = k.shape[0]
    rows = fold(q, kv_heads).astype(np.float64)
    logits = rows @ k.astype(np.float64).transpose(0, 2, 1) * dim ** -0.5
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    output = weights @ v.astype(np.float64) / weights.sum(-1, keepdims=True)
    output = output.reshape(kv_heads, heads // kv_heads, queries, dim)
    return output.transpose(2, 0, 1, 3).reshape(queries, heads, dim)


def measure(call, repeat):
    """Seconds of the median and the fastest call."""
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), min(times)


def copy_bandwidth(threads, repeat):
    """Bytes per second, read and written, of copies that no cache holds."""
    size = 64 << 20
    pairs = [(np.ones(size, np.uint8), np.zeros(size, np.uint8)) for _ in range(threads)]
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        def call():
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))
        median, _ = measure(call, repeat)
    return 2 * size * threads / median


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kvq-run", type=pathlib.Path, default=ROOT / "build/bin/kvq-run")
    parser.add_argument("--tokens", type=int, default=16384, help="of the cache")
    parser.add_argument("--queries", type=int, default=1)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--kv-heads", type=int, default=8)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--formats", default="nvfp4",
                        help="comma-separated, of " + ", ".join(FORMATS))
    parser.add_argument("--repeat", type=int, default=50)
    arguments = parser.parse_args()
    names = arguments.formats.split(",")
    for name in names:
        if name not in FORMATS:
            raise Failure(f"format {name}, expected one of {', '.join(FORMATS)}")
    if min(arguments.tokens, arguments.queries, arguments.repeat) < 1:
        raise Failure("--tokens, --queries and --repeat must be positive")
    if arguments.heads % arguments.kv_heads or arguments.dim % 32:
        raise Failure("--heads must be a multiple of --kv-heads, --dim of 32")

    threads = len(os.sched_getaffinity(0))
    rng = np.random.default_rng(0)
    pages = -(-arguments.tokens // PAGE)
    table = rng.permutation(pages).astype(np.int32).reshape(1, -1)
    shape = (1, arguments.queries, arguments.heads, arguments.dim)
    q = rng.standard_normal(shape).astype(np.float32)
    counted = arguments.tokens if arguments.queries == 1 else arguments.queries
    print(f"{arguments.queries} query tokens, {arguments.tokens} tokens in the cache, "
          f"{arguments.heads} query heads, {arguments.kv_heads} KV heads, head_dim "
          f"{arguments.dim}, {threads} threads, median of {arguments.repeat} calls")
    print(f"{'':24} {'ms':>9} {'fastest':>9} {'tokens/s':>10} {'cache MB':>9} {'GB/s':>7}")

    def show(label, times, bytes):
        print(f"{label:24} {times[0] * 1e3:9.3f} {times[1] * 1e3:9.3f} "
              f"{counted / times[0]:10.0f} {bytes / 1e6:9.2f} "
              f"{bytes / times[0] / 1e9:7.2f}", flush=True)

    ours = {}
    dense = None
    for name in names:
        k, v = (Cache(rng, name, pages, arguments.kv_heads, arguments.dim) for _ in "kv")
        # [kv_heads, tokens, D] in the order of the table.
        k_values, v_values = (
            cache.values[table[0]].transpose(1, 0, 2, 3).reshape(
                arguments.kv_heads, -1, arguments.dim)[:, :arguments.tokens]
            for cache in (k, v))
        dense = dense or (k_values, v_values)
        *times, output = run_kvq(arguments, name, k, v, q, table)
        expected = reference(q[0], k_values, v_values)
        error = np.linalg.norm(output[0] - expected) / np.linalg.norm(expected)
        if not error < 1e-5:
            raise Failure(f"{name}: relative L2 error {error:.2e}, expected below 1e-5")
        show(f"kvq {name}", times, k.bytes + v.bytes)
        ours[name] = times[0]

    theirs = {}
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: skipped")
    else:
        torch.set_num_threads(threads)
        attend = torch.nn.functional.scaled_dot_product_attention
        for label, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
            tk, tv = (torch.from_numpy(np.ascontiguousarray(x))[None].to(dtype) for x in dense)
            heads_first = np.ascontiguousarray(q.transpose(0, 2, 1, 3))
            tq = torch.from_numpy(heads_first).to(dtype)
            # The heads of a group as rows of one product: without a mask it is
            # the same, and often faster.
            rows = torch.from_numpy(fold(q[0], arguments.kv_heads))[None].to(dtype)
            size = tk.nbytes + tv.nbytes
            with torch.inference_mode():
                for form, call in (
                        ("gqa", lambda: attend(tq, tk, tv, enable_gqa=True)),
                        ("rows", lambda: attend(rows, tk, tv))):
                    times = measure(call, arguments.repeat)
                    show(f"PyTorch {label} ({form})", times, size)
                    theirs[f"PyTorch {label} ({form})"] = times[0]

    bandwidth = copy_bandwidth(threads, max(arguments.repeat // 5, 3))
    print(f"copy bandwidth (read and write): {bandwidth / 1e9:.2f} GB/s")
    for name, seconds in ours.items():
        for other, their_seconds in theirs.items():
            print(f"kvq {name} tokens/s over {other}: {their_seconds / seconds:.2f}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"attention.py: error: {failure}", file=sys.stderr)
        sys.exit(1)
