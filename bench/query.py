# SPDX-License-Identifier: MIT
"""cairn query over ten million spans: how long answers take, and in how much memory.

Time is from start to end of the process, the file in the page cache. Memory is the most
anonymous memory that the kernel showed in /proc/PID/status (RssAnon), looked at each two
milliseconds: pages of the file are mapped, and not the process's own.
"""
import statistics
import subprocess
import time

from rows import Result

SPANS = 10_000_000
ROUNDS = 5
QUESTIONS = {
    "summary": "select * from summary",
    "by-name": "select name, count(*), sum(duration), max(self) from spans group by name",
    "by-iteration": "select iteration, count(*) as n from spans group by iteration "
                    "order by n desc limit 10",
    "by-attribute": "select width, count(*), median(duration) from spans group by width",
    "by-columns": "select start, name, self, parent, count(*) as n from spans "
                  "group by start, name, self, parent having n > 1 limit 10",
    "by-part": "select name, iteration / 10000, percentile(duration, 99) from spans group by 1, 2",
    "by-expressions": "select self / 10, parent / 10, name || 'x', count(*) from spans "
                      "group by 1, 2, 3 limit 10",
}


def ask(cairn, capture, question):
    """Seconds, and the most anonymous memory in bytes."""
    begin, most = time.monotonic(), 0
    process = subprocess.Popen([cairn, "query", "--csv", capture, question],
                               stdout=subprocess.DEVNULL)
    while process.poll() is None:
        most = max(most, anonymous(process.pid))
        time.sleep(0.002)
    if process.returncode:
        raise SystemExit(f"bench/run: {question} failed")
    return time.monotonic() - begin, most


def anonymous(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            lines = [line.split() for line in status if line.startswith("RssAnon")]
            return int(lines[0][1]) * 1024 if lines else 0
    except (OSError, ValueError):
        return 0


def results(name, values, remark):
    return Result(name, statistics.median(values), min(values), max(values), remark)


def compare(place):
    capture, cairn = place / "bench-scratch" / "spans.cairn", place / "cairn"
    capture.parent.mkdir(exist_ok=True)
    subprocess.run([place / "bench" / "bench-make_spans", capture, str(SPANS)], check=True)
    size = capture.stat().st_size
    times = {name: [] for name in QUESTIONS}
    memory = {name: [] for name in QUESTIONS}
    for _ in range(ROUNDS):
        for name, question in QUESTIONS.items():
            seconds, most = ask(cairn, capture, question)
            times[name].append(seconds)
            memory[name].append(most / size)
    capture.unlink()
    found = [results(name, times[name], "") for name in QUESTIONS]
    worst = max(memory, key=lambda name: max(memory[name]))
    found.append(results("memory", memory[worst],
                         f"{worst}; the file has {size / 2**20:.0f} MiB"))
    return found
