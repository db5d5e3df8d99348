#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Native stacks are walked in many programs by src/unwind and by backtrace(3): see reference.c. Then
the programs run under a libcairn-alloc that walks each stack twice, as it does and from scratch, and
traps where the contexts differ.

Usage: native_stacks.py REFERENCE CHECKED PROGRAM PLUGINS        prints TAP
"""
import os
import shutil
import subprocess
import sys
import tempfile

REFERENCE, CHECKED, PROGRAM, PLUGINS = (os.path.abspath(argument) for argument in sys.argv[1:5])

SOURCE = """
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
static int depth(const std::string &s, int n) {
    if (!n) throw std::runtime_error(s);
    return depth(s + "x", n - 1) + 1;
}
int main() {
    std::map<std::string, std::vector<int>> m;
    for (int i = 0; i < 3000; i++) {
        m[std::to_string(i * 7919 % 1000)].push_back(i);
        try { depth("a long enough string, so that it is on the heap", i % 30); }
        catch (const std::exception &) { }
    }
    std::vector<std::string> v(5000, std::string(40, 'y'));
    std::stable_sort(v.begin(), v.end());
    return m.size() != 1000;
}
"""


NUMBER = FAILED = 0


def tell(good, name, *words):
    global NUMBER, FAILED
    NUMBER += 1
    FAILED += not good
    print(f"{'ok' if good else 'not ok'} {NUMBER} - " + name.replace("\n", " ").replace("#", ""))
    if not good:
        print("#", *(str(word)[:500].replace("\n", " ") for word in words))
    sys.stdout.flush()


def make_programs():
    """Commands: our programs, programs of C++ built in several ways, and what Debian has."""
    with open("unit.cpp", "w", encoding="utf-8") as file:
        file.write(SOURCE)
    with open("text", "w", encoding="utf-8") as file:
        file.writelines(f"line {i * 7919 % 5003} of a text\n" for i in range(20000))
    commands = [[PROGRAM, name] for name in ("each", "at_random", "threads", "variable_frames",
                                             "signals", "libraries", "short_lives", "jumps")]
    compiler = shutil.which("g++")
    if compiler:
        for options in (["-O0"], ["-O2"], ["-O2", "-fno-omit-frame-pointer"],
                        ["-O3", "-mavx2", "-mstackrealign"]):
            name = "unit" + "".join(options).replace("-", "_")
            subprocess.run([compiler, *options, "-o", name, "unit.cpp"], check=True)
            commands.append(["./" + name])
        commands.append([compiler, "-O2", "-o", "unit", "unit.cpp"])
    commands += [["sort", "--parallel=2", "-o", "out", "text"], ["git", "log", "-3"],
                 ["/usr/bin/python3", "-c", "import json, decimal, sqlite3, re\n"
                  "print(json.loads(json.dumps({str(i): i for i in range(1000)}))['5'])"],
                 ["perl", "-e", "my %h; $h{$_} = [1 .. $_] for 1 .. 300; print scalar %h"],
                 ["jq", "-n", "[range(1000)] | map({a: .}) | length"],
                 ["/usr/bin/env", "bash", "-c", "for i in {1..200}; do x=$x$i; done"]]
    return [command for command in commands if shutil.which(command[0])]


def run(command, **added):
    return subprocess.run(command, env=dict(os.environ, ALLOC_PLUGINS=PLUGINS, **added),
                          capture_output=True, text=True, timeout=300, check=False)


def compare(command):
    done = run(command, LD_PRELOAD=REFERENCE, REFERENCE_OUT=os.path.abspath("reference"))
    lines = []
    if os.path.exists("reference"):
        with open("reference", encoding="utf-8") as file:
            lines = [line.split(maxsplit=3) for line in file]
        os.unlink("reference")
    walks, differing, early = (sum(int(line[i]) for line in lines) for i in range(3))
    # A rule that libgcc knows and we do not is rare.
    tell(lines and differing == 0 and early * 200 <= walks,
         f"{' '.join(os.path.basename(word) for word in command[:2])}: {walks} walks, {early} of "
         "them ended early", lines, done.stderr)
    return walks


def check(command):
    plain = run(command)
    done = run(command, LD_PRELOAD=CHECKED, CAIRN_ALLOC="exact", CAIRN_OUT="x.cairn")
    tell(done.returncode == plain.returncode and os.path.exists("x.cairn"),
         f"{' '.join(os.path.basename(word) for word in command[:2])}: what is remembered of a "
         "stack is what it is", done)
    if os.path.exists("x.cairn"):
        os.unlink("x.cairn")


def main():
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        commands = make_programs()
        print(f"1..{2 * len(commands) + 1}")
        walks = sum(compare(command) for command in commands)
        tell(walks > 10000, f"{walks} walks were compared")
        for command in commands:
            check(command)
        os.chdir("/")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
