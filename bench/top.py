# SPDX-License-Identifier: MIT
"""How long a program takes while `cairn top` looks at it, against how long it takes alone. They
take turns; a second one alone in each turn says what the machine's own unrest is."""
import subprocess
import sys
import time
from statistics import median

from rows import Result

# Contexts, calls and turns. A large capture is refreshed every few seconds only, so its program makes
# more calls.
SIZES = {"small": (2_000, 250_000_000, 11), "large": (2_000_000, 300_000_000, 5)}


def run(place, capture, size, tool):
    """Seconds and processor seconds of the program, and processor seconds of the tool in one."""
    contexts, calls, _ = size
    capture.unlink(missing_ok=True)
    program = subprocess.Popen([place / "bench" / "bench-watched", capture, str(calls),
                                str(contexts)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
    program.stdout.readline()
    watcher = None
    if tool:
        watcher = subprocess.Popen([place / "cairn", "top", "--batch", capture],
                                   stdout=subprocess.DEVNULL)
        time.sleep(0.2)
    begin = time.monotonic()
    program.stdin.write("\n")
    program.stdin.flush()
    line = program.stdout.readline()
    spent = 0
    if watcher:
        with open(f"/proc/{watcher.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        spent = (int(fields[11]) + int(fields[12])) / 100 / (time.monotonic() - begin + 0.2)
        watcher.kill()
        watcher.wait()
    program.stdin.close()
    if program.wait() or not line:
        sys.exit("bench/run: bench-watched failed")
    wall, processor = map(float, line.split())
    return wall, processor, spent


def compare(place):
    results = []
    capture = place / "bench-scratch" / "watched.cairn"
    capture.parent.mkdir(exist_ok=True)
    for name, size in SIZES.items():
        again, watched, processor, spent = [], [], [], []
        for _ in range(size[2]):
            alone = run(place, capture, size, False)
            looked_at = run(place, capture, size, True)
            second = run(place, capture, size, False)
            base = (alone[0] + second[0]) / 2
            again.append(second[0] / alone[0])
            watched.append(looked_at[0] / base)
            processor.append(looked_at[1] / ((alone[1] + second[1]) / 2))
            spent.append(looked_at[2])
        remark = f"cairn top took {100 * median(spent):.1f} % of a processor"
        for what, ratios, said in [("", watched, remark), ("-processor", processor, ""),
                                   ("-alone", again, "")]:
            results.append(Result(name + what, median(ratios), min(ratios), max(ratios), said))
    capture.unlink(missing_ok=True)
    return results
