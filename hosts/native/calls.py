#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints a table of this system's calls by number, from the C compiler's headers.

usage: calls.py COMPILER...
"""
import re
import subprocess
import sys

found = subprocess.run([*sys.argv[1:], "-E", "-dM", "-x", "c", "-"], input="#include <sys/syscall.h>\n",
                       text=True, check=True, stdout=subprocess.PIPE).stdout
print("/* Made by calls.py. */")
for name in sorted(set(re.findall(r"#define __NR_([a-z0-9_]+) ", found))):
    print('[__NR_%s] = "%s",' % (name, name))
