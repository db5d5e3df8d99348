#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `go tool pprof` reads in an export against what `cairn report` says of the capture.

pprof.py CAIRN MAKE_CAPTURE GO
"""
import collections
import functools
import json
import os
import re
import sys
import tempfile

from tap import case, main, run, same

CAIRN, MAKE_CAPTURE, GO = sys.argv[1:4]
METRICS = {"calls": ("count", ""), "ticks": ("instructions", "instructions"),
           "wall": ("nanoseconds", "ns"), "alloc": ("bytes", "B")}
FOLDER = tempfile.TemporaryDirectory()
CAPTURE = os.path.join(FOLDER.name, "a.cairn")
EXPORT = os.path.join(FOLDER.name, "a.pb.gz")
# pprof looks for settings and symbols in these.
ENVIRONMENT = dict(os.environ, HOME=FOLDER.name, PPROF_TMPDIR=FOLDER.name,
                   XDG_CONFIG_HOME=FOLDER.name, PPROF_BINARY_PATH=FOLDER.name)


@functools.lru_cache(None)
def pprof(*arguments):
    return run(GO, "tool", "pprof", *arguments, EXPORT, env=ENVIRONMENT)


@functools.lru_cache(None)
def report(*arguments):
    return json.loads(run(CAIRN, "report", CAPTURE, "--json", "--top", "0", *arguments))


def labels(flat):
    """Returns the names of blocks in an export: equal names have their location added."""
    names = collections.Counter(row["block"]["name"] for row in flat)
    result = {}
    for row in flat:
        block = row["block"]
        name = block["name"]
        if names[name] > 1:
            name = "%s %s:%d" % (name, block["file"], block["line"])
        result[block["id"]] = name
    return result


@functools.lru_cache(None)
def contexts(metric):
    """The figures of each context by its path, innermost first."""
    rows = report("--tree", "--threshold", "0", "--metric", metric)["tree"]
    by_number = {row["context"]: row for row in rows}
    names = labels({row["block"]["id"]: row for row in rows}.values())
    result = {}
    for row in rows:
        path = []
        at = row
        while at is not None:
            path.append(names[at["block"]["id"]])
            at = by_number.get(at["parent"])
        result[tuple(path)] = row["self"][metric]
    return result


def figure(text, metric):
    suffix = METRICS[metric][1]
    assert text.endswith(suffix) or text == "0", text
    return int(text[:len(text) - len(suffix)] if text.endswith(suffix) else text)


def check_top(metric):
    text = pprof("-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0",
                 "-unit=" + METRICS[metric][0], "-sample_index=" + metric)
    assert "Type: " + metric in text, text[:300]
    found = {}
    for line in text.split("flat%   sum%        cum   cum%\n")[1].rstrip("\n").split("\n"):
        flat, _, _, total, _, name = re.match(r" *(\S+) +(\S+) +(\S+) +(\S+) +(\S+)  (.*)", line).groups()
        name = name.replace(" (inline)", "")
        assert name not in found, name
        found[name] = (figure(flat, metric), figure(total, metric))
    rows = report("--flat", "--metric", metric, "--threshold", "0")["flat"]
    names = labels(rows)
    expected = {names[row["block"]["id"]]: (row["self"][metric], row["inclusive"][metric])
                for row in rows if row["inclusive"][metric]}
    # Each lists some more that have figures of another kind only; and the report leaves
    # the root out where nothing but the whole is to be told of it.
    found = {name: cost for name, cost in found.items() if cost != (0, 0)}
    if "[root]" not in expected:
        same(found.pop("[root]")[1], sum(contexts(metric).values()), "the root's inclusive cost")
    assert len(expected) > 30, expected
    same(found, expected, "-top")


for _metric in METRICS:
    case("-top says of %s what the report does" % _metric)(
        lambda metric=_metric: check_top(metric))


def check_traces(metric):
    text = pprof("-traces", "-unit=" + METRICS[metric][0], "-sample_index=" + metric)
    found = collections.Counter()
    for trace in text.split("-----------+-------------------------------------------------------\n")[1:]:
        if not trace:
            continue
        lines = trace.rstrip("\n").split("\n")
        value = re.match(r" *(\S+)   (.*)", lines[0])
        path = tuple([value.group(2)] + [line.strip() for line in lines[1:]])
        found[path] += figure(value.group(1), metric)
    expected = {path: value for path, value in contexts(metric).items() if value}
    assert len(expected) > 1000, len(expected)
    same({path: value for path, value in found.items() if value}, expected, "-traces")


for _metric in ("calls", "wall"):
    case("-traces has each context with its %s" % _metric)(
        lambda metric=_metric: check_traces(metric))


@case("-raw has the types with calls first and wall by default, each sample and each place")
def check_raw():
    text = pprof("-raw")
    lines = text.split("\n")
    begin = lines.index("Samples:")
    same(lines[begin + 1],
         "calls/count ticks/instructions wall/nanoseconds[dflt] alloc/bytes", "the types")
    places = {}
    for line in lines[lines.index("Locations") + 1:lines.index("Mappings")]:
        number, name = re.match(r" *(\d+): 0x0 M=1 (.*) \S+:\d+ s=\d+\(\)$",
                                line.replace(" :", " none:")).groups()
        places[number] = name
    columns = [contexts(metric) for metric in METRICS]
    expected = {path: tuple(column[path] for column in columns) for path in columns[0]}
    expected = {path: values for path, values in expected.items() if any(values)}
    found = {}
    for line in lines[begin + 2:lines.index("Locations")]:
        values, path = line.split(":")
        path = tuple(places[number] for number in path.split())
        assert path not in found, path
        found[path] = tuple(int(value) for value in values.split())
    same(found, expected, "-raw")


@case("the blocks' files and lines are there")
def check_places():
    text = pprof("-raw")
    flat = report("--flat", "--metric", "calls", "--threshold", "0")["flat"]
    names = labels(flat)
    for row in flat:
        block = row["block"]
        place = " M=1 %s %s:%d s=%d()" % (names[block["id"]], block["file"], block["line"],
                                         block["line"])
        assert place in text, place


@case("notes are comments, the time is the capture's")
def check_comments():
    text = pprof("-comments")
    assert "command=program.lua --with arguments\n" in text, text
    assert "label=a b\n" in text, text
    notes = report()["notes"]
    top = pprof("-raw")
    started = notes["started"].replace("T", " ").replace("Z", " +0000 UTC")
    assert "\nTime: " + started in top, top[:500]


@case("the same capture gives the same bytes")
def check_bytes():
    again = os.path.join(FOLDER.name, "again.pb.gz")
    run(CAIRN, "export", CAPTURE, "-o", again)
    with open(EXPORT, "rb") as one, open(again, "rb") as other:
        assert one.read() == other.read()


@case("two runs of the same program give the same bytes when times are left out")
def check_runs():
    results = []
    for name in ("one", "two"):
        capture = os.path.join(FOLDER.name, name + ".cairn")
        export = os.path.join(FOLDER.name, name + ".pb.gz")
        run(MAKE_CAPTURE, capture)
        run(CAIRN, "export", capture, "--no-times", "-o", export)
        with open(export, "rb") as file:
            results.append(file.read())
    assert results[0] == results[1]


@case("a capture that is imported from the export says the same, and exports the same")
def check_round_trip():
    capture = os.path.join(FOLDER.name, "back.cairn")
    export = os.path.join(FOLDER.name, "back.pb.gz")
    run(CAIRN, "import", EXPORT, "-o", capture)
    run(CAIRN, "export", capture, "-o", export)
    with open(EXPORT, "rb") as one, open(export, "rb") as other:
        assert one.read() == other.read()


run(MAKE_CAPTURE, CAPTURE)
run(CAIRN, "export", CAPTURE, "-o", EXPORT)
main()
