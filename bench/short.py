# SPDX-License-Identifier: MIT
"""What a short process takes: bench/short.c, a process of two hundred contexts, compiled by `cairn cc
--profile=count` and plain. The two run in random order: the one that follows the other takes less time."""
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from rows import Result

TURNS, RUNS = 11, 40
SOURCE = Path(__file__).resolve().parent / "short.c"


def compile_both(place, folder):
    plain, profiled = folder / "short", folder / "short-profiled"
    for command in ([os.environ.get("CC", "gcc-12"), "-O2", SOURCE, "-o", plain],
                    [place / "cairn", "cc", "--profile=count", "-O2", SOURCE, "-o", profiled]):
        if subprocess.run(command).returncode:
            sys.exit("bench/run: short.c cannot be compiled; is gcc's plugin built?")
    return plain, profiled


def run(program, environment):
    """Wall and processor time of a process, seconds."""
    begin = time.monotonic()
    child = os.posix_spawn(program, [program], environment,
                           file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"bench/run: {program} failed")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime


def compare(place):
    folder = place / "bench-scratch"
    folder.mkdir(exist_ok=True)
    plain, profiled = compile_both(place, folder)
    capture = folder / "short.cairn"
    environment = {**os.environ, "CAIRN_OUT": str(capture)}
    ratios = {"wall": [], "processor": []}
    for _ in range(TURNS):
        times = {program: [] for program in (plain, profiled)}
        for program in random.sample([plain, profiled] * RUNS, 2 * RUNS):
            times[program].append(run(program, environment))
        for i, name in enumerate(ratios):
            ratios[name].append(median(each[i] for each in times[profiled])
                                / median(each[i] for each in times[plain]))
    results = [Result(name, median(each), min(each), max(each),
                      f"medians of {RUNS} processes each") for name, each in ratios.items()]
    size = capture.stat().st_blocks * 512 / 1024
    report = subprocess.run([place / "cairn", "report", capture], stdout=subprocess.PIPE, text=True)
    contexts = next(line for line in report.stdout.splitlines() if line.startswith("profile"))
    return results + [Result("size", size, size, size, contexts.split(None, 1)[1])]
