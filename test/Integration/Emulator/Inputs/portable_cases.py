"""The cases of portable attention: generated ones that cover all pairs of
options and chips, and one to vary."""

from attention_domains import DOMAINS, is_legal
from pairs import all_pairs

CHIPS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a")

ALL = {**DOMAINS, "chip": CHIPS}
CASES = [case for seed in (1, 2, 3) for case in all_pairs(ALL, is_legal, seed=seed)]

BASE = dict(
    page=16, k_format="nvfp4", v_format="nvfp4", k_scale_layout="linear",
    v_scale_layout="interleaved_4", k_dim=128, v_dim=128, kv_layout="HND",
    kv_heads=2, group=4, queries="several", lengths="edges", mask="causal",
    softcap=None, sinks=True, split=None, placement="dense", q="bf16", out="f32",
    lse=True, kind="memref", dynamic=True, chip="sm_100a")

#: Of keys and values; sizes at which a block has fewer warps, no whole operands, and
#: rows of no whole words.
HEAD_DIMS = ((576, 512), (40, 24), (16, 576), (18, 10))


def with_head_dims(dims, chip):
    return {**BASE, "k_dim": dims[0], "v_dim": dims[1], "k_format": "fp8",
            "v_format": "fp8", "v_scale_layout": "linear", "chip": chip}


def name(case):
    return "-".join(str(v) for v in case.values())
