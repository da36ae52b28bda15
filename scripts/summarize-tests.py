"""Prints what lit counted as "N passed, N failed, N skipped".

usage: summarize-tests.py RESULTS.json   (lit's --output)
"""

import collections
import json
import sys

PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        tests = json.load(file)["tests"]
    counts = collections.Counter()
    skipped = collections.Counter()
    for test in tests:
        code = test["code"]
        if code in PASSED:
            counts["passed"] += 1
        elif code in SKIPPED:
            counts["skipped"] += 1
            skipped[test["name"]] += 1
        else:
            counts["failed"] += 1
    for name in sorted(skipped):
        print("skipped:", name)
    print(
        "{passed} passed, {failed} failed, {skipped} skipped".format(
            passed=counts["passed"],
            failed=counts["failed"],
            skipped=counts["skipped"],
        )
    )


if __name__ == "__main__":
    main()
