#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes captures of Lua and C programs, of a program with spans and, if available, of a recorded stream of
events, and runs page.mjs, which drives the page of cairn view with them in Debian's Chromium. Its
headless shell, which has no windows and menus of its own, takes a quarter less processor time.

page.py CAIRN JOBS PLAY_STREAM LIVE SOURCES FOLDER [PICTURES]
playwright-core and axe-core are installed in FOLDER once, in the versions of the lock file.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

CAIRN, JOBS, PLAY_STREAM, LIVE, SOURCES, KEPT = map(os.path.abspath, sys.argv[1:7])
PICTURES = sys.argv[7] if len(sys.argv) > 7 else "-"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(SOURCES, "scripts"))
import npm_packages  # pylint: disable=wrong-import-position

STREAMS = os.path.join(SOURCES, "..", "shared", "streams")
CHROMIUM = next(filter(os.path.exists, ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]), None)
DEEP = 1000000
TALL = 300


def skip(reason):
    print("1..1\nok 1 - the page # SKIP %s" % reason)
    sys.exit(0)


def fetch():
    if not shutil.which("node") or not shutil.which("npm"):
        skip("nodejs and npm are not there")
    if not CHROMIUM:
        skip("chromium is not there")
    if subprocess.run([CAIRN, "view", "nowhere"], stderr=subprocess.PIPE, text=True,
                      check=False).stderr.find("without the page") >= 0:
        skip("this cairn was built without the page")
    if subprocess.run([CAIRN, "cc", "-fsyntax-only", "-x", "c", os.devnull], stderr=subprocess.PIPE,
                      text=True, check=False).stderr.find("the plugin for gcc") >= 0:
        skip("this cairn was built without the plugin for gcc")
    failed = npm_packages.install(HERE, KEPT)
    if failed:
        skip(failed[-200:].replace("\n", " "))


def capture_lua(folder, name, program, ticks=1000):
    subprocess.run([CAIRN, "run", "--ticks", str(ticks), "-o", os.path.join(folder, name),
                    os.path.join("examples", program, "main.lua")], cwd=SOURCES, check=True,
                   stdout=subprocess.DEVNULL)


def play(folder, name, names, words):
    path = os.path.join(folder, "names")
    with open(path, "w", encoding="ascii") as file:
        file.write(names)
    subprocess.run([PLAY_STREAM, os.path.join(folder, name), path], input=words, check=True)


def capture_deep(folder):
    """A program that recurses a million times."""
    word = struct.Struct("<I").pack
    begin, end, leave, tick = 0xffffffff, 0xfffffffe, 2 << 30, 3 << 30
    play(folder, "deep.cairn", "1\tmain\ta.c\t1\t1\n2\tdown\ta.c\t5\t1\n",
         word(begin) + word(1) + word(2) * DEEP + word(tick | 1000) + word(leave) * (DEEP + 1) +
         word(end))


def capture_jobs(path):
    """The pages need spans on all three lanes, and some samples of wall time. On a busy machine one of
    the two workers may be too late for any job, and the sampling thread for a sample; then the program
    runs again."""
    tries = 100
    for _ in range(tries):
        subprocess.run([JOBS], check=True, env=dict(os.environ, CAIRN_OUT=path))
        lanes = subprocess.run([CAIRN, "query", path, "select distinct lane from spans"], check=True,
                               capture_output=True, text=True).stdout.split()
        report = json.loads(subprocess.run([CAIRN, "report", "--json", path], check=True,
                                           capture_output=True, text=True).stdout)
        wall = next(metric for metric in report["metrics"] if metric["name"] == "wall")
        if len(lanes) == 1 + 3 and 2 <= wall["sampling"]["samples"] < 100:  # 1: the heading
            return
    raise AssertionError("one worker took all jobs, or no sample was taken, in %d runs" % tries)


C_PROGRAM = """#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static __attribute__((noinline)) char *grow(size_t n) { return memset(malloc(n), 1, n); }
static __attribute__((noinline)) void fill(int n)
{
    for (int i = 0; i < n; i++) {
        char *p = grow((size_t)i * 8 + 1);
        if (i % 3)
            free(p);
    }
}
int main(void)
{
    fill(3000);
    return fib(22) == 0;
}
"""


NAPPING = """#include <time.h>
static volatile unsigned long sum;
static __attribute__((noinline)) void nap(void)
{
    nanosleep(&(struct timespec){0, 20000000}, 0);
}
static __attribute__((noinline)) void compute(void)
{
    for (unsigned long i = 0; i < 20000000; i++)
        sum += i * sum + 1;
}
int main(void)
{
    for (int i = 0; i < 8; i++) {
        nap();
        compute();
    }
    return 0;
}
"""


def capture_c(folder):
    """A C program with its calls, the same with its allocations, and both kinds of lanes merged. One
    that is sampled from outside and waits."""
    run = {"cwd": folder, "check": True, "stdout": subprocess.DEVNULL}
    with open(os.path.join(folder, "filling.c"), "w", encoding="ascii") as file:
        file.write(C_PROGRAM)
    subprocess.run([CAIRN, "cc", "-O1", "-g", "filling.c", "-o", "filling"], **run)
    subprocess.run([CAIRN, "run", "-o", "c.cairn", "./filling"], **run)
    subprocess.run(["gcc", "-O1", "-g", "filling.c", "-o", "plain"], **run)
    subprocess.run([CAIRN, "run", "--alloc=exact", "-o", "alloc.cairn", "./plain"], **run)
    with open(os.path.join(folder, "napping.c"), "w", encoding="ascii") as file:
        file.write(NAPPING)
    subprocess.run(["gcc", "-O1", "-g", "napping.c", "-o", "napping"], **run)
    subprocess.run([CAIRN, "run", "-o", "waits.cairn", "./napping"], **run)
    subprocess.run([CAIRN, "merge", "-o", "merged.cairn", "c.cairn", "jobs.cairn"], **run)


def capture_frames(folder):
    """A camera at 60 Hz, a tracker and a display; every ninth image is tracked too late. A counter of
    images that wait, log lines about late ones, and a tracker that waits, and then is ready. Samples of
    the tracker: if it takes long, it searches."""
    lanes = {"camera": [], "tracker": [], "display": []}
    for i in range(45):
        start, took = i * 16000, 20000 if i % 9 == 4 else 4000
        lanes["camera"].append("span c%d %d %d camera #%d" % (i, start, start + 2000, i))
        if i % 9 != 5:
            lanes["tracker"].append("span t%d %d %d track #%d <c%d @%d" %
                                    (i, start + 2500, start + 2500 + took, i, i, start + 1500))
            lanes["display"].append("span d%d %d %d display #%d" %
                                    (i, start + 3000 + took, start + 5000 + took, i))
    lanes["tracker"].append("thread 5")
    for i in range(45):
        moments = [] if i % 9 == 5 else [1000, 3000] + (list(range(5000, 20000, 2000)) if i % 9 == 4 else [])
        lanes["tracker"] += ["sample %d 2000 main track %s" %
                             (i * 16000 + 2500 + at, "match" if at < 4000 else "relocalize search")
                             for at in moments]
    lines = []
    for lane, spans in lanes.items():
        lines += ["lane " + lane] + spans
    lines += ["counter c%d waiting %d %d" % (i, i % 9 - 2, i * 16000 + 500) for i in range(45)]
    lines += ["event t%d 3 %d image %d is late" % (i, i * 16000 + 9000, i)
              for i in range(45) if i % 9 == 4]
    lines += ["off 1 0 0 0 0"]
    lines += ["off 1 %d 500 300 %d" % (i * 16000 + 3000, i * 16000 + 3800)
              for i in range(45) if i % 9 != 5]
    lines += ["follows d%d t%d %d" % (i, i, i * 16000 + 30000) for i in range(45) if i % 9 != 5]
    subprocess.run([os.environ["RECORDED"], os.path.join(folder, "frames.cairn")], check=True,
                   input="\n".join(lines) + "\n", text=True)


def captures(folder):
    """Returns their names; the first two are compared."""
    capture_lua(folder, "lua.cairn", "handbook")
    capture_lua(folder, "other.cairn", "puzzles")
    capture_jobs(os.path.join(folder, "jobs.cairn"))
    capture_deep(folder)
    capture_frames(folder)
    capture_c(folder)
    with open(os.path.join(folder, "imported.txt"), "w", encoding="ascii") as file:
        file.write("main;work 1000000\nmain;[missing] 3\nmain;work;[folded] 4\n")
    with open(os.path.join(folder, "tall.txt"), "w", encoding="ascii") as file:
        file.write(";".join("level%d" % i for i in range(TALL)) + " 70\nlevel0;beside 30\n")
    with open(os.path.join(folder, "narrow.txt"), "w", encoding="ascii") as file:
        file.write("main;work 1000000\nmain;tiny;deeper;[missing] 3\nmain;small;[folded] 4\n")
    subprocess.run([os.environ["ODD_SPANS"]], check=True,
                   env=dict(os.environ, CAIRN_OUT=os.path.join(folder, "odd.cairn")))
    names = ["lua.cairn", "other.cairn", "jobs.cairn", "deep.cairn", "imported.txt", "tall.txt",
             "narrow.txt", "odd.cairn", "cut.cairn"]
    with open(os.path.join(folder, "lua.cairn"), "rb") as file:
        whole = file.read()
    with open(os.path.join(folder, "cut.cairn"), "wb") as file:
        file.write(whole[:len(whole) * 9 // 10])
    stream = os.path.join(STREAMS, "fble-bench.ev.zst")
    if os.path.exists(stream) and shutil.which("zstd"):
        with subprocess.Popen(["zstd", "-dcq", stream], stdout=subprocess.PIPE) as words:
            subprocess.run([PLAY_STREAM, os.path.join(folder, "stream.cairn"),
                            os.path.join(STREAMS, "fble-bench.names")],
                           stdin=words.stdout, check=True)
        names.append("stream.cairn")
    capture_lua(folder, "again.cairn", "handbook", 1700)  # the first one's program, other samples
    return names + ["again.cairn", "frames.cairn"]


def main():
    fetch()
    with tempfile.TemporaryDirectory() as folder:
        names = captures(folder)
        return subprocess.run(["node", os.path.join(HERE, "page.mjs"), CAIRN, folder, PICTURES, KEPT,
                               *names], env=dict(os.environ, SOURCES=SOURCES, CHROMIUM=CHROMIUM,
                                               LIVE=LIVE),
                              check=False).returncode


sys.exit(main())
