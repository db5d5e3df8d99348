# SPDX-License-Identifier: MIT
"""Runs test functions, each in a folder of its own, and prints TAP."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import words_of  # noqa: E402


def run_all(tests):
    """Returns the exit status. A function that returns a text is skipped for that reason."""
    print(f"1..{len(tests)}")
    failed = 0
    for number, function in enumerate(tests, 1):
        name = function.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            try:
                skipped = function()
                print(f"ok {number} - {name}" + (f" # SKIP {skipped}" if skipped else ""))
            except (AssertionError, subprocess.SubprocessError, OSError, KeyError) as error:
                failed += 1
                print(f"not ok {number} - {name}")
                print("\n".join("# " + line for line in words_of(error)[:6000].split("\n")))
            os.chdir("/")
        sys.stdout.flush()
    return 1 if failed else 0
