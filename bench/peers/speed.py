# SPDX-License-Identifier: MIT
"""What a call costs more under each profiler, in units of two rdtsc."""
import shutil
import sys
from statistics import median

from tools import SPEED, Unavailable, build_speed, run

ROUNDS = 9
SHAPES = {"leaf-inside": "leaf", "fib": "fib", "tree": "tree"}

NOTE = f"""\
Extra cost of an enter and leave, in units of two `rdtsc`, the least cost of any profiler with two
time stamps a call; lower is better. The workloads are those of bench/workloads.c: a leaf in a
loop, double recursion, and 64 functions that call one another through pointers, 40 deep, on 20,000
paths. Processor time of the profiled thread; a profiler's own threads and processes (Cairn's
sampler, uftrace's recorder) do not count. Plain and profiled take turns within one process; median of {ROUNDS}
processes, which take turns with those of the other tools, least and most in brackets.
"""


def measure(tool, where):
    """{workload: (two stamps, plain, profiled)} in ns, from one process."""
    def figures(command):
        lines = run([*command, "./speed", tool.mode, str(tool.turns)], where).splitlines()
        rows = [line.split("\t") for line in lines if line.count("\t") == 3]
        return {name: tuple(map(float, rest)) for name, *rest in rows}
    found = figures(tool.command)
    if tool.outside:
        native = figures([])
        found = {name: (*native[name][:2], found[name][2]) for name in found}
    for left in where.glob("uftrace.data*"):
        shutil.rmtree(left)
    if set(found) != set(SHAPES):
        raise Unavailable("the program under it did not print its times")
    return found


def gather(place, scratch):
    """{tool's name: {workload: [(ratio, ns)]}}, and why tools are left out."""
    found, absent, at = {}, {}, {}
    for tool in SPEED:
        at[tool.name] = scratch / f"speed-{SPEED.index(tool)}"
        try:
            build_speed(tool, place, at[tool.name])
            found[tool.name] = {shape: [] for shape in SHAPES}
        except Unavailable as why:
            absent[tool.name] = str(why)
    for turn in range(ROUNDS):
        print(f"bench/run: peers: speed, round {turn + 1} of {ROUNDS}", file=sys.stderr)
        for tool in SPEED[turn % len(SPEED):] + SPEED[:turn % len(SPEED)]:
            if tool.name in absent:
                continue
            try:
                for shape, (stamps, plain, profiled) in measure(tool, at[tool.name]).items():
                    found[tool.name][shape].append(((profiled - plain) / stamps,
                                                    profiled - plain))
            except Unavailable as why:
                absent[tool.name] = str(why)
    return found, absent


def cell(values):
    ratios = [ratio for ratio, _ in values]
    return (f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f}), "
            f"{median(ns for _, ns in values):.1f} ns")


def table(place, scratch):
    found, absent = gather(place, scratch)
    text = f"### Speed\n\n{NOTE}\n| tool | records | " + " | ".join(SHAPES.values()) + " |\n"
    text += "| --- | --- |" + " --- |" * len(SHAPES) + "\n"
    for tool in SPEED:
        if tool.name in absent:
            cells = [absent[tool.name]] + [""] * (len(SHAPES) - 1)
        else:
            cells = [cell(found[tool.name][shape]) for shape in SHAPES]
        text += f"| {tool.name} | {tool.records} | " + " | ".join(cells) + " |\n"
        shutil.rmtree(scratch / f"speed-{SPEED.index(tool)}", ignore_errors=True)
    return text
