"""The options of attention that tests of the Blackwell kernels combine, which
of them go together, and which kernel takes them."""

import os

from oracle import formats

#: The kinds of Q K^T and P V that a format can have.
QK = {
    **dict.fromkeys(("nvfp4", "mxfp4"),
                    tuple(f"block_scaled, terms = {n}" for n in (1, 2, 3))),
    "fp8": ("f8", "f16", "bf16"), "bf16": ("bf16",), "f16": ("f16",),
}
PV = {
    "nvfp4": ("f16", "bf16", "f8"), "mxfp4": ("bf16", "f16"), "fp8": ("f16", "bf16", "f8"),
    "bf16": ("bf16",), "f16": ("f16",),
}

SCALED = ("nvfp4", "mxfp4")
NATIVE_LAYOUTS = dict.fromkeys(SCALED, ("linear", "interleaved_4"))
NATIVE_DIMS = (64, 128, 256)

#: A page that holds any sequence of these tests.
CONTIGUOUS = 5120

#: Lengths of the sequences of a batch.
LENGTHS = {
    "page": lambda page: (0, 1, page - 1, page, page + 1),
    "tile": lambda page: (127, 128, 129),
    "long": lambda page: (3, 1000),
    "longest": lambda page: (5000,),
}

SCHEDULES = ("eager", "lazy", *(f"random:{seed}" for seed in range(8)))

#: Whether cases run in every schedule, not in eager and one of their own.
EVERY_SCHEDULE = "KVQ_TEST_ALL_SCHEDULES" in os.environ


def schedules(config):
    """The schedules that launches of a case run in, and must agree on every bit."""
    return ",".join(SCHEDULES if EVERY_SCHEDULE
                    else dict.fromkeys(("eager", config["schedule"])))


DOMAINS = {
    "k_format": tuple(QK),
    "v_format": tuple(PV),
    "qk": tuple(dict.fromkeys(kind for kinds in QK.values() for kind in kinds)),
    "pv": ("f16", "bf16", "f8"),
    "v_scale_layout": ("linear", "interleaved_4"),
    "page": (8, 16, 32, 64, 128, CONTIGUOUS),
    "lengths": tuple(LENGTHS),
    "k_dim": (64, 128, 256),
    "v_dim": (64, 128, 256),
    "kv_heads": (1, 2),
    "group": (1, 4, 8, 13, 16, 64),
    "queries": ("decode", "several", "ragged"),
    "kv_layout": ("HND", "NHD"),
    "placement": ("dense", "subview", "strided", "layers", "planar"),
    "tables": ("own", "shared"),
    "mask": ("none", "causal", "window", "band"),
    "softcap": (None, 3.0),
    "sinks": (False, True),
    "lse": (False, True),
    "split": (None, 128, 256),
    "q": ("f16", "bf16", "f32"),
    "out": ("f16", "bf16", "f32"),
    "kind": ("memref", "tensor"),
    "dynamic": (True, False),
    "schedule": SCHEDULES,
}


def is_legal(case):
    """Whether a (partial) assignment breaks no rule and is quick enough to
    run."""
    k_format, v_format = case.get("k_format"), case.get("v_format")
    if k_format and case.get("qk", QK[k_format][0]) not in QK[k_format]:
        return False
    if v_format and case.get("pv", PV[v_format][0]) not in PV[v_format]:
        return False
    if case.get("v_scale_layout") == "interleaved_4" and v_format:
        fmt = formats.FORMATS[v_format]
        if not fmt.block or case.get("v_dim", 256) // fmt.block % 4:
            return False
    lengths, heads, group = (case.get(n) for n in ("lengths", "kv_heads", "group"))
    if lengths == "page" and case.get("page") == CONTIGUOUS:
        return False
    if lengths in ("long", "longest") and heads == 2:
        return False
    return not (lengths == "longest" and (group or 0) > 16)


def is_native(config):
    """Whether the kernel for Blackwell's tensor cores takes an operation; the
    portable one takes the others."""
    page = config["page"]
    k_format, v_format = config["k_format"], config["v_format"]
    return (config["qk"] in QK[k_format]
            and config["pv"] in PV[v_format]
            and (k_format not in SCALED
                 or config.get("k_scale_layout", "linear") == "linear")
            and (v_format not in SCALED
                 or config["v_scale_layout"] in NATIVE_LAYOUTS[v_format])
            and config["k_dim"] in NATIVE_DIMS
            and config["v_dim"] in NATIVE_DIMS
            and (page >= 8 and page & (page - 1) == 0 or page % 128 == 0))
