# SPDX-License-Identifier: MIT
"""How long readers of a large profile take and how much memory: `cairn report` and
`go tool pprof -top`, in turn."""
import os
import subprocess
import sys
import time
from statistics import median

from rows import Result

CONTEXTS = 300_000
TURNS = 5
LARGER = {"linear-1m": 1_000_000, "linear-5m": 5_000_000}


def cost(command):
    """Seconds and bytes that a command takes, its children included."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"bench/run: {' '.join(map(str, command))} failed: {said}")
    return seconds, usage.ru_maxrss * 1024


def result(name, ratios, remark):
    return Result(name, median(ratios), min(ratios), max(ratios), remark)


def make(place, contexts):
    capture = place / "bench-scratch" / f"readers-{contexts}.cairn"
    capture.parent.mkdir(exist_ok=True)
    capture.unlink(missing_ok=True)
    subprocess.run([place / "bench" / "bench-make_capture", capture, str(contexts)], check=True)
    return capture


def compare(place):
    cairn = place / "cairn"
    capture = make(place, CONTEXTS)
    exported = capture.with_suffix(".pb.gz")
    exported.unlink(missing_ok=True)
    subprocess.run([cairn, "export", "--to", "pprof", "-o", exported, capture], check=True)
    ours, theirs = [], []
    for _ in range(TURNS):
        theirs.append(cost(["go", "tool", "pprof", "-top", exported]))
        ours.append(cost([cairn, "report", capture]))
    times = [a[0] / b[0] for a, b in zip(ours, theirs)]
    memory = [a[1] / b[1] for a, b in zip(ours, theirs)]
    results = [
        result("time", times, f"{median(a[0] for a in ours):.3f} s, pprof "
               f"{median(b[0] for b in theirs):.1f} s"),
        result("memory", memory, f"{median(a[1] for a in ours) / 1e6:.0f} MB, pprof "
               f"{median(b[1] for b in theirs) / 1e6:.0f} MB"),
    ]
    for name, contexts in LARGER.items():
        results.append(linear(cairn, capture, make(place, contexts), name, contexts))
    for left in capture.parent.glob("readers-*"):
        left.unlink()
    return results


def linear(cairn, small, large, name, contexts):
    """Time a context of a larger capture against that of the small one."""
    ratios, seconds, memory = [], [], 0
    for _ in range(TURNS):
        base = cost([cairn, "report", small])[0] / CONTEXTS
        here, memory = cost([cairn, "report", large])
        seconds.append(here)
        ratios.append(here / contexts / base)
    return result(name, ratios, f"{median(seconds):.2f} s, {memory / 1e6:.0f} MB")
