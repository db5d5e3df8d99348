#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The OpenCL example: a driver's time stamps become spans of a track.

usage: opencl.py CAIRN PROGRAM CAPTURE
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import case, main, run, same  # noqa: E402

CAIRN, PROGRAM, CAPTURE = sys.argv[1:4]
FRAMES = 20
NO_DEVICE = 2

if os.path.exists(CAPTURE):
    os.remove(CAPTURE)
ran = subprocess.run([CAIRN, "run", "-o", CAPTURE, PROGRAM], stdout=subprocess.PIPE,
                     stderr=subprocess.STDOUT, text=True, check=False)
if ran.returncode == NO_DEVICE and "no OpenCL device" in ran.stdout:
    print("1..0 # SKIP there is no OpenCL device: install pocl-opencl-icd")
    sys.exit(0)


def rows(question):
    return json.loads(run(CAIRN, "query", "--json", CAPTURE, question))["rows"]


@case("the example ends well")
def _():
    same(ran.returncode, 0, ran.stdout)


@case("each kernel is a span of the track, below the frame that asked")
def _():
    found = rows("select s.name, p.name, count(*) from spans s join spans p on s.parent = p.id "
                 "join lanes l on s.lane = l.id where l.name = 'opencl queue' group by 1, 2 "
                 "order by 1")
    same(found, [["blur", "frame", FRAMES], ["darken", "frame", FRAMES]], "device spans")


@case("kernels run within their frame, but for the stated error of the clocks")
def _():
    notes = json.loads(run(CAIRN, "report", "--json", CAPTURE))["notes"]
    pairs, error = notes["track.opencl queue"].split(" ")
    same(pairs, "pairs=%d" % (FRAMES / 5), "pairs of readings")
    allowed = int(error.removeprefix("error=").removesuffix("ns"))
    for start, end, frame_start, frame_end in rows(
            "select s.start, s.start + s.duration, p.start, p.start + p.duration "
            "from spans s join spans p on s.parent = p.id where s.name in ('blur', 'darken')"):
        assert start >= frame_start - allowed and end <= frame_end + allowed, (
            start - frame_start, frame_end - end, allowed)


@case("the larger radius takes the device longer")
def _():
    def fastest(condition):
        return rows("select min(b.duration) from spans b join spans f on b.parent = f.id "
                    "where b.name = 'blur' and f.iteration % 7 " + condition)[0][0]
    assert fastest("= 0") > fastest("<> 0"), (fastest("= 0"), fastest("<> 0"))


main()
