#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that keep books on what they allocate run under `cairn run --alloc`: what the capture
says is held against the books, to the byte.

Usage: run.py CAIRN PROGRAM PLUGINS [NAME...]        prints TAP
"""
import glob
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys

from cases import run_all

CAIRN, PROGRAM, PLUGINS = (os.path.abspath(argument) for argument in sys.argv[1:4])
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = []
FIGURES = ["alloc bytes", "alloc objects", "freed bytes", "freed objects"]


def test(function):
    TESTS.append(function)
    return function


def run(*command, mode="exact", seed=1, status=0):
    environment = dict(os.environ, ALLOC_BOOKS="books", ALLOC_PLUGINS=PLUGINS,
                       CAIRN_ALLOC_SEED=str(seed))
    for name in ("CAIRN_OUT", "CAIRN_ALLOC", "LD_PRELOAD"):
        environment.pop(name, None)
    done = subprocess.run([CAIRN, "run", "--quiet", "--alloc=" + mode, "-o", "x.cairn", *command],
                          env=environment, capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == status, done
    assert not done.stderr, done.stderr
    return done.stdout


def report(path="x.cairn"):
    done = subprocess.run([CAIRN, "report", "--json", "--top", "0", "--metric",
                           ",".join(FIGURES + ["peak bytes"]), path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def follow(mode):
    subprocess.run([os.path.join(PLUGINS, "follow"), "x.cairn", mode], check=True, timeout=300,
                   env=dict(os.environ, ALLOC_BOOKS="books"))
    return report()


def by_function(found, kind="self"):
    sums = {}
    for row in found["flat"]:
        name = row["block"]["name"]
        sums[name] = [a + row[kind].get(f, 0)
                      for a, f in zip(sums.get(name, [0] * len(FIGURES)), FIGURES)]
    return sums


def books():
    with open("books", encoding="utf-8") as file:
        lines = [line.split() for line in file]
    return {line[0]: [int(number) for number in line[1:]] for line in lines}


def totals(found):
    return {metric["name"]: metric["total"] for metric in found["metrics"]}


def check(*command, status=0, whole=True):
    """Runs, and holds each function's figures against its books. Returns the report. `whole`: all
    stacks can be followed to their ends."""
    run(*command, status=status)
    found = report()
    figures = by_function(found)
    for function, expected in books().items():
        if not function.startswith("["):
            assert figures.get(function) == expected, (function, figures.get(function), expected)
    unknown = [row for row in found["flat"] if row["block"]["name"] == "[no unwind information]"]
    assert bool(unknown) != whole, unknown
    return found


# ---- counts ----

@test
def each_function_of_malloc():
    check(PROGRAM, "each")


@test
def what_is_refused_is_not_counted():
    check(PROGRAM, "refused")


@test
def at_random_in_one_thread():
    check(PROGRAM, "at_random")


@test
def blocks_that_another_thread_frees():
    check(PROGRAM, "threads")


@test
def short_lived_threads_and_what_they_do_at_their_end():
    check(PROGRAM, "short_lives")


@test
def libraries_that_come_and_go():
    check(PROGRAM, "libraries")


@test
def exceptions():
    compiler = os.environ.get("CXX") or shutil.which("g++")
    if not compiler:
        return "g++ is not here"
    subprocess.run([compiler, "-O2", "-g", "-I", HERE, "-o", "exceptions",
                    os.path.join(HERE, "exceptions.cpp"), os.path.join(HERE, "accounts.c"),
                    "-fpermissive", "-w", "-pthread"], check=True)
    found = check("./exceptions")
    inclusive = by_function(found, "inclusive")
    assert inclusive["main"][0] >= sum(b[0] for b in books().values())
    return None


# ---- stacks ----

@test
def a_million_frames():
    found = check(PROGRAM, "deep")
    inclusive = by_function(found, "inclusive")
    assert inclusive["descend_in_thread"][:2] == books()["by_malloc"][:2], inclusive


@test
def frames_of_variable_size():
    found = check(PROGRAM, "variable_frames")
    inclusive = by_function(found, "inclusive")
    assert inclusive["in_variable_frame"][:2] == books()["by_malloc"][:2], inclusive


@test
def coroutines_have_stacks_of_their_own():
    # The function that makecontext contexts return to has no caller, and unwind information does
    # not say so.
    found = check(PROGRAM, "coroutines", whole=False)
    inclusive = by_function(found, "inclusive")
    assert inclusive["run_coroutine"][:2] == books()["by_malloc"][:2], inclusive


@test
def signals_while_in_malloc_and_malloc_while_in_signals():
    found = check(PROGRAM, "signals")
    inclusive = by_function(found, "inclusive")
    assert inclusive["raise_signal"][:2] == [20 * 40, 20], inclusive["raise_signal"]
    assert inclusive["allocate_in_handler"][:2] == [20 * 40, 20]


@test
def jumps_out_of_handlers():
    check(PROGRAM, "jumps")


# ---- processes ----

@test
def forks():
    check(PROGRAM, "forks")
    children = sorted(glob.glob("x.*.cairn"))
    assert len(children) == 3, children
    for child in children:
        figures = totals(report(child))
        assert [figures[f] for f in FIGURES] == [123456, 1, 0, 0], figures
        assert figures["peak bytes"] == 123456, figures
        os.unlink(child)


@test
def children_without_fork_are_not_in_their_parents_capture():
    check(PROGRAM, "children_without_fork")
    assert not glob.glob("x.*.cairn")


@test
def a_program_that_ends_at_once():
    check(PROGRAM, "ends_at_once")


@test
def a_program_that_is_killed():
    check(PROGRAM, "is_killed", status=-signal.SIGKILL)


@test
def a_program_that_aborts():
    check(PROGRAM, "aborts", status=-signal.SIGABRT)


# ---- the peak ----

def peak_within(found, part):
    """The peak bytes of all contexts against the program's own; what it has not counted itself (of
    stdio, of threads) is in the whole, too."""
    own = books()["[peak]"][0]
    peak = sum(row["self"]["peak bytes"] for row in found["flat"]
               if row["block"]["name"].startswith("by_"))
    assert abs(peak - own) <= part * own, (peak, own)


@test
def the_peak_of_one_thread():
    peak_within(check(PROGRAM, "peak"), 0.01)


@test
def the_peak_of_several_threads():
    for _ in range(5):
        peak_within(check(PROGRAM, "peak_of_threads"), 0.01)


# ---- samples ----

def chance(size, mean):
    return -math.expm1(-size / mean)


@test
def samples_are_unbiased():
    """The mean of many runs lies within four standard errors, each run within five."""
    mean, seeds = 4096, 80
    run(PROGRAM, "amounts")
    truth = books()
    sizes = {"by_malloc": 24, "by_calloc": 1000}
    sums = {name: [0] * 4 for name in sizes}
    for seed in range(1, seeds + 1):
        run(PROGRAM, "amounts", mode=str(mean), seed=seed)
        figures = by_function(report())
        for name in sums:
            sums[name] = [a + b for a, b in zip(sums[name], figures.get(name, [0] * 4))]
    for name, size in sizes.items():
        p = chance(size, mean)
        for i, figure in enumerate(FIGURES):
            true = truth[name][i]
            unit = size if "bytes" in figure else 1
            count = true / unit
            # The weight of a sample is rounded at random, which adds at most 1/4 to the variance.
            variance = count * (unit * unit * (1 - p) / p + p / 4)
            error = sums[name][i] / seeds - true
            assert abs(error) <= 4 * math.sqrt(variance / seeds), (name, figure, error)
            assert abs(error) > 0, "nothing was sampled"


@test
def blocks_at_one_address_are_unbiased():
    """A block of the mean size stands for 1.58 objects: rounded always alike, it would be 1 or 2."""
    size, count = 4096, 20000
    p = chance(size, size)
    for seed in range(1, 9):
        run(PROGRAM, "same_again", mode=str(size), seed=seed)
        figures = by_function(report())["by_malloc"]
        for figure, value in zip(FIGURES, figures):
            unit = size if "bytes" in figure else 1
            error = math.sqrt(count * (unit * unit * (1 - p) / p + p / 4))
            assert abs(value - count * unit) <= 5 * error, (seed, figure, value, error)
        assert figures[:2] == figures[2:], figures


@test
def reports_of_samples_say_how_sure_they_are():
    run(PROGRAM, "same_again", mode="4096")
    text = subprocess.run([CAIRN, "report", "x.cairn"], capture_output=True, text=True,
                          check=True).stdout
    assert ", live less than about 14.8 KiB, the peak between" in " ".join(text.split()), text
    run(PROGRAM, "amounts", mode="4096")
    text = subprocess.run([CAIRN, "report", "x.cairn"], capture_output=True, text=True,
                          check=True).stdout
    assert re.search(r", live between \S+ \S+ and", " ".join(text.split())), text


@test
def samples_of_the_same_seed_are_the_same():
    seen = []
    for _ in range(2):
        run(PROGRAM, "amounts", mode="4096", seed=7)
        seen.append([sum(1 for row in report()["flat"]), by_function(report()).get("by_calloc")])
    assert seen[0] == seen[1], seen


# ---- other programs ----

@test
def strands_of_the_programs_own():
    environment = dict(os.environ, ALLOC_BOOKS="books")
    environment.pop("CAIRN_ALLOC", None)
    subprocess.run([os.path.join(PLUGINS, "follow"), "x.cairn"], env=environment, check=True,
                   timeout=300)
    found = report()
    figures = by_function(found)
    for block, expected in books().items():
        assert figures[block] == expected, (block, figures[block], expected)
    names = [metric["name"] for metric in found["metrics"]]
    assert len(set(names)) == len(names), names


@test
def lanes_that_threads_follow_in_turn():
    found = follow("turns")
    assert by_function(found)["parse"] == [200200, 2002, 200200, 2002], by_function(found)


@test
def recording_that_is_off_for_a_while():
    found = follow("off")
    assert by_function(found)["parse"] == [1017, 3, 1010, 2], by_function(found)
    assert totals(found)["peak bytes"] == 1010, totals(found)


@test
def peaks_of_lanes_that_nobody_follows():
    found = follow("peak")
    peaks = {row["block"]["name"]: row["self"].get("peak bytes", 0) for row in found["flat"]}
    assert 0.99 * 400000 <= peaks["parse"] <= 400000, peaks
    assert 0.99 * 1000000 <= peaks["build"] <= 1000000, peaks


@test
def what_lived_before_a_reset_is_not_freed_after_it():
    found = follow("reset")
    assert by_function(found)["parse"] == [150, 2, 100, 1], by_function(found)
    assert totals(found)["freed objects"] == 1, totals(found)
    assert totals(found)["peak bytes"] == 150, totals(found)


@test
def live_bytes_and_the_rate_of_allocation_are_counters():
    follow("time")
    def values(name):
        sql = f"select at, value from counters where name = '{name}' order by at"
        done = subprocess.run([CAIRN, "query", "--json", "x.cairn", sql], check=True, capture_output=True)
        return json.loads(done.stdout)["rows"]
    live, rate, step = values("live bytes"), values("allocation rate"), 32 * 1000
    assert len(live) == len(rate) > 50, (len(live), len(rate))
    top = max(range(len(live)), key=lambda i: live[i][1])
    assert 4000000 - 4 * step <= live[top][1] <= 4000000, live[top]
    assert all(a[1] < b[1] for a, b in zip(live[:top], live[1:top + 1])), "it grows"
    assert all(a[1] > b[1] for a, b in zip(live[top + 1:], live[top + 2:])), "it shrinks"
    # What was allocated between two values is their difference while nothing is freed.
    total = sum(rate[i][1] * (rate[i][0] - rate[i - 1][0]) / 1e9 for i in range(1, top + 1))
    assert abs(total - (live[top][1] - live[0][1])) < 0.05 * total, total
    assert rate[-1][1] == 0, rate[-1]


@test
def programs_do_what_they_do_without_it():
    with open("text", "w", encoding="utf-8") as file:
        file.writelines(f"line {i * 7919 % 5003} of a text\n" for i in range(20000))
    with open("unit.c", "w", encoding="utf-8") as file:
        file.write("#include <stdio.h>\nint main(void) { puts(\"x\"); return 0; }\n")
    commands = [["sort", "--parallel=2", "text"], ["gcc", "-O2", "-S", "-o", "-", "unit.c"],
                ["git", "--version"], ["git", "diff", "--no-index", "text", "unit.c"],
                ["/usr/bin/python3", "-c", "import json, re, sys; print(json.dumps(sys.path))"],
                ["perl", "-e", "print join(',', map { $_ * 2 } 1 .. 1000)"],
                ["jq", "-n", "[range(1000)] | map({a: .}) | length"],
                ["env", "-i", "A=1", "/usr/bin/env"], ["bash", "-c", "ls / | (sort; echo done)"],
                ["lua5.4", "-e", "local t = {} for i = 1, 1e4 do t[i] = {i} end print(#t)"],
                ["ls", "/usr/bin"], ["tar", "cf", "-", "text", "--mtime=2026-01-01"]]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": os.getcwd()}
    preload = os.path.join(os.path.dirname(CAIRN), "hosts/alloc/libcairn-alloc.so")
    ran = 0
    for command in commands:
        path = shutil.which(command[0])
        if not path:
            continue
        plain = subprocess.run(command, env=environment, capture_output=True, check=False)
        for mode in ("exact", "10000"):
            added = dict(environment, LD_PRELOAD=preload, CAIRN_ALLOC=mode, CAIRN_OUT="y.cairn")
            under = subprocess.run(command, env=added, capture_output=True, check=False)
            assert (plain.returncode, plain.stdout, plain.stderr) == \
                (under.returncode, under.stdout, under.stderr), (command, mode, under.stderr)
            assert os.path.exists("y.cairn"), command
            figures = totals(report("y.cairn"))
            assert 0 <= figures["freed bytes"] and figures["alloc bytes"] >= 0, figures
            assert mode != "exact" or figures["alloc bytes"] > 0, figures
            for capture in glob.glob("y*.cairn"):
                os.unlink(capture)
        ran += 1
    assert ran >= 5, ran


@test
def the_environment_is_as_it_was():
    preload = os.path.join(os.path.dirname(CAIRN), "hosts/alloc/libcairn-alloc.so")
    out = subprocess.run(["/usr/bin/env"], capture_output=True, text=True, check=True, env={
        "A": "1", "LD_PRELOAD": preload, "CAIRN_ALLOC": "exact", "CAIRN_OUT": "z.cairn", "B": "2"})
    assert out.stdout == "A=1\nB=2\n", out.stdout
    other = "/lib/x86_64-linux-gnu/libdl.so.2"
    if os.path.exists(other):
        out = subprocess.run(["/usr/bin/env"], capture_output=True, text=True, check=True, env={
            "LD_PRELOAD": f"{preload} {other}", "CAIRN_ALLOC": "exact", "CAIRN_OUT": "z.cairn"})
        assert out.stdout == f"LD_PRELOAD={other}\n", out.stdout
    # bash has an unsetenv of its own.
    out = subprocess.run([CAIRN, "run", "--alloc", "-o", "z.cairn", "bash", "-c", "env"],
                         capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]})
    assert "CAIRN" not in out.stdout and "LD_PRELOAD" not in out.stdout, out.stdout


@test
def a_malloc_of_the_programs_own_is_left_alone():
    with open("own.c", "w", encoding="utf-8") as file:
        file.write("""
            #include <stddef.h>
            #include <stdio.h>
            static char heap[1 << 20]; static size_t used;
            void *malloc(size_t size) { void *p = heap + used; used += (size + 15) / 16 * 16;
                                        return p; }
            void free(void *p) { (void)p; }
            void *calloc(size_t n, size_t size) { return malloc(n * size); }
            void *realloc(void *p, size_t size) { (void)p; return malloc(size); }
            int main(void) { void *p = malloc(10); free(p); puts(p >= (void *)heap &&
                             p < (void *)(heap + sizeof heap) ? "mine" : "not mine"); return 0; }
            """)
    subprocess.run(["cc", "-fno-builtin", "-o", "own", "own.c"], check=True)
    assert run("./own") == "mine\n"
    assert totals(report())["alloc bytes"] == 0


def said(*command):
    done = subprocess.run([CAIRN, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout


def told(*killed, status=0, mode="exact"):
    run(os.path.join(PLUGINS, "starved"), *killed, status=status, mode=mode)
    memory, text = report()["memory"], said("report", "x.cairn")
    assert memory["lost"], memory
    assert "not every allocation and free was counted" in text, text
    assert "memory ran out" in text and "; no free seen of " in text, text
    for untrue in ("every allocation was counted", "live at the end", "95 % interval: allocated"):
        assert untrue not in text, text
    for how in (), ("--json",), ("--why",), ("--why", "--json"):
        assert "memory ran out" in said("diff", *how, "x.cairn", "x.cairn"), how


@test
def what_is_lost_without_memory_is_said():
    told()
    told(mode="4096")
    told("killed", status=-signal.SIGKILL)


if __name__ == "__main__":
    wanted = sys.argv[4:]
    sys.exit(run_all([t for t in TESTS if not wanted or t.__name__ in wanted]))
