"""Generated cases of attention that the kernel for Blackwell's tensor cores takes:
for each format of the keys all pairs of the other options."""

from decode_domains import DOMAINS, NATIVE_LAYOUTS, QK, is_legal
from pairs import all_pairs


def is_possible(case):
    """Whether a (partial) assignment is one that the kernel takes."""
    v_format = case.get("v_format")
    if v_format:
        layout = case.get("v_scale_layout", "linear")
        if layout not in NATIVE_LAYOUTS.get(v_format, ("linear",)):
            return False
    return is_legal(case)


def cases(k_format):
    domains = {
        **DOMAINS,
        "k_format": (k_format,),
        "qk": QK[k_format],
        "lengths": ("page", "tile", "long"),
    }
    return all_pairs(domains, is_possible, seed=1)


CASES = [case for k_format in QK for case in cases(k_format)]


def name(case):
    return "-".join(str(v).replace(", terms = ", "_") for v in case.values())
