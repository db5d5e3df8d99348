#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MLton's mlmon.out: each figure and share of cairn report --stack against what mlprof printed.

usage: mlmon.py CAIRN FOLDER
"""
import json
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
from tap import case, main, run, same  # noqa: E402

CAIRN, WORK = sys.argv[1:3]
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mlmon")
shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK)
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


def dot(kind, *options):
    capture = os.path.join(WORK, kind + ".cairn")
    if not os.path.exists(capture):
        stack_rows(kind)
    text = run(CAIRN, "report", "--dot", *options, capture)
    names = dict(re.findall(r'^  (b\d+) \[label="(.*?)\\n', text, re.M))
    arrows = {(names[a], names[b], "dashed" in style)
              for a, b, style in re.findall(r"^  (b\d+) -> (b\d+) \[(.*?)\]", text, re.M)}
    return text, names, arrows


@case("the call graph is mlprof's -call-graph, with direct calls that it draws dashed, too")
def _():
    with open(path("alloc.call-graph.dot"), encoding="utf-8") as file:
        expected = file.read()
    names = dict(re.findall(r'(n\d+) \[shape = "box", label = "(.*?)\\n', expected))
    arrows = {(names[a], names[b], "dashed" in style)
              for a, b, style in re.findall(r"(n\d+) -> (n\d+) \[(.*?)\]", expected)}
    _, found, shown = dot("alloc", "--keep", "thresh(1)")
    same(sorted(found.values()), sorted(names.values()), "functions")
    same(shown - arrows, {("Trie.insert.go", "Trie.insert.go", False)}, "arrows that are more")
    same(arrows - shown, set(), "arrows that are missing")


@case("sets of functions follow the program's calls")
def _():
    names = dot("alloc", "--threshold", "0", "--keep", 'from("Calc.eval")')[1]
    same(sorted(names.values()), ["Calc.eval", "Calc.lex", "Calc.number"], "below Calc.eval")


@case("--title, --gray and --short-names")
def _():
    text, names, _ = dot("alloc", "--title", "some \"title\"", "--gray", "--short-names")
    assert 'label="some \\"title\\""' in text and "fontcolor" in text, text
    assert "eval" in names.values() and "insert" in names.values(), names
    for red, green, blue in re.findall('fillcolor="#(..)(..)(..)"', text):
        assert red == green == blue, text


@case("copies of a function add up to it")
def _():
    capture = os.path.join(WORK, "split.cairn")
    run(CAIRN, "import", path("count.mlmon.out"), "-o", capture, "--split", "--sources",
        path("count.show-sources.txt"))
    rows = {}
    for row in json.loads(run(CAIRN, "report", "--stack", "--json", "--top", "0", capture))["stack"]:
        rows[row["block"]["name"]] = row["current"]["ticks"]
    copies = [ticks for name, ticks in rows.items() if name.startswith("Trie.insert [copy")]
    assert len(copies) >= 1, rows
    same(sum(copies) + rows.get("Trie.insert", 0), 360194, "Trie.insert")


@case("several files are added up; those of another program are left out only if told so")
def _():
    twice, mixed = os.path.join(WORK, "twice.cairn"), os.path.join(WORK, "mixed.cairn")
    names = ["--sources", path("count.show-sources.txt")]
    run(CAIRN, "import", path("count.mlmon.out"), path("count.mlmon.out"), "-o", twice, *names)
    metrics = json.loads(run(CAIRN, "report", "--json", twice))["metrics"]
    same(next(m["total"] for m in metrics if m["name"] == "ticks"), 2 * 8109254, "total")
    files = [path("count.mlmon.out"), path("alloc.mlmon.out")]
    run(CAIRN, "import", *files, "-o", mixed, *names, status=2)
    assert not os.path.exists(mixed)
    run(CAIRN, "import", "--tolerant", *files, "-o", mixed, *names)
    captures = [os.path.join(WORK, kind + ".cairn") for kind in ("count", "alloc")]
    for kind in ("count", "alloc"):
        stack_rows(kind)
    run(CAIRN, "merge", *captures, "-o", os.path.join(WORK, "merged.cairn"), status=2)
    run(CAIRN, "merge", "--tolerant", *captures, "-o", os.path.join(WORK, "merged.cairn"))
    same(run(CAIRN, "report", "--flat", os.path.join(WORK, "merged.cairn"), "--no-summary"),
         run(CAIRN, "report", "--flat", captures[0], "--no-summary"), "what is left")


@case("the program is asked for its sources only with --run, and not for ever")
def _():
    capture, program = os.path.join(WORK, "asked.cairn"), os.path.join(WORK, "prog")
    def ask(body, *options, status=0):
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + body)
        os.chmod(program, 0o755)
        run(CAIRN, "import", path("time.mlmon.out"), "-o", capture, "--sources", program, *options,
            status=status)
    ran = os.path.join(WORK, "ran")
    ask("touch '%s'\n" % ran, status=2)
    assert not os.path.exists(ran), "it ran without --run"
    good = '[ "$*" = "@MLton show-sources --" ] && cat "%s"\n' % path("time.show-sources.txt")
    ask(good, "--run")
    ask("exit 3\n", "--run", status=2)
    ask("cat /dev/zero\n", "--run", status=2)
    ask("kill -9 $$\n", "--run", status=2)


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
