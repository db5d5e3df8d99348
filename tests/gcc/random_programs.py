#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random programs (invent.py), compiled by `cairn cc` in ways drawn at random, do what they do when
gcc compiles them; and what they call, from where and how often, is what a slow reference has
(gcc -O0 -finstrument-functions, with paths.c).

CAIRN_TEST_SEED=N plays those of that number again, in many ways; CAIRN_TEST_SCALE=20 plays a fifth,
CAIRN_TEST_LONG=1 as many as take minutes.

Usage: random_programs.py CAIRN GCC GXX [WORD...]        prints TAP; cases whose names have all words
"""
import os
import random
import re
import subprocess
import sys

import invent
import run as base
from run import CAIRN, GCC, GXX, HERE, case, contexts, different, run

base.CASES.clear() # those of run.py are another test
INCLUDE = os.path.join(HERE, "..", "..", "include")
TOO_MUCH = 77 # of paths.c
IN_PLACE = "-fno-optimize-sibling-calls" # of jumps to what is called last
KINDS = [["--inlined"], ["--inlined"], ["--inlined", "--branch"], ["--inlined", "--profile=alloc"],
         ["--inlined", "--profile=count+time"], ["--inlined", "--calls"], ["--inlined", "--verify"],
         [], [], ["--branch"], ["--profile=alloc"], ["--calls"], ["--verify"]]
LEVELS = ["-O0", "-O1", "-O2", "-O2", "-O3", "-Os", "-Og"]
MORE = [[], [], ["-flto"], ["-fPIC"], ["-fnon-call-exceptions"], ["-fno-omit-frame-pointer"],
        ["-fipa-cp-clone", "-funroll-loops"], ["-fno-inline"], ["-ftracer"]]
CLOCKS = [{}, {"CAIRN_WALL": "off"}, {"CAIRN_WALL": "exact"}]


def folded(path):
    """Returns the canonical form of a path."""
    path, kept = list(filter(is_shown, path)), []
    for name in path:
        kept.append(name)
        for length in range(1, len(kept) // 2 + 1):
            if kept[-length:] == kept[-2 * length:-length]:
                del kept[-length:]
                break
    return tuple(kept)


def is_shown(name):
    return base.own(name) and name[0] not in "[<" # no branches


def summed(rows):
    calls = {}
    for path, count in rows:
        if count and is_shown(path[-1]):
            calls[folded(path)] = calls.get(folded(path), 0) + count
    return calls


def by_name(calls):
    names = {}
    for path, count in calls.items():
        names[path[-1]] = names.get(path[-1], 0) + count
    return names


def front_of(name):
    return [GXX, "-std=c++17"] if name.endswith("cpp") else [GCC, "-std=gnu17"]


def reference(name):
    """Returns calls by path and the output; None if there are too many."""
    run(GCC, "-O1", "-c", os.path.join(HERE, "paths.c"), "-o", "paths.o")
    run(*front_of(name), "-w", "-O0", "-finstrument-functions", "-no-pie", "-DPATHS", "-I", HERE,
        name, "paths.o", "-o", "reference")
    done = subprocess.run(["./reference"], env=dict(os.environ, PATHS_OUT="paths"), capture_output=True,
                          text=True, check=False)
    if done.returncode == TOO_MUCH:
        return None
    assert done.returncode == 0, done
    symbols = {int(words[0], 16): words[2] for words in map(str.split, run("nm", "reference").split("\n"))
               if len(words) == 3}
    with open("paths", encoding="utf-8") as file:
        rows = [line.split() for line in file]
    called = [re.sub("[.][0-9]+$", "", symbols[int(word, 16)] if word.startswith("0x") else word)
              for _, _, word in rows]
    paths = [()]
    for (above, _, _), shown in zip(rows, run("c++filt", "--no-params", *called).split("\n")):
        paths.append((*paths[int(above)], shown))
    return summed(zip(paths[1:], (int(count) for _, count, _ in rows))), done.stdout


def loops(name):
    """Functions that call themselves in tail position may have become loops."""
    with open(name, encoding="utf-8") as file:
        text = file.read()
    return {function for function, body in re.findall(r"(f\d)\(int n[^\n]*\n\{\n([^\n]*)\n", text)
            if re.search(r"return [^;]*\b%s\(" % function, body)}


def way(chance):
    kind, level, more = chance.choice(KINDS), chance.choice(LEVELS), list(chance.choice(MORE))
    if chance.random() < 0.5:
        more.append(IN_PLACE)
    if "--inlined" not in kind: # what is inlined is not there
        more.append("-DALL_KEPT")
    return [*kind, level, *more]


def profiled(name, printed, options, clock):
    front = "c++" if name.endswith("cpp") else "cc"
    run(CAIRN, front, *front_of(name)[1:], "-w", *options, "-I", HERE, "-I", INCLUDE, name,
        "-o", "profiled")
    assert run("./profiled") == printed, "prints something else, unprofiled"
    assert run("./profiled", CAIRN_OUT="x.cairn", **clock) == printed, "prints something else"
    assert "verify" not in base.report("x.cairn")["notes"]
    return summed((path, row["calls"]) for path, row in contexts("x.cairn"))


def compare(name, expected, printed, options, clock):
    found = profiled(name, printed, options, clock)
    wrong = different(by_name(expected), by_name(found))
    in_place = IN_PLACE in options or {"-O0", "-O1", "-Og"} & set(options)
    if not in_place and "--inlined" not in options:
        wrong = {function: calls for function, calls in wrong.items() if function not in loops(name)}
    assert not wrong, "calls, right and found: %r" % wrong
    if not in_place: # some are called by who called their callers: by the same ones in any case
        expected = profiled(name, printed, [*options, "--calls"], clock)
    assert expected == found, "contexts, right and found: %r" % different(expected, found)


def play(seed, ways):
    """Returns true if there were not too many calls."""
    played = False
    for language in ("c", "cpp"):
        name, chance = "program." + language, random.Random("%d %s ways" % (seed, language))
        with open(name, "w", encoding="utf-8") as file:
            file.write(invent.Program(seed, language).text)
        made = reference(name)
        for _ in range(ways if made else 0):
            options, clock = way(chance), chance.choice(CLOCKS)
            try:
                compare(name, *made, options, clock)
            except AssertionError as fault:
                raise AssertionError("CAIRN_TEST_SEED=%d, %s, %s, %r: %s" % (
                    seed, language, " ".join(options), clock, str(fault)[:4000])) from None
            played = True
    return played


@case("random programs count what they call, and where, in ways drawn at random")
def programs():
    seeds = range(1, 400 if os.environ.get("CAIRN_TEST_LONG") else 11)
    scaled = len(seeds) * int(os.environ.get("CAIRN_TEST_SCALE", "100")) // 100
    one = os.environ.get("CAIRN_TEST_SEED")
    seeds = [int(one)] if one else seeds[:max(scaled, 1)]
    assert any([play(seed, 20 if one else 1) for seed in seeds])


if __name__ == "__main__":
    sys.exit(base.main())
