#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn run --locks: what it records of mutexes, condition variables and semaphores, and that the
program does not notice.

usage: locks.py CAIRN PROGRAM PROGRAM-WITH-SPANS WORK
"""
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import case, main, run, same  # noqa: E402

CAIRN, PLAIN, SPANS = (os.path.abspath(name) for name in sys.argv[1:4])
WORK = os.path.abspath(sys.argv[4])
ROUNDS = 20
shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK)


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=WORK, timeout=120)
    return done.returncode, done.stdout


def record(program, part):
    """Returns the capture of one part of the program, which must run as it does alone."""
    capture = os.path.join(WORK, part + ".cairn")
    same(output(CAIRN, "run", "--quiet", "--locks", "-o", capture, program, part),
         output(program, part), "status and output")
    return capture


def ask(capture, sql):
    found = json.loads(run(CAIRN, "query", "--json", capture, sql))
    return [tuple(row) for row in found["rows"]]


def check_exclusive(capture, mutex):
    """Returns the number of times for which threads had the mutex."""
    holds = ask(capture, f"select start, end, open from spans where name = '{mutex}' order by start")
    for before, after in zip(holds, holds[1:]):
        assert before[1] <= after[0], "two threads have %s: %s, %s" % (mutex, before, after)
    assert not any(hold[2] for hold in holds), "a hold has not ended"
    return len(holds)


@case("a thread waits for a mutex until the other one gives it up")
def _():
    for program in PLAIN, SPANS:
        capture = record(program, "contend")
        same(check_exclusive(capture, "first_mutex"), 2 * ROUNDS, "holds")
        waits = ask(capture, "select start, end, lane from spans where name = 'first_mutex.wait'")
        same(len(waits), ROUNDS, "waits")
        for start, end, lane in waits:
            same(ask(capture, "select count(*) from spans where name = 'first_mutex' and lane <> "
                              f"{lane} and start <= {start} and end between {start} and {end}"),
                 [(1,)], "holds that end during a wait")
            same(ask(capture, f"select count(*) from spans where name = 'first_mutex' and lane = "
                              f"{lane} and start = {end}"), [(1,)], "holds that begin after it")


@case("a semaphore is taken after it was posted, each post once")
def _():
    capture = record(PLAIN, "contend")
    for name in "go", "tokens":
        taken = ask(capture, "select target.start, source.end, target.id, target.lane = source.lane "
                             "from span_edges join spans source on source.id = span_edges.span "
                             "join spans target on target.id = span_edges.other where "
                             f"source.name = '{name}' and target.name = '{name}.post'")
        same(len(taken), ROUNDS, "semaphores taken")
        same(len({row[2] for row in taken}), ROUNDS, "posts")
        assert all(row[0] <= row[1] and not row[3] for row in taken), taken


@case("a semaphore's first value needs no post; a handler posts; timeouts leave nothing")
def _():
    capture = record(PLAIN, "results")
    same(ask(capture, "select name, count(*) from spans where name like 'tokens%' group by name"),
         [("tokens", 1), ("tokens.post", 1)])


@case("a wait for a condition variable ends with the signal")
def _():
    capture = record(PLAIN, "turns")
    check_exclusive(capture, "first_mutex")
    waits = ask(capture, "select source.end, target.end, target.lane = source.lane from span_edges "
                         "join spans source on source.id = span_edges.span join spans target on "
                         "target.id = span_edges.other where source.name = 'turned' and "
                         "target.name = 'turned.signal'")
    same(len(waits), ROUNDS, "waits")
    assert all(wait == signal and not same_lane for wait, signal, same_lane in waits), waits


@case("mutexes need not be given up in order, and the program's spans stay as they are")
def _():
    capture = record(SPANS, "cross")
    same(check_exclusive(capture, "first_mutex"), 2 * ROUNDS)
    same(check_exclusive(capture, "second_mutex"), ROUNDS)
    same(ask(capture, "select count(*), count(parent) from spans where name = 'inside'"),
         [(ROUNDS, 0)])
    same(ask(capture, "select count(*) from spans join spans above on above.id = spans.parent where "
                      "spans.name = 'first_mutex' and above.name = 'inside'"), [(ROUNDS,)])
    same(ask(capture, "select value from notes where key = 'misuses'"), [("0",)])


@case("a cancelled wait for a condition variable is over: later signals wake nobody")
def _():
    capture = record(PLAIN, "nobody")
    same(ask(capture, "select count(*) from spans where name = 'turned.signal'"), [(0,)])


@case("no post is lost if two threads use a semaphore for the first time at once")
def _():
    capture = record(PLAIN, "fresh")
    same(ask(capture, "select (select count(*) from spans where name like '%.post'), "
                      "(select count(*) from spans where name like '%.elsewhere')"), [(400, 0)])


@case("no post is lost if its thread is interrupted for long")
def _():
    capture = record(PLAIN, "interrupted")
    same(ask(capture, "select name, count(*) from spans where name like 'hurried%' group by name"),
         [("hurried", 20000), ("hurried.post", 20000)])


@case("cancelled waits, children, and more mutexes than are recorded")
def _():
    capture = record(PLAIN, "odd")
    same(ask(capture, "select value from notes where key = 'locks'"),
         [("recorded, except for those after the first 512",)])
    assert ask(capture, "select count(*) from spans where name like 'mutex %'")[0][0] > 400


@case("whatif models a lock that the program did not describe")
def _():
    capture = record(SPANS, "contend")
    notes = dict(ask(capture, "select key, value from notes"))
    same(notes["lock.first_mutex"], "first_mutex.wait")
    same((notes["condition.turned"] if "condition.turned" in notes else None,
          notes["semaphore.go"]), (None, ""))
    answer = json.loads(run(CAIRN, "whatif", "--json", capture))
    assert answer["predicted"] > 0


@case("what excludes --locks is refused with the reason, and a program without locks is told")
def _():
    script = os.path.join(WORK, "script.sh")
    with open(script, "w") as file:
        file.write("#!/bin/sh\nexit 0\n")
    os.chmod(script, 0o755)
    for options, program, reason in ((["--alloc"], PLAIN, "--alloc"), ([], script, "script")):
        status, text = output(CAIRN, "run", "--locks", *options, "-o", "refused.cairn", program)
        assert status != 0 and reason in text, text
    status, text = output(CAIRN, "run", "--locks", "-o", "refused.cairn", "/bin/true")
    assert status == 0 and "used no mutex" in text, text
    assert not os.path.exists(os.path.join(WORK, "refused.cairn"))


main()
