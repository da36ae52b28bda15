"""The schedules that kernels are tested in.

As a program it runs pytest on a file in one process for each schedule: one with
all tests, and others with those of one chip each. KVQ_EMU_ALL_SCHEDULES=1 asks
for all tests in all schedules.
"""

import os
import subprocess
import sys

SCHEDULES = ("eager", "lazy", *(f"random:{seed}" for seed in range(1, 5)))

#: What is run by default, with the chip that test names have.
IN_TURNS = {"eager": "", "lazy": "sm_100a", "random:1": "sm_80", "random:2": "sm_89"}

ALL = os.environ.get("KVQ_EMU_ALL_SCHEDULES") == "1"


def main():
    turns = {schedule: "" for schedule in SCHEDULES} if ALL else IN_TURNS
    status = 0
    for schedule, chip in turns.items():
        print(f"schedule {schedule}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
             *sys.argv[1:], "-k", chip],
            env={**os.environ, "KVQ_EMU_CHECK": "all", "KVQ_EMU_SCHEDULE": schedule})
        status = status or done.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
