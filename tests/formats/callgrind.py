#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""callgrind.out: self and inclusive cost, and calls, of a file with known figures.

usage: callgrind.py CAIRN FOLDER
"""
import json
import os
import shutil
import sys

sys.dont_write_bytecode = True
from tap import case, main, run, same  # noqa: E402

CAIRN, WORK = sys.argv[1:3]
shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK)

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "known.callgrind.out")
with open(DATA, encoding="utf-8") as data:
    GOOD = data.read()


def imported(text, status=0):
    path, capture = os.path.join(WORK, "callgrind.out.1"), os.path.join(WORK, "x.cairn")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if os.path.exists(capture):
        os.remove(capture)
    run(CAIRN, "import", "--from", "callgrind", path, "-o", capture, status=status)
    assert os.path.exists(capture) == (status == 0)
    return capture


@case("self and inclusive cost, calls and the command")
def _():
    imported(GOOD)
    capture = os.path.join(WORK, "known.cairn")
    run(CAIRN, "import", os.path.join(WORK, "callgrind.out.1"), "-o", capture)  # recognised
    report = json.loads(run(CAIRN, "report", "--json", "--top", "0", capture))
    same(report["notes"]["command"], "./prog an argument", "command")
    rows = {row["block"]["name"]: row for row in report["flat"]}
    found = {name: (row["calls"], row["self"]["instructions"], row["inclusive"]["instructions"])
             for name, row in rows.items() if name != "[root]"}
    same(found, {"main": (0, 420, 1170), "parse": (5, 630, 680), "hash": (12, 120, 120)},
         "calls, self and inclusive instructions")
    same(rows["hash"]["block"]["file"], "lib.c", "file")


@case("callers and callees")
def _():
    text = run(CAIRN, "report", "--dot", "--threshold", "0", os.path.join(WORK, "known.cairn"))
    same(text.count("->"), 4, "arrows")  # with the one of parse to itself


@case("what is not callgrind's is refused")
def _():
    for text in ("", GOOD.replace("events: Ir Dr", ""), GOOD.replace("fn=(1) main", "fn=(1)"),
                 GOOD.replace("fn=(1) main\n", ""), GOOD.replace("calls=3 50", "calls=x 50"),
                 GOOD.replace("16 400 3", "16 -400 3"), GOOD.replace("fn=(2)\n", "fn=(99999999)\n"),
                 GOOD.replace("16 400 3", "16 18446744073709551615"), GOOD + "{}\n"):
        imported(text, status=2)


main()
