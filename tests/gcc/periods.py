#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of cairn cc --standby that a signal switches on and off while they run: each period counts
exactly what is entered in it, and nothing else is disturbed.

Usage: periods.py CAIRN GCC GXX [WORD...]        prints TAP; cases whose names have all words
"""
import fcntl
import glob
import os
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import run as base
from run import CAIRN, case, contexts, profiled, report, run

base.CASES.clear()  # those of run.py are another test
WAYS = [["-O0"], ["-O2"], ["-O3", "-flto"], ["-Os", "-fPIC"], ["-O2", "-fno-pie", "-no-pie", "-static"],
        ["-O2", "--inlined"], ["-O2", "--inlined", "--profile=count+time"], ["-O2", "-fsanitize=address"]]
SWITCHED = {"CAIRN_SWITCH": "USR2", "CAIRN_SWITCH_OUT": "x.cairn"}
EXACT = {"CAIRN_WALL": "exact"}


def clean():
    for name in glob.glob("*.cairn"):
        os.unlink(name)


def calls_by_path(name):
    """Calls of each context, without those that have none."""
    found = {}
    for path, row in contexts(name):
        if row["calls"] and len(path) > 1:
            path = " ".join(path[1:])
            found[path] = found.get(path, 0) + row["calls"]
    return found


def number_of(name):
    return int(name.split(".")[2])


def periods():
    return sorted(glob.glob("x.*.*.cairn"), key=number_of)


def below(path, inner):
    """The calls of `inner` calls of the function inner at the path."""
    path = path + " " if path else ""
    return {path + "inner": inner, path + "inner leaf": inner}


def switched(*options, what, env):
    profiled(["periods.c"], *options, "--standby")
    clean()
    run("./profiled", what, **SWITCHED, **env)


THREADS = {"work": 4, "brief": 4, "brief work": 4, **below("work", 4000), **below("brief work", 40)}
FRAMES = [
    {**below("", 2), "leaf": 3, "closed": 3, **below("closed", 1)},
    {"tail_inner": 1, **below("tail_inner", 1), "tail": 1, "tail tail_inner": 1,
     **below("tail tail_inner", 1), "over": 3},
    {**below("", 3), "leaf": 1},
]
CAUGHT = {"try_jump": 4, "try_jump jump": 12, **below("", 5)}
JUMPS = [
    {**CAUGHT, "caught": 1, "caught try_jump": 1, "caught try_jump jump": 3, **below("caught", 1),
     "caught again": 1},
    CAUGHT,
]
EXPECTED = {"threads": [THREADS] * 3, "frames": FRAMES, "jumps": JUMPS}


def is_exact(what, env, *options):
    switched(*options, what=what, env=env)
    found = [calls_by_path(name) for name in periods()]
    assert found == EXPECTED[what], "%r\nnot %r" % (found, EXPECTED[what])


for way in WAYS:
    for each in EXPECTED:
        for clock in ({}, EXACT):
            case("%s: each period counts exactly what is entered in it, %s %s" % (
                each, " ".join(way), " ".join(clock.values())), each, clock, *way)(is_exact)


@case("children of fork: one that begins in a period has its own capture, another is switched itself")
def forks():
    for options in (["-O2"], ["-O0"], ["-O2", "-static"]):
        switched(*options, what="forks", env={})
        found = sorted((calls_by_path(name) for name in glob.glob("*.cairn")), key=str)
        in_child = {"in_child": 1, "in_child work": 1, **below("in_child work", 2)}
        assert found == sorted([below("", 1), in_child, below("", 1), {"leaf": 1}], key=str), found


@case("a thread that is cancelled while it opens the period ends after that, as cancelled")
def cancelled():
    profiled(["cancel_inside.c"], "-O2", "--standby", "-rdynamic")
    clean()
    assert run("./profiled", **SWITCHED) == "1\n"
    assert calls_by_path(periods()[0])["after_thread"] == 1


@case("without CAIRN_SWITCH the signal does what it does, and with an odd one, too")
def not_asked():
    profiled(["periods.c"], "-O2", "--standby")
    for value in ({}, {"CAIRN_SWITCH": "USR3"}, {"CAIRN_SWITCH": "SEGV"}, {"CAIRN_SWITCH": "KILL"}):
        run("./profiled", "frames", status=-signal.SIGUSR2, **value)
        assert not glob.glob("*.cairn")


def calls_until_now(begun):
    """Returns how often a server has called `serve`: it prints a dot each time, which nobody reads."""
    return struct.unpack("i", fcntl.ioctl(begun.stdout, termios.FIONREAD, b"    "))[0]


def pending(begun, number):
    """Returns true if the process has this signal to come."""
    with open("/proc/%d/status" % begun.pid, encoding="utf-8") as file:
        masks = dict(line.split(":", 1) for line in file)
    return int(masks["ShdPnd"], 16) >> (number - 1) & 1


def until(true):
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def wait_for_calls(begun, count):
    most = calls_until_now(begun) + count
    until(lambda: calls_until_now(begun) >= most)


@case("the signal's names, and names of captures: no other file is replaced")
def names():
    profiled(["periods.c"], "-O2", "--standby")
    for value in ("USR2", "SIGUSR2", str(int(signal.SIGUSR2))):
        clean()
        run("./profiled", "frames", **{**SWITCHED, "CAIRN_SWITCH": value})
        assert len(periods()) == 3, value
    clean()
    begun = subprocess.Popen(["./profiled", "server"], stdout=subprocess.PIPE, text=True,
                             env=dict(os.environ, CAIRN_SWITCH="RTMIN+3"))
    begun.stdout.readline()
    names = ["%d.%d.cairn" % (begun.pid, i) for i in (1, 2, 3)]
    for name in names[:2]:
        with open(name, "w", encoding="utf-8") as file:
            file.write("CAIRN")
    begun.send_signal(signal.SIGRTMIN + 3)
    wait_for_calls(begun, 3)
    begun.send_signal(signal.SIGRTMIN + 3)
    until(lambda: os.path.exists(names[2]))
    begun.kill()
    begun.wait()
    begun.stdout.close()
    assert sorted(glob.glob("*.cairn")) == names, glob.glob("*.cairn")
    assert calls_by_path(names[2])["serve"] > 0
    with open(names[1], encoding="utf-8") as file:
        assert file.read() == "CAIRN"


@case("a program that handles the signal itself keeps its handler, and never sees ours")
def own_handler():
    for options in (["-O2"], ["-O2", "-static"]):
        switched(*options, what="handler", env={})
        assert not glob.glob("*.cairn")


def parts(path):
    """Splits a path where a signal's handler begins, which may interrupt any function."""
    at = path.index("handled") if "handled" in path else len(path)
    return path[:at], path[at:]


def no_path_grew():
    """Signals that come while a capture is written cancel each other, so there may be few captures."""
    found = periods()
    assert found
    for name in found[:: 1 + len(found) // 8]:
        for path, _ in contexts(name):
            program, handler = parts(path)
            assert len(program) <= 5 and handler in ((), ("handled",), ("handled", "leaf")), (name, path)


@case("100 periods while threads call, throw, jump, begin and end: no path grows, nor memory")
def storm():
    for options in (["-O2"], ["-O0"], ["-O2", "--inlined"], ["-O2", "-static"]):
        profiled(["periods.cpp"], *options, "--standby")
        clean()
        grown = int(run("./profiled", "100", **SWITCHED))
        assert grown < 1024, (options, grown)
        no_path_grew()


@case("the same under sanitizers, and with forks")
def storm_checked():
    # In a child of a program with threads the address sanitizer's malloc may wait for ever.
    for more, *options in (([], "-O2", "-fsanitize=address"), (["forks"], "-O1", "-fsanitize=undefined"),
                           (["forks"], "-O2")):
        profiled(["periods.cpp"], *options, "--standby")
        clean()
        run("./profiled", "30", *more, **SWITCHED)
        no_path_grew()


LIBRARY = """
static volatile int sink;
__attribute__((noipa)) void in_library(void) { sink++; }
"""
LOADER = """
#include <dlfcn.h>
#include <stdlib.h>
#include "%s"
SKIPPED static void call(void) {
    void *library = dlopen("./library.so", RTLD_NOW);
    void (*function)(void);
    if (!library)
        abort();
    *(void **)&function = dlsym(library, "in_library");
    function();
    dlclose(library);
}
int main(void) {
    call();
    switch_on();
    call();
    call();
    switch_off();
    call();
    return 0;
}
"""


@case("shared objects that are loaded and unloaded, before, meanwhile and afterwards")
def libraries():
    with open("library.c", "w", encoding="utf-8") as file:
        file.write(LIBRARY)
    with open("loader.c", "w", encoding="utf-8") as file:
        file.write("#define SKIPPED __attribute__((no_instrument_function))\n" +
                   LOADER % os.path.join(base.PROGRAMS, "period.h"))
    run(CAIRN, "cc", "-O2", "--standby", "-shared", "-fPIC", "library.c", "-o", "library.so")
    run(CAIRN, "cc", "-O2", "--standby", "loader.c", "-o", "loader")
    clean()
    run("./loader", **SWITCHED)
    assert [calls_by_path(name) for name in periods()] == [{"in_library": 2}], periods()


INTERRUPTED = """
#define _GNU_SOURCE
#include <stdlib.h>
#include "%s"
static volatile int sink, asks;
__attribute__((noipa)) void interrupted(void) { sink++; }
__attribute__((noipa)) void handled(int number) { raise(SIGUSR2); sink += number; }
/* The runtime calls it while it begins a period, so the signal comes when it has begun. */
SKIPPED char *secure_getenv(const char *name) {
    if (asks) {
        asks = 0;
        raise(SIGUSR1);
    }
    return getenv(name);
}
int main(void) {
    char path[64];
    signal(SIGUSR1, handled);
    raise(SIGUSR2);
    asks = 1;
    interrupted();
    snprintf(path, sizeof path, "x.%%d.1.cairn", (int)getpid());
    while (access(path, F_OK) != 0)
        usleep(100);
    return 0;
}
"""


@case("a handler ends the period: what it interrupted is not below it")
def ends_in_handler():
    with open("interrupted.c", "w", encoding="utf-8") as file:
        file.write("#define SKIPPED __attribute__((no_instrument_function))\n" +
                   INTERRUPTED % os.path.join(base.PROGRAMS, "period.h"))
    for options in (["-O2"], ["-O0"], ["-O2", "-static"]):
        run(CAIRN, "cc", *options, "--standby", "interrupted.c", "-o", "interrupted")
        for clock in ({}, EXACT):
            clean()
            run("./interrupted", **SWITCHED, **clock)
            assert [calls_by_path(name) for name in periods()] == [{"handled": 1}], (options, clock)


# ---- cairn attach ----


def begin(what, **env):
    begun = subprocess.Popen(["./profiled", what], stdout=subprocess.PIPE, text=True,
                             env=dict(os.environ, **env))
    assert begun.stdout.readline() == "ready\n"
    return begun


def end(begun):
    assert begun.poll() is None, "it has ended"
    begun.kill()
    begun.wait()
    begun.stdout.close()


def attach(begun, *options, status=0):
    tool = subprocess.run([CAIRN, "attach", "-o", "a.cairn", *options, str(begun.pid)], text=True,
                          capture_output=True, check=False)
    assert tool.returncode == status, (tool.returncode, tool.stderr)
    return tool.stderr


@case("cairn attach switches such a process on and off, and moves its capture")
def attached():
    for options in (["-O2"], ["-O2", "-static"]):
        profiled(["periods.c"], *options, "--standby")
        clean()
        begun = begin("server", **SWITCHED)
        for _ in range(2):
            before = calls_until_now(begun)
            begun.send_signal(signal.SIGSTOP)  # it acts on no signal for longer than it is to be recorded
            later = threading.Timer(1, begun.send_signal, [signal.SIGCONT])
            later.start()
            said = attach(begun, "--for", "300ms", "--label", "who=me")
            assert "records itself, with exact counts" in said, said
            calls, most = calls_by_path("a.cairn"), calls_until_now(begun) - before + 1
            assert 0 < calls["serve"] <= most, (calls, most)
            assert abs(calls["serve"] - calls["serve inner"]) <= 1, calls
            found = report("a.cairn")["notes"]
            assert found["who"] == "me" and found["command"] == "./profiled server", found
            assert glob.glob("*.cairn") == ["a.cairn"], glob.glob("*.cairn")
        end(begun)


@case("cairn attach samples what handles the signal itself, and with --outside, and says so")
def attached_outside():
    profiled(["periods.c"], "-O2", "--standby")
    for what, options, word in (("taken", [], "it handles SIGUSR2 itself; it is sampled"),
                                ("server", ["--outside"], "")):
        clean()
        begun = begin(what, **SWITCHED)
        said = attach(begun, "--for", "200ms", *options)
        assert word in said and "records itself, with" not in said, said
        assert glob.glob("*.cairn") == ["a.cairn"]
        end(begun)


@case("cairn attach: nothing was called; the process ends meanwhile; Ctrl-C")
def attached_oddly():
    profiled(["periods.c"], "-O2", "--standby")
    clean()
    begun = begin("idle", **SWITCHED)
    said = attach(begun, "--for", "100ms", status=2)
    assert "none of its functions" in said and not glob.glob("*.cairn"), said
    end(begun)
    begun = begin("server", **SWITCHED)
    before = calls_until_now(begun)
    tool = subprocess.Popen([CAIRN, "attach", "-o", "a.cairn", str(begun.pid)], text=True,
                            stderr=subprocess.PIPE)
    tool.stderr.readline()  # it has switched the program on
    wait_for_calls(begun, 50)
    tool.send_signal(signal.SIGINT)
    assert tool.wait() == 0
    calls, most = calls_by_path("a.cairn"), calls_until_now(begun) - before + 1
    assert 48 <= calls["serve"] <= most, (calls, most)
    tool.stderr.close()
    begun.send_signal(signal.SIGSTOP)
    tool = subprocess.Popen([CAIRN, "attach", "-o", "a.cairn", str(begun.pid)], text=True,
                            stderr=subprocess.PIPE)
    until(lambda: pending(begun, signal.SIGUSR2))
    tool.send_signal(signal.SIGINT)
    assert tool.wait() == 2
    said = tool.stderr.read()
    assert "has not acted on SIGUSR2" in said and "kill -12 %d" % begun.pid in said, said
    tool.stderr.close()
    begun.send_signal(signal.SIGCONT)
    end(begun)


if __name__ == "__main__":
    sys.exit(base.main())
