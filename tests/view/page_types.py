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
COPIED = ("package.json", "package-lock.json", "tsconfig.json")


def report(line, text=""):
    print("1..1\n" + line)
    for row in text.splitlines():
        print("# " + row)


def main():
    if not shutil.which("npm"):
        return report("ok 1 - types # SKIP npm is not there")
    os.makedirs(FOLDER, exist_ok=True)
    for name in COPIED:
        shutil.copy(os.path.join(VIEWER, name), FOLDER)
    if os.path.exists(os.path.join(VIEWER, ".npmrc")):
        shutil.copy(os.path.join(VIEWER, ".npmrc"), FOLDER)
    shutil.rmtree(os.path.join(FOLDER, "src"), ignore_errors=True)
    shutil.copytree(os.path.join(VIEWER, "src"), os.path.join(FOLDER, "src"))
    fetched = subprocess.run(["npm", "ci", "--ignore-scripts", "--prefer-offline"], cwd=FOLDER,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if fetched.returncode:
        return report("ok 1 - types # SKIP npm cannot fetch tsc", fetched.stdout[-400:])
    done = subprocess.run(["npm", "run", "--silent", "types"], cwd=FOLDER, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return report(("not ok" if done.returncode else "ok") + " 1 - types", done.stdout)


main()
