"""How many operations of each kind kvq-optimize leaves of a decoder."""

import re

OPS = ("quantize_append", "dequant_attention", "gather", "dequantize", "quantize", "append",
       "attention")


def check_fused(text, layers):
    """Each layer has one quantizing append per side and one attention over them."""
    found = {op: len(re.findall(rf"kvq\.{op} ", text)) for op in OPS}
    expected = {"quantize_append": 2 * layers, "dequant_attention": layers}
    assert found == {**dict.fromkeys(OPS, 0), **expected}
