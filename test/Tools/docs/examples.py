# RUN: %python %s %kvq_src_root/docs/reference/KVQDialect.md %kvq_src_root/docs/reference/Passes.md %kvq_src_root/docs/reference/TransformOps.md
# REQUIRES: compiler
"""Runs every `mlir` example of the generated reference through kvq-opt.

An operation, an attribute and a type without an example are errors. Examples
are short, so this completes them:

- a line of a type or an attribute is put where one may stand;
- operations become the body of a function whose arguments are the values that
  the example uses and does not define. Their types are those that the example
  gives (`%a, %b : T, U`). A value without one has the last type of the
  statement if that is a handle (`from(%k) ... : !kvq.cache<...>`), otherwise
  f32, as global_scale(%g) and scale(%s) have;
- a named sequence of transforms becomes the body of a module;
- an example of a pass holds functions, then `// becomes` with what the pass
  makes of them, or `// error: TEXT` with what it reports.
"""

import re
import subprocess
import sys

COMMENT = re.compile(r"//.*")


def run(text, *flags):
    return subprocess.run(
        ["kvq-opt", *flags], input=text, capture_output=True, text=True
    )


def split_top_level(text):
    """Splits at commas that are in no bracket; stops at an unmatched one or at
    a keyword."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "<([{":
            depth += 1
        elif char in ">)]}" and text[i - 1] != "-":
            depth -= 1
            if depth < 0:
                return parts + [text[start:i]]
        elif char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return parts + [text[start:]]


def free_values(body):
    """Values used and not defined, with their types, in order."""
    defined = set()
    for results in re.findall(r"^\s*((?:%\w+(?:, )?)+) = ", body, re.M):
        defined.update(re.findall(r"%\w+", results))
    types = {}
    for match in re.finditer(r"((?:%\w+(?:,\s*)?)+)\s*:", body):
        names = re.findall(r"%\w+", match.group(1))
        # A result arrow ends a type that is in no parentheses.
        rest = re.split(r"\s->\s", body[match.end() :])[0]
        for name, type in zip(names, split_top_level(rest)):
            types.setdefault(name, " ".join(type.split()))
    trailing = re.findall(r":\s*(!kvq\.cache<[^>]*>)\s*$", body)
    fallback = trailing[-1] if trailing else "f32"
    # `scale(%s)` and the like stay f32 whatever the trailing type is.
    free = {}
    for match in re.finditer(r"(\w*)\(?(%\w+)", body):
        keyword, name = match.groups()
        if name in defined or name in free:
            continue
        scalar = "f32" if keyword.endswith("scale") else fallback
        free[name] = types.get(name, scalar)
    return free


def complete(example):
    """A module that holds an example of an operation, a type or an attribute."""
    lines = [COMMENT.sub("", line) for line in example.splitlines()]
    lines = [line for line in lines if line.strip()]
    if all(line.startswith("!") for line in lines):
        return "\n".join(
            f"func.func private @f{i}({line})" for i, line in enumerate(lines)
        )
    if all(line.startswith("#") for line in lines):
        return "\n".join(
            f"func.func private @f{i}() attributes {{example = {line}}}"
            for i, line in enumerate(lines)
        )
    if lines[0].startswith("func.func"):
        return example
    if lines[0].startswith("transform.named_sequence"):
        return f"module attributes {{transform.with_named_sequence}} {{\n{example}\n}}"
    body = "\n".join(lines)
    arguments = ", ".join(f"{n}: {t}" for n, t in free_values(body).items())
    return f"func.func @example({arguments}) {{\n{body}\nreturn\n}}"


def check_parses(where, text):
    result = run(text, "--verify-roundtrip")
    if result.returncode == 0:
        return result.stdout
    raise SystemExit(f"{where}: kvq-opt rejects\n{text}\n{result.stderr}")


def check_pass_example(where, flag, example):
    before, arrow, after = example.partition("// becomes")
    error = re.search(r"// error: (.*)", example)
    if bool(arrow) == bool(error):
        raise SystemExit(
            f"{where}: expected one of '// becomes' and '// error: TEXT'"
        )
    check_parses(where, before)
    result = run(before, flag)
    if "unable to schedule pass" in result.stderr:
        # A pass over functions has to be told which.
        result = run(
            before, f"--pass-pipeline=builtin.module(func.func({flag[2:]}))"
        )
    if error:
        if result.returncode == 0 or error.group(1) not in result.stderr:
            raise SystemExit(
                f"{where}: expected the error\n{error.group(1)}\n"
                f"found\n{result.stderr}"
            )
        return
    if result.returncode:
        raise SystemExit(f"{where}: {flag} fails\n{result.stderr}")
    expected = check_parses(where, after)
    if result.stdout != expected:
        raise SystemExit(
            f"{where}: {flag} gives\n{result.stdout}\nexpected\n{expected}"
        )


def sections(text):
    """(group, heading, text) of each `###` section under a `##` heading."""
    group = None
    for chunk in re.split(r"^(?=###? )", text, flags=re.M):
        heading, _, rest = chunk.partition("\n")
        if heading.startswith("## "):
            group = heading[3:]
        elif heading.startswith("### "):
            yield group, heading[4:], rest


def main():
    found = 0
    for path in sys.argv[1:]:
        with open(path) as file:
            text = file.read()
        extracted = 0
        for group, heading, section in sections(text):
            where = f"{path}: {heading}"
            examples = re.findall(r"^```mlir\n(.*?)^```", section, re.M | re.S)
            extracted += len(examples)
            if not examples and group in ("Operations", "Attributes", "Types"):
                raise SystemExit(f"{where}: has no example")
            for example in examples:
                if not example.strip():
                    raise SystemExit(f"{where}: has an empty example")
                flag = re.match(r"`-(kvq[\w-]*|convert[\w-]*)`", heading)
                if flag:
                    check_pass_example(where, f"--{flag.group(1)}", example)
                else:
                    check_parses(where, complete(example))
        # Every fence of the file is in a section that was looked at.
        if extracted != text.count("```mlir"):
            raise SystemExit(f"{path}: has examples outside of sections")
        found += extracted
    if not found:
        raise SystemExit("no examples found")
    print(f"{found} examples")


if __name__ == "__main__":
    main()
