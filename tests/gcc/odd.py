#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Odd things that programs do to themselves, and what they are compiled with: what cairn cc makes of
them does what it does without a profile, and counts.

Usage: odd.py CAIRN GCC GXX [WORD...]        prints TAP; cases whose names have all words
"""
import os
import re
import subprocess
import sys

import run as base
from run import CAIRN, GCC, calls_of, case, contexts, counted, plain, profiled, record, report, run

base.CASES.clear()  # those of run.py are another test
OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def captures():
    return sorted(name for name in os.listdir(".") if name.endswith(".cairn"))


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


@case("nothing waits for a lock that a thread that forks has: other handlers of fork, and signals")
def forking():
    for options in (["-O0"], ["-O2"], ["-O2", "--inlined"], ["-O2", "-static"], ["-O2", "--zero"],
                    ["-O2", "--profile=alloc"]):
        plain(["forking.c"], "-O2")
        profiled(["forking.c"], *options)
        calls = calls_of(record(["forking.c"]))
        assert calls["main"] == 1 and calls["after_fork"] == 3, (options, calls)
        # Between the first of Cairn's handlers and the last nothing is recorded, in neither process.
        for name in ("handle", "handled_1", "late_1", "handled_2", "late_2"):
            assert not calls.get(name), (options, name, calls)
        children = [name for name in captures() if name != "x.cairn"]
        assert len(children) == 3, (options, children)
        for name in children:
            calls = calls_of(contexts(name))
            assert calls["after_fork"] == 1 and not calls.get("late_3"), (options, calls)


@case("who calls malloc and strlen for Cairn may be profiled")
def allocator():
    ways = [["-O2"], ["-O2", "--zero"], ["-O0", "--branch"], ["-O2", "--inlined", "--zero"]]
    for options in ways:
        plain(["allocator.c"], "-O2", "-fno-builtin")
        profiled(["allocator.c"], *options, "-fno-builtin")
        calls = calls_of(record(["allocator.c"]))
        assert calls["after_start"] == calls["main"] == 1, (options, calls)
        if "--zero" in options:
            assert "never" in run(CAIRN, "report", "--zero", "x.cairn"), options


@case("threads of C11 have their strand from their beginning, too")
def teams():
    for options in (["-O0"], ["-O2"], ["-O2", "--inlined"], ["-O2", "-static"]):
        plain(["teams.c"], "-O2")
        profiled(["teams.c"], *options)
        calls = calls_of(record(["teams.c"]))
        assert (calls["run"], calls["work"], calls["leaves"]) == (4, 402, 2), (options, calls)


if __name__ == "__main__":
    sys.exit(base.main())
