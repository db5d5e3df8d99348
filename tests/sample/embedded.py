#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lua functions between native ones, in programs that embed Lua: each stack is one that Lua itself tells.

usage: embedded.py CAIRN SCRIPT WORK PROGRAM...
"""
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import case, main, run, same  # noqa: E402

CAIRN, SCRIPT = (os.path.abspath(name) for name in sys.argv[1:3])
WORK = sys.argv[3]
shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK)
CAPTURE = os.path.join(WORK, "out.cairn")
LIVE = os.path.join(WORK, "out.sampled.cairn")  # while the program runs
PATIENCE = 120  # seconds, before a program that hangs is killed
TICK = 4e6  # ns, at most, between two of the kernel's


def record(program, *arguments):
    """Returns the lines that the program prints."""
    done = subprocess.run([CAIRN, "run", "-o", CAPTURE, program, *arguments], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=True)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.splitlines()


def paths(metric, capture=CAPTURE):
    """The contexts with a cost of their own: their blocks, the outermost first, and the cost."""
    rows = json.loads(run(CAIRN, "query", "--json", capture, """
        select contexts.id, contexts.parent, blocks.name, blocks.file, blocks.line, contexts.%s
        from contexts join blocks on blocks.id = contexts.block""" % metric))["rows"]
    known = {row[0]: row for row in rows}
    for row in rows:
        blocks, at = [], row
        while at is not None:
            blocks.append(tuple(at[2:5]))
            at = known.get(at[1])
        if row[5]:
            yield blocks[::-1], row[5]


def folded(lines):
    """Functions that call themselves are one in a context."""
    return ",".join(line for line, _ in itertools.groupby(lines))


def lua_lines(blocks):
    """The lines of the Lua functions, the youngest first; 0 for main chunks."""
    scripts = {os.path.basename(SCRIPT), "text"}
    return folded("0" if name.startswith("main chunk") else str(line)
                  for name, file, line in reversed(blocks) if os.path.basename(file or "") in scripts)


def check(program):
    expected = {}
    for line in record(program, SCRIPT):
        lines, ns = line.split()
        lines = folded(lines.split(","))
        expected[lines] = expected.get(lines, 0) + int(ns)
    total = sum(expected.values())
    found = {}
    for blocks, cost in paths("cpu"):
        if any(name == "burn" for name, _, _ in blocks):
            lines = lua_lines(blocks)
            found[lines] = found.get(lines, 0) + cost
    wrong = {lines: cost for lines, cost in found.items() if lines not in expected}
    # A sample in the first instructions of a function may lack its caller. How much time it stands
    # for depends on how busy the machine is, so such stacks are counted. Their time has a wide limit,
    # because one wrong stack could stand for all samples of a function.
    samples = int(json.loads(run(CAIRN, "report", "--json", CAPTURE))["notes"]["cpu_samples"])
    assert len(wrong) <= 0.002 * samples + 2, (wrong, samples)
    assert sum(wrong.values()) <= 0.02 * total, (wrong, expected)
    assert len(expected) > 15, expected
    for lines, ns in expected.items():
        share = ns / total
        error = math.sqrt(2 * TICK * total * share * (1 - share))
        assert abs(found.get(lines, 0) - ns) < 4.5 * error + TICK, (lines, ns, found.get(lines), error)


for path in sys.argv[4:]:
    @case("each stack is the one that Lua tells: " + os.path.basename(path))
    def _(program=os.path.abspath(path)):
        check(program)


@case("names are those of the source; the report says which interpreter it is")
def _():
    names = {block[0] for blocks, _ in paths("cpu") for block in blocks}
    wanted = {"main chunk of embedded.lua", "account:deposit", "leaf", "middle", "recursive", "__add", "main chunk of text"}
    same(wanted - names, set(), "missing")
    same(json.loads(run(CAIRN, "report", "--json", CAPTURE))["notes"]["lua"], "5.4", "note")


def waits(script, capture):
    """The Lua functions of each context that has waited for long, as names, the outermost first."""
    return sorted([name for name, file, _ in blocks if file == script] for blocks, cost in paths("wall", capture)
                  if cost > 2e8)


def await_waits(script, wanted):
    """Until the capture of the program that runs shows them: the sampler may be late on a busy machine."""
    end = time.monotonic() + PATIENCE
    while waits(script, LIVE) != wanted:
        assert time.monotonic() < end, (waits(script, LIVE), wanted)
        time.sleep(0.05)


@case("a thread that sleeps has the Lua functions, too")
def _():
    chunk = "main chunk of embedded.lua"
    wanted = [[chunk, "wait"], [chunk, "function <embedded.lua:2>", "wait"]]
    script = os.path.join(WORK, "embedded.lua")
    with open(script, "w", encoding="utf-8") as file:
        file.write("local function wait() print('waits') io.stdout:flush() io.read('l') end\n"
                   "local co = coroutine.wrap(function() wait() end)\nwait() co()\n")
    for program in sys.argv[4:]:
        with subprocess.Popen([CAIRN, "run", "-o", CAPTURE, os.path.abspath(program), script], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            for count in 1, 2:
                same(process.stdout.readline(), "waits\n", "what it prints")
                await_waits(script, sorted(wanted[:count]))
                process.stdin.write("\n")
                process.stdin.flush()
        same(process.returncode, 0, "exit status")
        same(waits(script, CAPTURE), sorted(wanted), "waits")


main()
