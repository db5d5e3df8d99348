#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs run under `cairn run --alloc` while the disk of their capture fills up: they are as fast
as with space, recording stops once, and the report says so and shows what was true then.

Usage: full.py CAIRN        prints TAP
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

CAIRN = os.path.abspath(sys.argv[1])
SIZES = [240, 400, 640]  # KiB of the disk. Less than 128 KiB hold no capture

# The path of a call has one of 65536 forms; no more than one block lives at a time.
def native():
    """A program with 4096 functions, each with a path of its own to malloc: a tree. One block at most
    lives at a time."""
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "static void *volatile last;"]
    for number in range(4096):
        lines.append("__attribute__((noinline)) static void f%d(unsigned i)" % number)
        lines.append("{ last = malloc(100 + i %% %d); free(last); __asm__ volatile(\"\"); }"
                     % (number % 50 + 1))
    names = ", ".join("f%d" % number for number in range(4096))
    lines.append("static void (*const all[])(unsigned) = {%s};" % names)
    lines.append("int main(void) { for (unsigned i = 0; i < 400000; i++) "
                 "all[i / 3 % 4096](i); puts(\"done\"); return 0; }")
    return "\n".join(lines)


# A call takes one of 10,000 paths, in stretches: contexts are made while it runs.
LUA = """
local ways = {}
local function third(path) local t = {path} return t end
for i = 1, 200 do
  ways[i] = load("local below = ... return function(path) local t = below(path) return t end",
                 "=way" .. i)(i > 100 and ways[i - 100] or third)
end
local tops = {}
for i = 1, 100 do
  tops[i] = load("return function(way, path) local t = way(path) return t end", "=top" .. i)()
end
for i = 1, 60000 do tops[i // 3 % 100 + 1](ways[101 + i // 300 % 100], i) end
print("done")
"""


def report(path):
    done = subprocess.run([CAIRN, "report", "--json", path], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def processor_time():
    """Of the children that have ended, in seconds: what else runs on the machine adds nothing to it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(program, capture):
    """Returns the processor time and what was said. One that waits is ended after two minutes."""
    begin = processor_time()
    done = subprocess.run([CAIRN, "run", "--quiet", "--alloc=exact", "-o", capture, program],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stdout == "done\n", done
    return processor_time() - begin, done.stderr


def with_disk(size, function):
    """Calls the function with the folder of a small disk. It is seen only in this process and its
    children, and goes with it."""
    folder = os.path.join(os.getcwd(), "disk")
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", folder], check=True)
    try:
        function(folder)
    finally:
        subprocess.run(["umount", folder], check=True)


def check(program, whole, usual, folder):
    capture = os.path.join(folder, "x.cairn")
    took, said = run(program, capture)
    assert took < 4 * usual + 1, (took, usual)
    found = report(capture)
    text = subprocess.run([CAIRN, "report", capture], capture_output=True, text=True,
                          check=True).stdout
    assert "recording stopped" in said, said
    assert any("recording stopped" in line for line in found["warnings"]), found["warnings"]
    assert "every allocation was counted" not in text, text
    assert "live at the end" not in text, text
    for key, value in found["notes"].items():
        assert value != "", (key, found["notes"])
    memory = found.get("memory")
    if not memory:
        assert "stopped before the first allocation" in text, text
        return
    assert memory["stopped"] and "before recording stopped; live then" in text, text
    assert 0 < memory["allocated"]["bytes"] < whole["allocated"]["bytes"], (memory, whole)
    most = whole["peak"]["bytes"] * 1.1 + 200
    assert 0 <= memory["live"]["bytes"] <= most, (memory, whole)


def main():
    print("1..2")
    if os.geteuid() != 0 or not shutil.which("mount"):
        print("ok 1 # SKIP only root can make a small disk\nok 2 # SKIP only root can")
        return 0
    try:
        os.unshare(os.CLONE_NEWNS)
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    except (AttributeError, OSError, subprocess.SubprocessError):
        pass  # an older python: the disks are unmounted all the same
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        with open("program.c", "w", encoding="utf-8") as file:
            file.write(native())
        with open("program.lua", "w", encoding="utf-8") as file:
            file.write(LUA)
        subprocess.run([*os.environ.get("CC", "cc").split(), "-O0", "-o", "program", "program.c"],
                       check=True)
        for number, program in enumerate(["./program", "program.lua"], 1):
            name = f"{number} - {program} while its disk fills up"
            fault = None
            try:
                usual, said = run(program, "whole.cairn")
                assert not said, said
                whole = report("whole.cairn")["memory"]
                for size in SIZES:
                    with_disk(size, lambda folder, p=program, w=whole, u=usual:
                              check(p, w, u, folder))
            except (AssertionError, subprocess.SubprocessError, OSError, KeyError) as error:
                fault = repr(error)[:3000].replace("\n", "\n# ")
            failed += bool(fault)
            print(("not ok " if fault else "ok ") + name + (f"\n# {fault}" if fault else ""))
            sys.stdout.flush()
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
