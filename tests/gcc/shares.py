#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A share of the cases of run.py and lean.py, to run in parallel. Both compile the same programs: those cases
stay together, and what one of them compiles another takes.

Usage: shares.py CAIRN GCC GXX I/N        prints TAP; the I-th of N shares
"""
import sys

sys.dont_write_bytecode = True
import run  # noqa: E402  pylint: disable=wrong-import-position

cases = list(run.CASES)
import lean  # noqa: E402, F401  pylint: disable=wrong-import-position, unused-import

run.CASES[:0] = cases
sys.argv.insert(4, "--share")
sys.exit(run.main())
