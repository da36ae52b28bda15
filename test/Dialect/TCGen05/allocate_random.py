# RUN: %pytest %s
# REQUIRES: python, compiler
"""Random functions through kvq-tcgen05-allocate-tmem, and what comes out checked
by a model that shares nothing with the pass: it plays the function, counts the
barriers that each region lives between, and looks at all pairs."""

import functools
import itertools
import random
import re
import subprocess

import pytest

LANES = {
    "straight": set(range(128)),
    "high": set(range(96, 128)),
    "scattered": {32 * q + i for q in range(4) for i in range(16)},
    "scattered16": {32 * q + 16 + i for q in range(4) for i in range(16)},
}


class Region:
    """A type of a region: its words, their alignment and its lanes."""

    def __init__(self, rng, large):
        sizes = [10, 64, 100, 128, 200, 256, 302] if large else [2, 6, 16, 24, 48, 64]
        words = rng.choice(sizes)
        self.words, self.alignment, self.lanes = words, 2, LANES["straight"]
        kind = rng.randrange(7)
        if kind == 0:
            self.words = words = -(-words // 4) * 4
            self.alignment = 4
            self.type = f"tmem<128x{2 * words}xf16>"
        elif kind == 1:
            self.lanes = LANES["scattered"]
            self.type = f"tmem<64x{words}xf32, scattered>"
        elif kind == 2:
            self.lanes = LANES["scattered16"]
            self.type = f"tmem<64x{words}xf32, scattered, lane = 16>"
        elif kind == 3:
            self.lanes = LANES["high"]
            self.type = f"tmem<32x{words}xi32, lane = 96>"
        elif kind == 4:
            self.type = f"tmem<64x{2 * words}xf32, folded>"
        elif kind == 5:
            self.words = words = -(-words // 4) * 4
            self.type = f"scales<128x{words}xf8E4M3FN>"
        else:
            self.type = f"tmem<128x{words}xf32>"
        self.type = "!kvq_tcgen05." + self.type


class Function:
    """Nested lists of statements: ("region", i), ("release", i), ("barrier",),
    ("loop", [...]) and ("if", [...])."""

    def __init__(self, seed, flat):
        self.rng, self.flat = random.Random(seed), flat
        self.regions = []
        self.body = self.block(self.rng.randint(3, 5) if flat else 3, 0 if flat else 2)

    def block(self, count, depth, barriers=True):
        rng, statements, live = self.rng, [], []
        for _ in range(count):
            if depth and rng.random() < 0.5:
                kind = rng.choice(["loop", "if"])
                # Only some warps are in a branch: there is no barrier in it.
                inside = barriers and kind == "loop"
                statements.append((kind, self.block(2, depth - 1, inside)))
            else:
                self.regions.append(Region(rng, self.flat))
                live.append(len(self.regions) - 1)
                statements.append(("region", live[-1]))
            if live and rng.random() < 0.6:
                statements.append(("release", live.pop(rng.randrange(len(live)))))
            if barriers and rng.random() < 0.6:
                statements.append(("barrier",))
        return statements

    def text(self, name):
        lines = []

        def write(statements):
            for kind, *rest in statements:
                if kind == "region":
                    r = self.regions[rest[0]]
                    lines.append(f'%r{rest[0]} = kvq_tcgen05.region %base named '
                                 f'"r{rest[0]}" : {r.type}')  # fmt: skip
                elif kind == "release":
                    r = self.regions[rest[0]]
                    lines.append(f"kvq_tcgen05.release %r{rest[0]} : {r.type}")
                elif kind == "barrier":
                    lines.append("gpu.barrier")
                else:
                    lines.append(f"scf.for %i{len(lines)} = %c0 to %n step %c1 {{"
                                 if kind == "loop" else "scf.if %p {")  # fmt: skip
                    write(rest[0])
                    lines.append("}")

        write(self.body)
        body = "\n".join(lines)
        return f"""func.func @{name}(%slot: !llvm.ptr<3>, %base: i32, %n: index, %p: i1) {{
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
kvq_tcgen05.alloc %slot : !llvm.ptr<3>
{body}
kvq_tcgen05.dealloc %base
return
}}
"""

    def lives(self):
        """(region, first, last) of each life; numbers count barriers. Loops run
        twice, and without a release a region lives to the end of its block."""
        result, barriers = [], 0

        def play(statements):
            nonlocal barriers
            live = {}
            for kind, *rest in statements:
                if kind == "region":
                    live[rest[0]] = barriers
                elif kind == "release":
                    result.append((rest[0], live.pop(rest[0]), barriers))
                elif kind == "barrier":
                    barriers += 1
                else:
                    for _ in range(2 if kind == "loop" else 1):
                        play(rest[0])
            result.extend((i, first, barriers) for i, first in live.items())

        play(self.body)
        return result

    def conflicts(self):
        """Pairs of regions that must not share columns."""
        return {
            (a, b)
            for (a, *x), (b, *y) in itertools.permutations(self.lives(), 2)
            if a != b and x[0] <= y[1] and y[0] <= x[1]
            and self.regions[a].lanes & self.regions[b].lanes
        }  # fmt: skip

    @functools.cached_property
    def least(self):
        """The fewest columns that the regions fit into, over all orders."""
        conflicts, heights = self.conflicts(), []
        for order in itertools.permutations(range(len(self.regions))):
            taken, height = {}, 0
            for i in order:
                r, column = self.regions[i], 0
                others = [taken[j] for j in taken if (i, j) in conflicts]
                while any(column < end and begin < column + r.words for begin, end in others):
                    column += r.alignment
                taken[i] = column, column + r.words
                height = max(height, column + r.words)
            heights.append(height)
        return min(heights)


def run(text):
    return subprocess.run(
        ["kvq-opt", "-", "--pass-pipeline=builtin.module(any(kvq-tcgen05-allocate-tmem))"],
        input=text, capture_output=True, text=True,
    )  # fmt: skip


def power_of_two(columns):
    return max(32, 1 << (columns - 1).bit_length())


def check(function, text):
    """Checks one function of the output; returns the size of its allocation."""
    size = int(re.search(r"kvq_tcgen05.alloc .*columns\((\d+)\)", text)[1])
    assert int(re.search(r"kvq_tcgen05.dealloc .*columns\((\d+)\)", text)[1]) == size
    places = {int(i): int(at) for at, i in re.findall(r'at (\d+) named "r(\d+)"', text)}
    assert sorted(places) == list(range(len(function.regions)))
    for i, r in enumerate(function.regions):
        assert places[i] % r.alignment == 0 and places[i] + r.words <= size
    for a, b in function.conflicts():
        assert (places[a] + function.regions[a].words <= places[b]
                or places[b] + function.regions[b].words <= places[a]), (a, b)  # fmt: skip
    assert size == power_of_two(max(places[i] + r.words
                                    for i, r in enumerate(function.regions)))  # fmt: skip
    return size


@pytest.mark.parametrize("flat", [True, False], ids=["flat", "nested"])
def test_random(flat):
    """In a function without loops and branches the allocation is the least that
    there is. Elsewhere the pass takes a region inside of one to live as long as
    all of it."""
    functions = [Function(seed, flat) for seed in range(60)]
    functions = [f for f in functions if f.regions and len(f.regions) < 7]
    least = [f.least if flat else sum(r.words for r in f.regions) for f in functions]
    fits = [f for f, columns in zip(functions, least) if columns <= 512]
    assert len(fits) >= 25
    done = run("".join(f.text(f"f{i}") for i, f in enumerate(fits)))
    assert done.returncode == 0, done.stderr
    texts = re.split(r"(?=func\.func)", done.stdout)[1:]
    shared = 0
    for function, text in zip(fits, texts, strict=True):
        size = check(function, text)
        shared += sum(r.words for r in function.regions) > size
        if flat:
            assert size == power_of_two(function.least)
    # Some regions have the columns of others.
    assert shared >= 5


def test_too_large():
    """Where 512 columns are not enough there is an error that says how many are
    needed, which is no fewer than the least."""
    functions = [Function(seed, True) for seed in range(30)]
    large = [f for f in functions if f.least > 512]
    assert len(large) >= 2
    for function in large[:4]:
        done = run(function.text("f"))
        assert done.returncode == 1 and not done.stdout
        needed = re.search(r"has 512 columns of tensor memory, but (\d+) are needed "
                           r"for 'r0' \(\d+\)", done.stderr)  # fmt: skip
        assert needed and int(needed[1]) >= function.least, done.stderr
