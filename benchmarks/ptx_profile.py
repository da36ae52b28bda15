"""How often each line of a PTX kernel is executed.

`instrument` adds counters to each basic block of a kernel, which kvq-emu runs as
any other; `Profile` turns them into executions by warp of each line of the kernel as
it was. A warp executes a block as often as the thread of it that does most: threads
that part are taken to meet again as soon as they can.
"""

import re

import numpy as np

#: The parameter with the address of the counters, behind the kernel's own.
PARAMETER = "kvq_profile"

_LABEL = re.compile(r"\s*([\w$]+):\s*$")
_BRANCH = re.compile(r"\s*(@!?%?[\w$]+\s+)?(bra|brx|ret|exit|trap)\b")

#: Each thread counts for itself.
_COUNT = """{{
\t.reg .b32 %thread;
\t.reg .b64 %offset, %counters;
\tmov.u32 %thread, %tid.x;
\tmul.wide.u32 %offset, %thread, 8;
\tld.param.b64 %counters, [{parameter}];
\tadd.s64 %counters, %counters, %offset;
\tred.global.add.u64 [%counters+{offset}], 1;
}}"""


def _body(lines, kernel):
    """The lines of a kernel's parameter list and its body as (first, last)
    pairs."""
    start = next(i for i, line in enumerate(lines)
                 if re.search(rf"\.entry\s+{re.escape(kernel)}\s*\(", line))
    closed = next(i for i in range(start, len(lines)) if ")" in lines[i].split("//")[0])
    first = next(i for i in range(closed, len(lines)) if lines[i].startswith("{"))
    depth = 0
    for last in range(first, len(lines)):
        code = lines[last].split("//")[0]
        depth += code.count("{") - code.count("}")
        if depth == 0:
            break
    return (start, closed), (first, last)


def instrument(text, kernel, threads):
    """(text with counters [blocks, threads], the first line of each block from 1,
    the last line of the body). `threads` are those of a block of the grid, which
    has one dimension."""
    lines = text.splitlines()
    (_, closed), (first, last) = _body(lines, kernel)
    declarations = re.compile(r"\s*\.(reg|shared|local|loc|pragma)\b|\s*(//.*)?$")
    begin = first + 1
    while declarations.match(lines[begin]):
        begin += 1
    starts = [begin]
    for i in range(begin, last):
        if _LABEL.match(lines[i]) or i > begin and _BRANCH.match(lines[i - 1]):
            if starts[-1] != i:
                starts.append(i)
    out = list(lines)
    for number, i in reversed(list(enumerate(starts))):
        snippet = _COUNT.format(parameter=PARAMETER, offset=8 * threads * number)
        at = i + 1 if _LABEL.match(lines[i]) else i
        out.insert(at, snippet)
    out[closed] = out[closed].replace(")", f",\n\t.param .u64 {PARAMETER}\n)", 1)
    return "\n".join(out) + "\n", [i + 1 for i in starts], last + 1


class Profile:
    """Executions by line. `counts` are [basic blocks, warps]."""

    def __init__(self, starts, end, counts):
        self._starts, self._end, self._counts = starts, end, counts

    def of_line(self, line):
        """Executions by a warp of a line of the text as it was; 0 for lines
        outside of the kernel."""
        if not self._starts[0] <= line < self._end:
            return 0
        block = np.searchsorted(self._starts, line, side="right") - 1
        return int(self._counts[block].sum())

    def of_warps(self, warps):
        """The executions by some warps of a block of the grid."""
        return Profile(self._starts, self._end, self._counts[:, list(warps)])

    def __sub__(self, other):
        return Profile(self._starts, self._end, self._counts - other._counts)


def profile(text, kernel, threads, launch):
    """`launch(text, counters)` runs a text with one more argument, an array, and
    returns the array as the run left it."""
    instrumented, starts, end = instrument(text, kernel, threads)
    counts = launch(instrumented, np.zeros((len(starts), threads), np.int64))
    return Profile(starts, end, counts.reshape(len(starts), -1, 32).max(-1))
