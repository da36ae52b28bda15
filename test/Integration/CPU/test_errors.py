# RUN: %pytest %s
# REQUIRES: python
"""Every kind of run-time error: kvq-run names index and value, exits with 1 and
writes no file; and the operation itself wrote nothing."""

import os
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from program import TARGETS, Program

#: Two pages of 4 tokens, so 8 slots.
PAGES, PAGE, HEADS, DIM = 2, 4, 2, 32
KEY = f"!kvq.cache<key, {PAGE}x{HEADS}x{DIM}, fp8, NHD>"
VALUE = KEY.replace("key", "value")
DATA = f"memref<?x{PAGE}x{HEADS}x{DIM}xf8E4M3FN>"


def add_cache(p, type=KEY, g=0.5, pages=PAGES):
    shape = pages, PAGE, HEADS, DIM
    bytes = (np.arange(np.prod(shape)) % 113).astype(np.uint8).reshape(shape)
    data = p.argument("data", DATA, bytes)
    scale = p.argument("g", "memref<f32>", np.float32(g).reshape(()))
    return p.define("cache", f"kvq.make_cache data({data} : {DATA}) "
                    f"global_scale({scale} : memref<f32>) : {type}"), data


def index_array(p, name, values, element="i32"):
    dtype = np.int64 if element == "i64" else np.int32
    return p.array(name, "memref", element, np.array(values, dtype), True)


def append_by_slots(slots, element="i32", op="append", g=0.5, rows=None):
    """Also the slots before the bad one are in range: nothing of them is
    written."""
    p = Program()
    cache, data = add_cache(p, g=g)
    n = len(slots) if rows is None else rows
    add_rows = "f8E4M3FN" if op == "append" else "f32"
    x, type = p.array("x", "memref", add_rows, np.ones(
        (n, HEADS, DIM), np.uint8 if op == "append" else np.float32), {0})
    s, s_type = index_array(p, "slots", slots, element)
    p.emit(f"kvq.{op} ins({x} : {type}) into({cache} : {KEY}) "
           f"slot_mapping({s} : {s_type})")
    return p, data


def append_at(positions, table, batch_indices=None):
    p = Program()
    cache, data = add_cache(p)
    x, type = p.array("x", "memref", "f32",
                      np.ones((len(positions), HEADS, DIM), np.float32), {0})
    t, t_type = index_array(p, "table", table)
    s, s_type = index_array(p, "positions", positions)
    text = (f"kvq.quantize_append ins({x} : {type}) into({cache} : {KEY}) "
            f"block_table({t} : {t_type}) positions({s} : {s_type})")
    if batch_indices is not None:
        b, b_type = index_array(p, "batch", batch_indices)
        text += f" batch_indices({b} : {b_type})"
    p.emit(text)
    return p, data


def copy(sources, destinations, pools=1, g=(0.5, 0.5)):
    p = Program()
    a, data = add_cache(p, g=g[0], pages=4)
    b = a
    if pools == 2:
        b, data = add_cache(p, g=g[1], pages=3)
    i, i_type = index_array(p, "src", sources)
    j, j_type = index_array(p, "dst", destinations)
    p.emit(f"kvq.copy_pages from({a}) to({b}) src_pages({i} : {i_type}) "
           f"dst_pages({j} : {j_type}) : {KEY}")
    return p, data


def attention(table=((0, 1), (1, 0)), lens=(3, 8), indptr=(0, 1, 2), total=2,
              k_g=0.5, v_g=0.25, split=None, chunks=2, out_rows=None, pages=PAGES,
              dense=False):
    """Two sequences. The output holds NaN and has to keep it."""
    p = Program()
    k, _ = add_cache(p, KEY, k_g)
    v, _ = add_cache(p, VALUE, v_g, pages)
    shape = (total, HEADS, DIM) if not dense else (2, total, HEADS, DIM)
    first = {0} if not dense else {0, 1}
    q, q_type = p.array("q", "memref", "f32", np.ones(shape, np.float32), first)
    t, t_type = index_array(p, "table", table)
    s, s_type = index_array(p, "lens", lens)
    text = (f"kvq.dequant_attention ins({q} : {q_type}) caches({k}, {v} : {KEY}, "
            f"{VALUE}) block_table({t} : {t_type}) seq_lens({s} : {s_type})")
    if not dense:
        i, i_type = index_array(p, "indptr", indptr)
        text += f" qo_indptr({i} : {i_type})"
    scale = p.argument("scale", "f32", "0.1")
    rows = (total if out_rows is None else out_rows,)
    shape = ((2, *rows) if dense else rows) + (HEADS, DIM)
    lead = () if split is None else (chunks,)
    outs = np.full((*lead, *shape), np.nan, np.float32)
    open_dims = set(range(outs.ndim - 2))
    o, o_type = p.array("o", "memref", "f32", outs, open_dims)
    l, l_type = p.array("lse", "memref", "f32", outs[..., 0].copy(), open_dims)
    text += f" scale({scale}) outs({o}, {l} : {o_type}, {l_type})"
    p.emit(text + (f" {{kv_split = {split} : i64}}" if split else ""))
    return p, o


def gather(lens, table, length, outs=2):
    p = Program()
    k, _ = add_cache(p)
    t, t_type = index_array(p, "table", table)
    s, s_type = index_array(p, "lens", lens)
    o, o_type = p.array("o", "memref", "f8E4M3FN",
                        np.full((outs, length, HEADS, DIM), 7, np.uint8), {0, 1})
    p.emit(f"kvq.gather cache({k} : {KEY}) block_table({t} : {t_type}) "
           f"seq_lens({s} : {s_type}) outs({o} : {o_type})")
    return p, o


def quantize(g="1", rows=3):
    p = Program()
    x, type = p.array("x", "memref", "f32", np.ones((3, DIM), np.float32), {0})
    o, o_type = p.array("o", "memref", "f8E4M3FN",
                        np.full((rows, DIM), 7, np.uint8), {0})
    scale = p.argument("g", "f32", g)
    p.emit(f"kvq.quantize ins({x} : {type}) global_scale({scale}) "
           f"outs({o} : {o_type}) {{format = #kvq.format<fp8>}}")
    return p, o


def plain_attention(lens, length=5):
    p = Program()
    operands = [p.array(name, "memref", "f32", np.ones(shape, np.float32), dims)
                for name, shape, dims in (
                    ("q", (2, 1, HEADS, DIM), {0, 1}),
                    ("k", (2, length, HEADS, DIM), {0, 1}),
                    ("v", (2, length, HEADS, DIM), {0, 1}))]
    values, types = zip(*operands)
    s, s_type = index_array(p, "lens", lens)
    scale = p.argument("scale", "f32", "1")
    o, o_type = p.array("o", "memref", "f32",
                        np.full((2, 1, HEADS, DIM), np.nan, np.float32), {0, 1})
    p.emit(f"kvq.attention ins({', '.join(values)} : {', '.join(types)}) "
           f"seq_lens({s} : {s_type}) scale({scale}) outs({o} : {o_type})")
    return p, o


BIG = 2**31 - 1
TABLE_PAGE = "page id in block_table out of range"
SLOT = "slot in slot_mapping out of range"
TWICE = "slot named twice in slot_mapping"
INDPTR = "qo_indptr does not rise from 0 to the number of query rows"
POSITION = "position to append at out of range"
COPY = "page to copy out of range"
COPY_TWICE = "page copied to is named twice"
LENGTH = "sequence length out of range of the block table"
ROW = "row to append belongs to no sequence of the block table"
G = "global scale is not finite and positive"
SIZE = "size of an operand does not match"
LONG = "sequence is longer than the rows to gather into"

#: (program and its output, the message).
ERRORS = {
    "slot_past_end": (lambda: append_by_slots([0, -1, 8]),
                      f"{SLOT}: index 2, value 8, accepted < 8"),
    "slot_i64": (lambda: append_by_slots([0, 1, 2**40], "i64"),
                 f"{SLOT}: index 2, value {2**40}, accepted < 8"),
    "slot_quantize": (lambda: append_by_slots([BIG, 0], op="quantize_append"),
                      f"{SLOT}: index 0, value {BIG}, accepted < 8"),
    "slot_twice": (lambda: append_by_slots([5, 3, -1, 5]),
                   f"{TWICE}: index 3, value 5, named before at index 0"),
    "slot_twice_i64": (lambda: append_by_slots([1, 7, 7], "i64", "quantize_append"),
                       f"{TWICE}: index 2, value 7, named before at index 1"),
    "slot_sizes": (lambda: append_by_slots([1, 2], rows=3),
                   f"{SIZE}: dimension 0, value 2, accepted 3"),
    "position": (lambda: append_at([3, 8], [[0, 1], [1, 0]]),
                 f"{POSITION}: index 1, value 8, accepted < 8"),
    "position_page": (lambda: append_at([3, 5], [[0, 1], [1, 2]]),
                      f"{TABLE_PAGE}: index 3, value 2, accepted < 2"),
    "position_page_negative": (lambda: append_at([3, 5], [[0, 1], [1, -1]]),
                               f"{TABLE_PAGE}: index 3, value -1, accepted < 2"),
    "batch_index": (lambda: append_at([0, 1, 1], [[0, 1], [1, 0]], [0, 0, 2]),
                    f"{ROW}: index 2, value 2, accepted < 2"),
    "batch_index_negative": (
        lambda: append_at([0, 1, 1], [[0, 1], [1, 0]], [0, -1, 1]),
        f"{ROW}: index 1, value -1, accepted < 2"),
    # The slot that two sequences share: token 4 of the first, 0 of the second.
    "position_twice": (lambda: append_at([4, 0], [[0, 1], [1, 0]]),
                       f"{TWICE}: index 1, value 4, named before at index 0"),
    "position_sizes": (lambda: append_at([0, 1, 2], [[0, 1], [1, 0]]),
                       f"{SIZE}: dimension 0, value 3, accepted 2"),
    "copy_from": (lambda: copy([1, 4], [0, 2]),
                  f"{COPY}: index 1, value 4, accepted < 4"),
    "copy_to": (lambda: copy([0, 1], [2, -1]),
                f"{COPY}: index 1, value -1, accepted < 4"),
    "copy_to_other": (lambda: copy([3, 1], [2, 3], pools=2),
                      f"{COPY}: index 1, value 3, accepted < 3"),
    "copy_twice": (lambda: copy([0, 1, 0], [2, 3, 2]),
                   f"{COPY_TWICE}: index 2, value 2, named before at index 0"),
    "copy_from_destination": (lambda: copy([0, 1], [2, 0]),
                              f"{COPY_TWICE}: index 1, value 0, named before at "
                              "index 0"),
    "copy_sizes": (lambda: copy([0, 1], [2]),
                   f"{SIZE}: dimension 0, value 1, accepted 2"),
    "copy_scales": (lambda: copy([0], [1], pools=2, g=(0.5, 0.25)),
                    "global scale of the rows differs from that of the cache: "
                    "value 0.5, accepted 0.25"),
    "page_id": (lambda: attention(table=((0, 1), (1, 2))),
                f"{TABLE_PAGE}: index 3, value 2, accepted < 2"),
    "page_id_negative": (lambda: attention(table=((-1, 9), (1, 0))),
                         f"{TABLE_PAGE}: index 0, value -1, accepted < 2"),
    "page_id_of_one_side": (lambda: attention(pages=1),
                            f"{TABLE_PAGE}: index 2, value 1, accepted < 1"),
    "length": (lambda: attention(lens=(3, 9)),
               f"{LENGTH}: index 1, value 9, accepted < 9"),
    "length_negative": (lambda: attention(lens=(-3, 8)),
                        f"{LENGTH}: index 0, value -3, accepted < 9"),
    "indptr_start": (lambda: attention(indptr=(1, 1, 2)),
                     f"{INDPTR}: index 0, value 1, accepted < 3"),
    "indptr_falls": (lambda: attention(indptr=(0, 2, 1)),
                     f"{INDPTR}: index 2, value 1, accepted < 3"),
    "indptr_end": (lambda: attention(indptr=(0, 1, 1)),
                   f"{INDPTR}: index 2, value 1, accepted < 3"),
    "indptr_past_end": (lambda: attention(indptr=(0, 3, 3)),
                        f"{INDPTR}: index 1, value 3, accepted < 3"),
    "indptr_size": (lambda: attention(indptr=(0, 2)),
                    f"{SIZE}: dimension 0, value 2, accepted 3"),
    "lens_size": (lambda: attention(lens=(3, 8, 1), indptr=(0, 1, 2, 2)),
                  f"{SIZE}: dimension 0, value 3, accepted 2"),
    "output_size": (lambda: attention(out_rows=3),
                    f"{SIZE}: dimension 0, value 3, accepted 2"),
    "query_sequences": (lambda: attention(lens=(1, 2, 3), dense=True, total=1),
                        f"{SIZE}: dimension 0, value 2, accepted 3"),
    "chunks": (lambda: attention(split=3, chunks=2),
               "sequence needs more KV chunks than the outputs have: index 1, "
               "value 3, accepted < 3"),
    "gather_length": (lambda: gather([2, 6], [[0, 1], [1, 0]], 5),
                      f"{LONG}: index 1, value 6, accepted < 6"),
    "gather_page": (lambda: gather([2, 5], [[0, 1], [1, 7]], 5),
                    f"{TABLE_PAGE}: index 3, value 7, accepted < 2"),
    "gather_negative": (lambda: gather([2, -5], [[0, 1], [1, 7]], 5),
                        f"{LENGTH}: index 1, value -5, accepted < 9"),
    "gather_sizes": (lambda: gather([2, 5], [[0, 1], [1, 0]], 5, outs=3),
                     f"{SIZE}: dimension 0, value 3, accepted 2"),
    "quantize_sizes": (lambda: quantize(rows=2),
                       f"{SIZE}: dimension 0, value 2, accepted 3"),
    "attention_length": (lambda: plain_attention([5, 6]),
                         f"{LONG}: index 1, value 6, accepted < 6"),
    "attention_negative": (lambda: plain_attention([-1, 5]),
                           f"{LONG}: index 0, value -1, accepted < 6"),
}
for name, g in (("zero", 0.0), ("negative_zero", -0.0), ("negative", -0.5),
                ("inf", np.inf), ("nan", np.nan)):
    found = "nan" if g != g else f"{g:.9g}"
    message = f"{G}: value {found}"
    ERRORS.update({
        f"g_{name}": (lambda g=g: append_by_slots([0, 1], op="quantize_append", g=g),
                      message),
        f"g_{name}_key": (lambda g=g: attention(k_g=g), message),
        f"g_{name}_value": (lambda g=g: attention(v_g=g), message),
        f"g_{name}_quantize": (lambda g=g: quantize(g=repr(float(g))), message),
    })


def observe(p, value):
    """Makes the program report a hash of a memref of rank 3 or more when all
    else has run, as a run that fails writes no file. Returns the hash of what
    the memref holds before the call."""
    type, array = next((t, a) for v, t, a, _ in p.arguments if v == value)
    element = "f32" if "xf32" in type else "f8E4M3FN"
    bits = array.view(np.uint32 if element == "f32" else np.uint8)
    p.functions.append("func.func private @kvq_report(i32, i64, i64, i64)")
    loops = [f"%i{d}" for d in range(array.ndim)]
    integer = "i32" if element == "f32" else "i8"
    p.emit("%zero = arith.constant 0 : i64")
    p.emit("%hash = memref.alloca() : memref<i64>")
    p.emit("memref.store %zero, %hash[] : memref<i64>")
    for d, i in enumerate(loops):
        p.emit(f"%d{d} = arith.constant {d} : index")
        p.emit(f"%n{d} = memref.dim {value}, %d{d} : {type}")
    p.emit("%first = arith.constant 0 : index")
    p.emit("%step = arith.constant 1 : index")
    p.emit("%factor = arith.constant 31 : i64")
    for d, i in enumerate(loops):
        p.emit(f"scf.for {i} = %first to %n{d} step %step {{")
    p.emit(f"%x = memref.load {value}[{', '.join(loops)}] : {type}")
    p.emit(f"%bits = arith.bitcast %x : {element} to {integer}")
    p.emit(f"%wide = arith.extui %bits : {integer} to i64")
    p.emit("%old = memref.load %hash[] : memref<i64>")
    p.emit("%scaled = arith.muli %old, %factor : i64")
    p.emit("%new = arith.addi %scaled, %wide : i64")
    p.emit("memref.store %new, %hash[] : memref<i64>")
    p.emit("}" * len(loops))
    p.emit("%kind = arith.constant 99 : i32")
    p.emit("%all = memref.load %hash[] : memref<i64>")
    p.emit("func.call @kvq_report(%kind, %zero, %all, %zero) : "
           "(i32, i64, i64, i64) -> ()")
    total = 0
    for x in bits.ravel().tolist():
        total = (total * 31 + x) % 2**64
    return total - 2**64 if total >= 2**63 else total


def observed(value):
    return (f"error: unknown kind of runtime error: index 0, value {value}, "
            "accepted < 0\n")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ERRORS)
def test_error(name, target, tmp_path):
    make, message = ERRORS[name]
    p, out = make()
    p.arguments = [(v, t, a, v == out) for v, t, a, _ in p.arguments]
    before = observe(p, out)
    assert p.fail(target, tmp_path) == f"error: {message}\n" + observed(before)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("make", [
    lambda: append_by_slots([0, 3]), lambda: append_by_slots([-1, 7], "i64"),
    lambda: append_at([3, 4], [[0, 1], [1, 0]]), lambda: copy([0, 1], [2, 3]),
    lambda: copy([3], [2], pools=2), lambda: attention(),
    lambda: gather([2, 5], [[0, 1], [1, 0]], 5), lambda: quantize(),
    lambda: plain_attention([4, 5]),
], ids=["append", "append_i64", "append_at", "copy", "copy_other", "attention",
        "gather", "quantize", "plain_attention"])
def test_observer(make, target, tmp_path):
    """Without an error the same programs do write."""
    p, out = make()
    before = observe(p, out)
    error = p.fail(target, tmp_path)
    assert error.startswith("error: unknown kind") and error.count("\n") == 1
    assert error != observed(before)


def test_all_kinds_are_here():
    """The kinds of the header, each with the description that some case has."""
    source = os.environ["KVQ_SOURCE_DIR"]
    with open(os.path.join(source, "include/kvq/Support/RuntimeError.h")) as file:
        kinds = set(re.findall(r"KVQ_RUNTIME_(\w+) = [1-9]", file.read()))
    with open(os.path.join(source, "lib/Support/RuntimeError.cpp")) as file:
        texts = dict(re.findall(
            r'case KVQ_RUNTIME_(\w+):\s+return "(.*?)";', file.read()))
    tested = {message.split(":")[0] for _, message in ERRORS.values()}
    missing = {kind for kind in kinds if texts[kind] not in tested}
    assert not missing, missing
