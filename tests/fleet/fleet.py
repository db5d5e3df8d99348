#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn push and cairn fleet against a real ClickHouse server, and against false ones.

usage: fleet.py CAIRN MAKE_CAPTURE MAKE_SPANS HOSTILE REQUESTS TIMED GROWING DASHBOARD
"""
import json
import os
import pty
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import clickhouse  # noqa: E402
from tap import case, main, run, same  # noqa: E402

CAIRN, MAKE_CAPTURE, MAKE_SPANS, HOSTILE, REQUESTS, TIMED, GROWING, DASHBOARD = sys.argv[1:9]
WORK = tempfile.mkdtemp()
if not clickhouse.found():
    print("1..0 # SKIP there is no clickhouse-server (Debian: clickhouse-server)")
    sys.exit(0)


def path(name):
    return os.path.join(WORK, name)


def cairn(*words, status=0, **options):
    options.setdefault("env", dict(os.environ, CAIRN_FLEET=SERVER.url(), CAIRN_LABELS=""))
    return run(CAIRN, *words, status=status, **options)


def push(capture, *labels):
    """Returns the run."""
    words = [word for label in labels for word in ("--label", label)]
    return cairn("push", capture, *words).split(": run ")[1].split()[0]


def ordered(value):
    """The same JSON without numbers of blocks and contexts, and with lists in one order."""
    if isinstance(value, dict):
        return {key: ordered(member) for key, member in value.items()
                if key not in ("id", "number", "capture", "file") or isinstance(member, dict)}
    if isinstance(value, list):
        return sorted((ordered(member) for member in value),
                      key=lambda member: json.dumps(member, sort_keys=True))
    return value


QUERIES = (
    "select b.name, b.file, b.line, c.depth, c.calls, c.wall, c.ticks from contexts c "
    "join blocks b on b.id = c.block order by 1, 2, 3, 4, 5, 6, 7",
    "select name, lane, start, duration, iteration, weight, "
    "(select count(*) from spans p where p.id = s.parent) from spans s order by 2, 3, 4, 1, 5",
    "select s.name, s.start, a.key, a.value from attributes a join spans s on s.id = a.span "
    "order by 2, 1, 3, 4",
    "select f.start, t.start, e.kind, e.at from span_edges e join spans f on f.id = e.span "
    "join spans t on t.id = e.other order by 1, 2, 3, 4",
    "select name, at, value from counters",
    "select at, level, text, (select start from spans s where s.id = e.span) from events e",
    "select * from off_core",
)


def exported(capture):
    """Ids, parents in other processes, processes and clocks, as OTLP has them."""
    name = path("exported.otlp.json")
    done = subprocess.run([CAIRN, "export", "-o", name, capture], capture_output=True, check=False)
    if done.returncode:
        assert b"has no spans" in done.stderr, done.stderr
        return "none"
    with open(name, encoding="utf-8") as file:
        return ordered(json.load(file))


def histograms(capture):
    words = ("spans", "--histograms", "--json", "--top", "0", capture)
    done = subprocess.run([CAIRN, *words], capture_output=True, check=False)
    return ordered(json.loads(done.stdout)) if done.returncode == 0 else "none"


def figures(capture):
    """Everything that a capture has, in a form that can be compared."""
    report = ordered(json.loads(cairn("report", "--json", "--top", "0", capture)))
    tables = []
    for query in QUERIES:
        done = subprocess.run([CAIRN, "query", "--csv", capture, query], capture_output=True, check=False)
        tables.append(sorted(done.stdout.splitlines()) if done.returncode == 0 else "no such table")
    return {"report": report, "tables": tables, "otlp": exported(capture),
            "histograms": histograms(capture)}


def round_trip(capture):
    found = push(capture, "version=1")
    cairn("fleet", "get", found, "-o", path("back.cairn"))
    before, after = figures(capture), figures(path("back.cairn"))
    told = before["report"].pop("warnings")  # of the file that was read: not part of a capture
    after["report"].pop("warnings")
    for warning in told:
        assert warning in cairn_stderr("fleet", "get", found, "-o", path("back.cairn")), warning
    same(after["report"], before["report"], "report")
    same(after["otlp"] == before["otlp"], True, "ids, processes, clocks")
    same(after["histograms"], before["histograms"], "histograms")
    for query, left, right in zip(QUERIES, after["tables"], before["tables"]):
        same(sorted(set(left) - set(right))[:9], sorted(set(right) - set(left))[:9], query)
        same(len(left), len(right), query)
    assert "no such table" not in before["tables"][:2], "the queries are wrong"
    if "asks.cairn" in capture:
        same([query for query, rows in zip(QUERIES[:-1], before["tables"]) if rows == "no such table" or
              len(rows) < 2 and "span_edges" not in query], [], "queries without an answer")


LUA = """
local function token(n) return n > 0 and token and n - 1 or 0 end
local function parse(n) if n > 0 then token(n) return parse(n - 1) end end
local function walk(n) if n > 1 then walk(n - 1) walk(n - 2) end end
for i = 1, 20 do parse(10) walk(6) end
local co = coroutine.wrap(function() for i = 1, 5 do parse(2) coroutine.yield(i) end end)
for i = 1, 5 do co() end
"""


def make_allocations():
    """A capture of allocations, unless this build has no library for that."""
    done = subprocess.run([CAIRN, "run", "--alloc", "--quiet", "-o", path("alloc.cairn"), "sort", path("a.lua")],
                          capture_output=True, check=False)
    if done.returncode:
        assert b"is neither beside the tool" in done.stderr, done.stderr
        shutil.copy(path("lua.cairn"), path("alloc.cairn"))


def make_killed():
    """A capture whose program was killed while it recorded."""
    with subprocess.Popen([GROWING, path("killed.cairn")], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as program:
        program.stdin.write(b"x" * 500)
        program.stdin.flush()
        for _ in range(500):
            program.stdout.read(1)
        program.kill()


def make_captures():
    with open(path("a.lua"), "w", encoding="utf-8") as file:
        file.write(LUA)
    cairn("run", "-o", path("lua.cairn"), path("a.lua"))
    cairn("run", "--ticks", "1000", "-o", path("ticks.cairn"), path("a.lua"))
    run(MAKE_CAPTURE, path("c.cairn"))
    run(MAKE_SPANS, path("spans.cairn"))
    run(HOSTILE, path("hostile.cairn"))
    with open(path("asked"), "wb") as asked:
        subprocess.run([REQUESTS, path("asks.cairn")], stdin=subprocess.DEVNULL, stdout=asked, check=True)
    with open(path("asked"), "rb") as asked:
        subprocess.run([REQUESTS, path("asked.cairn")], stdin=asked, stdout=subprocess.DEVNULL,
                       check=True)
    assert histograms(path("asked.cairn")) != "none"
    cairn("merge", "-o", path("both.cairn"), path("asks.cairn"), path("asked.cairn"))
    cairn("merge", "-o", path("merged.cairn"), path("lua.cairn"), path("spans.cairn"))
    cairn("redact", "-o", path("redacted.cairn"), path("spans.cairn"))
    make_allocations()
    make_killed()
    # Cut off while it was written.
    run(MAKE_SPANS, path("cut.cairn"))
    os.truncate(path("cut.cairn"), os.path.getsize(path("cut.cairn")) * 2 // 3)


@case("init makes the tables, twice as well as once")
def _():
    cairn("fleet", "init")
    cairn("fleet", "init")
    same(len(SERVER.ask("SHOW TABLES")), 17, "tables, one of them a view")


for kind in ("lua", "ticks", "c", "spans", "hostile", "merged", "redacted", "cut", "asks", "asked",
             "both", "alloc", "killed"):
    @case("round trip: " + kind)
    def _(kind=kind):
        round_trip(path(kind + ".cairn"))


def sums():
    """All that is in the database, by run."""
    return SERVER.ask(
        "SELECT hex(run), metric, sum(arraySum(values)) FROM figures FINAL GROUP BY run, metric "
        "ORDER BY run, metric") + SERVER.ask(
            "SELECT hex(run), count(), sum(duration), sum(length(attributes.key)) FROM spans "
            "FINAL GROUP BY run ORDER BY run") + SERVER.ask(
                "SELECT hex(run), count() FROM span_edges FINAL GROUP BY run ORDER BY run")


@case("a capture that is pushed twice counts once")
def _():
    push(path("spans.cairn"), "version=1")
    before = sums()
    push(path("spans.cairn"), "version=1")
    same(sums(), before, "sums")


@case("sums in SQL are those of the report")
def _():
    found = push(path("lua.cairn"), "version=1")
    calls = SERVER.ask("SELECT sum(arraySum(values)) FROM figures FINAL WHERE metric = 'calls' "
                       "AND hex(run) = '%s'" % found.upper())
    report = json.loads(cairn("report", "--json", "--top", "0", path("lua.cairn")))
    total = next(m["total"] for m in report["metrics"] if m["name"] == "calls")
    same(int(calls[0][0]), total, "calls")


@case("questions are answered")
def _():
    push(path("lua.cairn"), "version=1", "service=app")
    text = cairn("fleet", "top", "--service", "app")
    assert "walk" in text and "a.lua:" in text, text
    for question in ("runs", "top", "trend", "spans", "slowest"):
        rows = json.loads(cairn("fleet", question, "--json"))
        assert rows, question
    rows = json.loads(cairn("fleet", "top", "--service", "app", "--json", "-m", "calls"))
    report = json.loads(cairn("report", "--json", "--top", "0", "-m", "calls", path("lua.cairn")))
    expected = {(row["block"]["name"], row["block"]["line"]): row["calls"]
                for row in report["flat"] if row["block"]["name"] != "[root]" and row["calls"]}
    same({(row["name"], row["line"]): row["calls"] for row in rows if row["name"] != "[root]"},
         expected, "calls")


@case("top by a label; functions of spans, their percentiles; what was asked for before")
def _():
    for version in ("1", "2"):
        run(MAKE_SPANS, path("by.cairn"))
        push(path("by.cairn"), "version=" + version, "service=by", "ring=r" + version)
    rows = json.loads(cairn("fleet", "top", "--json", "--service", "by", "--by", "ring"))
    same({row["by"] for row in rows}, {"r1", "r2"}, "rings")
    whole = json.loads(cairn("fleet", "top", "--json", "--service", "by"))
    same(sorted((name, sum(row["calls"] for row in rows if row["name"] == name))
                for name in {row["name"] for row in rows}),
         sorted((row["name"], row["calls"]) for row in whole), "calls")
    same(sorted({row["name"] for row in json.loads(cairn("fleet", "spans", "job", "--json"))}),
         ["job"], "spans of one function")
    assert any(row["span p99"] for row in whole), whole
    slowest = json.loads(cairn("fleet", "slowest", "part", "--json", "--since", "1h"))
    same({row["name"] for row in slowest}, {"part"}, "slowest")
    same({row["version"] for row in json.loads(cairn("fleet", "trend", "main", "--json",
                                                     "--service", "by"))}, {"1", "2"}, "trend")
    assert "cairn fleet get " in cairn("fleet", "slowest", "part"), "the way to the whole run"


@case("each query of the Grafana dashboard is answered")
def _():
    with open(DASHBOARD, encoding="utf-8") as file:
        dashboard = json.load(file)
    values = {"$service": "by", "${service}": "by", "$metric": "calls",
              "$__from": "0", "$__to": "4000000000000"}
    queries = [panel["targets"][0]["rawSql"] for panel in dashboard["panels"]]
    queries += [one["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    for query in queries:
        for name in sorted(values, key=len, reverse=True):
            query = query.replace(name, values[name])
        assert "$" not in query, query
        assert SERVER.ask(query), query
    totals = SERVER.ask(queries[1].replace("$service", "by").replace("$metric", "calls")
                        .replace("$__from", "0").replace("$__to", "4000000000000"))
    whole = json.loads(cairn("fleet", "top", "--json", "--service", "by", "-m", "calls", "--top", "0"))
    same(sum(int(row[1]) for row in totals), sum(row["self"] for row in whole), "calls")


def asks(address, route, /, **items):
    with urllib.request.urlopen(address + "api/" + route + "?" +
                                urllib.parse.urlencode(items, doseq=True)) as answer:
        return json.loads(answer.read())


@case("the page's server: questions, comparison, runs and sums of runs as files")
def _():
    viewer = subprocess.Popen([CAIRN, "view", "--api", "--fleet", SERVER.url()],
                              stdout=subprocess.PIPE, text=True)
    try:
        address = viewer.stdout.readline().strip()
        fleet = asks(address, "fleet", service="by")
        assert "by" in [one["name"] for one in fleet["services"]], fleet
        same(fleet["metrics"][-1]["name"], "calls", "metrics")
        rows = asks(address, "fleet-ask", question="top", service="by", metric="calls", top=100)
        same(rows, json.loads(cairn("fleet", "top", "--json", "--service", "by", "-m", "calls")),
             "the same as the command")
        heat = asks(address, "fleet-ask", question="heat", service="by", block="part", step=60)
        spans = json.loads(cairn("fleet", "spans", "part", "--json", "--service", "by"))
        same(sum(cell["spans"] for cell in heat), spans[0]["spans"], "spans in the heat map")
        history = asks(address, "fleet-ask", question="history", service="by", top=100)
        same(len(history), 2, "runs")
        number = asks(address, "fleet-open", service="by")["file"]
        report = asks(address, "report", file=number, metric="calls", top=0, view="flat")
        same({row["block"]["name"]: row["calls"] for row in report["flat"]},
             {row["name"]: row["calls"] for row in rows if row["name"] != "[root]"},
             "the sum of two runs")
        one = asks(address, "fleet-open", run=history[0]["run"])["file"]
        files = asks(address, "captures")
        same(len(files), one + 1, "files")
        assert files[one]["fleet"], files
    finally:
        viewer.terminate()
        viewer.wait()


@case("the page's server leaves no fetched file, even if it cannot listen")
def _():
    folder = path("fetched")
    os.mkdir(folder)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        cairn("view", "--api", "--fleet", SERVER.url(), "--port", str(taken.getsockname()[1]), status=2,
              env=dict(os.environ, TMPDIR=folder))
    same(os.listdir(folder), [], "left")


@case("explain across runs finds that a version is slow")
def _():
    for number in range(6):
        subprocess.run([TIMED, "3" if number % 2 else "1"], check=True,
                       env=dict(os.environ, CAIRN_OUT=path("slow.cairn")))
        push(path("slow.cairn"), "version=%d" % (number % 2), "service=explained")
    answer = json.loads(cairn("fleet", "explain", "request", "--json", "--service",
                              "explained"))
    share = {factor["name"]: factor["explained"] for factor in answer["factors"]}
    version = share.pop("version")
    assert version > max(0.9, *share.values()), (version, share)


@case("explain across runs has one line of progress, until all runs are fetched")
def _():
    def wait(sql):
        time.sleep(0.05 if sql.startswith("SELECT") else 0)
    reader, terminal = pty.openpty()
    with SERVER.proxy(wait) as proxy:
        tool = subprocess.Popen([CAIRN, "fleet", "explain", "request", "--service", "explained"],
                                env=dict(os.environ, CAIRN_FLEET=proxy.url("cairn"), TERM="linux"),
                                stdout=subprocess.DEVNULL, stderr=terminal)
        os.close(terminal)
        text = b""
        try:
            while data := os.read(reader, 65536):
                text += data
        except OSError:  # the other end is closed
            os.close(reader)
        same(tool.wait(), 0, "status")
    lines = [line for line in text.decode().split("\r\x1b[K") if line]
    shares = [re.fullmatch(r"cairn fleet: fetching 6 runs  (\d+) %", line) for line in lines]
    assert shares[0] and sum(1 for share in shares if share) > 5, lines
    assert int([share for share in shares if share][-1][1]) > 80, lines  # of the last run
    assert not any("writing" in line for line in lines), lines


@case("a filter selects runs, and a hostile one selects none")
def _():
    for number in range(3):
        push(path("lua.cairn"), "version=filtered", "service=chosen", "commit=a'b\\c%d" % number)
    rows = json.loads(cairn("fleet", "runs", "--json", "--where", "version=filtered"))
    same(len(rows), 1, "runs: the capture is one run, its labels are the newest")
    same(len(json.loads(cairn("fleet", "runs", "--json", "--where", "commit=a'b\\c2"))), 1, "label")
    for hostile in ("version=' OR 1 = 1 --", "x'y=1", "host=\\", "service=') UNION ALL SELECT 1"):
        same(json.loads(cairn("fleet", "runs", "--json", "--where", hostile)), [], hostile)
    assert "since" in cairn_error("fleet", "runs", "--where", "version")
    assert "is no time" in cairn_error("fleet", "runs", "--where", "since=yesterday")


def cairn_stderr(*words):
    return subprocess.run([CAIRN, *words], capture_output=True, text=True, check=True,
                          env=dict(os.environ, CAIRN_FLEET=SERVER.url())).stderr


def cairn_error(*words, url=None):
    environment = dict(os.environ, CAIRN_FLEET=url or SERVER.url())
    done = subprocess.run([CAIRN, *words], capture_output=True, text=True, env=environment,
                          check=False)
    assert done.returncode == 2, (words, done.returncode, done.stdout, done.stderr)
    return done.stderr


@case("diff finds the function that became slower, and no other")
def _():
    chance = random.Random(5)
    for version in (1, 2):
        for number in range(8):
            slow = chance.gauss(1, 0.1)  # the machine
            text = "".join(
                "main;f%d %d\n" % (f, 100000 * (f + 1) * slow * chance.gauss(1, 0.005) *
                                   (1.05 if (f, version) == (3, 2) else 1))
                for f in range(8))
            name = path("noise-%d-%d.folded" % (version, number))
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
            cairn("import", name, "-o", name + ".cairn", "-m", "wall")
            push(name + ".cairn", "version=%d" % version, "service=noisy", "number=%d" % number)
    answer = json.loads(cairn("fleet", "diff", "version=1", "version=2", "--service", "noisy",
                              "--json"))
    blamed = [row["name"] for row in answer["functions"] if row["beyond_noise"]]
    same(blamed, ["f3"], "blamed")
    same((answer["runs_before"], answer["runs_after"]), (8, 8), "runs")
    cairn("fleet", "diff", "version=1", "version=2", "--service", "noisy", "--fail-above", "2%",
          status=1)
    cairn("fleet", "diff", "version=1", "version=2", "--service", "noisy", "--fail-above", "50%")
    assert "two runs or more" in cairn_error("fleet", "diff", "version=1", "version=9", "--service",
                                             "noisy")


@case("regressions: the last days against those before, as a gate for the night")
def _():
    def pushed(version, service, days):
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - days * 86400))
        cairn("push", *[path("noise-%d-%d.folded.cairn" % (version, number)) for number in range(8)],
              "--label", "service=" + service, "--label", "started=" + started)
    pushed(1, "slower", 10)
    pushed(2, "slower", 1)
    pushed(1, "ended", 30)
    pushed(2, "ended", 10)
    words = ("fleet", "regressions", "--since", "7d", "--fail-above", "3%", "--service")
    answer = json.loads(cairn(*words, "slower", "--json", status=1))
    same([row["name"] for row in answer["functions"] if row["beyond_noise"]], ["f3"], "blamed")
    same((answer["runs_before"], answer["runs_after"]), (8, 8), "runs")
    cairn("fleet", "regressions", "--since", "7d", "--fail-above", "9%", "--service", "slower")
    assert "two runs or more" in cairn_error(*words, "ended"), "no run in the last days"


@case("passwords: asked for by the server, taken from environment or file, never in an address")
def _():
    url = SERVER.url(user="guarded")
    environment = dict(os.environ, CAIRN_FLEET=url)
    assert "assword" in cairn_error("fleet", "runs", url=url)
    cairn("fleet", "runs", env=dict(environment, CAIRN_FLEET_PASSWORD="open sesame"))
    with open(path("password"), "w", encoding="utf-8") as file:
        file.write("open sesame\n")
    cairn("fleet", "runs", "--password-file", path("password"), env=environment)
    assert "does not belong" in cairn_error("fleet", "runs", url=url.replace("@", ":secret@"))
    assert "fleet init" in cairn_error("fleet", "runs", url=SERVER.url("missing"))


@case("a server that is away: push waits for it, and says so if it does not come")
def _():
    SERVER.stop()
    assert "is the server running" in cairn_error("push", "--retry", "0", path("lua.cairn"))
    timer = threading.Timer(1, SERVER.start)
    timer.start()
    push(path("lua.cairn"), "version=1")
    timer.join()


TABLES = (("figures", "metric, values"), ("spans", "lane, span, duration, start, open"),
          ("span_edges", "lane, span, to_lane, to_span"), ("edges", "source, target, calls"),
          ("block_figures", "metric, blocks, self, total"), ("runs", "contexts, spans"),
          ("histograms", "lane, number, counts, total"), ("counters", "lane, span, number, value"),
          ("events", "lane, span, number, level, text"),
          ("remote_parents", "lane, span, parent"), ("processes", "process, name, length"))


def same_tables(one, other):
    for table, columns in TABLES:
        sql = "SELECT hex(run), %s FROM %s FINAL ORDER BY run, %s" % (columns, table, columns)
        same(SERVER.ask(sql, one) == SERVER.ask(sql, other), True, table)


def database(name):
    """The environment for a new database."""
    environment = dict(os.environ, CAIRN_FLEET=SERVER.url(name), CAIRN_LABELS="")
    cairn("fleet", "init", env=environment)
    return environment


@case("an agent follows captures that grow; the end is what one push at the end makes")
def _():
    folder = path("folder")
    os.mkdir(folder)
    environment = database("followed")
    growing = [subprocess.Popen([GROWING, os.path.join(folder, "%d.cairn" % number)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for number in range(3)]
    agent = subprocess.Popen([CAIRN, "agent", folder, "--every", "1"], env=environment,
                             stdout=subprocess.PIPE, text=True)
    for step in range(4):
        for program in growing:
            program.stdin.write(b"x" * (step + 1))
            program.stdin.flush()
            for _ in range(step + 1):
                program.stdout.read(1)
        # Wait until the agent has told of each, so that what follows is an increment.
        told = set()
        while len(told) < len(growing):
            told.add(agent.stdout.readline().split(":")[0])
    refused = subprocess.run([CAIRN, "agent", folder, "--once"], env=environment,
                             capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "another agent" in refused.stderr, refused.stderr
    for program in growing:
        program.stdin.close()
        program.wait()
    agent.terminate()
    agent.communicate()
    cairn("agent", folder, "--once", env=environment)
    same(cairn("agent", folder, "--once", env=environment), "", "sent again by the next agent")
    captures = [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                if name.endswith(".cairn")]
    cairn("push", *captures, env=database("at_once"))
    same_tables("followed", "at_once")


LINE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)+)\} ([0-9.e+-]+)$')


@case("an agent's figures for Prometheus are those of the capture")
def _():
    folder = path("measured")
    os.mkdir(folder)
    for name in ("lua", "spans", "hostile"):
        shutil.copy(path(name + ".cairn"), folder)
    port = clickhouse.free_port()
    agent = subprocess.Popen([CAIRN, "agent", folder, "--every", "60", "--metrics", str(port)],
                             env=database("measured"), stdout=subprocess.PIPE, text=True)
    try:
        text = ""
        end = time.time() + 60
        while "lua.cairn" not in text and time.time() < end:
            time.sleep(0.2)
            try:
                with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port) as answer:
                    text = answer.read().decode("utf-8")
            except OSError:
                continue
        calls, spans, order = {}, {}, []
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                order.append(line.split()[2])
            if line.startswith("#"):
                continue
            found = LINE.match(line)
            assert found and found.group(1).startswith(order[-1]), line
            labels = {key: re.sub(r"\\(.)", r"\1", value) for key, value in
                      re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found.group(2))}
            if found.group(1) == "cairn_calls_total" and labels["capture"] == "lua.cairn":
                calls[labels["function"]] = int(found.group(3))
            if found.group(1) == "cairn_span_seconds_count":
                spans[labels["function"]] = int(found.group(3))
        report = json.loads(cairn("report", "--json", "--top", "0", "-m", "calls", path("lua.cairn")))
        expected = {}
        for row in report["flat"]:
            name = row["block"]["name"]
            expected[name] = expected.get(name, 0) + row["calls"]
        same(calls, {name: count for name, count in expected.items() if count and name != "[root]"},
             "calls")
        table = json.loads(cairn("spans", "--json", "--top", "0", path("spans.cairn")))
        same(spans, {row["block"]["name"]: row["count"] - row.get("open", 0)
                     for row in table["blocks"] if row["count"] > row.get("open", 0)}, "spans")
        request = urllib.request.Request("http://127.0.0.1:%d/metrics" % port,
                                         headers={"Host": "evil.example"})
        try:
            urllib.request.urlopen(request)
            raise AssertionError("another host's name was answered")
        except urllib.error.HTTPError as error:
            same(error.code, 404, "status")
    finally:
        agent.terminate()
        agent.communicate()


@case("an agent deletes only what it has sent")
def _():
    folder = path("old")
    os.mkdir(folder)
    for name in ("a.cairn", "b.cairn"):
        shutil.copy(path("lua.cairn"), os.path.join(folder, name))
        os.utime(os.path.join(folder, name), (1000000, 1000000))
    with open(os.path.join(folder, "broken.cairn"), "w", encoding="utf-8") as file:
        file.write("no capture")
    os.utime(os.path.join(folder, "broken.cairn"), (1000000, 1000000))
    subprocess.run([CAIRN, "agent", folder, "--once", "--delete-after", "1"], check=False,
                   env=database("deleted"), capture_output=True)
    same([name for name in sorted(os.listdir(folder)) if name[0] != "."], ["broken.cairn"], "left")


def false_server(serve):
    """Answers each connection by `serve` until the listener is closed. Returns the listener."""
    listener = socket.create_server(("127.0.0.1", 0))

    def work():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            try:
                connection.settimeout(5)
                connection.recv(65536)
                serve(connection)
            except OSError:
                pass
            finally:
                connection.close()
    threading.Thread(target=work, daemon=True).start()
    return listener


def http(body, status="200 OK", length=None):
    body = body.encode() if isinstance(body, str) else body
    return ("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (
        status, len(body) if length is None else length)).encode() + body


@case("an agent puts aside what the server refuses, with its words; a wrong password is no refusal")
def _():
    for status, body, aside in (("400 Bad Request", "Code: 27, no such row", True),
                                ("500 Internal", "Code: 193, wrong password", False),
                                ("404 Not Found", "Code: 60, no table", False),
                                ("503 Away", "", False)):
        folder = path("refused" + status[:3])
        os.mkdir(folder)
        shutil.copy(path("lua.cairn"), folder)
        answer = http(body, status)
        listener = false_server(lambda connection, answer=answer: connection.sendall(answer))
        done = subprocess.run([CAIRN, "agent", folder, "--once"], capture_output=True, check=False,
                              timeout=60, env=dict(os.environ, CAIRN_FLEET="clickhouse://127.0.0.1:%d/x" %
                                                   listener.getsockname()[1]))
        listener.close()
        same(done.returncode, 2, "status")
        left = sorted(name for name in os.listdir(folder) if name[0] != ".")
        same(left, ["refused"] if aside else ["lua.cairn"], status)
        if aside:
            with open(os.path.join(folder, "refused", "lua.cairn.txt"), encoding="utf-8") as file:
                assert "no such row" in file.read()


@case("hostile servers: garbage, lies about lengths, redirects; an error, never a crash")
def _():
    chance = random.Random(3)
    huge = b"\xff" * 9 + b"\x01"
    answers = [b"", b"garbage\r\n\r\n", http(b"\xff" * 64), http(huge), http(huge * 50),
               http(b"\x01", length=1000), http(b"x", "301 Moved\r\nLocation: file:///etc/passwd"),
               http(b"Code: 60, \x1b[2J", "404 Not Found")]
    answers += [http(bytes(chance.randrange(256) for _ in range(chance.randrange(400))))
                for _ in range(60)]
    for answer in answers:
        listener = false_server(lambda connection, answer=answer: connection.sendall(answer))
        url = "clickhouse://127.0.0.1:%d/x" % listener.getsockname()[1]
        for words in (("fleet", "get", "00" * 16, "-o", path("never.cairn")), ("fleet", "top"),
                      ("fleet", "slowest"), ("fleet", "diff", "version=1", "version=2"),
                      ("push", "--retry", "0", path("lua.cairn"))):
            done = subprocess.run([CAIRN, *words], capture_output=True, timeout=60, check=False,
                                  env=dict(os.environ, CAIRN_FLEET=url))
            assert done.returncode in (0, 2), (words, answer, done.returncode, done.stderr)
            assert b"\x1b" not in done.stderr, (answer, done.stderr)
        listener.close()
    assert not os.path.exists(path("never.cairn"))


with clickhouse.Server() as SERVER:
    try:
        make_captures()
        main()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
