"""SASS of a PTX kernel, and how often its instructions are executed.

ptxas says for each instruction which line of the PTX it is of, and a profile of
the emulator (ptx_profile.py) how often that line runs. Copies of a line's code share
its executions: as many as there are of an instruction that PTX and SASS have one to
one, else as there are basic blocks with an opcode of the line. Where ptxas moves an
instruction to a block that runs more or less often the count is off by that:
`disagreements` says whether it is for instructions that correspond one to one.

What ptxas puts behind the end of a kernel does not count: further tries of a wait,
ways around for lanes that have parted, and subroutines for rare operands.

Needs ptxas, and nvdisasm of the package nvidia-cuda-nvdisasm.
"""

import re
import shutil
import subprocess
import sys
import pathlib
import collections

#: Instructions of the pipe that does integer, logic and compares, and converts
#: to and from FP8 and FP4. IMAD, HFMA2 and the like are of the FMA pipe, and
#: instructions that begin with U of the uniform one.
_ALU = re.compile(
    r"(IADD|LOP3|LOP|SHF|SHL|SHR|PRMT|SEL|FSEL|ISETP|FSETP|HSETP2|FMNMX|IMNMX|VIMNMX|"
    r"VHMNMX|HMNMX2|FMNMX3|LEA|PLOP3|F2FP|BMSK|SGXT|IABS|VABSDIFF|P2R|R2P|VIADD)(\d|\b)")
#: Those that take two slots: narrowing conversions.
_PACK = re.compile(r"F2FP\S*PACK_AB|F2FP\S*\.(E4M3|E2M1|E5M2)\S*\.F(32|16)")

_LINE = re.compile(r'\s*//## File "[^"]*", line (\d+)')
_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?(@!?U?P[T\d]+\s+)?([A-Z][\w.]*)(.*);")


_LABEL = re.compile(r"\.L_x_\d+:")
_ENDS_BLOCK = re.compile(r"(BRA|BRX|EXIT|RET|BREAK|BSYNC|WARPSYNC)\b")


#: Opcodes and the PTX that each is made of, one to one.
_PAIRS = {
    r"HMMA": r"mma\.sync", r"MUFU\.EX2": r"ex2\.", r"LDSM": r"ldmatrix",
    r"SHFL": r"shfl\.", r"BAR\.": r"bar(?:rier)?(?:\.cta)?\.(?:sync|red|arrive)",
    r"LDGSTS": r"cp\.async\.c[ag]", r"UTC\w*MMA": r"tcgen05\.mma", r"LDTM": r"tcgen05\.ld",
    r"STTM": r"tcgen05\.st", r"UTCCP": r"tcgen05\.cp", r"UTCBAR": r"tcgen05\.commit",
    r"F2FP\.F16\.E2M1": r"cvt\.rn\.f16x2\.e2m1x2",
    r"SYNCS\.PHASECHK": r"mbarrier\.try_wait", r"SYNCS\.ARRIVE": r"mbarrier\.arrive",
}


def _statement(ptx):
    """The opcode of a statement of PTX, of which a line may have several."""
    return re.compile(rf"(?:^|[\s;{{}}]){ptx}")


class Unavailable(Exception):
    """A tool that is not there."""


def find_tool(name):
    """ptxas or nvdisasm: of PATH, of CUDA, or of a Python package."""
    places = [shutil.which(name), shutil.which(name, path="/usr/local/cuda/bin")]
    for root in map(pathlib.Path, sys.path):
        places += sorted((root / "nvidia").glob(f"*/bin/{name}")) if root.is_dir() else []
    for place in places:
        if place:
            return str(place)
    raise Unavailable(f"{name} is not installed")


class Sass:
    """The code that ptxas makes of a kernel. `instructions` are (opcode with its
    modifiers, line of the PTX, number of its basic block)."""

    def __init__(self, ptx, kernel, arch, directory):
        cubin = pathlib.Path(directory) / "kernel.cubin"
        done = subprocess.run([find_tool("ptxas"), f"-arch={arch}", "-lineinfo", "-v", ptx,
                               "-o", cubin], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        info = done.stdout + done.stderr
        info = info[info.index(f"'{kernel}'"):]
        self.registers = int(re.search(r"Used (\d+) registers", info)[1])
        self.spills = sum(map(int, re.findall(r"(\d+) bytes spill", info)[:2]))
        text = subprocess.run([find_tool("nvdisasm"), "-c", "-gp", cubin], check=True,
                              capture_output=True, text=True).stdout
        text = text[text.index(f".text.{kernel}:"):]
        self.instructions, line, block = [], 0, 0
        ends, jumps = [], []
        for row in text.splitlines():
            if found := _LINE.match(row):
                line = int(found[1])
            elif found := _INSTRUCTION.match(row):
                if found[2] == "EXIT":
                    ends.append(len(self.instructions))
                if found[2] in ("EXIT", "BRA") and not found[1]:
                    jumps.append(len(self.instructions))
                self.instructions.append((found[2], line, block))
                block += bool(_ENDS_BLOCK.match(found[2]))
            elif _LABEL.match(row):
                block += 1
            elif row.startswith("//----"):
                break
        del self.instructions[next(i for i in jumps if i >= ends[-1]) + 1:]
        self._copies = self._count_copies(pathlib.Path(ptx).read_text().splitlines())

    def executed(self, profile):
        """Executions by warp of each opcode."""
        blocks = collections.defaultdict(set)
        for opcode, line, block in self.instructions:
            blocks[opcode, line].add(block)
        counts = collections.Counter()
        for opcode, line, _ in self.instructions:
            copies = self._copies.get(line) or len(blocks[opcode, line])
            counts[opcode] += profile.of_line(line) / copies
        return counts

    def _count_copies(self, lines):
        """How many copies of its code each line has that tells."""
        copies = {}
        for opcode, ptx in _PAIRS.items():
            found = collections.Counter(line for name, line, _ in self.instructions
                                        if re.match(opcode, name))
            for line, number in found.items():
                if statements := len(_statement(ptx).findall(lines[line - 1])):
                    copies[line] = max(copies.get(line, 1), number / statements)
        return copies


def alu_slots(counts):
    """How many slots of the ALU pipe instructions take."""
    return sum(n * (2 if _PACK.match(opcode) else 1)
               for opcode, n in counts.items() if _ALU.match(opcode))


def disagreements(counts, text, profile):
    """Where opcodes are not executed as often as the PTX that they are made of:
    texts."""
    lines = [re.sub(r"//.*", "", line) for line in text.splitlines()]
    result = []
    for opcode, ptx in _PAIRS.items():
        expected = sum(profile.of_line(i) * len(_statement(ptx).findall(line))
                       for i, line in enumerate(lines, 1))
        found = sum(n for name, n in counts.items() if re.match(opcode, name))
        if abs(found - expected) > 0.05 * max(found, expected):
            result.append(f"{opcode} {found:.0f}, of PTX {expected}")
    return result
