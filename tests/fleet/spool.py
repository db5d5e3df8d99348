#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What waits while a fleet's server is away: kept, merged where the disk's limit is reached, sent
later, counted once. A user who may only insert; clocks that are wrong; numbers up to 2^64 - 1.

usage: spool.py CAIRN MAKE_SPANS HOSTILE GROWING SKEW
"""
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import clickhouse  # noqa: E402
from tap import case, main, run, same  # noqa: E402

CAIRN, MAKE_SPANS, HOSTILE, GROWING, SKEW = sys.argv[1:6]
WORK = tempfile.mkdtemp()
FAST = 20  # times as fast runs the clock of a process that must wait for long
NOWHERE = "clickhouse://127.0.0.1:9/x"  # the port of "discard", where nobody listens
if not clickhouse.found():
    print("1..0 # SKIP there is no clickhouse-server (Debian: clickhouse-server)")
    sys.exit(0)


def path(name):
    return os.path.join(WORK, name)


def environment(url, **more):
    return dict(os.environ, CAIRN_FLEET=url, CAIRN_LABELS="", **more)


def cairn(*words, url, status=0):
    return run(CAIRN, *words, status=status, env=environment(url))


def clocks(skew=0, speed=1):
    """The environment of a process whose clock is wrong by so many seconds, or runs so fast."""
    return {"LD_PRELOAD": SKEW, "SKEW": str(skew), "SPEED": str(speed),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def database(name):
    """The address of a new database."""
    cairn("fleet", "init", url=SERVER.url(name))
    return SERVER.url(name)


TABLES = (("figures", "metric, values"), ("spans", "lane, span, duration, start, open"),
          ("span_edges", "lane, span, to_lane, to_span"), ("edges", "source, target, calls"),
          ("block_figures", "metric, blocks, self, total"), ("runs", "contexts, spans"),
          ("histograms", "lane, number, counts, total"), ("counters", "lane, span, number, value"),
          ("events", "lane, span, number, level, text"),
          ("processes", "process, name, length"), ("blocks", "name"), ("contexts", "path"),
          ("shapes", "contexts"))


def same_tables(one, other):
    for table, columns in TABLES:
        who = "service" if table in ("blocks", "contexts", "shapes") else "hex(run)"
        sql = "SELECT DISTINCT %s AS who, %s FROM %s FINAL ORDER BY who, %s" % (who, columns, table, columns)
        same(SERVER.ask(sql, one) == SERVER.ask(sql, other), True, table)


def calls(base):
    """Calls of all runs that are visible, by function."""
    sums = {}
    for function, count in SERVER.ask(
            "SELECT hex(name), c FROM (SELECT block, sum(s) AS c FROM (SELECT blocks, self FROM block_figures "
            "FINAL WHERE metric = 'calls' AND run IN (SELECT run FROM runs FINAL)) ARRAY JOIN blocks AS "
            "block, self AS s WHERE s > 0 GROUP BY block) ANY LEFT JOIN (SELECT block, any(name) AS name "
            "FROM blocks GROUP BY block) USING block WHERE name != '[root]'", base):
        name = bytes.fromhex(function).decode()
        sums[name] = sums.get(name, 0) + int(count)
    return sums


def calls_of(*captures):
    """The same, from the captures."""
    sums = {}
    for capture in captures:
        report = json.loads(run(CAIRN, "report", "--json", "--top", "0", "-m", "calls", capture))
        for row in report["flat"]:
            name = row["block"]["name"]
            if row["calls"]:
                sums[name] = sums.get(name, 0) + row["calls"]
    return sums


def total_calls(*captures):
    return sum(metric["total"] for capture in captures for metric in json.loads(
        run(CAIRN, "report", "--json", "-m", "calls", capture))["metrics"] if metric["name"] == "calls")


def captures_in(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".cairn")]


def copies(folder, count):
    """Makes a folder of captures, and returns a copy of it."""
    os.mkdir(path(folder))
    for number in range(count):
        name = os.path.join(path(folder), "%d.cairn" % number)
        run(MAKE_SPANS, name)
        os.utime(name, (1600000000 + number, 1600000000 + number))
    shutil.copytree(path(folder), path(folder + "-copy"))
    return captures_in(path(folder + "-copy"))


def size_of(folder):
    """The bytes on disk of a folder's captures."""
    return sum(os.stat(name).st_blocks * 512 for name in captures_in(path(folder)))


def fifth_of(folder, fifths=1):
    """A limit for the folder, in MiB. Captures are small in builds with tiny limits."""
    return size_of(folder) * fifths // 5 >> 20


# ---- a server that is away ----

@case("a server that is away for a minute: push waits, and sends all")
def _():
    run(MAKE_SPANS, path("patient.cairn"))
    with clickhouse.Server() as server:
        cairn("fleet", "init", url=server.url())
        server.stop()
        push = subprocess.Popen([CAIRN, "push", "--retry", "6000", path("patient.cairn")],
                                env=environment(server.url(), **clocks(speed=FAST)),
                                stdout=subprocess.PIPE)
        time.sleep(60 / FAST)
        same(push.poll(), None, "push's status after a minute of its clock")
        server.start()
        push.communicate()
        same(push.returncode, 0, "status")
        same(server.ask("SELECT count() FROM runs FINAL"), [["1"]], "runs")


@case("a server that never answers is given up")
def _():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = "clickhouse://127.0.0.1:%d/x" % listener.getsockname()[1]
        done = subprocess.run([CAIRN, "fleet", "top"], env=environment(url, **clocks(speed=FAST)),
                              text=True, capture_output=True, timeout=200, check=False)
    same(done.returncode, 2, "status")
    assert "is the server running" in done.stderr, done.stderr


@case("an agent waits longer for a server that stays away: up to five minutes, and half of that")
def _():
    copies("away", 1)
    for every in (100, 299, 3600):
        noted, pauses = path("pauses%d" % every), []
        agent = subprocess.Popen([CAIRN, "agent", path("away"), "--every", str(every)],
                                 env=environment(NOWHERE, PAUSES=noted, **clocks()),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.time() + 60
        while len(pauses) < 8 and agent.poll() is None and time.time() < end:
            time.sleep(0.05)
            if os.path.exists(noted):
                with open(noted, encoding="utf-8") as file:
                    pauses = [int(line) for line in file.read().split("\n")[:-1]]
        agent.terminate()
        agent.wait()
        assert len(pauses) >= 8, pauses
        for number, pause in enumerate(pauses):
            least = 1000 * max(every, min(every << min(number, 9), 300))
            assert least <= pause < 1.5 * least, (every, number, pauses[:8])


@case("push keeps in the spool what cannot be sent, with its labels; the next one sends it")
def _():
    spool = path("spool")
    names = []
    for number in range(3):
        names.append(path("kept%d.cairn" % number))
        run(MAKE_SPANS, names[-1])
    words = ("push", "--retry", "0", "--spool", spool, "--label", "version=a\\b\nc", "--label",
             "service=kept")
    text = cairn(*words, *names, url=NOWHERE)
    same(text.count("is kept as"), 3, "kept")
    same(len(captures_in(spool)), 3, "captures in the spool")
    same([name for name in os.listdir(spool) if name.endswith(".part")], [], "parts")
    one, other = database("kept"), database("direct")
    cairn("push", "--spool", spool, url=one)
    same(sorted(name for name in os.listdir(spool) if name[0] != "."), [], "left in the spool")
    cairn("push", "--label", "version=a\\b\nc", "--label", "service=kept", *names, url=other)
    same_tables("kept", "direct")
    sql = "SELECT version, service, host, labels.key, labels.value FROM runs FINAL ORDER BY run"
    same(SERVER.ask(sql, "kept"), SERVER.ask(sql, "direct"), "labels")
    same(run(CAIRN, "push", status=2), "", "without captures and spool")


@case("a capture for which the spool has no space leaves nothing there")
def _():
    spool, capture = path("small"), path("large.cairn")
    run(MAKE_SPANS, capture)
    most = os.path.getsize(capture) // 2
    done = subprocess.run([CAIRN, "push", "--retry", "0", "--spool", spool, "--label", "version=1", capture],
                          env=environment(NOWHERE), capture_output=True, text=True, check=False,
                          restore_signals=False,  # SIGXFSZ stays ignored
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
    assert done.returncode and "cannot be kept" in done.stderr, done.stderr
    same([name for name in os.listdir(spool) if name[0] != "."], [], "left in the spool")


@case("a capture that the server refuses leaves the spool for `refused`, with the server's words")
def _():
    spool = path("refusing")
    run(MAKE_SPANS, path("no.cairn"))
    cairn("push", "--retry", "0", "--spool", spool, path("no.cairn"), url=NOWHERE)
    with SERVER.proxy(lambda sql: "Code: 27, no such row" if sql.startswith("INSERT INTO spans") else None) as proxy:
        cairn("push", "--retry", "0", "--spool", spool, url=proxy.url("kept"))
    same(captures_in(spool), [], "captures")
    left = sorted(os.listdir(os.path.join(spool, "refused")))
    same([name.split(".cairn")[1] for name in left], ["", ".labels", ".txt"], "refused")


@case("at the disk's limit unsent captures are merged: totals survive, and it is noted")
def _():
    originals = copies("full", 6)
    keep = fifth_of("full", 2)
    text = run(CAIRN, "agent", path("full"), "--once", "--keep", str(keep), status=2,
               env=environment(NOWHERE))
    assert "merged from" in text, text
    assert size_of("full") <= keep << 20, (size_of("full"), keep)
    name = database("full") and "full"
    cairn("agent", path("full"), "--once", url=SERVER.url("full"))
    same(calls(name), calls_of(*originals), "calls")
    notes = SERVER.ask("SELECT notes.value[indexOf(notes.key, 'merged_unsent')], "
                       "notes.value[indexOf(notes.key, 'merged')] FROM runs FINAL WHERE "
                       "has(notes.key, 'merged_unsent')", name)
    same(len(notes), 1, "merged runs")
    assert "captures that could not be sent" in notes[0][0] and int(notes[0][1]) > 1, notes


@case("captures with other labels, or of another program, are merged apart")
def _():
    originals = copies("apart", 6)
    for number in (1, 3, 5):
        with open(os.path.join(path("apart"), "%d.cairn.labels" % number), "w", encoding="utf-8") as file:
            file.write("version=odd\nservice=s\n")
    run(CAIRN, "agent", path("apart"), "--once", "--keep", str(fifth_of("apart")), "--label", "service=s",
        status=2, env=environment(NOWHERE))
    cairn("agent", path("apart"), "--once", "--label", "service=s", url=database("apart"))
    same(calls("apart"), calls_of(*originals), "calls")
    versions = SERVER.ask("SELECT version, sum(metrics.total[indexOf(metrics.name, 'calls')]) FROM runs "
                          "FINAL GROUP BY version ORDER BY version", "apart")
    same([(version, int(count)) for version, count in versions],
         [("", total_calls(*originals[::2])), ("odd", total_calls(*originals[1::2]))], "versions")


@case("a merge that is killed at any moment counts each capture once")
def _():
    originals = copies("torn", 5)
    expected, chance, killed = calls_of(*originals), random.Random(11), 0
    keep = str(fifth_of("torn"))
    words = [CAIRN, "agent", path("torn"), "--once", "--keep", keep]
    shutil.copytree(path("torn-copy"), path("timed"))
    began = time.monotonic()
    subprocess.run([CAIRN, "agent", path("timed"), "--once", "--keep", keep], check=False,
                   env=environment(NOWHERE), capture_output=True)
    length = time.monotonic() - began
    for _ in range(25):
        shutil.rmtree(path("torn"))
        shutil.copytree(path("torn-copy"), path("torn"))
        began = time.monotonic()
        process = subprocess.Popen(words, env=environment(NOWHERE), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(chance.uniform(0.2, 1) * length)
            length = time.monotonic() - began  # the machine has more time for it now
        except subprocess.TimeoutExpired:
            process.kill()
            killed += process.wait() == -signal.SIGKILL
        # The next agent ends the merge; what is there then, are all captures once.
        subprocess.run([CAIRN, "agent", path("torn"), "--once"], env=environment(NOWHERE), check=False,
                       capture_output=True)
        same(calls_of(*captures_in(path("torn"))), expected, "calls")
    assert killed, "none was killed in time"


@case("a capture of which the server has a part stays the same run when it is merged")
def _():
    folder = path("part")
    os.mkdir(folder)
    url = database("part")
    program = subprocess.Popen([GROWING, os.path.join(folder, "live.cairn")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)

    def grow(count):
        program.stdin.write(b"x" * count)
        program.stdin.flush()
        for _ in range(count):
            program.stdout.read(1)
    grow(20)
    cairn("agent", folder, "--once", url=url)
    grow(30000)
    program.stdin.close()
    program.wait()
    expected = calls_of(os.path.join(folder, "live.cairn"))
    text = run(CAIRN, "agent", folder, "--once", "--keep", "1", status=2, env=environment(NOWHERE))
    assert "spans are left out" in text, text
    cairn("agent", folder, "--once", url=url)
    same(calls("part"), expected, "calls")
    same(SERVER.ask("SELECT count() FROM runs FINAL", "part"), [["1"]], "runs")


# ---- a user who may only insert ----

@case("a user who may only insert is enough for push and agent")
def _():
    refused = []

    def only_inserts(sql):
        if sql.startswith("INSERT INTO "):
            return None
        refused.append(sql)
        return "Code: 497, e.displayText() = DB::Exception: writer: Not enough privileges"
    originals = copies("inserted", 3)
    database("inserted")
    with SERVER.proxy(only_inserts) as proxy:
        cairn("push", originals[0], url=proxy.url("inserted"))
        cairn("agent", path("inserted"), "--once", url=proxy.url("inserted"))
    assert refused, "the proxy refused nothing"
    cairn("push", *originals, url=database("inserted_as_all"))
    same_tables("inserted", "inserted_as_all")


@case("small captures are sent together: a round is one insertion for each table")
def _():
    inserted = []
    copies("together", 5)
    database("together")
    with SERVER.proxy(lambda sql: inserted.append(sql) if sql.startswith("INSERT") else None) as proxy:
        cairn("agent", path("together"), "--once", url=proxy.url("together"))
    tables = [sql.split()[2] for sql in inserted]
    same(len(tables), len(set(tables)), "insertions for %d tables" % len(set(tables)))
    same(SERVER.ask("SELECT count() FROM runs FINAL", "together"), [["5"]], "runs")


# ---- clocks ----

@case("a clock that is set back does not make older figures count")
def _():
    folder = path("skewed")
    os.mkdir(folder)
    url = database("skewed")
    capture = os.path.join(folder, "live.cairn")
    program = subprocess.Popen([GROWING, capture], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for hours in (3, -2, 1, -30):
        program.stdin.write(b"xxx")
        program.stdin.flush()
        program.stdout.read(3)
        run(CAIRN, "push", capture, env=environment(url, **clocks(hours * 3600)))
        same(calls("skewed"), calls_of(capture), "calls, with a clock of %+d hours" % hours)
    program.stdin.close()
    program.wait()


@case("hosts with wrong clocks: each run is at its own host's time, and all count")
def _():
    url = database("hosts")
    names = []
    for hours in (-50, -3, 0, 5):
        names.append(path("host%d.cairn" % hours))
        subprocess.run([MAKE_SPANS, names[-1]], env=environment(url, **clocks(hours * 3600)), check=True)
        cairn("push", "--label", "host=h%d" % hours, names[-1], url=url)
    rows = json.loads(cairn("fleet", "runs", "--json", url=url))
    same([row["host"] for row in rows], ["h5", "h0", "h-3", "h-50"], "newest first")
    same([row["host"] for row in json.loads(cairn("fleet", "runs", "--json", "--where", "since=1h",
                                                  url=url))], ["h5", "h0"], "of the last hour")
    same(calls("hosts"), calls_of(*names), "calls")
    hours = json.loads(cairn("fleet", "hours", "--json", "-m", "calls", url=url))
    same(len(hours), 4, "hours")
    same(sum(row["total"] for row in hours), total_calls(*names), "calls by hour")
    same(len(json.loads(cairn("fleet", "heat", "part", "--json", url=url))) >= 4, True, "heat map")


# ---- figures by hour ----

def by_hour(url):
    return [(row["runs"], row["self"], row["total"]) for row in
            json.loads(cairn("fleet", "hours", "f0", "--json", "-m", "ticks", url=url))]


@case("costs by hour: what a run had more at each hour's end, however often it was sent")
def _():
    url = database("hourly")
    capture = path("hourly.cairn")
    program = subprocess.Popen([GROWING, capture], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    expected = []
    yesterday = int(time.time()) // 3600 * 3600 - 86400
    for hour in range(4):
        program.stdin.write(b"xx")
        program.stdin.flush()
        program.stdout.read(2)
        for _ in range(2):
            cairn("push", capture, url=url)
        report = json.loads(run(CAIRN, "report", "--json", "--top", "0", "-m", "ticks", capture))
        row = next(row for row in report["flat"] if row["block"]["name"] == "f0")
        expected.append((row["self"]["ticks"], row["inclusive"]["ticks"]))
        # As if the hours passed: what was inserted moves into the past, even if one ends meanwhile.
        SERVER.ask("INSERT INTO hours SELECT service, day, run, metric, block, toDateTime(%d), self_state, "
                   "total_state FROM hours WHERE hour > toDateTime(%d)" % (
                       yesterday + 3600 * hour, yesterday + 12 * 3600), "hourly")
        SERVER.ask("INSERT INTO hours SELECT * FROM hours", "hourly")  # and once more
    program.stdin.close()
    program.wait()
    past = by_hour(url)[:4]
    steps = [(1, now[0] - was[0], now[1] - was[1]) for now, was in zip(expected, [(0, 0)] + expected)]
    same(past, steps, "costs")


# ---- large numbers ----

@case("numbers up to 2^64 - 1 come back, and SQL adds them up exactly")
def _():
    url = database("large")
    most = 2 ** 64 - 1
    run(HOSTILE, path("large.cairn"))
    found = cairn("push", path("large.cairn"), url=url).split(": run ")[1].split()[0]
    same(SERVER.ask("SELECT sum(arraySum(values)), max(arrayReduce('max', values)) FROM figures FINAL "
                    "WHERE metric = 'ticks'", "large"), [[str(most), str(most - 9)]], "in SQL")
    for question, numbers in (("top", (most - 9, most)), ("hours", (most,))):
        text = cairn("fleet", question, "-m", "ticks", url=url)
        for number in numbers:
            assert "{:,}".format(number) in text, (question, text)
    cairn("fleet", "get", found, "-o", path("back.cairn"), url=url)
    for name in ("large.folded", "back.folded"):
        run(CAIRN, "export", "-m", "ticks", "-o", path(name), path(name.replace("folded", "cairn")))
    tables = [sorted(open(path(name), "rb").read().splitlines()) for name in ("large.folded", "back.folded")]
    same(tables[1], tables[0], "what comes back")
    assert any(line.endswith(b" %d" % (most - 9)) for line in tables[0]), tables[0]


with clickhouse.Server() as SERVER:
    try:
        main()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
