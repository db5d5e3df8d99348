#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the types of the page's sources with tsc, in the version of viewer/package-lock.json.

page_types.py VIEWER FOLDER
FOLDER keeps the packages.
"""
import os
import shutil
import subprocess
import sys

VIEWER, FOLDER = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, os.path.join(VIEWER, "..", "scripts"))
import npm_packages  # pylint: disable=wrong-import-position


def report(line, text=""):
    print("1..1\n" + line)
    for row in text.splitlines():
        print("# " + row)


def main():
    if not shutil.which("npm"):
        return report("ok 1 - types # SKIP npm is not there")
    failed = npm_packages.install(VIEWER, FOLDER)
    if failed:
        return report("ok 1 - types # SKIP npm cannot fetch tsc", failed[-400:])
    shutil.rmtree(os.path.join(FOLDER, "src"), ignore_errors=True)
    shutil.copytree(os.path.join(VIEWER, "src"), os.path.join(FOLDER, "src"))
    done = subprocess.run(["npm", "run", "--silent", "types"], cwd=FOLDER, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return report(("not ok" if done.returncode else "ok") + " 1 - types", done.stdout)


main()
