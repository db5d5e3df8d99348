#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MLton's mlmon.out: each figure and share of cairn report --stack against what mlprof printed.

usage: mlmon.py CAIRN FOLDER
"""
import json
import os
import re
import sys

sys.dont_write_bytecode = True
from tap import case, main, run, same  # noqa: E402

CAIRN, WORK = sys.argv[1:3]
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mlmon")
os.makedirs(WORK, exist_ok=True)
COLUMN = r"\s+([\d.]+)%\s+\(([\d.,]+)s?\)"
ROW = re.compile(r"^(\S.*?)" + 3 * COLUMN + "$")


def path(name):
    return os.path.join(DATA, name)


def mlprof(kind):
    """What mlprof printed: {(name, place): [share and figure of current, stack, collector]}"""
    rows = {}
    with open(path(kind + ".mlprof.txt"), encoding="utf-8") as file:
        for line in file:
            match = ROW.match(line.rstrip())
            if match:
                name, _, place = match[1].partition("  ")
                numbers = [float(text.replace(",", "")) for text in match.groups()[1:]]
                rows[name, place] = numbers
    return rows


def stack_rows(kind):
    """The same from a capture."""
    capture = os.path.join(WORK, kind + ".cairn")
    run(CAIRN, "import", path(kind + ".mlmon.out"), "-o", capture, "--sources",
        path(kind + ".show-sources.txt"))
    answer = json.loads(run(CAIRN, "report", "--stack", "--json", "--top", "0", capture))
    return answer


for kind in ("count", "time", "alloc"):
    @case("%s: every row, figure and share is mlprof's" % kind)
    def _(kind=kind):
        answer, expected = stack_rows(kind), mlprof(kind)
        scale = {"count": 1, "alloc": 1, "time": 1e9}[kind]
        metric = {"count": "ticks", "alloc": "allocated", "time": "cpu"}[kind]
        total = next(m["total"] for m in answer["metrics"] if m["name"] == metric)
        found = {}
        for row in answer["stack"]:
            block = row["block"]
            place = "%s: %d" % (block["file"], block["line"]) if block["file"] else ""
            found[block["name"], place] = row
        assert len(expected) > 10, expected
        for key, numbers in expected.items():
            assert key in found, "no row for %s" % (key,)
            row = found[key]
            for column, member in enumerate(("current", "stack", "collector")):
                share, figure = numbers[2 * column:2 * column + 2]
                value = row[member][metric]
                same(round(value / scale, 2), figure, "%s of %s" % (member, key))
                percent = 100 * value / total
                assert abs(percent - share) <= 0.0501, (key, member, percent, share)


@case("sources of another program, and none, are refused")
def _():
    text = run(CAIRN, "import", path("count.mlmon.out"), "-o", os.path.join(WORK, "x.cairn"),
               "--sources", path("time.show-sources.txt"), status=2)
    same(text, "", "output")
    run(CAIRN, "import", path("count.mlmon.out"), "-o", os.path.join(WORK, "x.cairn"), status=2)
    assert not os.path.exists(os.path.join(WORK, "x.cairn"))


@case("a file that is cut short anywhere is refused")
def _():
    with open(path("time.mlmon.out"), encoding="utf-8") as file:
        lines = file.readlines()
    for count in range(1, len(lines), 7):
        cut = os.path.join(WORK, "cut.mlmon.out")
        with open(cut, "w", encoding="utf-8") as file:
            file.writelines(lines[:count])
        run(CAIRN, "import", "--from", "mlmon", cut, "-o", os.path.join(WORK, "x.cairn"),
            "--sources", path("time.show-sources.txt"), status=2)


main()
