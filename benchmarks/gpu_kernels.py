#!/usr/bin/env python3
"""What the GPU kernels cost, beside Triton's of the same jobs, without a GPU.

For each kernel and chip: warp instructions per unit of work, counted by the
emulator; and what it costs to compile the kernel to PTX. Both for kvq and for
Triton kernels (nvfp4_triton.py) that read and write the same bytes, compiled
for the same chip. Results of both are compared with NumPy's first.

Units: a token of the cache and KV head (its key and value) for attention, a row
of a KV head for the others. Compilation is cold: each is a new process, Triton
with an empty cache. kvq's time is that of the kvq-compile process from start to
exit; Triton's that of triton.compile without its ptxas stage, and without the
import of Python modules. CPU time is user and system.

Counts are of PTX instructions. ptxas makes fewer of some and more of others.

Needs NumPy, ml_dtypes and Triton, and a build of kvq-compile, kvq-run, kvq-emu
and libkvq_emu_runtime.
"""

import argparse
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import ml_dtypes
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHIPS = {"sm_80": 80, "sm_90": 90, "sm_100a": 100}
PAGE, HEADS, GROUP, DIM = 16, 2, 8, 128
E2M1 = np.float32([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
GLOBAL_SCALE = np.float32(0.25)
DATA = f"memref<?x{HEADS}x{PAGE}x{DIM}xf4E2M1FN>"
SCALES = f"memref<?x{HEADS}x{PAGE}x{DIM // 16}xf8E4M3FN>"
CACHE = f"{PAGE}x{HEADS}x{DIM}, nvfp4, HND, linear"


class Failure(Exception):
    pass


class Case:
    """A job. `arguments` are kvq's with their MLIR types, `triton` are Triton's
    in the order of its kernel: arrays, or (type, value). `checked` maps the name
    of an argument of kvq to its index among Triton's and what is expected."""

    def __init__(self, kernel, units, body, arguments, triton, grid, constants, checked,
                 bound):
        self.kernel, self.units, self.body = kernel, units, body
        self.arguments, self.triton, self.grid = arguments, triton, grid
        self.constants, self.checked, self.bound = constants, checked, bound

    def module(self):
        parameters = ", ".join(f"%{name}: {type}" for name, type, _ in self.arguments)
        return f"func.func @main({parameters}) {{\n{self.body}\n  return\n}}\n"


def decode(data, scales):
    """f32 values of stored rows, without the global scale."""
    codes = np.stack([E2M1[data & 15], E2M1[data >> 4]], -1).reshape(*data.shape[:-1], -1)
    return codes * np.repeat(scales.view(ml_dtypes.float8_e4m3fn).astype(np.float32), 16, -1)


def random_rows(rng, *shape):
    """Data and scales between 1/4 and 4."""
    return (rng.integers(0, 256, (*shape, DIM // 2), np.uint8),
            rng.integers(0x28, 0x48, (*shape, DIM // 16), np.uint8))


def make_cache(name, kind):
    return (f"  %{name} = kvq.make_cache data(%{name}_data : {DATA})\n"
            f"      scales(%{name}_scales : {SCALES})\n"
            f"      global_scale(%{name}_global : memref<f32>) : !kvq.cache<{kind}, {CACHE}>\n")


def cache_arguments(name, data, scales):
    return [(f"{name}_data", DATA, data), (f"{name}_scales", SCALES, scales),
            (f"{name}_global", "memref<f32>", np.array(GLOBAL_SCALE))]


def table_of(rng, sequences, tokens):
    pages = -(-tokens // PAGE)
    return rng.permutation(sequences * pages).astype(np.int32).reshape(sequences, pages)


def rows_of(array, table, tokens):
    """[sequences, tokens, heads, ...] of a cache."""
    array = array[table].swapaxes(2, 3)
    return array.reshape(table.shape[0], -1, *array.shape[3:])[:, :tokens]


def attention_case(rng, tokens):
    sequences = 2
    table = table_of(rng, sequences, tokens)
    (kd, ks), (vd, vs) = (random_rows(rng, table.size, HEADS, PAGE) for _ in "kv")
    q = rng.standard_normal((sequences, 1, HEADS * GROUP, DIM)).astype(np.float16)
    lengths = np.full(sequences, tokens, np.int32)
    k, v = (rows_of(decode(d, s) * GLOBAL_SCALE, table, tokens).astype(np.float64)
            for d, s in ((kd, ks), (vd, vs)))
    # Logits of scale 1, as keys are of scale 5 or so.
    scale = DIM ** -0.5 / 4
    x = q.astype(np.float64).reshape(sequences, HEADS, GROUP, DIM)
    logits = np.einsum("shgd,sthd->shgt", x, k) * scale
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    expected = np.einsum("shgt,sthd->shgd", weights, v).reshape(q.shape)
    row, types = f"memref<?x1x{HEADS * GROUP}x{DIM}xf16>", [f"!kvq.cache<{kind}, {CACHE}>"
                                                          for kind in ("key", "value")]
    body = make_cache("k", "key") + make_cache("v", "value") + (
        f"  kvq.dequant_attention ins(%q : {row}) caches(%k, %v : {', '.join(types)})\n"
        "      block_table(%table : memref<?x?xi32>) seq_lens(%lengths : memref<?xi32>)\n"
        f"      scale(%scale) outs(%output : {row})")
    output, g = np.zeros_like(q), np.array([GLOBAL_SCALE])
    return Case("decode", tokens * sequences * HEADS, body,
                [("q", row, q), *cache_arguments("k", kd, ks), *cache_arguments("v", vd, vs),
                 ("table", "memref<?x?xi32>", table), ("lengths", "memref<?xi32>", lengths),
                 ("scale", "f32", scale), ("output", row, output)],
                [q, kd, ks, g, vd, vs, g, table, lengths, output, ("i32", table.shape[1]),
                 ("fp32", scale)],
                (sequences, HEADS), dict(HEADS=HEADS, GROUP=GROUP, D=DIM, PAGE=PAGE, BLOCK=64),
                {"output": (9, expected)}, 1e-3)


def append_case(rng, tokens):
    """Expected bytes are those of the CPU's reference lowering."""
    x = rng.standard_normal((tokens, HEADS, DIM)).astype(np.float16)
    pages = -(-tokens // PAGE) + 1
    slots = rng.permutation(pages * PAGE)[:tokens].astype(np.int64)
    data = np.zeros((pages, HEADS, PAGE, DIM // 2), np.uint8)
    scales = np.zeros((pages, HEADS, PAGE, DIM // 16), np.uint8)
    row = f"memref<?x{HEADS}x{DIM}xf16>"
    body = make_cache("k", "key") + (
        f"  kvq.quantize_append ins(%x : {row}) into(%k : !kvq.cache<key, {CACHE}>)\n"
        "      slot_mapping(%slots : memref<?xi64>)")
    return Case("append", tokens * HEADS, body,
                [("x", row, x), *cache_arguments("k", data, scales),
                 ("slots", "memref<?xi64>", slots)],
                [x, slots, data, scales, np.array([GLOBAL_SCALE]), ("i32", tokens)],
                (-(-tokens * HEADS // 16),), dict(HEADS=HEADS, D=DIM, PAGE=PAGE, BLOCK=16),
                {"k_data": (2, None), "k_scales": (3, None)}, 0.0)


def gather_case(rng, tokens):
    sequences = 2
    table = table_of(rng, sequences, tokens)
    data, scales = random_rows(rng, table.size, HEADS, PAGE)
    lengths = np.full(sequences, tokens, np.int32)
    expected = [rows_of(a, table, tokens) for a in (data, scales)]
    outputs = [np.zeros_like(a) for a in expected]
    types = (f"memref<?x?x{HEADS}x{DIM}xf4E2M1FN>", f"memref<?x?x{HEADS}x{DIM // 16}xf8E4M3FN>")
    body = make_cache("k", "key") + (
        f"  kvq.gather cache(%k : !kvq.cache<key, {CACHE}>) block_table(%table : memref<?x?xi32>)\n"
        "      seq_lens(%lengths : memref<?xi32>)\n"
        f"      outs(%data, %scales : {', '.join(types)})")
    rows = sequences * tokens * HEADS
    return Case("gather", rows, body,
                [*cache_arguments("k", data, scales), ("table", "memref<?x?xi32>", table),
                 ("lengths", "memref<?xi32>", lengths), ("data", types[0], outputs[0]),
                 ("scales", types[1], outputs[1])],
                [data, scales, table, lengths, *outputs, ("i32", table.shape[1]), ("i32", tokens),
                 ("i32", rows)],
                (-(-rows // 32),), dict(HEADS=HEADS, D=DIM, PAGE=PAGE, BLOCK=32),
                {"data": (4, expected[0]), "scales": (5, expected[1])}, 0.0)


def dequantize_case(rng, tokens):
    data, scales = random_rows(rng, tokens)
    expected = decode(data, scales) * GLOBAL_SCALE
    types = (f"memref<?x{DIM}xf4E2M1FN>", f"memref<?x{DIM // 16}xf8E4M3FN>", f"memref<?x{DIM}xf32>")
    body = (f"  kvq.dequantize ins(%data, %scales : {types[0]}, {types[1]}) global_scale(%g)\n"
            f"      outs(%output : {types[2]}) {{format = #kvq.format<nvfp4>}}")
    output = np.zeros_like(expected)
    return Case("dequantize", tokens, body,
                [("data", types[0], data), ("scales", types[1], scales),
                 ("g", "f32", float(GLOBAL_SCALE)), ("output", types[2], output)],
                [data, scales, output, ("i32", tokens), ("fp32", float(GLOBAL_SCALE))],
                (-(-tokens // 32),), dict(D=DIM, BLOCK=32), {"output": (2, expected)}, 0.0)


CASES = {"dequant_attention": attention_case, "quantize_append": append_case,
         "gather": gather_case, "dequantize": dequantize_case}


def run_kvq(arguments, case, directory, target, *options):
    """The arrays that are checked and the counts of instructions by class."""
    report = directory / "report.jsonl"
    report.unlink(missing_ok=True)
    command = [arguments.bin / "kvq-run", directory / "main.mlir", "--entry=main",
               f"--target={target}", *options]
    for i, (name, _, value) in enumerate(case.arguments):
        if not isinstance(value, np.ndarray):
            command.append(f"--arg={value!r}")
            continue
        np.save(directory / f"{i}.npy", value)
        command.append(f"--arg={directory / f'{i}.npy'}")
        if name in case.checked:
            command.append(f"--save={i}:{directory / f'{name}.out.npy'}")
    done = subprocess.run(command, capture_output=True, text=True,
                          env=os.environ | {"KVQ_EMU_REPORT": str(report),
                                            "KVQ_EMU_CHECK": "none"})
    if done.returncode != 0:
        raise Failure(f"kvq-run failed:\n{done.stderr}")
    counts = {}
    for line in report.read_text().splitlines() if report.exists() else ():
        for kind, count in json.loads(line)["report"]["counters"]["warpInstructions"].items():
            counts[kind] = counts.get(kind, 0) + count
    return {name: np.load(directory / f"{name}.out.npy") for name in case.checked}, counts


def timed(command):
    """Wall and CPU seconds of a command, its children included."""
    start = time.perf_counter()
    child = subprocess.Popen(list(map(str, command)))
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise Failure(f"{command[0]} failed")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def compile_kvq(arguments, chip, directory):
    """Wall and CPU seconds of kvq-compile to PTX."""
    return timed([arguments.bin / "kvq-compile", directory / "main.mlir", f"--target={chip}",
                  "--emit=ptx", "-o", directory / "main.ptx"])


def compile_triton(case, arch, directory):
    """The launch that `--compile-triton` describes, with its seconds."""
    names = {np.dtype(np.uint8): "u8", np.dtype(np.float16): "fp16",
             np.dtype(ml_dtypes.bfloat16): "bf16", np.dtype(np.int32): "i32",
             np.dtype(np.int64): "i64", np.dtype(np.float32): "fp32"}
    job = {"kernel": case.kernel, "arch": arch, "constants": case.constants,
           "types": ["*" + names[a.dtype] if isinstance(a, np.ndarray) else a[0]
                     for a in case.triton], "ptx": str(directory / "triton.ptx")}
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run([sys.executable, __file__, "--compile-triton", json.dumps(job)],
                              capture_output=True, text=True,
                              env=os.environ | {"TRITON_CACHE_DIR": cache,
                                                "TRITON_DEFAULT_FP_FUSION": "1"})
    if done.returncode != 0:
        raise Failure(f"triton.compile failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def compile_triton_here(job):
    """Compiles in this process, that has compiled nothing yet."""
    import triton
    import nvfp4_triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    function = getattr(nvfp4_triton, job["kernel"])
    constants, arch = job["constants"], job["arch"]
    for name, value in (("HARDWARE", arch >= 100), ("NATIVE", arch >= 89)):
        if name in function.arg_names:
            constants[name] = value
    signature = dict(zip(function.arg_names, job["types"]))
    signature |= dict.fromkeys(constants, "constexpr")
    # Pointers are to whole allocations, as Triton's launcher would find.
    aligned = {(i,): [["tt.divisibility", 16]]
               for i, type in enumerate(job["types"]) if type[0] == "*"}
    times = []
    triton.knobs.compilation.listener = lambda **keywords: times.append(keywords["times"])
    importlib.import_module("triton.backends.nvidia.compiler")
    cpu = time.process_time()  # ptxas is a process of its own
    compiled = triton.compile(
        ASTSource(function, signature, constexprs=constants, attrs=aligned),
        target=GPUTarget("cuda", arch, 32),
        options={"num_warps": 4, "num_stages": 2, "ptx_version": 88})
    cpu = time.process_time() - cpu
    pathlib.Path(job["ptx"]).write_text(compiled.asm["ptx"])
    wall = times[0].ir_initialization + sum(
        microseconds for stage, microseconds in times[0].lowering_stages if stage != "cubin")
    print(json.dumps({"wall": wall / 1e6, "cpu": cpu, "name": compiled.metadata.name,
                      "shared": compiled.metadata.shared,
                      "threads": 32 * compiled.metadata.num_warps}))


def run_triton(case, launch, directory):
    """As run_kvq."""
    import emu_harness

    values = []
    for argument in case.triton:
        if isinstance(argument, np.ndarray):
            values.append(argument)
        else:
            values.append(({"i32": "s32", "fp32": "f32"}[argument[0]], argument[1]))
    result = emu_harness.launch(str(directory / "triton.ptx"), launch["name"], case.grid,
                                launch["threads"], *values, ("u64", 0), ("u64", 0),
                                shared=launch["shared"])
    counters = result.report.get("counters", result.report)
    return ({name: result[index] for name, (index, _) in case.checked.items()},
            counters["warpInstructions"])


def relative_error(case, name, got, expected):
    """Relative L2, of bytes the share that differs."""
    if got.dtype == np.uint8:
        return float(np.mean(got.ravel() != expected.ravel()))
    expected = expected.astype(np.float64)
    return float(np.linalg.norm(got.astype(np.float64).reshape(expected.shape) - expected)
                 / np.linalg.norm(expected))


def check(case, who, got, expected):
    error = max(relative_error(case, name, got[name], expected[name]) for name in case.checked)
    if not error <= case.bound:
        raise Failure(f"{who} {case.kernel}: error {error:.2e}, expected at most {case.bound:.0e}")
    return error


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin",
                        help="folder of kvq's tools")
    parser.add_argument("--gpu-runtime", type=pathlib.Path,
                        help="libkvq_emu_runtime.so, if it is not where the build puts it")
    parser.add_argument("--kernels", default=",".join(CASES))
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--tokens", type=int, default=1024, help="of a sequence, or appended")
    parser.add_argument("--repeat", type=int, default=3,
                        help="compilations, of which the median is told")
    parser.add_argument("--compile-triton", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.compile_triton:
        return compile_triton_here(json.loads(arguments.compile_triton))
    kernels, chips = arguments.kernels.split(","), arguments.chips.split(",")
    for names, known, what in ((kernels, CASES, "kernel"), (chips, CHIPS, "chip")):
        for name in names:
            if name not in known:
                raise Failure(f"{what} {name}, expected one of {', '.join(known)}")
    if min(arguments.tokens, arguments.repeat) < 1:
        raise Failure("--tokens and --repeat must be positive")
    os.environ["PATH"] = f"{arguments.bin.resolve()}:{os.environ['PATH']}"
    sys.path.insert(0, str(ROOT / "test/Emulator/Inputs"))
    options = [f"--gpu-runtime={arguments.gpu_runtime}"] if arguments.gpu_runtime else []

    print(f"nvfp4, HND, page {PAGE}, {HEADS} KV heads, {GROUP} query heads for each, head_dim "
          f"{DIM}, {arguments.tokens} tokens; compilations: median of {arguments.repeat}")
    print(f"{'':26} {'warp instructions per unit':>27} {'error':>17} {'to PTX: wall s':>22} "
          f"{'CPU s':>22}")
    print(f"{'kernel':18} {'chip':7} {'kvq':>8} {'Triton':>8} {'ratio':>9} {'kvq':>8} {'Triton':>8}"
          + 2 * f" {'kvq':>7} {'Triton':>7} {'ratio':>6}")
    where = {}
    for kernel in kernels:
        case = CASES[kernel](np.random.default_rng(0), arguments.tokens)
        for chip in chips:
            with tempfile.TemporaryDirectory() as directory:
                directory = pathlib.Path(directory)
                (directory / "main.mlir").write_text(case.module())
                expected = {name: value for name, (_, value) in case.checked.items()}
                if any(value is None for value in expected.values()):
                    expected, _ = run_kvq(arguments, case, directory, "cpu-reference")
                got, ours = run_kvq(arguments, case, directory, "emu", f"--chip={chip}", *options)
                errors = [check(case, "kvq", got, expected)]
                compiled = [compile_kvq(arguments, chip, directory)
                            for _ in range(arguments.repeat)]
                wall, cpu = (statistics.median(c) for c in zip(*compiled))
                launches = [compile_triton(case, CHIPS[chip], directory)
                            for _ in range(arguments.repeat)]
                got, theirs = run_triton(case, launches[-1], directory)
                errors.append(check(case, "Triton", got, expected))
            counts = [sum(c.values()) / case.units for c in (ours, theirs)]
            line = (f"{kernel:18} {chip:7} {counts[0]:8.2f} {counts[1]:8.2f} "
                    f"{counts[1] / counts[0]:9.2f} {errors[0]:8.1e} {errors[1]:8.1e}")
            for mine, key in ((wall, "wall"), (cpu, "cpu")):
                other = statistics.median(launch[key] for launch in launches)
                line += f" {mine:7.3f} {other:7.3f} {other / mine:6.1f}"
            print(line, flush=True)
            where[kernel, chip] = {who: {kind: count / case.units for kind, count in c.items()}
                                   for who, c in (("kvq", ours), ("Triton", theirs))}
    for (kernel, chip), classes in where.items():
        if kernel != "dequant_attention":
            continue
        print(f"\n{kernel} {chip}, warp instructions per unit by class")
        print(f"{'':18} {'kvq':>8} {'Triton':>8}")
        for kind in sorted(classes["kvq"], key=lambda kind: -classes["kvq"][kind]):
            pair = classes["kvq"][kind], classes["Triton"].get(kind, 0)
            if any(pair):
                print(f"{kind:18} {pair[0]:8.2f} {pair[1]:8.2f}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"gpu_kernels.py: error: {failure}", file=sys.stderr)
        sys.exit(1)
