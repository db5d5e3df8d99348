#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The stated intervals of processor time hold: a program with a known split, many times, in both
samplers.

usage: interval.py CAIRN PROGRAM WORK [RUNS]
"""
import json
import math
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import case, main, run  # noqa: E402

CAIRN, PROGRAM, WORK = (os.path.abspath(name) for name in sys.argv[1:4])
RUNS = int(sys.argv[4]) if len(sys.argv) > 4 else 20
TRUTH = {"recursive": 100e6, "through_pointer": 100e6}  # ns: 20 pieces of 5 ms each
LEAST = 0.9  # of intervals of 95 %: fewer hold by chance in one of a hundred tests of this length
os.makedirs(WORK, exist_ok=True)


def one_run(options):
    """Whether the interval of each function has the truth, and how far it was from it."""
    capture = os.path.join(WORK, "interval.cairn")
    subprocess.run([CAIRN, "run", *options, "-o", capture, PROGRAM, "split"], check=False,
                   stdout=subprocess.DEVNULL)
    report = json.loads(run(CAIRN, "report", "--json", "--top", "0", "-m", "cpu", capture))
    cpu = next(m for m in report["metrics"] if m["name"] == "cpu")
    found = {}
    for name, truth in TRUTH.items():
        cost = sum(row["inclusive"]["cpu"] for row in report["flat"] if row["block"]["name"] == name)
        share, unit = truth / cpu["total"], cpu["sampling"]["unit"]
        deviation = math.sqrt(share * (1 - share) * cpu["total"] * unit)
        found[name] = (abs(cost - truth) <= 1.96 * deviation, cost - truth, deviation)
    return found


def check(options):
    results = [one for _ in range(RUNS) for one in one_run(options).values()]
    held = sum(1 for holds, _, _ in results if holds)
    print("# %d of %d intervals hold; mean error %.2f ms, mean of stated deviations %.2f ms" % (
        held, len(results), sum(error for _, error, _ in results) / len(results) / 1e6,
        sum(deviation for _, _, deviation in results) / len(results) / 1e6))
    assert held >= LEAST * len(results), results


@case("inside")
def _():
    check([])


@case("outside")
def _():
    if subprocess.run([CAIRN, "run", "--outside", "-o", os.path.join(WORK, "try.cairn"), "true"],
                      check=False, stderr=subprocess.DEVNULL).returncode == 0:
        check(["--outside"])
    else:
        print("# the kernel does not let this user sample processes (perf_event_paranoid)")


main()
