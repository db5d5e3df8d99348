#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What calling-context encoding costs (encoding.cc), beside the counts of `cairn cc`.

Usage: encoding.py CAIRN SOURCES FOLDER [--rounds N] [--only PROGRAM]... [--check]
SOURCES is what fetch.sh has fetched; FOLDER is where programs are built. Variants:
  ids          the number is kept, and nothing is counted
  since push   calls are counted by function and number: by the path since the last push
  contexts     calls are counted by the whole context; a push looks its number up
Each call that a run of `since push` finds most frequent for its callee adds 0, in the runs measured.
--check compares paths and counts with those of `cairn cc`, and measures nothing. Duktape is not
compared: it sorts with random pivots.
"""
import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import measure
import paths

PROGRAMS = ["lua5.4", "sqlite3", "duktape"]
CHECKED = ["lua5.4", "sqlite3"]
KINDS = {"ids": [], "since push": ["count"], "contexts": ["count", "whole"]}
CAIRN = {"count": measure.cairn(), "lean": measure.lean()}
# For comparisons: calls stay calls, since `cairn cc` has the callee of a jump to another unit below
# the caller's caller; and lua does not use addresses of strings, which differ between programs.
COMPARED = ["-fno-optimize-sibling-calls", "-DSTRCACHE_N=1", "-DSTRCACHE_M=1"]


class Encoded:
    """Builds one program with the plugin, in a folder."""

    def __init__(self, program, folder, parts):
        self.program, self.folder, self.parts = program, folder, parts
        self.bits, self.numbers = 20, None

    def path(self, name):
        return os.path.join(self.folder, name)

    def _make(self, name, *arguments):
        plugin = os.path.join(self.parts, "encoding.so")
        front = ["gcc", "-fplugin=" + plugin] + ["-fplugin-arg-encoding-" + each for each in arguments]
        made = self.path("runtime.o")
        subprocess.run(["gcc", "-O2", "-mgeneral-regs-only", "-DBITS=%d" % self.bits, "-c",
                        "-DSTRIDE=%dUL" % (self.numbers.stride if self.numbers else 1),
                        os.path.join(HERE, "runtime.c"), "-o", made], check=True)
        program = dict(self.program, options=self.program["options"] + [made])
        if measure.make(program, front, self.path(name)) is None:
            raise SystemExit("%s could not be built" % name)
        return self.path(name)

    def number(self, weights=None):
        """Gives constants to the calls; with the number of calls by site, if it is known."""
        if not os.path.exists(self.path("graph")):
            self._make("first", "graph=" + self.path("graph"))
        self.numbers = paths.Numbers(paths.Graph(self.path("graph")), weights)
        self.numbers.write(self.path("numbers"))

    def build(self, kind):
        return self._make(kind.replace(" ", "-"), "numbers=" + self.path("numbers"),
                          "bits=%d" % self.bits, *KINDS[kind])

    def counted(self, binary):
        """Runs a program that counts, and decodes its table."""
        out = self.path("x.encoding")
        run(binary, self.program, self.folder, {"ENCODING_OUT": out})
        return paths.Decoder(self.numbers, paths.read_table(out))

    def choose(self):
        """Numbers once more by what a run has counted, with a table an eighth of which is used."""
        self.number()
        weights = self.counted(self.build("since push")).weights()
        self.number(weights)
        decoder = self.counted(self.build("contexts"))
        self.bits = max(12, (8 * len(decoder.table) - 1).bit_length())
        return decoder


def run(binary, program, folder, environment, before=()):
    """(seconds of processor time, messages); all variants have the same name for what they run."""
    command = [*before, os.path.join(folder, "x")]
    if os.path.lexists(command[-1]):
        os.unlink(command[-1])
    os.symlink(binary, command[-1])
    with open(os.path.join(folder, "messages"), "w+", encoding="utf-8") as messages:
        status, taken = measure.run_counted(command + program["run"], cwd=folder, stderr=messages,
                                            env=dict(os.environ, **environment))
        messages.seek(0)
        if status:
            raise SystemExit("%s fails: %s" % (binary, messages.read()))
        return taken, messages.read()


def instructions(binary, program, folder, environment):
    _, messages = run(binary, program, folder, environment,
                      ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
    return int(re.search(r"I +refs: +([\d,]+)", messages).group(1).replace(",", ""))


def build_with_cairn(tool, program, folder):
    built = {}
    for name, front in CAIRN.items():
        command = front(tool, False)
        if name == "lean":
            command[-1] += "=" + os.path.join(folder, "before.cairn")
            run(built["count"], program, folder, {"CAIRN_OUT": os.path.join(folder, "before.cairn")})
        built[name] = os.path.join(folder, name)
        if measure.make(program, command, built[name]) is None:
            raise SystemExit("%s could not be built" % name)
    return built


def measure_program(program, folder, tool, parts, rounds):
    encoded = Encoded(program, folder, parts)
    decoder = encoded.choose()
    built = {"plain": os.path.join(folder, "plain")}
    measure.make(program, ["gcc"], built["plain"])
    built.update({kind: encoded.build(kind) for kind in KINDS})
    built.update(build_with_cairn(tool, program, folder))
    environment = collections.defaultdict(dict)
    for kind in CAIRN:
        environment[kind] = {"CAIRN_OUT": os.path.join(folder, "x.cairn"), "CAIRN_WALL": "off"}
    times = collections.defaultdict(list)
    for _ in range(rounds):
        for kind, binary in built.items():
            times[kind].append(run(binary, program, folder, environment[kind])[0])
    facts = dict(encoded.numbers.summary(), contexts=len(decoder.counts), folded=len(decoder.paths()),
                 pushed=len(decoder.pushed), table=encoded.bits)
    return {kind: (instructions(binary, program, folder, environment[kind]), times[kind],
                   measure.code_size(binary)) for kind, binary in built.items()}, facts


def print_table(found):
    print("| × plain | %s |\n|%s" % (" | ".join(found), " --- |" * (len(found) + 1)))
    kinds = list(next(iter(found.values())))[1:]
    for index, what in enumerate(("instructions", "processor time", "code size")):
        for kind in kinds:
            cells = []
            for rows in found.values():
                mine, plain = rows[kind][index], rows["plain"][index]
                cells.append(statistics.median(a / b for a, b in zip(mine, plain)) if index == 1
                             else mine / plain)
            print("| %s, %s | %s |" % (what, kind, " | ".join("%.3f" % cell for cell in cells)))


def cairn_paths(tool, capture):
    """Calls by path of the contexts in a capture of `cairn cc`."""
    report = subprocess.run([tool, "report", "--json", "--tree", "-n", "0", "-T", "0", capture],
                            check=True, capture_output=True).stdout
    known, found = {None: None}, collections.Counter()
    for row in json.loads(report)["tree"]:
        block, above = row["block"], known[row["parent"]]
        path = () if above is None else above + ((block["name"], block["file"], block["line"]),)
        known[row["context"]] = path
        found[path] += row["calls"] if path else 0
    return +found


def check_program(name, program, folder, tool, parts):
    """Prints whether paths and counts are those of `cairn cc`; returns how many differ."""
    program = dict(program, options=program["options"] + COMPARED)
    encoded = Encoded(program, folder, parts)
    decoder = encoded.choose()
    mine = decoder.paths()
    count = os.path.join(folder, "count")
    measure.make(program, measure.cairn()(tool, False), count)
    capture = os.path.join(folder, "x.cairn")
    run(count, program, folder, {"CAIRN_OUT": capture, "CAIRN_WALL": "off"})
    theirs = cairn_paths(tool, capture)
    differ = [path for path in mine.keys() | theirs.keys() if mine[path] != theirs[path]]
    print("%s: %d contexts, %d canonical paths, %d calls; %d paths differ from cairn cc" %
          (name, len(decoder.counts), len(mine), sum(mine.values()), len(differ)), flush=True)
    for path in sorted(differ, key=len)[:10]:
        print("    %s: %d, cairn cc %d" % (" > ".join(block[0] for block in path), mine[path],
                                           theirs[path]))
    return len(differ)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cairn", type=os.path.abspath)
    parser.add_argument("sources", type=os.path.abspath)
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("--only", action="append", choices=PROGRAMS)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    parts = os.path.join(os.path.dirname(given.cairn), "bench", "gcc", "encoding")
    found, differ = {}, 0
    for name in given.only or (CHECKED if given.check else PROGRAMS):
        folder = os.path.join(given.folder, name + ("-check" if given.check else ""))
        os.makedirs(folder, exist_ok=True)
        program = measure.PROGRAMS[name](given.sources, folder, 1)
        if os.path.exists(os.path.join(folder, "graph")):
            os.unlink(os.path.join(folder, "graph"))
        if given.check:
            differ += check_program(name, program, folder, given.cairn, parts)
            continue
        found[name], facts = measure_program(program, folder, given.cairn, parts, given.rounds)
        print("%s: %s" % (name, ", ".join("%s %d" % each for each in facts.items())), flush=True)
    if found:
        print_table(found)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
