# SPDX-License-Identifier: MIT
"""What each tool says of a program: read from its own output, as a person would get it."""
import json
import re
import struct
from collections import Counter
from dataclasses import dataclass, field

from tools import Unavailable, run


@dataclass
class Reading:
    """Calls by (caller, callee); calls by callee where the tool states them itself; and the
    largest share of the whole that it gives a block, in percent."""
    arcs: Counter = field(default_factory=Counter)
    totals: Counter = None
    share: float = 0.0
    share_of: str = ""
    complaint: str = ""

    def calls(self, name):
        if self.totals is not None:
            return self.totals[name]
        return sum(calls for (_, callee), calls in self.arcs.items() if callee == name)

    def note_share(self, name, percent):
        if percent > self.share:
            self.share, self.share_of = percent, name


def number(text):
    return int(text.replace(",", ""))


# gprof's lines: [index %time] self children called name; in an entry callers come before the
# line with the index.
GPROF_LINE = re.compile(r"(\[\d+\]\s+(?P<share>[\d.]+))?[\s\d.]*?\s(?P<called>\d+)(?P<more>[/+]\d+)?"
                        r"\s+(?P<name>[A-Za-z_]\w*)")


def gprof(where, program):
    reading = Reading(totals=Counter())
    for entry in run(["gprof", "-b", "-q", program, "gmon.out"], where).split("\n-----"):
        callers = []
        for line in entry.splitlines():
            match = GPROF_LINE.match(line)
            if not match:
                continue
            if not match["share"]:
                callers.append((match["name"], int(match["called"])))
                continue
            more = int(match["more"][1:]) if match["more"] else 0
            reading.totals[match["name"]] = int(match["called"]) + more
            reading.note_share(match["name"], float(match["share"]))
            for caller, calls in callers:
                reading.arcs[caller, match["name"]] += calls
            break
    return reading


def uftrace(where, program):
    """Calls by function from its report, by caller from its graph."""
    reading = Reading(totals=Counter())
    for line in run(["uftrace", "report", "--no-pager", "-d", "uftrace.data"], where).splitlines():
        words = line.split()
        if len(words) >= 4 and words[-2].isdigit():
            reading.totals[words[-1]] = int(words[-2])
    graph = run(["uftrace", "dump", "--graphviz", "--no-pager", "-d", "uftrace.data"], where)
    for caller, callee, calls in re.findall(r'"(\w+)" -> "(\w+)" \[xlabel = "(\d+)"\]', graph):
        reading.arcs[caller, callee] += int(calls)
    return reading


# callgrind writes a number after the name of what it found to recurse.
CALLGRIND_NAME = re.compile(r"\S*?:(\w+)(?:'\d+)?(?: \(([\d,]+)x\))?(?: \[|$)")


def callgrind(where, program):
    reading = Reading()
    callers = []
    listing = run(["callgrind_annotate", "--tree=caller", "--threshold=100", "--auto=no",
                   "callgrind.out"], where)
    for line in listing.splitlines():
        _, mark, rest = line.partition(" < ")
        if mark:
            match = CALLGRIND_NAME.match(rest.strip())
            if match and match[2]:
                callers.append((match[1], number(match[2])))
            continue
        _, mark, rest = line.partition(" * ")
        match = CALLGRIND_NAME.match(rest.strip()) if mark else None
        if match:
            for caller, calls in callers:
                reading.arcs[caller, match[1]] += calls
            callers = []
    inclusive = run(["callgrind_annotate", "--inclusive=yes", "--auto=no", "callgrind.out"], where)
    for share, rest in re.findall(r"\(\s*([\d.]+)%\)\s+(\S+)", inclusive):
        match = CALLGRIND_NAME.match(rest)
        if match:
            reading.note_share(match[1], float(share))
    return reading


XRAY_BLOCK = struct.Struct("<IIQ")  # bytes with this header, number, thread
XRAY_COSTS = struct.Struct("<QQ")   # calls, cycles


def xray(where, program):
    """No tool reads these files: a header of 32 bytes, then blocks of records, each a path of
    function ids with the leaf first, a 0, calls, cycles."""
    maps = run(["llvm-xray", "extract", "--symbolize", program], where)
    names = {int(number): name for number, name in
             re.findall(r"\{ id: (\d+),.*function-name: (\w+)", maps)}
    reading, paths = Reading(), 0
    for log in where.glob("xray-log.*"):
        data, at = log.read_bytes(), 32
        while at + XRAY_BLOCK.size <= len(data):
            size, _, _ = XRAY_BLOCK.unpack_from(data, at)
            end = at + size
            at += XRAY_BLOCK.size
            while at < end:
                path = []
                while True:
                    (function,) = struct.unpack_from("<I", data, at)
                    at += 4
                    if not function:
                        break
                    path.append(names.get(function, "?"))
                calls, cycles = XRAY_COSTS.unpack_from(data, at)
                at += XRAY_COSTS.size
                paths += 1
                reading.arcs[path[1] if len(path) > 1 else "", path[0]] += calls
                if cycles >> 63:
                    reading.complaint = f"`{path[0]}` took {cycles:,} cycles"
    if not paths:
        raise Unavailable("it wrote no profile")
    return reading


def hooks(where, program):
    names = {}
    for line in run(["nm", program], where).splitlines():
        *address, kind, name = line.split()
        if kind in "tT":
            names[int(address[0], 16)] = name
    reading = Reading()
    for line in (where / "hooks.txt").read_text().splitlines():
        caller, callee, calls = line.split()
        caller = names.get(int(caller, 16), "?") if caller != "(nil)" else ""
        reading.arcs[caller, names.get(int(callee, 16), "?")] += int(calls)
    return reading


def cairn_report(tool, where, *options):
    return json.loads(run([tool, "report", "--json", "--metric", "calls", *options,
                           "cases.cairn"], where))


def cairn(where, program):
    """Calls and shares from the flat report, callers from --callers of each block."""
    tool = where.parents[2] / "cairn"
    reading = Reading(totals=Counter())
    flat = cairn_report(tool, where, "--top", "0", "--flat")
    whole = next(m["total"] for m in flat["metrics"] if m["name"] == "calls")
    for row in flat["flat"]:
        name = row["block"]["name"]
        reading.totals[name] = row["calls"]
        reading.note_share(name, 100 * row["inclusive"]["calls"] / whole)
        callers = cairn_report(tool, where, "--callers", name)["sequence"].get("before", [])
        for caller in callers:
            reading.arcs[caller["block"]["name"], name] += caller["calls"]
    return reading
