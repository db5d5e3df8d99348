#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a call of a leaf costs with each way to be told of calls that clang has, beside the same with
hooks that do nothing, and beside gcc's plugin. Ways take turns; a figure is the median, less the
plain call's, and of the ratios to an empty XRay handler.

Usage: leaf.py CAIRN [ROUNDS]
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "leaf.c")
XRAY = ["-fxray-instrument", "-fxray-instruction-threshold=1"]
EMPTY = "XRay, an empty handler"


def ways(cairn):
    return {
        "plain": (["clang"], {}),
        EMPTY: (["clang", *XRAY, "-DEMPTY_XRAY"], {}),
        "`cairn clang`": ([cairn, "clang"], {"CAIRN_OUT": "x.cairn"}),
        "`cairn clang`, not profiled": ([cairn, "clang"], {}),
        "`-finstrument-functions`, empty": (["clang", "-finstrument-functions",
                                            "-DEMPTY_FUNCTIONS"], {}),
        "`cairn clang --inlined`": ([cairn, "clang", "--inlined"], {"CAIRN_OUT": "x.cairn"}),
        "`cairn cc`": ([cairn, "cc", "-Wno-attributes"], {"CAIRN_OUT": "x.cairn"}),
    }


def main():
    cairn = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    folder = tempfile.mkdtemp(prefix="cairn-leaf-")
    chosen = ways(cairn)
    for number, (command, _) in enumerate(chosen.values()):
        subprocess.run([*command, "-O2", SOURCE, "-o", os.path.join(folder, str(number))], check=True)
    found = {name: [] for name in chosen}
    for _ in range(rounds):
        for number, (name, (_, environment)) in enumerate(chosen.items()):
            done = subprocess.run(["./%d" % number], cwd=folder, check=True, capture_output=True,
                                  text=True, env=dict(os.environ, **environment))
            found[name].append(float(done.stdout))
    shutil.rmtree(folder)
    plain = statistics.median(found["plain"])
    print("| a call of a leaf | ns more than plain (%.2f) | of XRay with an empty handler |" % plain)
    print("| --- | --- | --- |")
    for name, times in list(found.items())[1:]:
        more = [a - b for a, b in zip(times, found["plain"])]
        empty = [a - b for a, b in zip(found[EMPTY], found["plain"])]
        print("| %s | %.2f | %.2f |" % (name, statistics.median(more), statistics.median(
            a / b for a, b in zip(more, empty))))


if __name__ == "__main__":
    main()
