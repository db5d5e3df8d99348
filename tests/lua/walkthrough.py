#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The walk-through of examples/README.md, run: each command that stands after "$ " in a block
marked `console` must print what stands below it. Prints TAP.

Usage: walkthrough.py CAIRN TOY [--write]       --write puts what was printed into the README
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "examples" / "README.md"


def run(command, directory, tools):
    environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    done = subprocess.run(["sh", "-c", command], cwd=directory, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return re.sub(r" +$", "", done.stdout, flags=re.M)


def commands(block):
    """The commands of a block, each with what stands below it."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def main():
    write = "--write" in sys.argv
    number = failed = 0
    text = README.read_text()
    with tempfile.TemporaryDirectory() as directory:
        os.symlink(ROOT / "examples", f"{directory}/examples")
        tools = f"{directory}/tools"
        os.mkdir(tools)
        os.symlink(os.path.abspath(sys.argv[1]), f"{tools}/cairn")
        os.symlink(os.path.abspath(sys.argv[2]), f"{tools}/toy")

        def block(match):
            nonlocal number, failed
            new = ""
            for command, expected in commands(match[1]):
                found = run(command, directory, tools)
                new += f"$ {command}\n{found}"
                number += 1
                failed += found != expected
                print("ok" if found == expected else "not ok", number, "-", command, flush=True)
                if found != expected and not write:
                    print("# found:\n#" + found.replace("\n", "\n# "))
            return f"```console\n{new}```\n"

        text = re.sub(r"^```console\n(.*?)^```\n", block, text, flags=re.M | re.S)
    print(f"1..{number}")
    if write:
        README.write_text(text)
    return 1 if failed and not write else 0


if __name__ == "__main__":
    sys.exit(main())
