#!/usr/bin/env python3
"""Deletes or weakens each synchronizing instruction of a PTX kernel in turn and
counts how many of these mutants kvq-emu tells from the kernel as it is.

usage: mutation_score.py IN.ptx [options] -- KVQ-EMU-OPTIONS

A mutant is killed where a run under one of the schedules reports a finding, does
not end, or gives arrays that differ from those of the kernel itself. The options
behind `--` are kvq-emu's own (--grid, --block, --arg, ..), without --schedule,
--check and --report. Arrays of inout: and out: arguments are compared; the files
themselves stay as they are.

As a module: `mutants` makes the mutants of a text and `score` runs them through
any function that says whether a run was right, so a kernel can also be launched
by a program of its own.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

SCHEDULES = ["eager", "lazy"] + [f"random:{seed}" for seed in range(1, 7)]
CHECKS = "all,tensor-fences,tensor-pairs"

# -- Mutants ------------------------------------------------------------------


@dataclass
class Mutant:
    """`key` names it independently of line numbers: what is done, to which
    instruction, and which of several equal ones."""

    key: str
    line: int
    text: str


_STATEMENT = re.compile(
    r"(?P<guard>@!?%?[\w$]+\s+)?(?P<opcode>[a-z][\w]*(?:(?:\.|::)[\w]+)+)"
    r"(?P<operands>[^;{}]*(?:\{[^;{}]*\}[^;{}]*)*);"
)

# What synchronizes; a wait with a result passes at once instead of vanishing.
_DELETABLE = re.compile(
    r"(bar|barrier)\.(sync|arrive|cta\.sync|cta\.arrive)\b|bar\.warp\.sync|"
    r"barrier\.cluster\.(arrive|wait)|"
    r"fence\b|membar\b|"
    r"mbarrier\.(arrive|arrive_drop|expect_tx|complete_tx)\b|"
    r"cp\.async\.(commit_group|wait_group|wait_all|mbarrier\.arrive)|"
    r"cp\.async\.bulk\.(commit_group|wait_group)|"
    r"tcgen05\.(commit|wait|fence)|wgmma\.(fence|commit_group|wait_group)|"
    r"griddepcontrol\.wait"
)
_WAIT = re.compile(r"mbarrier\.(try_wait|test_wait)\b")
_ORDERED = re.compile(r"(ld|st|atom|red|fence|mbarrier|barrier\.cluster)\b")


def _blank_comments(text):
    """The text with comments as spaces, so that places stay the same."""
    return re.sub(
        r"//[^\n]*|/\*.*?\*/",
        lambda found: re.sub(r"[^\n]", " ", found[0]),
        text,
        flags=re.S,
    )


def _body(text, kernel):
    """The range of a kernel's braces; of the whole text without a name."""
    if kernel is None:
        return 0, len(text)
    found = re.search(r"\.entry\s+" + re.escape(kernel) + r"\s*\(", text)
    if not found:
        raise ValueError(f"no kernel '{kernel}' in the file")
    start = at = text.index("{", found.end())
    depth = 0
    while True:
        if text[at] in "{}":
            depth += 1 if text[at] == "{" else -1
            if depth == 0:
                return start, at
        at += 1


def _replacements(opcode, operands):
    """(what is done, new opcode, new operands); an opcode of None deletes."""
    if _DELETABLE.match(opcode):
        first = operands.split(",")[0].strip()
        needs_result = (
            opcode.startswith("mbarrier.arrive")
            and not first.startswith(("[", "_"))
        )
        if needs_result:
            yield "delete", "mov.b64", f" {first}, 0"
        else:
            yield "delete", None, None
    if _WAIT.match(opcode):
        yield "do not wait", "setp.eq.u32", f" {operands.split(',')[0].strip()}, 0, 0"
    if ".expect_tx" in opcode and opcode.startswith("mbarrier.arrive"):
        yield ("do not expect bytes", opcode.replace(".expect_tx", ""),
               operands.rpartition(",")[0])  # fmt: skip
    if re.match(r"cp\.async\.(bulk\.)?wait_group", opcode):
        yield ("let one more group stay open", opcode,
               re.sub(r"\d+", lambda n: str(int(n[0]) + 1), operands))  # fmt: skip
    if opcode == "cp.async.bulk.wait_group":
        yield "wait for the reads only", opcode + ".read", operands
    if re.fullmatch(r"(bar|barrier)(\.cta)?\.sync(\.aligned)?", opcode):
        if "," in operands:
            yield "arrive only", opcode.replace(".sync", ".arrive", 1), operands
    if opcode.startswith("fence.proxy.async") and "::generic" not in opcode:
        if ".global" not in opcode:
            yield "fence global memory only", "fence.proxy.async.global", operands
        if ".shared" not in opcode:
            yield ("fence shared memory only", "fence.proxy.async.shared::cta",
                   operands)  # fmt: skip
    if _ORDERED.match(opcode) and ".proxy" not in opcode:
        if not opcode.startswith(("fence", "membar")):
            for word in (".acquire", ".release", ".acq_rel"):
                if word in opcode:
                    yield "relax", opcode.replace(word, ".relaxed"), operands
            # The order that mbarrier operations have without being told.
            default = re.match(r"mbarrier\.(arrive(\.expect_tx)?|try_wait"
                               r"(\.parity)?|test_wait(\.parity)?)"
                               r"(?=\.shared|$|\.b64)", opcode)  # fmt: skip
            if default:
                yield ("relax", default[0] + ".relaxed.cluster"
                       + opcode[default.end():], operands)  # fmt: skip
        for word, narrow in ((".sys", ".cta"), (".gpu", ".cta"),
                             (".cluster", ".cta")):  # fmt: skip
            if re.search(re.escape(word) + r"(?!\w|::)", opcode):
                if opcode.startswith("barrier.cluster"):
                    continue
                narrowed = re.sub(re.escape(word) + r"(?!\w|::)", narrow, opcode, count=1)
                if word != ".cluster" or not opcode.startswith("fence.mbarrier_init"):
                    yield f"narrow to {narrow}", narrowed, operands
                break


def mutants(text, kernel=None):
    """All mutants of a module's text, or of one kernel in it."""
    code = _blank_comments(text)
    start, end = _body(code, kernel)
    result, seen = [], {}
    for found in _STATEMENT.finditer(code, start, end):
        opcode, operands = found["opcode"], found["operands"]
        guard = found["guard"] or ""
        shown = " ".join(f"{guard}{opcode}{operands}".split())
        number = seen[shown] = seen.get(shown, 0) + 1
        for what, new_opcode, new_operands in _replacements(opcode, operands):
            new = "" if new_opcode is None else f"{guard}{new_opcode}{new_operands};"
            line = code.count("\n", 0, found.start()) + 1
            # Later lines keep their numbers.
            new += "\n" * found[0].count("\n")
            result.append(Mutant(f"{what}: {shown} #{number}", line,
                                 text[:found.start()] + new + text[found.end():]))  # fmt: skip
    return result


# -- Score --------------------------------------------------------------------


class NoKernel(Exception):
    """The text cannot be launched: it says nothing about the kernel."""


@dataclass
class Result:
    killed: dict = field(default_factory=dict)  # key -> (line, schedule, reason)
    survivors: list = field(default_factory=list)  # (key, line)
    invalid: list = field(default_factory=list)  # (key, line, reason)

    @property
    def total(self):
        return len(self.killed) + len(self.survivors)

    @property
    def share(self):
        return len(self.killed) / self.total if self.total else 1.0


def score(text, fault, kernel=None, schedules=SCHEDULES, jobs=1, chosen=None):
    """Runs every mutant, or those that were `chosen` of them. `fault(text,
    schedule)` runs one and returns what was wrong with it, or None; it raises
    NoKernel for a text that cannot run."""

    def run(mutant):
        for schedule in schedules:
            try:
                reason = fault(mutant.text, schedule)
            except NoKernel as error:
                return mutant, (None, str(error))
            if reason:
                return mutant, (schedule, reason)
        return mutant, None

    result = Result()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for mutant, why in pool.map(run, mutants(text, kernel) if chosen is None else chosen):
            if why and why[0] is None:
                result.invalid.append((mutant.key, mutant.line, why[1]))
            elif why:
                result.killed[mutant.key] = (mutant.line, *why)
            else:
                result.survivors.append((mutant.key, mutant.line))
    return result


class Emulated:
    """Runs texts with kvq-emu and compares the arrays with those of the first."""

    def __init__(self, text, options, emulator="kvq-emu", checks=CHECKS):
        self.options, self.emulator, self.checks = options, emulator, checks
        self.limit = 0
        outcome = self._run(text, "eager")
        if outcome["fault"]:
            raise RuntimeError("the kernel itself: " + outcome["fault"])
        self.arrays = outcome["arrays"]
        self.limit = 20 * outcome["instructions"] + 100000

    def fault(self, text, schedule):
        outcome = self._run(text, schedule)
        if outcome["fault"]:
            return outcome["fault"]
        if outcome["arrays"] != self.arrays:
            return "wrong result"
        return None

    def _run(self, text, schedule):
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            ptx = os.path.join(folder, "kernel.ptx")
            with open(ptx, "w") as file:
                file.write(text)
            report = os.path.join(folder, "report.json")
            command = [self.emulator, ptx, f"--schedule={schedule}",
                       f"--check={self.checks}", f"--report={report}",
                       f"--max-instructions={self.limit}"]  # fmt: skip
            copies = []
            for option in self.options:
                found = re.match(r"(--?arg=(?:inout|out):)([^:]+\.npy)(.*)", option)
                if found:
                    copy = os.path.join(folder, f"{len(copies)}.npy")
                    if os.path.exists(found[2]):
                        shutil.copy(found[2], copy)
                    copies.append(copy)
                    option = found[1] + copy + found[3]
                command.append(option)
            done = subprocess.run(command, capture_output=True, text=True)
            if not os.path.exists(report):
                if done.returncode < 0:
                    raise RuntimeError(f"kvq-emu ended with {done.returncode}")
                raise NoKernel(done.stderr.strip())
            with open(report) as file:
                contents = json.load(file)
            findings = contents["findings"]
            counts = contents["counters"]["warpInstructions"]
            arrays = []
            for copy in copies if not findings else []:
                with open(copy, "rb") as file:
                    arrays.append(file.read())
            first = findings[0] if findings else None
            return {
                "fault": first and f"{first['kind']} at line {first['line']}: "
                f"{first['message']}".splitlines()[0],
                "arrays": arrays,
                "instructions": sum(counts.values()),
            }


# -- Survivors that are known -------------------------------------------------


def read_explained(path):
    """Lines `KEY -- why`; empty ones and those that begin with # do not count."""
    explained = {}
    with open(path) as file:
        for line in file:
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            key, dashes, why = line.partition(" -- ")
            if not dashes or not why.strip():
                raise ValueError(f"{path}: no explanation in '{line}'")
            explained[key] = why.strip()
    return explained


def compare(result, explained):
    """What differs between the survivors and those that are explained."""
    survivors = {key for key, _ in result.survivors}
    return ([f"survives without an explanation: {key}"
             for key in sorted(survivors - explained.keys())]
            + [f"is explained but does not survive: {key}"
               for key in sorted(explained.keys() - survivors)])  # fmt: skip


def main():
    arguments = sys.argv[1:]
    own, options = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        own, options = arguments[:at], arguments[at + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ptx")
    parser.add_argument("--kernel", help="mutate this kernel only, and run it")
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    parser.add_argument("--check", default=CHECKS, help="kvq-emu's --check")
    parser.add_argument("--seeds", type=int, default=0, metavar="N",
                        help="first run the kernel itself under N random "
                        "schedules, which must find nothing")  # fmt: skip
    parser.add_argument("--emulator", default="kvq-emu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--explained", metavar="FILE",
                        help="survivors that are known, as lines 'KEY -- why'; "
                        "any other one, or one that does not survive, is an "
                        "error")  # fmt: skip
    parser.add_argument("--minimum", type=float, default=0,
                        help="least share of killed mutants, in percent")  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write all mutants")
    parser.add_argument("--verbose", action="store_true",
                        help="say what killed each mutant")  # fmt: skip
    args = parser.parse_args(own)
    with open(args.ptx) as file:
        text = file.read()
    if args.kernel:
        options = options + [f"--kernel={args.kernel}"]
    try:
        emulated = Emulated(text, options, args.emulator, args.check)
        for seed in range(args.seeds):
            if fault := emulated.fault(text, f"random:{seed}"):
                raise RuntimeError(f"the kernel itself under random:{seed}: {fault}")
        result = score(text, emulated.fault, args.kernel,
                       args.schedules.split(","), args.jobs)  # fmt: skip
        explained = read_explained(args.explained) if args.explained else None
    except (NoKernel, OSError, RuntimeError, ValueError) as error:
        sys.exit(f"mutation_score.py: {error}")
    if args.verbose:
        for key, (line, schedule, reason) in result.killed.items():
            print(f"killed   {args.ptx}:{line}: {key}\n         {schedule}: {reason}")
    for key, line in result.survivors:
        print(f"survived {args.ptx}:{line}: {key}")
        if explained and key in explained:
            print(f"         {explained[key]}")
    for key, line, reason in result.invalid:
        print(f"invalid  {args.ptx}:{line}: {key}\n         {reason}")
    print(f"{len(result.killed)} of {result.total} mutants killed "
          f"({100 * result.share:.1f} %)")  # fmt: skip
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"total": result.total, "killed": result.killed,
                       "survivors": result.survivors,
                       "invalid": result.invalid}, file, indent=1)  # fmt: skip
    problems = compare(result, explained) if explained is not None else []
    if 100 * result.share < args.minimum:
        problems.append(f"less than {args.minimum} % were killed")
    for problem in problems:
        print("error:", problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
