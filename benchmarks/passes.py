#!/usr/bin/env python3
"""What the optimizing passes cost, beside mlir-opt --canonicalize --cse on the same
module.

Modules have 10, 100 and 1,000 layers in one function, or with --functions one
function for each: K and V of the step appended to caches of bf16, gathered, and
attention on them in linalg, as a front end emits it. Prints microseconds per
operation of the input, and how many times as long kvq-optimize takes, which itself
canonicalizes and removes common subexpressions three times.

Times are processor time of one thread, the least of several runs, less that of
parsing and printing alone. All columns of a row are measured in turn.

Needs a build of kvq-opt and KVQPlugin.so. Without the plugin, or mlir-opt of the same
LLVM, kvq-opt canonicalizes in its place, and the output says so.
"""

import argparse
import pathlib
import re
import resource
import shutil
import string
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPTIMIZE = "kvq-optimize{key-format=nvfp4 value-format=nvfp4 chip=sm_100a}"
BASELINE = "canonicalize,cse"

HEAD = """
!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!v = !kvq.cache<value, 16x2x64, bf16, NHD>
!m = memref<?x16x2x64xbf16>
!x = tensor<2x2x64xbf16>
!c = tensor<2x64x2x64xbf16>
!cf = tensor<2x64x2x64xf32>
!w = tensor<2x2x4x64x64xf32>
!h = tensor<16x64x64xf32>
!q = tensor<2x8x1x64xf32>
!qh = tensor<16x1x64xf32>
!s = tensor<2x8x1x64xf32>
!r = tensor<2x8x1x1xf32>
#id4 = affine_map<(a, b, c, d) -> (a, b, c, d)>
#row = affine_map<(a, b, c, d) -> (a, b, c, 0)>
#batch = affine_map<(a, b, c, d) -> (a)>
#cached = affine_map<(a, b, c, d, e) -> (a, d, b, e)>
#wide = affine_map<(a, b, c, d, e) -> (a, b, c, d, e)>
"""

#: What a function computes once.
CONSTANTS = """
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
"""

ALL4 = 'iterator_types = ["parallel", "parallel", "parallel", "parallel"]'
LAST = 'iterator_types = ["parallel", "parallel", "parallel", "reduction"]'
ALL5 = 'iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]'

#: A layer: of %q_i it makes %q_n.
LAYER = string.Template(
    """
  %k_$i = kvq.make_cache data(%kd_$i : !m) : !k
  %v_$i = kvq.make_cache data(%vd_$i : !m) : !v
  kvq.append ins(%x : !x) into(%k_$i : !k) slot_mapping(%slots : tensor<2xi32>)
  kvq.append ins(%x : !x) into(%v_$i : !v) slot_mapping(%slots : tensor<2xi32>)
  %ge_$i = tensor.empty() : !c
  %kg_$i = kvq.gather cache(%k_$i : !k) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%ge_$i : !c) -> !c
  %vg_$i = kvq.gather cache(%v_$i : !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) outs(%ge_$i : !c) -> !c
"""
    + "".join(f"""
  %{s}f_$i = arith.extf %{s}g_$i : !c to !cf
  %{s}e_$i = tensor.empty() : !w
  %{s}w_$i = linalg.generic {{indexing_maps = [#cached, #wide], {ALL5}}} ins(%{s}f_$i : !cf) outs(%{s}e_$i : !w) {{
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }} -> !w
  %{s}h_$i = tensor.collapse_shape %{s}w_$i [[0, 1, 2], [3], [4]] : !w into !h
""" for s in "kv")
    + f"""
  %te_$i = tensor.empty() : !h
  %kt_$i = linalg.transpose ins(%kh_$i : !h) outs(%te_$i : !h) permutation = [0, 2, 1]
  %qh_$i = tensor.collapse_shape %q_$i [[0, 1], [2], [3]] : !q into !qh
  %se_$i = tensor.empty() : !qh
  %sf_$i = linalg.fill ins(%zero : f32) outs(%se_$i : !qh) -> !qh
  %s0_$i = linalg.batch_matmul ins(%qh_$i, %kt_$i : !qh, !h) outs(%sf_$i : !qh) -> !qh
  %s1_$i = tensor.expand_shape %s0_$i [[0, 1], [2], [3]] output_shape [2, 8, 1, 64] : !qh into !s
  %ss_$i = tensor.empty() : !s
  %s2_$i = linalg.generic {{indexing_maps = [#id4, #batch, #id4], {ALL4}}} ins(%s1_$i, %len : !s, tensor<2xi32>) outs(%ss_$i : !s) {{
  ^bb0(%a: f32, %n: i32, %o: f32):
    %m = arith.mulf %a, %scale : f32
    %j = linalg.index 3 : index
    %i = arith.index_cast %j : index to i32
    %c = arith.cmpi slt, %i, %n : i32
    %y = arith.select %c, %m, %least : f32
    linalg.yield %y : f32
  }} -> !s
  %re_$i = tensor.empty() : !r
  %mf_$i = linalg.fill ins(%least : f32) outs(%re_$i : !r) -> !r
  %mx_$i = linalg.generic {{indexing_maps = [#id4, #row], {LAST}}} ins(%s2_$i : !s) outs(%mf_$i : !r) {{
  ^bb0(%a: f32, %o: f32):
    %y = arith.maximumf %a, %o : f32
    linalg.yield %y : f32
  }} -> !r
  %p0_$i = linalg.generic {{indexing_maps = [#id4, #row, #id4], {ALL4}}} ins(%s2_$i, %mx_$i : !s, !r) outs(%ss_$i : !s) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %y = math.exp %d : f32
    linalg.yield %y : f32
  }} -> !s
  %lf_$i = linalg.fill ins(%zero : f32) outs(%re_$i : !r) -> !r
  %l_$i = linalg.generic {{indexing_maps = [#id4, #row], {LAST}}} ins(%p0_$i : !s) outs(%lf_$i : !r) {{
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %a, %o : f32
    linalg.yield %y : f32
  }} -> !r
  %p1_$i = linalg.generic {{indexing_maps = [#id4, #row, #id4], {ALL4}}} ins(%p0_$i, %l_$i : !s, !r) outs(%ss_$i : !s) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  }} -> !s
  %p2_$i = tensor.collapse_shape %p1_$i [[0, 1], [2], [3]] : !s into !qh
  %o0_$i = linalg.batch_matmul ins(%p2_$i, %vh_$i : !qh, !h) outs(%sf_$i : !qh) -> !qh
  %q_$n = tensor.expand_shape %o0_$i [[0, 1], [2], [3]] output_shape [2, 8, 1, 64] : !qh into !q
"""
)


def pools(numbers):
    return ", ".join(f"%{side}d_{i}: !m" for i in numbers for side in "kv")


def module(layers, functions):
    """A module of layers in one function, or in a function for each."""
    shared = "%x: !x, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %slots: tensor<2xi32>"
    if not functions:
        body = "".join(LAYER.substitute(i=i, n=i + 1) for i in range(layers))
        return (
            f"{HEAD}func.func @model(%q_0: !q, {shared}, {pools(range(layers))}) -> !q {{"
            f"{CONSTANTS}{body}  return %q_{layers} : !q\n}}\n"
        )
    text = [HEAD]
    for i in range(layers):
        text.append(
            f"func.func private @layer{i}(%q_{i}: !q, {shared}, {pools([i])}) -> !q {{"
            f"{CONSTANTS}{LAYER.substitute(i=i, n=i + 1)}  return %q_{i + 1} : !q\n}}\n"
        )
    text.append(f"func.func @model(%q_0: !q, {shared}, {pools(range(layers))}) -> !q {{\n")
    names, types = (
        "%x, %bt, %len, %slots",
        "!q, !x, tensor<2x4xi32>, tensor<2xi32>, tensor<2xi32>, !m, !m",
    )
    for i in range(layers):
        text.append(
            f"  %q_{i + 1} = call @layer{i}(%q_{i}, {names}, %kd_{i}, %vd_{i}) : ({types}) -> !q\n"
        )
    text.append(f"  return %q_{layers} : !q\n}}\n")
    return "".join(text)


def find_mlir_opt(plugin):
    """The command of the stock mlir-opt with the dialect, or None."""
    tool = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
    if not tool or not plugin.exists():
        return None
    return [tool, f"--load-dialect-plugin={plugin}"]


def run(tool, file, pipeline):
    """Seconds of processor time, and the output."""
    command = [
        *tool,
        file,
        f"--pass-pipeline=builtin.module({pipeline})",
        "--mlir-disable-threading",
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, tool))} exited {done.returncode}\n{done.stderr[:2000]}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stdout


def check(output, layers):
    """Whether the pipeline did its work."""
    found = {
        op: len(re.findall(rf"kvq\.{op} ", output))
        for op in ("quantize_append", "dequant_attention", "gather", "attention", "append")
    }
    if found != {
        "quantize_append": 2 * layers,
        "dequant_attention": layers,
        "gather": 0,
        "attention": 0,
        "append": 0,
    }:
        sys.exit(f"error: {layers} layers became {found}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kvq-opt", default=ROOT / "build" / "bin" / "kvq-opt", type=pathlib.Path)
    parser.add_argument("--layers", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--functions", action="store_true", help="a function for each layer")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each (default: 5)")
    arguments = parser.parse_args()
    if min(arguments.layers) < 1 or arguments.repeat < 1:
        parser.error("--layers and --repeat have to be at least 1")
    kvq_opt = [arguments.kvq_opt]
    plugin = arguments.kvq_opt.parent.parent / "lib" / "KVQPlugin.so"
    mlir_opt = find_mlir_opt(plugin)
    if not mlir_opt:
        print(f"no mlir-opt or no {plugin}: kvq-opt canonicalizes")
        mlir_opt = kvq_opt
    print(
        f"{'layers':>7}{'ops':>8}{'canonicalize+cse':>19}{'kvq-optimize':>15}{'ratio':>8}"
        "   microseconds per op"
    )
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.mlir"
        for layers in arguments.layers:
            text = module(layers, arguments.functions)
            file.write_text(text)
            # Operations with results, and those without: appends and terminators.
            ops = len(
                re.findall(r"^ +(?:%\w+ = |kvq\.append|linalg\.yield|return)", text, re.MULTILINE)
            )
            columns = [(mlir_opt, ""), (mlir_opt, BASELINE), (kvq_opt, ""), (kvq_opt, OPTIMIZE)]
            seconds = [[] for _ in columns]
            for _ in range(arguments.repeat):
                for (tool, pipeline), runs in zip(columns, seconds):
                    time, output = run(tool, file, pipeline)
                    runs.append(time)
            check(output, layers)
            none, baseline, other_none, optimize = map(min, seconds)
            a, b = baseline - none, optimize - other_none
            print(
                f"{layers:7}{ops:8}{a / ops * 1e6:19.2f}{b / ops * 1e6:15.2f}{b / a:8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
