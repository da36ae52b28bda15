# RUN: %python %s %kvq_src_root/docs/reference/TCGen05Dialect.md %S/ops.mlir %S/types.mlir
# REQUIRES: compiler
"""Each operation, attribute and type of the generated reference has an example,
and each example is in a test that runs: operations in ops.mlir, types and
attributes in types.mlir. Spaces and the names of values apart, the text is the
same."""

import re
import sys


def normal(text):
    text = re.sub(r"%\w+", "%", re.sub(r"//.*", "", text))
    return " ".join(text.split())


reference, *tests = sys.argv[1:]
with open(reference) as file:
    text = file.read()
blocks = re.findall(r"```mlir\n(.*?)```", text, re.S)
# Enumerations, which come last, are parameters of others.
for section in re.split(r"\n(?=##+ )", text.split("\n## Enums\n")[0]):
    title = section.splitlines()[0]
    assert not title.startswith("### ") or "```mlir" in section, f"no example: {title}"
tested = ""
for name in tests:
    with open(name) as file:
        tested += normal(file.read()) + " "

assert len(blocks) >= 20, len(blocks)
missing = []
for block in blocks:
    statements = re.split(r"\n(?=\S)", block.strip())
    missing += [s for s in statements if normal(s) not in tested]
for statement in missing:
    print("not tested:\n" + statement)
sys.exit(bool(missing))
