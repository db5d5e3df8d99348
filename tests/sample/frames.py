#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples of programs that record spans: which functions slow spans spend their time in.

usage: frames.py CAIRN FRAMES FRAMES_STATIC WORK
"""
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import case, main, run, same  # noqa: E402

CAIRN, SHARED, STATIC = (os.path.abspath(name) for name in sys.argv[1:4])
WORK = sys.argv[4]
shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK)
FRAMES, SLOW = 600, 60  # frames.c
PATIENCE = 300  # seconds, before a program that hangs is killed
DECODE, BLEND = 1.5e6, 6e6  # ns
CAPTURE, SAMPLES = (os.path.join(WORK, name) for name in ("out.cairn", "out.sampled.cairn"))


def rows(sql, *captures):
    return json.loads(run(CAIRN, "query", "--json", *captures, sql))["rows"]


def record(program, *options, arguments=()):
    """Returns the processor time that the program has measured, ns."""
    for name in os.listdir(WORK):
        os.remove(os.path.join(WORK, name))
    done = subprocess.run([CAIRN, "run", "--stacks", *options, "-o", CAPTURE, program, *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=True)
    word, used = done.stdout.split()
    same((word, done.stderr), ("done", ""), "output")
    return int(used)


# On a busy machine other frames are slow, too, as they wait for a core. They are left out.
WORKERS = "iteration % 10 = 3"  # frames that ask the worker: frames.c
UNDISTURBED = WORKERS + " or duration <= 5e6"


def undisturbed(*captures):
    """How many of the other frames are not slow."""
    (count,), = rows("select count(*) from spans where name = 'frame' and not (%s) and (%s)"
                     % (WORKERS, UNDISTURBED), *captures)
    return count


def check_explanation(*captures):
    """Slow frames spend 6 ms more in blend, which the worker runs for them."""
    answer = json.loads(run(CAIRN, "explain", "--json", "--slow", "> 5ms", "--where", UNDISTURBED, *captures,
                            "frame"))
    functions = answer["functions"]
    same(answer["slow"]["count"], SLOW, "slow frames")
    first, = (row for row in functions["list"] if row["block"]["name"] == "blend")
    extra, error = first["slow"] - first["typical"], first["error"]
    rest = functions["slow"] - functions["typical"] - extra  # of decode, which all frames do
    # The kernel takes the core from a frame at a tick, at which it also samples: frames that wait for a
    # core have more samples of decode than others.
    if undisturbed(*captures) > 0.97 * (FRAMES - SLOW):
        assert abs(rest) < 4 * functions["error"] + 0.05 * BLEND, (rest, functions)
        assert "decode" not in [row["block"]["name"] for row in functions["list"]
                                if row["slow"] - row["typical"] > 0.5 * DECODE], functions
    assert abs(extra - BLEND) < 4 * error + 0.05 * BLEND, (extra, error)
    assert error < 0.3 * BLEND, error
    assert first["typical"] < 0.1 * BLEND, first
    assert "blend" in answer["answer"], answer["answer"]


def check(program, *options):
    used = record(program, *options)
    check_explanation(CAPTURE)  # the samples beside it are found
    check_explanation(CAPTURE, SAMPLES)
    both = os.path.join(WORK, "both.cairn")
    run(CAIRN, "merge", "-o", both, CAPTURE, SAMPLES)
    check_explanation(both)
    (recorded, count), = rows("select sum(cpu), count(*) from samples", both)
    (total,), = rows("select total from metrics where name = 'cpu'", both)
    same(recorded, total, "the samples and the contexts")
    # The other threads are libcairn's. They work for as long as the program runs, and it can wait long for a core.
    (own,), = rows("""select sum(x.cpu) from samples x join lanes l on l.id = x.lane
                      where l.thread in (select thread from lanes where spans > 0)""", both)
    assert 0.95 * used < own < 1.1 * used + 5e7, (own, used)
    (inside,), = rows("select sum(cpu) from samples where span is not null", both)
    assert inside > 0.9 * own, (inside, own)
    spans = dict(rows("select s.name, sum(x.cpu) from samples x join spans s on s.id = x.span group by 1", both))
    same(set(spans), {"frame", "job"}, "the spans of samples")
    assert 0.85 < spans["job"] / (SLOW * BLEND) < 1.15, spans
    assert 0.85 < spans["frame"] / (FRAMES * DECODE) < 1.15, spans
    wrong = rows("""select s.name, x.path from samples x join spans s on s.id = x.span
                    where x.path like '%blend%' and s.name = 'frame' or x.path like '%decode%' and s.name = 'job'""",
                 both)
    assert len(wrong) < count / 50, wrong  # a sample at the end of a span stands for time before it
    threads = rows("select count(*), sum(spans > 0) from lanes where thread is not null "
                   "group by thread having sum(spans) > 0", both)
    same(threads, [[2, 1], [2, 1]], "lanes, and those with spans, of each thread with spans")


@case("a program with libcairn.so: slow frames spend more in what the worker runs for them")
def _():
    check(SHARED)


@case("a program that contains libcairn")
def _():
    check(STATIC)


@case("a new thread for each job: lanes that many threads have in turn")
def _():
    record(SHARED, arguments=["threads"])
    both = os.path.join(WORK, "both.cairn")
    run(CAIRN, "merge", "-o", both, CAPTURE, SAMPLES)
    (lanes,), = rows("select count(*) from lanes where spans > 0", both)
    assert lanes < 10, lanes  # of 21 threads
    spans = dict(rows("select s.name, sum(x.cpu) from samples x join spans s on s.id = x.span group by 1", both))
    assert 0.7 < spans["job"] / (20 * 40e6) < 1.15, spans
    (wrong,), = rows("""select count(*) from samples x left join spans s on s.id = x.span
                        where x.path like '%blend%' and coalesce(s.name, '') != 'job'""", both)
    (right,), = rows("select count(*) from samples where path like '%blend%'", both)
    assert wrong < right / 10, (wrong, right)
    answer = json.loads(run(CAIRN, "explain", "--json", "--slow", "> 20ms", CAPTURE, "frame"))
    assert "blend" in answer["answer"], answer["answer"]


@case("sampled from outside")
def _():
    if subprocess.run([CAIRN, "run", "--outside", "-o", os.path.join(WORK, "x.cairn"), "true"],
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        print("# the kernel allows no sampling from outside here")
        return
    check(SHARED, "--outside")


@case("old samples beside a capture, and those of another program, change nothing")
def _():
    record(SHARED)
    before = run(CAIRN, "explain", "--json", CAPTURE, "frame")
    shutil.move(SAMPLES, os.path.join(WORK, "kept.cairn"))
    without = json.loads(run(CAIRN, "explain", "--json", CAPTURE, "frame"))
    same(without["functions"], None, "without samples")
    shutil.copy(CAPTURE, os.path.join(WORK, "first.cairn"))
    record_again = os.path.join(WORK, "again.cairn")
    subprocess.run([CAIRN, "run", "--stacks", "-o", record_again, STATIC], stdout=subprocess.DEVNULL, check=True)
    shutil.copy(os.path.join(WORK, "again.sampled.cairn"), SAMPLES)
    other = json.loads(run(CAIRN, "explain", "--json", CAPTURE, "frame"))
    same(other["functions"], None, "samples of another process")
    shutil.copy(os.path.join(WORK, "kept.cairn"), SAMPLES)
    same(run(CAIRN, "explain", "--json", CAPTURE, "frame"), before, "with its own again")


@case("redaction keeps who ran where, by other names")
def _():
    record(SHARED)
    both, hidden = os.path.join(WORK, "both.cairn"), os.path.join(WORK, "hidden.cairn")
    run(CAIRN, "merge", "-o", both, CAPTURE, SAMPLES)
    run(CAIRN, "redact", "-o", hidden, both)
    query = "select count(*), sum(cpu), count(distinct span), count(distinct path) from samples"
    same(rows(query, hidden), rows(query, both), "figures")
    assert not rows("select * from samples where path like '%blend%'", hidden)
    threads = [thread for thread, in rows("select distinct thread from lanes where thread is not null", hidden)]
    same(sorted(threads), list(range(1, len(threads) + 1)), "numbers of threads")
    assert 2 <= len(threads) <= 5, threads  # a helper of libcairn may be seen before it has its name


def fields(data):
    """The fields of a protocol buffer: (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7f) << shift
            shift, at = shift + 7, at + 1
            if not data[at - 1] & 0x80:
                return value
    while at < len(data):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            yield tag >> 3, data[at:at + size]
            at += size
        elif tag & 7 == 1:
            yield tag >> 3, int.from_bytes(data[at:at + 8], "little")
            at += 8
        else:
            same(tag & 7, 0, "kind of field")
            yield tag >> 3, varint()


def stacks_of(trace):
    """(moment, thread, names) of each sample in a Perfetto trace, by its published numbers."""
    PERF_SAMPLE, INTERNED, TIMESTAMP, NAMES, FRAMES_, STACKS = 66, 12, 8, 5, 6, 7
    names, frames, stacks, found = {}, {}, {}, []
    for _, packet in fields(trace):
        packet = dict(fields(packet))
        for kind, entry in fields(packet.get(INTERNED, b"")):
            values = list(fields(entry)) if kind in (NAMES, FRAMES_, STACKS) else []
            if kind == NAMES:
                names[values[0][1]] = values[1][1].decode()
            elif kind == FRAMES_:
                frames[values[0][1]] = names[values[1][1]]
            elif kind == STACKS:
                stacks[values[0][1]] = [frames[value] for number, value in values if number == 2]
        if PERF_SAMPLE in packet:
            sample = dict(fields(packet[PERF_SAMPLE]))
            found.append((packet[TIMESTAMP], sample[3], stacks[sample[4]]))
    return found


@case("Perfetto: samples with their stacks, on the threads that have the spans")
def _():
    record(SHARED)
    both, out = os.path.join(WORK, "both.cairn"), os.path.join(WORK, "both.pftrace")
    run(CAIRN, "merge", "-o", both, CAPTURE, SAMPLES)
    run(CAIRN, "export", "--to", "perfetto", "-o", out, both)
    with open(out, "rb") as file:
        trace = file.read()
    found = stacks_of(trace)
    wanted = rows("select l.thread, x.path from samples x join lanes l on l.id = x.lane order by x.lane, x.at", both)
    same([[thread, ";".join(names)] for _, thread, names in found], wanted, "threads and stacks")
    threads = {thread for thread, in rows("select thread from lanes where spans > 0", both)}
    described = set()
    for _, packet in fields(trace):
        for number, descriptor in fields(packet):
            if number == 60:  # a track
                described |= {dict(fields(thread))[2] for kind, thread in fields(descriptor) if kind == 4}
    same(described, threads, "threads of the tracks")


@case("what --stacks cannot be combined with")
def _():
    for option in ("--alloc", "--locks"):
        done = subprocess.run([CAIRN, "run", "--stacks", option, SHARED], stderr=subprocess.PIPE, text=True,
                              check=False)
        assert done.returncode == 2 and "--stacks cannot be combined with " + option in done.stderr, done


main()
