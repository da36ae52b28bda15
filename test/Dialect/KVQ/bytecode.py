# RUN: %python %s %S/ops.mlir %t.mlirbc
# RUN: kvq-opt %S/Inputs/version-1.0.mlirbc | FileCheck %s
# REQUIRES: compiler
"""Bytecode carries the dialect's version: this version reads what it writes and
what older ones wrote, and refuses a newer one."""

import subprocess
import sys

# What version 1.0 wrote of quantize_append.
# CHECK: slot_mapping(%{{.*}} : tensor<4xi32>) {rounding = #kvq<rounding fast>}
# CHECK: positions(%{{.*}} : tensor<4xi32>) {four_over_six}

# A section of dialect versions (7) of two bytes: the numbers 1 and 1 as
# variable-length integers, which are shifted by one with a bit for the length.
VERSION = bytes([0x07, 0x05, 0x03, 0x03])


def kvq_opt(*arguments):
    return subprocess.run(["kvq-opt", *arguments], capture_output=True)


def main():
    source, path = sys.argv[1:]
    text = kvq_opt(source)
    assert text.returncode == 0, text.stderr
    written = kvq_opt(source, "--emit-bytecode", "-o", path)
    assert written.returncode == 0, written.stderr
    read = kvq_opt(path)
    assert read.returncode == 0, read.stderr
    assert read.stdout == text.stdout, read.stdout.decode()

    with open(path, "rb") as file:
        content = file.read()
    assert content.count(VERSION) == 1, content.count(VERSION)
    for major, minor in [(1, 2), (2, 0), (0, 0)]:
        edited = bytes([0x07, 0x05, major * 2 + 1, minor * 2 + 1])
        with open(path, "wb") as file:
            file.write(content.replace(VERSION, edited))
        refused = kvq_opt(path)
        message = (
            f"bytecode has version {major}.{minor} of the kvq dialect, this build "
            "reads 1.0 to 1.1"
        )
        assert refused.returncode == 1, refused.returncode
        assert message in refused.stderr.decode(), refused.stderr


if __name__ == "__main__":
    main()
