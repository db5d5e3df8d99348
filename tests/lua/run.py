#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each program beside this script runs under lua5.4 and under `cairn run` in every mode:
output, error output and exit status must be the same, and the calls by context those of
NAME.expected. To add a case, add NAME.lua and NAME.expected (--write makes the latter; read
it before you believe it).

Usage: run.py CAIRN [--write] [NAME...]        prints TAP
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ARGUMENTS = ["one", "two words"]
INPUT = b"first line\nlast line"
# Options; whether calls are compared with the expected ones; environment.
MODES = [
    ("exact", ["--exact"], True, {}),
    ("exact wall", ["--wall", "exact"], True, {}),
    ("exact without frames", ["--exact"], True, {"CAIRN_LUA_LAYOUT": "api"}),
    ("ticks", ["--ticks", "1000"], True, {}),
    ("ticks of one", ["--ticks", "1"], True, {}),
    ("sample", ["--sample", "1000"], False, {}),
]
STEPS = re.compile(r"(^|;)<gc> \d+$")
# Ten million of anything take too long with an event for each instruction.
LONG = {"tail_loop", "recursion_limit"}


def run(command, **more):
    environment = dict(os.environ, LC_ALL="C.UTF-8", **more)
    done = subprocess.run(command, input=INPUT, capture_output=True, cwd=HERE, env=environment,
                          timeout=300, check=False)
    hide = lambda text: re.sub(r"0x[0-9a-f]+", "0x", text.decode(errors="replace"))
    return {"output": hide(done.stdout), "errors": hide(done.stderr), "status": done.returncode}


def calls(cairn, capture):
    """The calls of each context, one a line. How often the collector takes a step is not the
    program's doing: only what it calls is compared."""
    done = subprocess.run([cairn, "export", "--to", "folded", "--metric", "calls", "-o", "-",
                           capture], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr
    return "".join(line for line in done.stdout.splitlines(True) if not STEPS.search(line))


def difference(name, expected, found):
    lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), "expected", name,
                                 lineterm="", n=1)
    return list(lines)[:30]


def expected_path(case, variables):
    """Without frames, finalizers cannot be seen: such a case has a file of its own."""
    special = HERE / f"{case}.api.expected"
    return special if variables and special.exists() else HERE / f"{case}.expected"


def problems(cairn, case, mode, plain, capture):
    _, options, exact, variables = mode
    found = run([cairn, "run", *options, "-o", capture, f"{case}.lua", *ARGUMENTS], **variables)
    lines = []
    for what in ("status", "output", "errors"):
        if found[what] != plain[what]:
            lines += [f"{what} differ from lua5.4"] + difference(what, str(plain[what]), str(found[what]))
    if exact:
        path = expected_path(case, variables)
        expected = path.read_text() if path.exists() else ""
        lines += difference("calls", expected, calls(cairn, capture))
    return lines


def main():
    cairn = os.path.abspath(sys.argv[1])
    names = [name for name in sys.argv[2:] if name != "--write"]
    cases = names or sorted(path.stem for path in HERE.glob("*.lua"))
    number = failed = 0
    with tempfile.TemporaryDirectory() as directory:
        capture = os.path.join(directory, "case.cairn")
        for case in cases:
            plain = run(["lua5.4", f"{case}.lua", *ARGUMENTS])
            if "--write" in sys.argv:
                for _, options, _, variables in (MODES[0], MODES[2]):
                    run([cairn, "run", *options, "-o", capture, f"{case}.lua", *ARGUMENTS], **variables)
                    expected_path(case, variables).write_text(calls(cairn, capture))
                    if not (HERE / f"{case}.api.expected").exists():
                        break
            for mode in MODES:
                if mode[0] == "ticks of one" and case in LONG:
                    continue
                number += 1
                lines = problems(cairn, case, mode, plain, capture)
                failed += bool(lines)
                print("not ok" if lines else "ok", number, "-", case, f"({mode[0]})", flush=True)
                for line in lines:
                    print("#", line)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
