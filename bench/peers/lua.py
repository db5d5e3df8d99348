# SPDX-License-Identifier: MIT
"""Two Lua programs under Cairn and under a profiler written in Lua, against plain lua5.4."""
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from statistics import median

from tools import HERE, SOURCE

ROUNDS = 5
EXAMPLES = SOURCE / "examples"
PROGRAMS = {
    "handbook": [EXAMPLES / "handbook" / "main.lua", "--hills", "60"],
    "puzzles": [EXAMPLES / "puzzles" / "main.lua"],
}

NOTE = f"""\
The programs of examples/, as multiples of plain lua5.4; lower is better. Time of the processor,
user and system, from start to end, what the profiler reads and writes included. Median of
{ROUNDS} rounds in which all take turns, each against the plain run beside it; least and most in
brackets.
"""


@dataclass
class Way:
    name: str
    records: str
    command: list  # "cairn" stands for the tool that was built


LUA = "lua5.4"
WAYS = [
    Way("a `debug.sethook` profiler in Lua (bench/peers/hook_profiler.lua)",
        "calls and time by function", [LUA, HERE / "hook_profiler.lua"]),
    Way("**`cairn run --exact`**", "calls by context, time sampled at 1 kHz into it",
        ["cairn", "run", "--exact", "-q", "-o", "lua.cairn"]),
    Way("**`cairn run --ticks 1000`**", "calls and instructions by context, the same each time",
        ["cairn", "run", "--ticks", "1000", "-q", "-o", "lua.cairn"]),
    Way("**`cairn run --sample 1000`**", "time by context",
        ["cairn", "run", "--sample", "1000", "-q", "-o", "lua.cairn"]),
]


def seconds(command, where):
    """Time of the processor that a command took, and what it printed."""
    with open(where / "printed", "w+b") as printed:
        process = subprocess.Popen(command, cwd=where, stdout=printed, stderr=subprocess.PIPE)
        said = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"bench/run: {' '.join(map(str, command))} failed: {said}")
        printed.seek(0)
        return usage.ru_utime + usage.ru_stime, printed.read()


def measure(place, where, program):
    """[[ratio of each round] of each way], and the median of the plain time."""
    ratios, plain_times = [[] for _ in WAYS], []
    for _ in range(ROUNDS):
        for at, way in enumerate(WAYS):
            command = [place / "cairn" if part == "cairn" else part for part in way.command]
            plain, expected = seconds([LUA, *program], where)
            took, printed = seconds([*command, *program], where)
            if printed != expected:
                sys.exit(f"bench/run: {program[0].parent.name} prints something else under "
                         f"{way.name}")
            ratios[at].append(took / plain)
            plain_times.append(plain)
    return ratios, median(plain_times)


def table(place, scratch):
    if not shutil.which(LUA):
        return "### Lua\n\nlua5.4 is not installed.\n"
    where = scratch / "lua"
    where.mkdir(parents=True, exist_ok=True)
    columns, heads = [], []
    for name, program in PROGRAMS.items():
        print(f"bench/run: peers: lua: {name}", file=sys.stderr)
        ratios, plain = measure(place, where, program)
        columns.append(ratios)
        heads.append(f"{name} (plain {plain:.2f} s)")
    shutil.rmtree(where)
    text = f"### Lua\n\n{NOTE}\n| profiler | records | " + " | ".join(heads) + " |\n"
    text += "| --- | --- |" + " --- |" * len(heads) + "\n"
    for at, way in enumerate(WAYS):
        cells = [f"{median(column[at]):.2f} ({min(column[at]):.2f}–{max(column[at]):.2f})"
                 for column in columns]
        text += f"| {way.name} | {way.records} | " + " | ".join(cells) + " |\n"
    return text
