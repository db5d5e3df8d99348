#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the page of `cairn view` and writes it as C.

build.py OUT.c FOLDER NPM|- enabled|auto|disabled SOURCE...
npm fetches what package-lock.json names into FOLDER, where it stays; esbuild makes one script
and one style of it. Where that cannot be, the C holds an empty page, and the tool says how
to get one; with "enabled" it is an error.
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OUT, FOLDER, NPM, WANTED = sys.argv[1:5]
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
import npm_packages  # pylint: disable=wrong-import-position


class Failed(Exception):
    pass


def run(*command):
    done = subprocess.run(command, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    if done.returncode:
        raise Failed("%s: %s" % (" ".join(command[:2]), done.stdout.decode("utf-8", "replace")))


def bundle():
    sources = os.path.join(FOLDER, "src")
    shutil.rmtree(sources, ignore_errors=True)
    shutil.copytree(os.path.join(HERE, "src"), sources)
    run(NPM, "run", "--silent", "build")
    return [npm_packages.read(os.path.join(FOLDER, name)) for name in ("page.js", "page.css")]


def page():
    if NPM == "-":
        return [b"", b""]
    try:
        failed = npm_packages.install(HERE, FOLDER, "--omit=dev", npm=NPM)
        if failed:
            raise Failed(failed)
        return bundle()
    except (Failed, OSError) as error:
        if WANTED == "enabled":
            sys.exit("The page of cairn view cannot be built: %s" % error)
        print("cairn view will have no page: %s" % str(error)[-600:], file=sys.stderr)
        return [b"", b""]


def array(name, data):
    rows = [", ".join(str(byte) for byte in data[i:i + 24]) for i in range(0, len(data), 24)]
    return "static const unsigned char %s[] = {\n    %s\n};\n" % (
        name, ",\n    ".join(rows + ["0"]))


def main():
    script, style = page()
    with open(OUT, "w", encoding="ascii") as file:
        file.write("/* The page of cairn view, made by viewer/build.py. */\n#include \"cli/view/view.h\"\n\n")
        file.write(array("script", script))
        file.write(array("style", style))
        file.write("const crn_page crn_page_built = {\n    .script = script,\n    .style = style,\n"
                   "    .script_size = %d,\n    .style_size = %d,\n};\n" % (len(script), len(style)))


main()
