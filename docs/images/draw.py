#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of the page of cairn view, in this folder, from the examples.

docs/images/draw.py BUILD      BUILD has a build with the tests, whose page test has run once
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(sys.argv[1])
CAIRN = os.path.join(BUILD, "cairn")


def make(path):
    return os.path.join(BUILD, "tests", path)


def main():
    with tempfile.TemporaryDirectory() as folder:
        def record(name, *command, **environment):
            capture = os.path.join(folder, name)
            subprocess.run([word.replace("OUT", capture) for word in command], cwd=SOURCES, check=True,
                           stdout=subprocess.DEVNULL, env=dict(os.environ, **environment))
        lua = [CAIRN, "run", "--ticks", "1000", "-o", "OUT", "examples/handbook/main.lua"]
        record("handbook.cairn", *lua)
        record("fast.cairn", *lua, "--fast")
        record("jobs.cairn", make("golden/jobs"), CAIRN_OUT=os.path.join(folder, "jobs.cairn"))
        record("pipeline.cairn", make("golden/pipeline"), "-o", "OUT", "--layout",
               "chunk:1,compress:1,write:1")
        record("spans.cairn", make("view/many-spans"), "OUT", "200000")
        return subprocess.run(["node", os.path.join(HERE, "draw.mjs"), CAIRN, folder,
                               make("view/browser"), HERE, SOURCES], check=False).returncode


sys.exit(main())
