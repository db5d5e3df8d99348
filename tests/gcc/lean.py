#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs compiled with --lean: each function has the calls that it has without, each context
those that are left when the functions that are counted alone are taken out of the paths.

Usage: lean.py CAIRN GCC GXX [WORD...]        prints TAP; cases whose names have all words
"""
import os
import subprocess
import sys

import run as base
from run import (CAIRN, calls_of, case, contexts, counted, counts_match, plain, profiled, record,
                 report, run, stacks_match)

base.CASES.clear() # those of run.py are another test
PROGRAMS = [["tail.c"], ["jumps.c"], ["threads.c"], ["process.c"], ["exceptions.cpp"],
            ["user.c", "library.c"]]
WAYS = [["-O0"], ["-O2"], ["-O3"], ["-Os", "-fPIC", "-flto"], ["-O2", "-fPIC"],
        ["-O2", "-fno-pie", "-no-pie", "-static"]]


def write_list(names, functions):
    """A list of functions as `cairn cc` hands it to the plugin."""
    with open("list", "w", encoding="utf-8") as file:
        for function in functions:
            for name in names:
                file.write("%s\t%s\n" % (function, name))


def compare(names, chosen, *options):
    plain(names, *options)
    profiled(names, *options)
    whole = record(names)
    write_list(names, [name for name in sorted(calls_of(whole)) if chosen(name)])
    base.build("profiled", [CAIRN, "c++" if base.is_cpp(names) else "cc", "--lean"], names,
               [*options, "-fplugin-arg-cairn_gcc-lean=" + os.path.abspath("list")])
    rows = record(names)
    stacks_match(rows)
    counts_match(rows, counted(names))


def any_function(name):
    return name != "main"


def every_other(name):
    return name != "main" and sum(map(ord, name)) % 2 == 0


for each in PROGRAMS:
    for way in WAYS:
        for which in (any_function, every_other):
            case("%s counts like its reference, lean: %s, %s" % (
                each[0], which.__name__.replace("_", " "), " ".join(way)), each, which, *way)(compare)
    for way in (["-O0"], ["-O2"], ["-O3", "-flto"]):
        case("%s counts like its reference, lean by an estimate: %s" % (each[0], " ".join(way)),
             each, *way, "--lean")(base.compare)


TURNS = """
#include <stdlib.h>
__attribute__((noipa)) int step(int n) { return n * 3 + 1; }
__attribute__((noipa)) int fold(int n) { return step(n) ^ step(n + 1); }
__attribute__((noipa)) int other(int n) { return n ^ step(n); }
__attribute__((noipa)) int folds(int n)
{
    int sum = 0;
    while (n-- > 0)
        sum += fold(n);
    return sum;
}
__attribute__((noipa)) int others(int n)
{
    int sum = 0;
    while (n-- > 0)
        sum += other(n);
    return sum;
}
int main(int count, char **words)
{
    int turns = atoi(words[1]);
    return (folds(turns) + others(atoi(words[2]))) & (count - count);
}
"""


def turns(*options, **environment):
    with open("turns.c", "w", encoding="utf-8") as file:
        file.write(TURNS)
    run(CAIRN, "cc", "-O2", *options, "turns.c", "-o", "turns", **environment)


TURNS_OF_THREADS = """
#include <pthread.h>
__attribute__((noipa)) int leaf(int n) { return n * 3; }
__attribute__((noipa)) int down(int n) { return n ? down(n - 1) + leaf(n) : leaf(n); }
__attribute__((noipa)) void *turn(void *none)
{
    for (int i = 0; i < 1000; i++)
        down(3);
    return none;
}
int main(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 65536 + i % 3 * 40000 * 1024L + (i & 1 ? 1 << 24 : 0));
        pthread_create(&thread, &attributes, turn, 0);
        pthread_join(thread, 0);
    }
    return 0;
}
"""


@case("a thread that gets the lane of another has rows of its own")
def lanes_are_reused():
    with open("threaded.c", "w", encoding="utf-8") as file:
        file.write(TURNS_OF_THREADS)
    run(CAIRN, "cc", "-O2", "--lean", "threaded.c", "-o", "threaded", "-pthread")
    for _ in range(8):
        run("./threaded", CAIRN_OUT="x.cairn")
        calls = {row["block"]["name"]: row["calls"] for row in report("x.cairn")["flat"]}
        assert (calls["turn"], calls["down"], calls["leaf"]) == (20, 80000, 80000), calls


def calls_by_path(folds, others, capture="x.cairn"):
    run("./turns", str(folds), str(others), CAIRN_OUT=capture)
    return {path[2:]: row["calls"] for path, row in contexts(capture) if row["calls"]}


def marked():
    rows = report("x.cairn", "--tree", "-T", "0")["tree"]
    return sorted({row["block"]["name"] for row in rows if row["block"].get("counted")})


LEAN = {(): 1, ("folds",): 1, ("folds", "fold"): 300000, ("folds", "step"): 600000,
        ("others",): 1, ("others", "other"): 20, ("others", "other", "step"): 20}


@case("the run before chooses; callees of what is counted are one level up, and rows say so")
def chosen_by_a_run():
    turns()
    whole = calls_by_path(300000, 20, "before.cairn")
    assert whole[("folds", "fold", "step")] == 600000, whole
    for options, environment in ((["--lean=before.cairn"], {}),
                                 ([], {"CAIRN_LEAN": os.path.abspath("before.cairn")})):
        turns(*options, **environment)
        assert calls_by_path(300000, 20) == LEAN
        assert marked() == ["fold", "step"], marked()
        text = run(CAIRN, "report", "x.cairn")
        assert "fold (counted)" in text and "folds (counted)" not in text, text
        assert "of 2 functions marked" in text, text
        assert not report("x.cairn")["warnings"], report("x.cairn")["warnings"]


@case("a run chooses functions until those that are left have less than a thousandth of the calls")
def most_calls_are_chosen():
    for others, expected in ((3000, ["fold", "other", "step"]), (200, ["fold", "step"])):
        turns()
        calls_by_path(300000, others, "before.cairn")
        turns("--lean=before.cairn")
        calls_by_path(300000, others)
        assert marked() == expected, (others, marked())


@case("a run that calls other functions most is warned about, with the command that renews the choice")
def other_functions():
    turns()
    calls_by_path(300000, 20, "before.cairn")
    turns("--lean=before.cairn")
    calls = calls_by_path(20, 300000)
    assert calls[("others", "other")] == 300000 and calls[("folds", "fold")] == 20, calls
    (warning,) = report("x.cairn")["warnings"]
    assert warning.startswith("50 % ") and "cairn cc --lean=x.cairn" in warning, warning
    os.rename("x.cairn", "renewed.cairn")
    turns("--lean=renewed.cairn")
    calls = calls_by_path(20, 300000)
    assert calls[("others", "other")] == 300000 and calls[("others", "step")] == 300000, calls
    assert "other" in marked() and not report("x.cairn")["warnings"], marked()


TRIES = """
#include <setjmp.h>
#include <stdlib.h>
static jmp_buf *innermost;
__attribute__((noipa)) int fails(int n)
{
    if (n % 3 == 0)
        longjmp(*innermost, 1);
    return n;
}
__attribute__((noipa)) int deeper(int n) { return fails(n) + fails(n / 3); }
__attribute__((noipa)) int after(int n) { return n + 1; }
__attribute__((noipa)) int tries(int n)
{
    jmp_buf own, *before = innermost;
    volatile int result = 0;
    if (n & 1)
        return after(n);
    innermost = &own;
    if (setjmp(own) == 0)
        result = deeper(n);
    innermost = before;
    return after(result);
}
int main(int count, char **words)
{
    int sum = 0;
    for (int i = 0; i < atoi(words[1]); i++)
        sum += tries(i);
    return after(sum) & (count - count);
}
"""


@case("a function that calls setjmp is counted, and jumps to it lead back to the context around it")
def tries_are_counted():
    with open("tries.c", "w", encoding="utf-8") as file:
        file.write(TRIES)
    for way in WAYS:
        write_list(["tries.c"], ["tries"])
        run(CAIRN, "cc", "--lean", *way, "-fplugin-arg-cairn_gcc-lean=" + os.path.abspath("list"),
            "tries.c", "-o", "tries")
        run("./tries", "600", CAIRN_OUT="x.cairn")
        calls = {path[2:]: row["calls"] for path, row in contexts("x.cairn") if row["calls"]}
        assert calls == {(): 1, ("tries",): 600, ("after",): 601, ("deeper",): 300,
                         ("deeper", "fails"): 500}, (way, calls)
        assert marked() == ["tries"] or way == ["-O0"], (way, marked())
        assert report("x.cairn")["notes"].get("misuses", "0") == "0"


@case("without a run before an estimate chooses, of the loops around calls")
def estimated():
    turns("--lean")
    calls = calls_by_path(300000, 300000)
    assert calls[("folds", "fold")] == calls[("others", "other")] == 300000, calls
    assert set(marked()) >= {"step", "fold", "other"} and "main" not in marked(), marked()


@case("what cannot choose, or cannot be combined, is refused with a message")
def refused():
    turns()

    def message(*options):
        done = subprocess.run([CAIRN, "cc", *options, "-c", "turns.c"], capture_output=True,
                              text=True, check=False)
        assert done.returncode and done.stdout == "", done
        return done.stderr

    assert "missing.cairn" in message("--lean=missing.cairn")
    assert "--standby" in message("--lean", "--standby")
    run(CAIRN, "run", "--quiet", "-o", "native.cairn", "/bin/true")
    assert "no numbers of calls" in message("--lean=native.cairn")


if __name__ == "__main__":
    sys.exit(base.main())
