"""Attention cases of the Blackwell kernels: what AttentionCase does, for one
chip, with the kinds of the products, lengths around tiles, and tables that
share pages."""

import copy
import functools
import json
import os
import sys

import numpy as np
from oracle import cases
from oracle.attention import Options

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "CPU", "Inputs"))
from attention_case import AttentionCase
from decode_domains import LENGTHS, is_native
from decode_model import round_values, round_weights, rounded_query

CHIP = "sm_100a"

#: Relative error of the output from a model that splits Q and rounds P as the kernel
#: does.
NATIVE_BOUND = 1e-3
#: The portable kernel multiplies 16-bit operands, mostly in two terms.
PORTABLE_BOUND = 3e-4

MASKS = {
    "none": Options(),
    "causal": Options(causal=True),
    "window": Options(causal=True, window_left=133),
    "band": Options(window_left=70, window_right=2),
}


def share_pages(table, lengths, page):
    """Makes sequences read each other's full pages, as those of a common prompt
    do."""
    longest = int(np.argmax(lengths))
    for row, length in zip(table, lengths):
        common = length // page
        row[:common] = table[longest, :common]


class DecodeCase(AttentionCase):
    """`config` has what AttentionCase takes, and qk, pv, tables and schedule."""

    def __init__(self, config, seed=0):
        self.native = is_native(config)
        page = config["page"]
        super().__init__(
            {"k_scale_layout": "linear", **config,
             "lengths": LENGTHS[config["lengths"]](page)}, seed)

    def set_up(self, case, sides):
        if self.config["tables"] == "shared":
            share_pages(case.block_table, case.seq_lens, self.config["page"])
        options = MASKS[self.config["mask"]]._replace(softcap=case.options.softcap)
        super().set_up(case._replace(options=options), sides)

    def expected(self):
        model = copy.copy(self)
        if self.native:
            model.q = rounded_query(self.q, self.config["qk"],
                                    self.config["k_format"])
            model.round_weights = functools.partial(
                round_weights, kind=self.config["pv"], fmt=self.config["v_format"])
            model.round_values = functools.partial(
                round_values, kind=self.config["pv"], fmt=self.config["v_format"],
                g=self.placed.caches["value"].g)
        return AttentionCase.expected(model)

    def run(self, directory, flags=()):
        """Checks the results; returns them with the reports of the launches.
        The kernel has to be the one that is expected."""
        report = os.path.join(directory, "report.jsonl")
        os.makedirs(directory, exist_ok=True)
        os.environ.update(KVQ_EMU_REPORT=report, KVQ_EMU_CHECK="all",
                          KVQ_EMU_SCHEDULE=self.config["schedule"])
        bound = NATIVE_BOUND if self.native else PORTABLE_BOUND
        found = self.check("emu", directory, [f"--chip={CHIP}", *flags], bound)
        with open(report) as file:
            launches = [json.loads(line) for line in file]
        assert uses_tensor_memory(launches) == self.native, self.config
        assert ({launch["schedule"] for launch in launches}
                == set(self.config["schedule"].split(",")))
        return found, launches


def uses_tensor_memory(launches):
    """Whether a launch multiplied with tcgen05."""
    return any(form["family"] == "tcgen05" for launch in launches
               for form in launch["report"]["counters"]["tensor"])
