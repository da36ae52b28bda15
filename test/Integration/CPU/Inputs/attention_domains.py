"""The options of kvq.dequant_attention that tests combine, and which go
together."""

from oracle import cache as caches
from oracle import formats

from attention_case import STAND_INS
from placement import PLACEMENTS, TOKEN_FORMATS

FORMATS = (*formats.FORMATS, *TOKEN_FORMATS)
DOMAINS = {
    "page": (1, 2, 16, 32, 128, 256),
    "k_format": FORMATS,
    "v_format": FORMATS,
    "k_scale_layout": ("linear", "blocked_128x4"),
    "v_scale_layout": caches.SCALE_LAYOUTS,
    "k_dim": (16, 64, 128, 192),
    "v_dim": (16, 64, 96, 128),
    "kv_layout": caches.KV_LAYOUTS,
    "kv_heads": (1, 2, 3),
    "group": (1, 3, 8),
    "queries": ("decode", "several", "prefill", "ragged"),
    "lengths": ("edges", "mixed", "empty"),
    "mask": ("none", "causal", "window", "band"),
    "softcap": (None, 3.0),
    "sinks": (False, True),
    "split": (None, 16, 24),
    "placement": PLACEMENTS,
    "q": ("f32", "f16", "bf16"),
    "out": ("f32", "f16", "bf16"),
    "lse": (False, True),
    "kind": ("tensor", "memref"),
    "dynamic": (False, True),
}


def is_legal(case):
    page = case.get("page")
    for side in "kv":
        name, dim = case.get(f"{side}_format"), case.get(f"{side}_dim")
        layout = case.get(f"{side}_scale_layout", "linear")
        token = name in TOKEN_FORMATS
        if page and layout == "interleaved_4" and page % 4:
            return False
        if page and layout == "blocked_128x4" and page % 128:
            return False
        if token and (layout != "linear"
                      or page and page % TOKEN_FORMATS[name].block):
            return False
        fmt = formats.FORMATS[STAND_INS.get(name, name)] if name else None
        if fmt and layout != "linear" and not fmt.block:
            return False
        if fmt and fmt.block and dim:
            if dim % fmt.block or layout != "linear" and dim // fmt.block % 4:
                return False
    # The reference would take seconds.
    long = case.get("lengths") == "edges" and (page or 0) >= 128
    return not (long and case.get("queries") == "prefill")
