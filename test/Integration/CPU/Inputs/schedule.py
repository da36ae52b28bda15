"""Transform schedules for programs."""

import os
import subprocess

OPT = os.path.join(os.environ["KVQ_BUILD_DIR"], "bin", "kvq-opt")
ANY = "!transform.any_op"


class Schedule:
    """The body of a named sequence over the payload %root."""

    def __init__(self):
        self.lines = []
        self.count = 0

    def _emit(self, text, results, operands=1):
        names = [f"%h{self.count + i}" for i in range(results)]
        self.count += results
        types = ", ".join([ANY] * operands)
        results = ", ".join([ANY] * results)
        self.lines.append(f"{', '.join(names)} = {text} : ({types}) -> ({results})")
        return names

    def match(self, op):
        return self._emit(
            f'transform.structured.match ops{{["{op}"]}} in %root', 1)[0]

    def tile(self, target, sizes, loop="for"):
        """Returns the tiled operation."""
        loops = sum(size != 0 for size in sizes) if loop == "for" else 1
        return self._emit(
            f"transform.structured.tile_using_{loop} {target} tile_sizes {sizes}",
            1 + loops)[0]

    def tile_reduction(self, target, by):
        """`by` is tile_sizes = [..] or num_threads = [..]. Returns the tiled
        operation and the one that merges."""
        return self._emit(
            "transform.structured.tile_reduction_using_forall "
            f"{target} by {by}", 5)[2:4]

    def decompose(self, target):
        self.lines.append(f"transform.kvq.decompose {target} : {ANY}")

    def apply(self, program, directory):
        """Replaces the text of a program by what the schedule makes of it."""
        os.makedirs(directory, exist_ok=True)
        payload = os.path.join(directory, "payload.mlir")
        library = os.path.join(directory, "schedule.mlir")
        with open(payload, "w") as file:
            file.write(program.text())
        with open(library, "w") as file:
            body = "\n    ".join(self.lines)
            file.write(f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @schedule(%root: {ANY} {{transform.readonly}}) {{
    {body}
    transform.yield
  }}
}}
""")
        done = subprocess.run(
            [OPT, payload, f"--transform-preload-library=transform-library-paths={library}",
             "--transform-interpreter=entry-point=schedule"],
            capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{done.stderr}\n{program.text()}"
        assert done.stderr == "", done.stderr
        program.text = lambda: done.stdout
        return done.stdout
