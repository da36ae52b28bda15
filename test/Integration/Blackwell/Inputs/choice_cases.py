"""Operations as functions of a module, to see what the compiler makes of each."""

import itertools

from decode_domains import DOMAINS, PV, QK, SCALED, is_legal

BASE = dict(k_format="nvfp4", v_format="nvfp4", qk="block_scaled, terms = 2", pv="f16",
            k_scale_layout="linear", v_scale_layout="linear", page=64, k_dim=128,
            v_dim=128, group=8, kv_layout="HND")

#: One option after the other away from the base.
OPTIONS = [BASE] + [
    {**BASE, name: value} for name, values in DOMAINS.items() if name in BASE
    for value in values if value != BASE[name] and is_legal({**BASE, name: value})
] + [
    {**BASE, **dims} for dims in (
        {"k_dim": 64, "v_dim": 64}, {"k_dim": 256, "v_dim": 256},
        {"k_dim": 80, "v_dim": 80}, {"k_dim": 192, "v_dim": 128}, {"page": 24},
        {"page": 4}, {"page": 384}, {"k_scale_layout": "blocked_128x4", "page": 128},
        {"v_scale_layout": "blocked_128x4", "page": 128})
] + [
    # The other formats by the size of their rows.
    {**BASE, f"{side}_format": fmt, {"k": "qk", "v": "pv"}[side]: kind, f"{side}_dim": dim}
    for side, fmt, kind in (("k", "bf16", "bf16"), ("k", "fp8", "f8"), ("v", "bf16", "bf16"),
                            ("v", "fp8", "f8"), ("v", "fp8", "f16"))
    for dim in (64, 128, 256)
] + [
    {**BASE, "k_format": fmt, "v_format": fmt, "qk": kind, "pv": kind, "group": 16, **dims}
    for fmt, kind in (("bf16", "bf16"), ("f16", "f16"), ("fp8", "f8"))
    for dims in ({}, {"k_dim": 256, "v_dim": 128}, {"k_dim": 256, "v_dim": 256})
] + [
    {**BASE, "k_format": "mxfp4", "v_format": "mxfp4", "qk": "block_scaled, terms = 3",
     "pv": "bf16", "k_dim": dim, "v_dim": dim, "group": group}
    for dim, group in ((64, 8), (64, 16), (128, 16), (256, 8), (256, 16))
] + [
    {**BASE, "pv": pv, "group": 16, "k_dim": dim, "v_dim": dim}
    for pv, dim in (("f8", 64), ("f8", 256), ("f16", 256))
] + [
    {**BASE, "pv": pv, "group": group, "k_dim": 256, "v_dim": 256, "page": page}
    for pv, group, page in (("f16", 16, 8), ("f8", 8, 8), ("f16", 16, 16), ("f16", 8, 32))
]

#: All formats and kinds.
FORMATS = [
    {**BASE, "k_format": k, "v_format": v, "qk": qk, "pv": pv}
    for k, v in itertools.product(QK, PV) for qk in QK[k] for pv in PV[v]
]

FUNCTION = """
func.func @case{index}(%q: memref<?x1x{group}x{k_dim}xf16>, %k: {k}, %v: {v},
    %table: memref<?x?xi32>, %lengths: memref<?xi32>, %scale: f32,
    %out: memref<?x1x{group}x{v_dim}xf16>) {{
  kvq.dequant_attention ins(%q : memref<?x1x{group}x{k_dim}xf16>)
      caches(%k, %v : {k}, {v}) block_table(%table : memref<?x?xi32>)
      seq_lens(%lengths : memref<?xi32>) scale(%scale)
      outs(%out : memref<?x1x{group}x{v_dim}xf16>)
      {{qk = #kvq.mma_kind<{qk}>, pv = #kvq.mma_kind<{pv}>}}
  return
}}
"""


def cache_type(config, side):
    fmt, layout = config[f"{side}_format"], ""
    if fmt in SCALED:
        layout = ", " + config[f"{side}_scale_layout"]
    return (f"!kvq.cache<{dict(k='key', v='value')[side]}, "
            f"{config['page']}x1x{config[f'{side}_dim']}, {fmt}, "
            f"{config['kv_layout']}{layout}>")


def module(cases):
    return "".join(
        FUNCTION.format(index=index, k=cache_type(config, "k"),
                        v=cache_type(config, "v"), **config)
        for index, config in enumerate(cases))


def name(config):
    return "-".join(str(v).replace(", terms = ", "_") for v in config.values())
