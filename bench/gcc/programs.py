#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs built from Debian's sources with `cairn cc` as their compiler, and their own tests
run while they profile themselves: does all pass, and print what it prints otherwise?

Usage: programs.py CAIRN SOURCES FOLDER [--only PROGRAM]... [--kind KIND]...
SOURCES is what fetch.sh has fetched; trees are built in FOLDER. Prints a table; exit status 1 if
something differs from what gcc's own build does.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys

from recipes import RECIPES

HERE = os.path.dirname(os.path.abspath(__file__))
LONGEST = 1800 # seconds
# (options of cairn cc, environment of the tests); None: gcc; a kind: its build
KINDS = {
    "plain": (None, {}),
    "count": ([], {}),
    "count+time": ("count", {"CAIRN_CPU": "sampled"}),
    "count, exact time": ("count", {"CAIRN_WALL": "exact"}),
    "count --inlined": (["--inlined"], {}),
    "alloc": (["--profile=alloc"], {}),
    "time": (["--profile=time"], {}),
    "time --stack": ("time", {"CAIRN_STACK": "on"}),
}


def shell(command, tree, environment, log):
    """Exit status; negative if it takes too long."""
    with open(log, "w", encoding="utf-8") as messages:
        try:
            return subprocess.run(["bash", "-c", command], cwd=tree, env=environment,
                                  stdin=subprocess.DEVNULL, stdout=messages,
                                  stderr=subprocess.STDOUT, timeout=LONGEST, check=False).returncode
        except subprocess.TimeoutExpired:
            return -1


def environment_of(tool, options):
    compilers = ["gcc", "g++"] if options is None else [
        " ".join([tool, name, *options]) for name in ("cc", "c++")]
    return dict(os.environ, CC=compilers[0], CXX=compilers[1], CFLAGS="-O2 -w", CXXFLAGS="-O2 -w",
                HERE=HERE)


def build(name, sources, folder, tool, options):
    """The tree, or None."""
    source, command = RECIPES[name][:2]
    shutil.rmtree(folder, ignore_errors=True)
    tree = os.path.join(folder, "tree")
    shutil.copytree(os.path.join(sources, source), tree, symlinks=True)
    if name == "lua5.4":
        shutil.copytree(os.path.join(sources, "lua-lpeg"), os.path.join(folder, "lpeg"))
    log = os.path.join(folder, "build.log")
    return tree if shell(command, tree, environment_of(tool, options), log) == 0 else None


def misuses(tool, captures):
    """Of captures: how many cannot be read, and how many have any."""
    broken = misused = 0
    for path in captures:
        done = subprocess.run([tool, "report", "--json", path], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            broken += 1
        elif json.loads(done.stdout)["notes"].get("misuses", "0") != "0":
            misused += 1
    return broken, misused


def run_tests(name, tree, tool, kind):
    """(exit status, what is compared of what they print, captures that they left)."""
    options, more = KINDS[kind]
    captures = os.path.join(os.path.dirname(tree), "captures")
    shutil.rmtree(captures, ignore_errors=True)
    os.makedirs(captures)
    if isinstance(options, str):
        options = KINDS[options][0]
    environment = dict(environment_of(tool, options), **more)
    if kind != "plain":
        environment["CAIRN_OUT"] = os.path.join(captures, "x.cairn")
    log = os.path.join(os.path.dirname(tree), "tests.log")
    status = shell(RECIPES[name][2], tree, environment, log)
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = [line for line in file.read().split("\n") if re.search(RECIPES[name][3], line)]
    return status, lines, glob.glob(os.path.join(captures, "*.cairn"))


def try_kind(name, kind, trees, given, expected):
    """A row of the table, whether it is as it should be, and what was printed."""
    options = KINDS[kind][0]
    base = options if isinstance(options, str) else kind
    if base not in trees:
        folder = os.path.join(given.folder, name, re.sub("[^a-z]+", "-", base))
        trees[base] = build(name, given.sources, folder, given.cairn, KINDS[base][0])
    tree = trees[base]
    if not tree:
        return "not built", False, None
    left = glob.glob(os.path.join(tree, "**", "*.cairn"), recursive=True)
    status, lines, captures = run_tests(name, tree, given.cairn, kind)
    broken, misused = misuses(given.cairn, captures)
    same = expected is None or (status, lines) == expected
    right = same and not left and not broken and not misused and (kind == "plain" or captures)
    return "%s | %s | %d lines, %s | %d | %d | %d" % (
        "as it should" if not left else "left captures", "pass" if status == 0 else "fail: %d" % status,
        len(lines), "the same" if same else "DIFFERENT", len(captures), broken, misused), \
        bool(right), (status, lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cairn", type=os.path.abspath)
    parser.add_argument("sources", type=os.path.abspath)
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("--only", action="append", choices=RECIPES)
    parser.add_argument("--kind", action="append", choices=KINDS)
    given = parser.parse_args()
    print("| program | kind | builds | tests | what they print | captures | broken | with misuses |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |")
    wrong = 0
    for name in given.only or RECIPES:
        trees, expected = {}, None
        for kind in ["plain"] + [k for k in KINDS if k != "plain" and (not given.kind or k in given.kind)]:
            text, right, printed = try_kind(name, kind, trees, given, expected)
            expected = printed if kind == "plain" else expected
            wrong += not right
            print("| %s | %s | %s |" % (name, kind, text), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
