"""Decode attention over one KV head of a paged nvfp4, mxfp4, fp8 or bf16 cache: the same
work as a module for kvq-compile and as Triton kernels, and how both are launched on
the emulator."""

import os
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np

import gpu_kernels

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test/Emulator/Inputs")]

CHIP = "sm_100a"
DIM, TILE = 128, 128
#: Elements that share a block scale, and the type of the scales.
SCALES = {"nvfp4": (16, "f8E4M3FN"), "mxfp4": (32, "f8E8M0FNU")}
HAS_GLOBAL_SCALE = ("nvfp4", "fp8")
#: Bytes of the cache for each token: key and value, with scales.
BYTES_PER_TOKEN = {
    **{cache: 2 * (DIM // 2 + DIM // block) for cache, (block, _) in SCALES.items()},
    "fp8": 2 * DIM, "bf16": 2 * 2 * DIM}
#: How a cache's elements are called in MLIR, as what they multiply P, and how NumPy has
#: them.
ELEMENT = {"nvfp4": "f4E2M1FN", "mxfp4": "f4E2M1FN", "fp8": "f8E4M3FN", "bf16": "bf16"}
PV = {"nvfp4": "f16", "mxfp4": "bf16", "fp8": "f16", "bf16": "bf16"}
DTYPE = {"fp8": ml_dtypes.float8_e4m3fn, "bf16": ml_dtypes.bfloat16}
#: Tokens of a step of the Triton kernels: the best of 32, 64 and 128, with 4 warps.
BLOCK = {"nvfp4": 128, "bf16": 64}


def random_mx_rows(random, *shape):
    """Data of mxfp4 and scales between 1/8 and 1."""
    return (random.integers(0, 256, (*shape, DIM // 2), np.uint8),
            random.integers(124, 128, (*shape, DIM // 32), np.uint8))


def decode_mx(data, scales):
    ones = np.full((*data.shape[:-1], DIM // 16), 0x38, np.uint8)
    factors = np.exp2(scales.astype(np.float32) - 127)
    return gpu_kernels.decode(data, ones) * np.repeat(factors, 32, -1)


class Work:
    """A sequence of `tokens`, `rows` query heads that share its KV head. The keys
    of a `growing` cache double with every 128 tokens, up to 32 times, and logits are
    so large that each of these tiles has sums rescaled."""

    def __init__(self, tokens, page, rows, cache="nvfp4", growing=False):
        self.tokens, self.page, self.rows, self.cache = tokens, page, rows, cache
        random = np.random.default_rng(0)
        pages = -(-tokens // page)
        self.table = random.permutation(pages).astype(np.int32).reshape(1, pages)
        self.lengths = np.full(1, tokens, np.int32)
        self.q = random.standard_normal((1, 1, rows, DIM)).astype(np.float16)
        self.output = np.zeros_like(self.q)
        self.scale = DIM**-0.5 * (4 if growing else 0.25)
        self.g = np.array(gpu_kernels.GLOBAL_SCALE if cache in HAS_GLOBAL_SCALE
                          else np.float32(1))
        if cache in SCALES:
            make, decode, twice = {
                # Eight more in E4M3 is twice as much.
                "nvfp4": (gpu_kernels.random_rows, gpu_kernels.decode, 8),
                "mxfp4": (random_mx_rows, decode_mx, 1)}[cache]
            (self.k, self.k_scales), (self.v, self.v_scales) = (
                make(random, pages, 1, page) for _ in "kv")
            if growing:
                token = np.arange(pages * page).reshape(pages, page)
                more = twice * np.minimum(token // TILE, 5).astype(np.uint8)
                self.k_scales[self.table[0], 0] += more[..., None]
            k, v = (decode(data, scales) for data, scales in (
                (self.k, self.k_scales), (self.v, self.v_scales)))
        else:
            self.k, self.v = ((4 * random.standard_normal((pages, 1, page, DIM)))
                              .astype(DTYPE[cache]) for _ in "kv")
            if growing:
                token = np.arange(pages * page).reshape(pages, page)
                more = np.exp2(np.minimum(token // TILE, 5) - 3.0)
                self.k[self.table[0], 0] *= more[..., None].astype(DTYPE[cache])
            k, v = (x.astype(np.float32) for x in (self.k, self.v))
        k, v = k * self.g, v * self.g
        k, v = (x[self.table[0], 0].reshape(-1, DIM)[:tokens].astype(np.float64)
                for x in (k, v))
        logits = self.q[0, 0].astype(np.float64) @ k.T * self.scale
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        self.expected = weights @ v / weights.sum(-1, keepdims=True)

    def error(self, output):
        output = np.asarray(output)[0, 0].astype(np.float64)
        return np.linalg.norm(output - self.expected) / np.linalg.norm(self.expected)

    def module(self, kind, pv=None):
        """`kind` is that of Q K^T, None to leave the choice to the compiler; `pv` that
        of P V, by default one that keeps V exact."""
        cache = f"{self.page}x1x{DIM}, {self.cache}, HND"
        data, scales = f"memref<?x1x{self.page}x{DIM}x{ELEMENT[self.cache]}>", ""
        row, arguments, handles = f"memref<?x1x{self.rows}x{DIM}xf16>", "", ""
        if self.cache in SCALES:
            block, element = SCALES[self.cache]
            cache += ", linear"
            scales = f"memref<?x1x{self.page}x{DIM // block}x{element}>"
        for side in "kv":
            arguments += f", %{side}: {data}"
            handles += f"  %{side}_cache = kvq.make_cache data(%{side} : {data})"
            if scales:
                arguments += f", %{side}_scales: {scales}"
                handles += f" scales(%{side}_scales : {scales})"
            if self.cache in HAS_GLOBAL_SCALE:
                arguments += f", %{side}_g: memref<f32>"
                handles += f" global_scale(%{side}_g : memref<f32>)"
            side = {"k": "key", "v": "value"}[side]
            handles += f" : !kvq.cache<{side}, {cache}>\n"
        pv = pv or PV[self.cache]
        kinds = (f" {{qk = #kvq.mma_kind<{kind}>, pv = #kvq.mma_kind<{pv}>}}"
                 if kind else "")
        return f"""func.func @decode(%q: {row}{arguments}, %table: memref<?x?xi32>,
    %lengths: memref<?xi32>, %scale: f32, %output: {row}) {{
{handles}  kvq.dequant_attention ins(%q : {row})
      caches(%k_cache, %v_cache : !kvq.cache<key, {cache}>, !kvq.cache<value, {cache}>)
      block_table(%table : memref<?x?xi32>) seq_lens(%lengths : memref<?xi32>)
      scale(%scale) outs(%output : {row}){kinds}
  return
}}
"""

    def operands(self):
        """Arrays by the names that the manifest gives to pointers."""
        result = {"q": self.q, "block_table": self.table, "seq_lens": self.lengths,
                  "output": self.output}
        for side in "kv":
            result[f"{side}_data"] = getattr(self, side)
            if self.cache in SCALES:
                result[f"{side}_scales"] = getattr(self, f"{side}_scales")
            if self.cache in HAS_GLOBAL_SCALE:
                result[f"{side}_global_scale"] = self.g
        return result

    def triton(self):
        """A job of gpu_kernels.py."""
        g = [self.g.reshape(1)] if self.cache == "nvfp4" else []
        sides = []
        for side in "kv":
            sides.append(getattr(self, side))
            if g:
                sides += [getattr(self, f"{side}_scales"), *g]
        arguments = [self.q, *sides, self.table, self.lengths, self.output,
                     ("i32", self.table.shape[1]), ("fp32", self.scale)]
        return gpu_kernels.Case(
            "decode" if g else "decode_bf16", self.tokens, "", [], arguments, (1, 1),
            dict(HEADS=1, GROUP=self.rows, D=DIM, PAGE=self.page, BLOCK=BLOCK[self.cache]),
            {"output": (len(arguments) - 3, None)}, 0)


class Kernel:
    """A kernel of kvq's, compiled."""

    def __init__(self, work, kind, tools, directory, pv=None):
        os.environ.setdefault("KVQ_LIBRARY", str(tools.parent / "lib/libKVQ-C.so"))
        from kvq.manifest import Manifest

        source, self.ptx, manifest = (pathlib.Path(directory) / f"decode.{suffix}"
                                      for suffix in ("mlir", "ptx", "json"))
        source.write_text(work.module(kind, pv))
        done = subprocess.run(
            [tools / "kvq-compile", source, f"--target={CHIP}", "--emit=ptx", "-o",
             self.ptx, f"--manifest={manifest}"], capture_output=True, text=True)
        if done.returncode != 0:
            raise gpu_kernels.Failure(f"kvq-compile failed:\n{done.stderr}")
        kernels = Manifest.load(manifest).kernels
        if len(kernels) != 1:
            raise gpu_kernels.Failure(f"expected one kernel, found {len(kernels)}")
        self.kernel, = kernels
        self.name = self.kernel.name
        self.threads = int(np.prod(self.kernel.block))

    def _arguments(self, work):
        """(sizes, [(name, array or (type of kvq-emu, value))])."""
        operands = work.operands()
        sizes = self.kernel.sizes(operands)
        values = self.kernel.arguments(operands, {"scale": work.scale})
        arguments = []
        for parameter, value in zip(self.kernel.parameters, values):
            if parameter.kind == "pointer":
                argument = operands[parameter.name]
            elif parameter.kind == "workspace":
                argument = "zeros", self.kernel.workspace_bytes(sizes) + 16
            elif parameter.kind == "error_word":
                argument = "zeros", 32
            else:
                types = {"stride": "s64", "size": "s32", "scalar": "f32"}
                argument = types[parameter.kind], value.value
            arguments.append((parameter.name, argument))
        return sizes, arguments

    def launch(self, work, **options):
        """Runs on the emulator; options are those of emu_harness.launch, `ptx` of
        another text and `more` arguments. Returns (result, output)."""
        import emu_harness

        sizes, arguments = self._arguments(work)
        names, arguments = zip(*arguments)
        result = emu_harness.launch(
            str(options.pop("ptx", self.ptx)), self.name, self.kernel.grid(sizes),
            self.kernel.block, *arguments, *options.pop("more", ()),
            shared=self.kernel.shared_bytes, **options)
        return result, result[names.index("output")]

    def options(self, work, directory):
        """Options of kvq-emu for a launch, with arrays in a folder."""
        sizes, arguments = self._arguments(work)
        dims = [("grid", self.kernel.grid(sizes)), ("block", self.kernel.block)]
        result = [f"--{name}={','.join(map(str, size))}" for name, size in dims]
        result += [f"--kernel={self.name}", f"--shared={self.kernel.shared_bytes}"]
        for name, argument in arguments:
            if isinstance(argument, np.ndarray):
                path = pathlib.Path(directory) / f"{name}.npy"
                np.save(path, argument)
                argument = "inout" if name == "output" else "in", path
            result.append("--arg={}:{}".format(*argument))
        return result


class TritonKernel:
    """A Triton kernel, compiled. `times` are seconds."""

    def __init__(self, work, directory):
        self.directory = pathlib.Path(directory)
        self.compiled = gpu_kernels.compile_triton(
            work.triton(), gpu_kernels.CHIPS[CHIP], self.directory)
        self.ptx = self.directory / "triton.ptx"
        self.name = self.compiled["name"]
        self.threads = self.compiled["threads"]

    def launch(self, work, **options):
        import emu_harness

        job = work.triton()
        arguments = [a if isinstance(a, np.ndarray) else
                     ({"i32": "s32", "fp32": "f32"}[a[0]], a[1]) for a in job.triton]
        result = emu_harness.launch(
            str(options.pop("ptx", self.ptx)), self.name, job.grid, self.threads,
            *arguments, ("u64", 0), ("u64", 0), *options.pop("more", ()),
            shared=self.compiled["shared"], **options)
        return result, result[job.checked["output"][0]]
