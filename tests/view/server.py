#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The server of cairn view, without its page: the requests that it refuses, and its figures, which
must equal those of cairn report --json and cairn spans --json.

server.py CAIRN PLAY JOBS LIVE
"""
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

CAIRN, PLAY, JOBS, LIVE = map(os.path.abspath, sys.argv[1:5])
FOLDER = tempfile.mkdtemp()
CASES = []
PATIENCE = 60  # seconds, on a machine that has other things to do; live programs run for as long


def case(function):
    CASES.append(function)
    return function


def run(*command, text=None, **environment):
    return subprocess.run(command, input=text, check=True, stdout=subprocess.PIPE, text=True,
                          cwd=FOLDER, env=dict(os.environ, **environment)).stdout


class Server:
    """cairn view --api of some files."""

    def __init__(self, *files, options=(), stdin=None):
        self.process = subprocess.Popen([CAIRN, "view", "--api", *options, *files], cwd=FOLDER,
                                        stdin=stdin, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        parts = urllib.parse.urlsplit(self.address)
        self.port, self.token = parts.port, parts.path.strip("/")

    def ask(self, path, method="GET", headers=None):
        """The status, the headers and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for key, value in (headers or {"Host": "127.0.0.1:%d" % self.port}).items():
            connection.putheader(key, value)
        connection.endheaders()
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, dict(response.getheaders()), body

    def api(self, route, *items, status=200):
        query = urllib.parse.urlencode(items)
        found, _, body = self.ask("/%s/api/%s?%s" % (self.token, route, query))
        assert found == status, (route, items, found, body[:300])
        return json.loads(body)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=20)
        self.process.stdout.close()
        return status


EVENTS = """
block main a.c 1
block parse a.c 10 main
block token lib/b.c 20
block secret /etc/passwd 1
block above ../../../../../../etc/passwd 1
block link link.c 1
3 * >main +5 >parse +7 >token +2 ~token +1 < < >secret +1 < >above +1 < >link +1 < <
2 * >main >parse >parse >token +4 < < < >token +9 < <
>main >parse >token >parse >token >parse +3 < < < < < <
"""


def report(name, *options):
    return json.loads(run(CAIRN, "report", "--json", name, *options))


def live_begin(name):
    """Starts a program that records for a minute, and waits until it records."""
    live = subprocess.Popen([LIVE, name, "60", "2", "0", "0.002", "calm"], cwd=FOLDER)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done = subprocess.run([CAIRN, "report", "--json", name], cwd=FOLDER, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if done.returncode == 0 and json.loads(done.stdout)["state"] == "running":
            return live
        time.sleep(0.05)
    live.kill()
    raise AssertionError("%s: nothing is recorded" % name)


def wait_for(server, good):
    """Waits until the server's first file satisfies `good`, and returns it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        now = server.api("captures")[0]
        if good(now):
            return now
        time.sleep(0.05)
    raise AssertionError(now)


# ---- refused requests

@case
def incomplete_tokens_are_refused(server):
    almost = server.token[:-1] + ("1" if server.token[-1] == "0" else "0")
    for path in ("/", "/api/captures", "/%s" % server.token, "/%s/" % ("0" * 32),
                 "/%s/api/captures" % almost, "/%s/api/captures" % server.token.upper()
                 if server.token.upper() != server.token else "/"):
        status, _, body = server.ask(path)
        assert status == 403, (path, status)
        assert b"{" not in body and server.token.encode() not in body
    assert server.ask("/%s/api/captures" % server.token)[0] == 200


@case
def other_host_names_are_refused(server):
    path, port = "/%s/api/captures" % server.token, server.port
    for host in ("evil.example", "evil.example:%d" % port, "127.0.0.1", "127.0.0.1:1", "localhost",
                 "127.0.0.1:%d.evil.example" % port, "[::1]:%d" % port, "0.0.0.0:%d" % port, ""):
        assert server.ask(path, headers={"Host": host})[0] in (400, 403), host
    assert server.ask(path, headers={"Accept": "*/*"})[0] in (400, 403), "no host at all"
    assert server.ask(path, headers={"Host": "localhost:%d" % port})[0] == 200


@case
def other_origins_are_refused(server):
    path, host = "/%s/api/captures" % server.token, "127.0.0.1:%d" % server.port
    for origin in ("http://evil.example", "null", "https://127.0.0.1:%d" % server.port,
                   "http://127.0.0.1:1"):
        assert server.ask(path, headers={"Host": host, "Origin": origin})[0] == 403, origin
    assert server.ask(path, headers={"Host": host, "Origin": "http://" + host})[0] == 200


@case
def the_default_port_may_be_missing_in_the_host_name(_):
    try:
        with socket.socket() as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            line.bind(("127.0.0.1", 80))
    except OSError as error:
        print("# port 80 cannot be had: %s" % error.strerror)
        return
    server = Server("a.cairn", options=("--port", "80"))
    path = "/%s/api/captures" % server.token
    try:
        for host in ("127.0.0.1", "localhost", "localhost:80"):
            for origin in ({}, {"Origin": "http://" + host}):
                assert server.ask(path, headers={"Host": host, **origin})[0] == 200, host
        for host in ("evil.example", "127.0.0.1:8", "localhost.evil.example"):
            assert server.ask(path, headers={"Host": host})[0] == 403, host
    finally:
        assert server.stop() == 0


@case
def only_get_is_answered(server):
    path = "/%s/api/captures" % server.token
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "HEAD"):
        assert server.ask(path, method)[0] in (405, 501), method


@case
def paths_outside_are_refused(server):
    for path in ("../", "../../etc/passwd", "api/../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd",
                 "..%2f..%2fetc/passwd", "api/", "api/captures/", "api//captures", "api/captures%00",
                 "/etc/passwd", "page.js/../x", "a.cairn"):
        status, _, body = server.ask("/%s/%s" % (server.token, path))
        assert status in (400, 403, 404, 414), (path, status)
        assert b"root:" not in body


@case
def sources_outside_the_folder_are_refused(server):
    os.symlink("/etc/passwd", os.path.join(FOLDER, "link.c"))
    for name in ("secret", "above", "link"):
        block = server.api("steps", ("focus", name))[0]["block"]["id"]
        answer = server.api("source", ("block", block))
        assert answer["lines"] is None and "--source" in answer["reason"], answer
    block = server.api("steps", ("focus", "main"))[0]["block"]["id"]
    assert server.api("source", ("block", block))["lines"] == ["int main;", "\u00e4\ufffd"]


@case
def oversized_queries_are_refused(server):
    start = "/%s/api/match?text=" % server.token
    assert server.ask(start + "x" * 4000)[0] == 200
    assert server.ask(start + "x" * 9000)[0] == 414
    assert server.ask(start + "x" * 20000)[0] in (413, 414, 431)
    many = "&".join("drop=" for _ in range(100))
    assert server.ask("/%s/api/report?%s" % (server.token, many))[0] == 414
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        try:
            line.sendall(b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * (1 << 20))
        except OSError:
            pass
    assert server.ask("/%s/api/captures" % server.token)[0] == 200, "it still answers"


@case
def many_open_connections_do_not_block_others(server):
    lines = []
    try:
        for number in range(100):
            line = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            lines.append(line)
            line.sendall(b"GET /%d HTTP/1.1\r\nHost: loc" % number)
        assert server.ask("/%s/api/captures" % server.token)[0] == 200
    finally:
        for line in lines:
            line.close()
    assert server.ask("/%s/api/captures" % server.token)[0] == 200


ROUTES = ("captures", "blocks", "report", "steps", "sequences", "match", "flame", "graph", "source",
          "diff", "diff-flame", "why", "explain", "latency", "whatif", "spans", "span", "span-flame", "timeline",
          "iterations", "", "nothing", "report/", "%72eport")
KEYS = ("file", "metric", "focus", "drop", "view", "sort", "top", "least", "root", "width", "callers",
        "nodes", "block", "ids", "text", "before", "after", "id", "chosen", "of", "first", "last",
        "shortest", "longest", "points", "from", "to", "pixels", "lane", "lanes", "speed", "threads",
        "deadline", "frames", "cores", "table", "", "%00x", "x")
VALUES = ("", "0", "1", "2", "3", "7", "-1", "4294967295", "4294967296", "9223372036854775807",
          "18446744073709551616", "1e3", "0x10", "nan", "inf", "1:2", "1:nan", "1:1e300", "0:0", "2:-3",
          "1:2:3", ":", "#", "%231", "%23999", "main", "parse,token", ",", ",,,,", "a" * 300, "%", "%zz",
          "%f0%28%8c%28", "%22%5c%0a%00", "+", "&&", "==", "flat", "tree", "stack", "missing", "slowest",
          "ticks", "calls", "wall", "self", "(((", "[[", "\\", "*", "?", "main." * 50)


@case
def every_question_is_answered(server):
    chance = random.Random(7)
    for number in range(400):
        items = ["%s=%s" % (chance.choice(KEYS), chance.choice(VALUES))
                 for _ in range(chance.randrange(5))]
        question = "%s?%s" % (chance.choice(ROUTES), "&".join(items))
        status, headers, body = server.ask("/%s/api/%s" % (server.token, question))
        assert status in (200, 400, 404, 414), (number, question, status)
        if headers["Content-Type"] == "application/json":
            answer = json.loads(body)
            assert status == 200 or list(answer) == ["error"], (question, body)
            assert status == 200 or answer["error"] and "\n" not in answer["error"], (question, body)
    assert server.process.poll() is None


@case
def bad_questions_get_an_error(server):
    for route, items in (("report", [("focus", "nobody")]), ("report", [("metric", "love")]),
                         ("report", [("file", "7")]), ("report", [("file", "-1")]),
                         ("report", [("top", "x")]), ("flame", [("root", "999999")]),
                         ("flame", [("width", "1e9")]), ("flame", [("levels", "100000")]), ("source", [("block", "99999")]),
                         ("span", [("file", "1"), ("id", "99999")]), ("spans", []),
                         ("latency", [("file", "1")]), ("latency", [("file", "1"), ("from", "1"), ("to", "1")]),
                         ("latency", [("file", "1"), ("from", "1"), ("to", "99999")]),
                         ("latency", [("file", "1"), ("from", "1"), ("to", "2"), ("deadline", "x")]),
                         ("latency", [("file", "1"), ("from", "1"), ("to", "2"), ("frames", "99999")]),
                         ("timeline", [("file", "1"), ("pixels", "99999")]),
                         ("diff", [("before", "9")]), ("diff-flame", [("metric", "love")])):
        answer = server.api(route, *items, status=400)
        assert list(answer) == ["error"] and len(answer["error"]) > 10, answer
        assert "\n" not in answer["error"]


@case
def answers_forbid_use_by_other_sites(server):
    headers = server.ask("/%s/api/captures" % server.token)[1]
    assert headers["Content-Type"] == "application/json"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "Access-Control-Allow-Origin" not in headers


@case
def the_server_listens_on_the_loopback_interface_only(server):
    with open("/proc/net/tcp", encoding="ascii") as table:
        local = [line.split()[1] for line in table.readlines()[1:]]
    assert "0100007F:%04X" % server.port in local
    assert "00000000:%04X" % server.port not in local


# ---- figures

@case
def reports_are_those_of_the_command(server):
    for options, items in (
            (["--flat"], [("view", "flat")]),
            (["--flat", "--top", "2", "--sort", "total"],
             [("view", "flat"), ("top", "2"), ("sort", "total")]),
            (["--tree", "--threshold", "0"], [("view", "tree"), ("least", "0")]),
            (["--stack"], [("view", "stack")]),
            (["--focus", "token"], [("focus", "token")]),
            (["--focus", "parse,token", "--drop", "secret"],
             [("focus", "parse,token"), ("drop", "secret")]),
            (["--flat", "--focus", "parse", "--metric", "calls"],
             [("view", "flat"), ("focus", "parse"), ("metric", "calls")])):
        assert server.api("report", *items) == report("a.cairn", *options), options


@case
def cached_answers_are_not_mixed_up(server):
    server.api("report", ("view", "flat&top=1"))
    assert server.api("report", ("view", "flat"), ("top", "1")) == report(
        "a.cairn", "--flat", "--top", "1")
    server.api("report", ("view", "flat&3:top=1:1"))
    assert server.api("report", ("view", "flat"), ("top", "1")) == report(
        "a.cairn", "--flat", "--top", "1")


@case
def boxes_are_the_contexts_of_the_tree(server):
    for options, items in (([], []), (["--focus", "parse"], [("focus", "parse")]),
                           (["--drop", "token"], [("drop", "token")])):
        tree = report("a.cairn", "--tree", "--threshold", "0", *options)["tree"]
        flame = server.api("flame", ("width", "20000"), *items)
        found = {row[1]: row for row in flame["rows"]}
        for row in tree:
            box = found.get(row["context"])
            if box is None:
                assert not row["inclusive"]["ticks"], row
                continue
            assert [box[3], box[4], box[5], box[6]] == [
                row["inclusive"]["ticks"], row["self"]["ticks"], row["calls"],
                row["cycle_calls"]], (row, box)
            assert flame["blocks"][str(box[2])]["name"] == row["block"]["name"]


@case
def narrow_boxes_are_counted(server):
    flame = server.api("flame", ("width", "5"))
    rows = flame["rows"]
    below = [0] * len(rows)
    for row in rows[1:]:
        below[row[0]] += row[3]
    for i, row in enumerate(rows):
        assert row[3] == row[4] + below[i] + row[8], row
        assert (row[7] > 0) == (row[8] > 0)
    assert any(row[7] for row in rows)


def without(flame, levels, shown=()):
    """The boxes above a depth, those that are always shown, and their ancestors."""
    rows, depths = flame["rows"], []
    for row in rows:
        depths.append(0 if row[0] < 0 else depths[row[0]] + 1)
    kept = [depth < levels or row[1] in shown for row, depth in zip(rows, depths)]
    for i in range(len(rows) - 1, 0, -1):
        kept[rows[i][0]] |= kept[i]
    numbers = {-1: -1}
    for i, keep in enumerate(kept):
        if keep:
            numbers[i] = len(numbers) - 1
    deepest = max(depth + 1 + (row[7] > 0) for row, depth in zip(rows, depths))
    return deepest, [[numbers[row[0]]] + row[1:] for row, keep in zip(rows, kept) if keep]


@case
def levels_beyond_the_request_are_left_out(server):
    for items in ([("width", "20000")], [("width", "5")], [("callers", "1"), ("width", "300")],
                  [("focus", "parse"), ("width", "20000")]):
        whole = server.api("flame", *items)
        assert "levels" not in whole and "asked" not in whole
        for levels in (1, 2, 3, 100):
            some = server.api("flame", ("levels", levels), *items)
            deepest, rows = without(whole, levels)
            assert (some["levels"], some["asked"]) == (deepest, levels), some
            assert some["rows"] == rows
            used = {str(row[2]) for row in rows} | {str(above[1]) for above in some["above"]}
            assert some["blocks"] == {key: whole["blocks"][key] for key in used}
    assert len(rows) > 3 and levels > deepest > 3  # else nothing was left out


@case
def the_callers_view_has_all_costs(server):
    flame = server.api("flame", ("callers", "1"), ("width", "20000"))
    flat = report("a.cairn", "--flat", "--top", "0")["flat"]
    top = {flame["blocks"][str(r[2])]["name"]: r[3] for r in flame["rows"] if r[0] == 0}
    assert top == {row["block"]["name"]: row["self"]["ticks"] for row in flat
                   if row["self"]["ticks"]}


@case
def arrows_are_sequences_of_two(server):
    graph = server.api("graph", ("nodes", "50"))
    assert graph["arrows"]
    for arrow in graph["arrows"]:
        pair = "#%d,#%d" % (arrow["caller"], arrow["callee"])
        its = report("a.cairn", "--focus", pair)["sequence"]
        assert arrow["calls"] == its["calls"], (pair, arrow, its)
        assert arrow["inclusive"] == its["inclusive"]["ticks"], (pair, arrow, its)


@case
def steps_are_sequences(server):
    steps = server.api("steps", ("focus", "main,parse,token"))
    for i, focus in enumerate(("main", "main,parse", "main,parse,token")):
        its = report("a.cairn", "--focus", focus)["sequence"]
        assert [steps[i]["calls"], steps[i]["self"], steps[i]["inclusive"]] == [
            its["calls"], its["self"]["ticks"], its["inclusive"]["ticks"]]


@case
def paths_add_up(server):
    answer = server.api("sequences", ("top", "0"))
    total = next(m["total"] for m in report("a.cairn")["metrics"] if m["name"] == "ticks")
    assert answer["total"] == total == sum(row["self"] for row in answer["sequences"])
    found = server.api("match", ("text", "PARSE"))
    assert found["inclusive"] == report("a.cairn", "--focus", "parse")["sequence"]["inclusive"]["ticks"]


@case
def differences_are_those_of_the_command(server):
    theirs = json.loads(run(CAIRN, "diff", "--json", "a.cairn", "c.cairn", "--top", "100"))
    assert server.api("diff", ("before", "0"), ("after", "2")) == theirs
    why = json.loads(run(CAIRN, "diff", "--why", "--json", "a.cairn", "c.cairn", "--top", "20"))
    assert server.api("why", ("before", "0"), ("after", "2")) == why
    flame = server.api("diff-flame", ("before", "0"), ("after", "2"), ("width", "20000"))
    assert (flame["before"], flame["total"]) == (theirs["total"]["before"], theirs["total"]["after"])
    totals = {}
    for row in flame["rows"]:
        if row[0] == 0:
            totals[flame["blocks"][str(row[2])]["name"]] = (row[9], row[3])
    assert totals["main"][0] and totals["main"][1]


@case
def files_of_other_tools_open(server):
    files = server.api("captures")
    assert [file["foreign"] for file in files] == [False, False, False, True, True]
    mine = {row["block"]["name"]: row["self"]["ticks"]
            for row in report("a.cairn", "--flat", "--top", "0")["flat"] if row["self"]["ticks"]}
    for number, metric in ((3, "ticks"), (4, "samples")):
        rows = server.api("report", ("file", number), ("view", "flat"), ("top", "0"),
                          ("metric", metric))["flat"]
        assert {row["block"]["name"]: row["self"][metric] for row in rows
                if row["self"][metric]} == mine


@case
def captures_from_pipes_are_complete(_):
    with open(os.path.join(FOLDER, "many.folded"), "w", encoding="ascii") as file:
        file.writelines("main;number_%d %d\n" % (i, i) for i in range(1, 3000))
    with subprocess.Popen(["cat", "many.folded"], cwd=FOLDER, stdout=subprocess.PIPE) as cat:
        server = Server("many.folded", "/dev/stdin", stdin=cat.stdout)
        try:
            named, piped = server.api("captures")
        finally:
            assert server.stop() == 0
    assert [metric["total"] for metric in piped["metrics"]] == [3000 * 2999 // 2]
    assert piped["metrics"] == named["metrics"]


# ---- spans

@case
def spans_are_those_of_the_command(server):
    while server.api("captures")[1]["spans"] is None:
        time.sleep(0.05)
    for options, view in (([], "blocks"), (["--slowest=30"], "slowest"),
                          (["--missing", "--top", "30"], "missing")):
        theirs = json.loads(run(CAIRN, "spans", "--json", "jobs.cairn", *options))
        assert server.api("spans", ("file", "1"), ("view", view)) == theirs, view


@case
def bars_add_up_to_the_time_of_the_spans(server):
    spans = json.loads(run(CAIRN, "spans", "--json", "jobs.cairn", "--slowest=0"))["slowest"]
    for pixels in (1, 40, 1600):
        chart = server.api("timeline", ("file", "1"), ("pixels", pixels))
        bars = chart["bars"]
        assert sum(bar[6] for bar in bars) == len(spans)
        assert sum(bar[4] for bar in bars) == sum(span["duration"] for span in spans)
        rows = {}
        for bar in sorted(bars, key=lambda bar: bar[2]):
            end = rows.get((bar[0], bar[1]), 0)
            assert pixels < 1000 or bar[2] >= end, "bars of a row do not overlap"
            rows[bar[0], bar[1]] = max(end, bar[3])
    handed = [arrow for arrow in chart["arrows"] if arrow["kind"] == "handoff"]
    # Spans narrower than a pixel (on a busy machine) have no arrow.
    wide = [span for span in spans if span["duration"] > chart["finest"]]
    assert len(handed) == sum(span["handed_off"] for span in wide)


@case
def a_choice_of_iterations_filters(server):
    answer = server.api("iterations", ("file", "1"))
    assert answer["block"]["name"] == "convert_image" and answer["numbered"]
    assert len(answer["points"]) == answer["spans"] == 4
    items = [("file", "1"), ("of", answer["block"]["id"]), ("first", "1"), ("last", "1")]
    chosen = server.api("spans", ("view", "slowest"), *items)
    assert [span["iteration"] for span in chosen["slowest"]] == [1, 1]
    one = server.api("span", ("file", "1"), ("id", chosen["slowest"][0]["id"]))
    assert one["duration"] == chosen["slowest"][0]["duration"] and len(one["ancestors"]) == 3
    assert chosen["slowest"][0]["ancestors"] == one["ancestors"], "what it lies in is not chosen"
    renumbered = server.api("span", ("id", "0"), ("chosen", "1"), *items)
    assert renumbered["iteration"] == 1 and renumbered["block"] == answer["block"]
    chart = server.api("timeline", *items)
    assert sum(bar[6] for bar in chart["bars"]) == sum(lane["spans"] for lane in chart["lanes"]) == 2
    ends = [time for bar in chart["bars"] for time in bar[2:4]]
    assert chart["from"] <= min(ends) and chart["to"] > max(ends)
    assert chart["to"] - chart["from"] < 1.05 * (max(ends) - min(ends)) + 2, chart["to"]
    thin = server.api("iterations", ("file", "1"), ("points", "1"))
    assert len(thin["points"]) == 1 and thin["points"][0][3] == 4


@case
def latencies_are_those_of_the_command(server):
    blocks = {row["block"]["name"]: row["block"]["id"]
              for row in json.loads(run(CAIRN, "spans", "--json", "jobs.cairn"))["blocks"]}
    ends = (("file", "1"), ("from", blocks["foo"]), ("to", blocks["convert_image"]))
    whole = json.loads(run(CAIRN, "latency", "--json", "jobs.cairn", "--from", "foo", "--to", "convert_image",
                           "--deadline", "1us", "--top", "0"))
    found = server.api("latency", *ends, ("deadline", "1000"), ("top", "1000"))
    assert found.pop("capture").endswith(whole.pop("capture")) and found == whole, (found, whole)
    assert whole["missed"] == whole["count"] == 2 and len(whole["frames"]) == 2, whole
    one = server.api("latency", *ends, ("deadline", "1000"), ("frames", "1"))["frames"]
    assert [(row["count"], row["missed"], row["latency"]) for row in one] == [(2, 2, whole["latency"]["max"])], one
    first = server.api("latency", *ends, ("of", blocks["convert_image"]), ("first", "0"), ("last", "0"))
    assert first["count"] == 1 and first["frames"][0]["iteration"] == 0, first


@case
def a_choice_that_is_no_number_is_ignored(server):
    for key, value in (("of", "1.5"), ("of", "9999"), ("of", "-1"), ("first", "NaN"), ("last", "null"),
                       ("shortest", "-1"), ("longest", "1e3"), ("first", "9223372036854775808")):
        for route in ("spans", "timeline", "span-flame", "explain"):
            items = {"file": "1", "of": "2", key: value}
            answer = server.api(route, *items.items(), status=400)
            assert "number" in answer["error"] or "block" in answer["error"], answer
    assert server.api("spans", ("file", "1"), ("of", "2"), ("first", ""), ("last", "-5"))["spans"] == 0


@case
def span_boxes_add_up_to_self_time(server):
    spans = json.loads(run(CAIRN, "spans", "--json", "jobs.cairn", "--slowest=0"))["slowest"]
    flame = server.api("span-flame", ("file", "1"), ("width", "20000"))
    assert flame["total"] == sum(span["self"] for span in spans)
    found = {}
    for row in flame["rows"]:
        name = flame["blocks"][str(row[2])]["name"]
        found[name] = [a + b for a, b in zip(found.get(name, [0, 0]), row[4:6])]
    for block in json.loads(run(CAIRN, "spans", "--json", "jobs.cairn"))["blocks"]:
        assert found[block["block"]["name"]] == [block["self"], block["count"]], block
    block = server.api("iterations", ("file", "1"))["block"]["id"]
    chosen = server.api("span-flame", ("file", "1"), ("of", block), ("first", "0"), ("last", "0"))
    assert chosen["rows"][1][5] == 2


@case
def folded_boxes_are_those_of_the_command(_):
    """A path that folded at a limit, with a small cost: it is drawn at any width."""
    run(PLAY, "folded.cairn", text="limits 4 0\n>main +1000000 >a >b >c >d +2 < < < < <\n")
    server = Server("folded.cairn")
    try:
        theirs = {row["block"]["name"]: row for row in report("folded.cairn", "--flat", "--top", "0")["flat"]}
        assert "[folded]" in theirs, theirs
        for width in (1, 300, 20000):
            flame = server.api("flame", ("metric", "ticks"), ("width", width))
            boxes = [row for row in flame["rows"]
                     if flame["blocks"][str(row[2])]["name"] == "[folded]"]
            assert sum(box[3] for box in boxes) == theirs["[folded]"]["inclusive"]["ticks"], flame
            for levels in (1, 2, 3):
                some = server.api("flame", ("metric", "ticks"), ("width", width), ("levels", levels))
                assert some["rows"] == without(flame, levels, {box[1] for box in boxes})[1], some
    finally:
        assert server.stop() == 0


# ---- while a program writes

@case
def a_live_capture_is_read_again(_):
    live = live_begin("live.cairn")
    server = Server("live.cairn")
    try:
        first = server.api("captures")[0]
        assert first["state"] == "running", first
        wait_for(server, lambda now: now["generation"] > first["generation"])
    finally:
        live.kill()
        live.wait()
    last = server.api("captures")[0]
    assert last["state"] == "killed", last
    assert server.api("report", ("view", "flat")) == report("live.cairn", "--flat")
    assert server.api("captures")[0] == last, "it is read once more, and not again"
    assert server.stop() == 0


@case
def a_program_that_ends_is_read_to_its_end(_):
    live = live_begin("ends.cairn")
    server = Server("ends.cairn")
    try:
        before = wait_for(server, lambda now: now["spans"] is not None)
        assert before["state"] == "running", before
    finally:
        live.terminate()
        assert live.wait() == 0
    last = server.api("captures")[0]
    assert last["state"] == "ended" and last["generation"] > before["generation"], last
    theirs = report("ends.cairn", "--flat")
    assert server.api("report", ("view", "flat")) == theirs
    def metric_of(one):
        return {key: one[key] for key in ("name", "unit", "total", "sampling") if key in one}
    assert last["metrics"] == [metric_of(one) for one in theirs["metrics"] if one["total"]]
    assert server.api("captures")[0] == last
    assert server.stop() == 0


@case
def another_program_at_the_same_path_is_read(_):
    live = live_begin("again.cairn")
    server = Server("again.cairn")
    try:
        wait_for(server, lambda now: now["spans"] is not None)
        live.terminate()
        live.wait()
        live = live_begin("again.cairn")
        first = server.api("captures")[0]
        assert first["state"] == "running", first
        wait_for(server, lambda now: now["generation"] > first["generation"])
    finally:
        live.terminate()
        live.wait()
    assert server.api("captures")[0]["state"] == "ended"
    assert server.stop() == 0


@case
def a_new_recording_at_the_same_path_is_read(_):
    for end in (signal.SIGKILL, signal.SIGTERM):
        live = live_begin("anew.cairn")
        server = Server("anew.cairn")
        try:
            wait_for(server, lambda now: now["spans"] is not None)
            live.send_signal(end)
            live.wait()
            ended = server.api("captures")[0]
            assert ended["state"] == ("killed" if end == signal.SIGKILL else "ended"), ended
            live = live_begin("anew.cairn")
            now = wait_for(server, lambda now: now["state"] == "running")
            assert now["generation"] > ended["generation"], now
        finally:
            live.terminate()
            live.wait()
        assert server.api("captures")[0]["state"] == "ended"
        assert server.stop() == 0


@case
def a_truncated_file_has_a_warning(_):
    with open(os.path.join(FOLDER, "a.cairn"), "rb") as file:
        whole = file.read()
    with open(os.path.join(FOLDER, "cut.cairn"), "wb") as file:
        file.write(whole[:len(whole) * 9 // 10])
    server = Server("a.cairn", "cut.cairn")
    try:
        good, cut = server.api("captures")
        assert good["warnings"] == [] and "truncated" in cut["warnings"][0], (good, cut)
        assert cut["warnings"] == report("cut.cairn")["warnings"]
        assert "there is no file 9" in server.api("diff", ("before", "9"), status=400)["error"]
    finally:
        assert server.stop() == 0


@case
def a_live_capture_that_becomes_a_pipe_does_not_block(_):
    path = os.path.join(FOLDER, "piped.cairn")
    live = live_begin("piped.cairn")
    server = Server("piped.cairn")
    try:
        before = wait_for(server, lambda now: now["spans"] is not None)
        os.remove(path)
        os.mkfifo(path)
    finally:
        live.kill()
        live.wait()
    now = server.api("captures")[0]  # it is read at once, now that nobody writes it
    assert now["metrics"] == before["metrics"] or now["generation"] > before["generation"], now
    assert server.stop() == 0


# ---- termination

@case
def it_can_be_ended_while_it_reads(_):
    os.mkfifo(os.path.join(FOLDER, "pipe"))
    with subprocess.Popen([CAIRN, "view", "--api", "pipe"], cwd=FOLDER,
                          stdout=subprocess.DEVNULL) as process:
        with open(os.path.join(FOLDER, "pipe"), "wb", buffering=0) as pipe:
            pipe.write(b"main;work 1\n")
            process.terminate()
            try:
                assert process.wait(timeout=20) == -signal.SIGTERM
            finally:
                process.kill()


@case
def it_can_be_ended_while_it_reads_spans(_):
    server = Server("jobs.cairn")
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(b"GET /%s/api/spans HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" %
                     (server.token.encode(), server.port))
        try:
            assert server.stop() == 0
        finally:
            server.process.kill()


@case
def what_becomes_a_pipe_holds_nobody_up(_):
    path, pipe = os.path.join(FOLDER, "stuck.cairn"), os.path.join(FOLDER, "second")
    shutil.copy(os.path.join(FOLDER, "jobs.cairn"), path)
    os.mkfifo(pipe)

    def replace():
        with open(pipe, "wb") as file:  # it is opened when the first has been read
            os.remove(path)
            os.mkfifo(path)
            file.write(b"main;work 1\n")

    thread = threading.Thread(target=replace)
    thread.start()
    server = Server("stuck.cairn", "second")
    thread.join()
    try:
        wait_for(server, lambda now: now["spans"] == 0)
        assert "has no spans" in server.api("spans", status=400)["error"]
        assert server.stop() == 0
    finally:
        server.process.kill()


@case
def what_cannot_be_opened_is_said(_):
    with open(os.path.join(FOLDER, "empty"), "wb"):
        pass
    os.mkdir(os.path.join(FOLDER, "folder"))
    for name, words in (("nowhere.cairn", "check the path"), ("a.c", "nor a capture, nor pprof"),
                        ("empty", "is empty; name a profiler"), ("folder", "is a directory; name"),
                        ("/dev/null", "is a device; name a file")):
        done = subprocess.run([CAIRN, "view", "--api", name], cwd=FOLDER, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 2 and not done.stdout, done
        assert done.stderr.count("\n") == 1 and name + ": " in done.stderr, done
        assert words.replace("nor a", "neither a") in done.stderr, done


@case
def a_capture_by_a_pipe_is_refused_with_what_to_do(_):
    for command in (["view", "--api"], ["report"], ["spans"], ["export"]):
        with open(os.path.join(FOLDER, "jobs.cairn"), "rb") as file:
            with subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
                done = subprocess.run([CAIRN, *command, "/dev/stdin"], cwd=FOLDER, check=False,
                                      stdin=cat.stdout, stderr=subprocess.PIPE, text=True,
                                      stdout=subprocess.PIPE)
                cat.stdout.close()
                cat.wait()
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        assert "/dev/stdin: " in done.stderr and "save" in done.stderr, done


@case
def sql_reads_only_and_ends_in_time(server):
    text = "select name, count(*), sum(duration) from spans group by name order by 1"
    wanted = json.loads(run(CAIRN, "query", "jobs.cairn", "--json", text))
    found = server.api("sql", ("file", 1), ("q", text))
    assert (found["columns"], found["rows"]) == (wanted["columns"], wanted["rows"]), found
    one = server.api("sql", ("file", 1), ("q", "select id from spans"), ("top", 1))
    assert len(one["rows"]) == 1 and one["more"] is True, one
    assert "more" not in server.api("sql", ("file", 1), ("q", "select 1"))
    # Files without spans, and of other tools.
    for file in (0, 3, 4):
        assert server.api("sql", ("file", file), ("q", "select count(*) from contexts"))["rows"][0][0] > 0
    for text in ("", "delete from blocks", "create table x(y)", "attach 'z' as z", "pragma user_version",
                 "select 1; select 2", "select load_extension('x')", "select writefile('x', 'y')", "selec"):
        assert server.api("sql", ("file", 1), ("q", text), status=400)["error"], text
    assert not os.path.exists(os.path.join(FOLDER, "z"))
    begin = time.monotonic()
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    answer = server.api("sql", ("file", 1), ("q", endless), ("seconds", 1), status=400)
    # Not before; and before the connection's patience of 30 seconds ends.
    assert "stopped after 1 second" in answer["error"] and time.monotonic() - begin > 0.99, answer
    names = [table["name"].split("(")[0] for table in server.api("schema")]
    schema = run(CAIRN, "query", "--schema")
    assert "spans" in names and "percentile" in names, names
    for name in names:
        assert any(form in schema for form in ("table %s:" % name, "view %s:" % name, name + "(", "\n%s " % name)), name


def upload(server, data, name="x.cairn", origin=True, length=None, token=None):
    """Sends a file as the page does; returns the status and the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest("POST", "/%s/api/open?%s" % (token or server.token,
                                                       urllib.parse.urlencode({"name": name})))
    if origin:
        connection.putheader("Origin", "http://127.0.0.1:%d" % server.port if origin is True
                             else origin)
    connection.putheader("Content-Length", str(len(data) if length is None else length))
    connection.endheaders()
    try:
        connection.send(data)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@case
def uploads_become_files(_):
    temporary = os.path.join(FOLDER, "uploads")
    os.mkdir(temporary)
    os.environ["TMPDIR"] = temporary
    server = Server("a.cairn")
    del os.environ["TMPDIR"]

    def read(name):
        with open(os.path.join(FOLDER, name), "rb") as file:
            return file.read()
    capture = read("a.cairn")
    # Refused: other origins, no origin, no token, too large.
    assert upload(server, capture, origin="http://evil.example")[0] == 403
    assert upload(server, capture, origin=False)[0] == 403
    assert upload(server, capture, token="0" * 32)[0] == 405
    assert upload(server, b"", length=(1 << 30) + 1)[0] == 413
    assert not os.listdir(temporary)
    # Not a profile: an error that names it, and nothing stays.
    for data in (b"", b"\0\1\2", b"CAIRN" + bytes(1000), b"\x1f\x8b" + bytes(50), capture[:300]):
        status, answer = upload(server, data, "bad")
        assert status == 400 and b"bad" in answer, (data[:20], status, answer)
    randomness = random.Random(5)
    for _ in range(30):
        broken = bytearray(capture)
        for _ in range(20):
            broken[randomness.randrange(len(broken))] = randomness.randrange(256)
        if upload(server, bytes(broken), "broken.cairn")[0] == 200 and \
                len(server.api("captures")) > 4:
            break
    # Names cannot leave the folder.
    before = len(server.api("captures"))
    for name in ("../../../x", "/etc/passwd", ".", "..", "", "a\nb", "n" * 5000, "n" * 9000):
        status, answer = upload(server, capture, name)
        assert status in (200, 414), (name, status, answer)
    for where, _, names in os.walk(temporary):
        assert where.startswith(temporary) and all(name[0] != "." for name in names), names
    now = server.api("captures")
    assert [one["name"] for one in now[before:]] == ["x", "passwd", "dropped", "dropped", "dropped", "a_b", "n" * 100], \
        [one["name"] for one in now]
    assert server.api("report", ("file", len(now) - 1), ("view", "flat"))["flat"] == \
        server.api("report", ("file", 0), ("view", "flat"))["flat"]
    # An upload that breaks off leaves nothing; at the limit of files there is an error.
    def kept():
        return sum(len(names) for _, _, names in os.walk(temporary))
    def until_kept(count):
        end = time.monotonic() + PATIENCE
        while kept() != count:
            assert time.monotonic() < end, (kept(), count)
            time.sleep(0.05)
    files = kept()
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(("POST /%s/api/open?name=half HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: http://127.0.0.1:%d\r\n"
                      "Content-Length: 1000\r\n\r\nabc" % (server.token, server.port, server.port)).encode())
        until_kept(files + 1)
    until_kept(files)
    while len(server.api("captures")) < 16:
        assert upload(server, capture)[0] == 200
    status, answer = upload(server, capture)
    assert status == 400 and b"limit" in answer, answer
    assert server.stop() == 0
    assert not os.listdir(temporary), os.listdir(temporary)


@case
def a_range_of_time_cuts_spans_off(server):
    length = server.api("timeline", ("file", 1))["length"]
    for since, until in ((0, length // 3), (length // 3, length // 2), (length // 2, length + 1)):
        rows = json.loads(run(CAIRN, "query", "jobs.cairn", "--json",
                              "select block, count(*), sum(min(end, {1}) - max(start, {0})) from spans "
                              "where start < {1} and end > {0} group by 1".format(since, until)))["rows"]
        answer = server.api("spans", ("file", 1), ("top", 0), ("since", since), ("until", until))
        found = sorted([row["block"]["id"], row["count"], row["total"]] for row in answer["blocks"])
        assert found == sorted(rows), (found, rows)
        flame = server.api("span-flame", ("file", 1), ("since", since), ("until", until))
        assert flame["total"] == sum(row["self"] for row in answer["blocks"]), flame["total"]
    server.api("spans", ("file", 1), ("since", 5), ("until", 5), status=400)
    server.api("spans", ("file", 1), ("since", "x"), status=400)


@case
def a_second_page_in_one_file_is_as_the_first(server):
    path = "/%s/api/export?to=html&file=1" % server.token  # of jobs.cairn, which has spans
    (status, _, first), (_, _, second) = server.ask(path), server.ask(path)
    assert status == 200 and first == second, "pages of %d and %d bytes" % (len(first), len(second))


def make_files():
    with open(os.path.join(FOLDER, "a.c"), "wb") as file:
        file.write(b"int main;\n\xc3\xa4\xff\n")
    run(PLAY, "a.cairn", text=EVENTS)
    run(PLAY, "c.cairn", text=EVENTS.replace("+7", "+70").replace("block link link.c 1", ""))
    run(JOBS, CAIRN_OUT="jobs.cairn")
    run(CAIRN, "export", "--to", "pprof", "a.cairn", "-o", "a.pb.gz")
    run(CAIRN, "export", "--to", "folded", "--metric", "ticks", "a.cairn", "-o", "a.folded")


def main():
    make_files()
    print("1..%d" % (len(CASES) + 1), flush=True)
    server = Server("a.cairn", "jobs.cairn", "c.cairn", "a.pb.gz", "a.folded")
    failed = 0
    for number, function in enumerate(CASES, 1):
        good = True
        try:
            function(server)
        except Exception as error:  # pylint: disable=broad-except
            good = False
            print("# %s: %s" % (type(error).__name__, str(error)[:2000].replace("\n", "\n# ")))
        failed += not good
        print("%s %d - %s" % ("ok" if good else "not ok", number,
                              function.__name__.replace("_", " ")), flush=True)
    good = server.stop() == 0
    print("%s %d - it ends on a signal" % ("ok" if good else "not ok", len(CASES) + 1))
    return 1 if failed or not good else 0


sys.exit(main())
