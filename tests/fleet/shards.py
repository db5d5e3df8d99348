#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A fleet on two shards, one of which is killed in the midst of a push; a server whose disk is
full; an answer without an end.

usage: shards.py CAIRN MAKE_SPANS REQUESTS
"""
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import clickhouse  # noqa: E402
from tap import case, main, run, same  # noqa: E402

CAIRN, MAKE_SPANS, REQUESTS = sys.argv[1:4]
WORK = tempfile.mkdtemp()
RUNS, KILLS = 12, 50
if not clickhouse.found():
    print("1..0 # SKIP there is no clickhouse-server (Debian: clickhouse-server)")
    sys.exit(0)


def path(name):
    return os.path.join(WORK, name)


def cairn(*words, url, **options):
    return run(CAIRN, *words, env=dict(os.environ, CAIRN_FLEET=url, CAIRN_LABELS=""), **options)


def shards():
    """Two servers that know each other as the cluster `pair`."""
    servers = [clickhouse.Server(), clickhouse.Server()]
    parts = "".join("<shard><replica><host>127.0.0.1</host><port>%d</port></replica></shard>" %
                    server.tcp for server in servers)
    for server in servers:
        server.configure("<remote_servers><pair>%s</pair></remote_servers>" % parts)
    return servers


def make_captures():
    names = [path("%d.cairn" % number) for number in range(RUNS)]
    for number, name in enumerate(names):
        if number % 2:
            subprocess.run([REQUESTS, name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           check=True)
        else:
            run(MAKE_SPANS, name)
    return names


TABLES = (("figures", "metric, values"), ("spans", "lane, span, duration, start, open"),
          ("span_edges", "lane, span, to_lane, to_span"), ("edges", "source, target, calls"),
          ("block_figures", "metric, blocks, self, total"), ("runs", "contexts, spans"),
          ("histograms", "lane, number, counts, total"), ("counters", "lane, span, number, value"),
          ("processes", "process, name, length"))


def same_tables(one, other, *databases):
    for table, columns in TABLES:
        # 18.16 refuses FINAL with ORDER BY columns of another shard's table.
        sql = "SELECT * FROM (SELECT hex(run) AS name, %s FROM %s FINAL) ORDER BY name, %s" % (
            columns, table, columns)
        rows = [server.ask(sql, name) for server, name in
                zip((one, other), databases or ("cairn", "cairn"))]
        same(rows[0] == rows[1], True, table)


@case("rows are on both shards; one killed and started again during a push: all counts once")
def _():
    first, second = SERVERS
    captures = make_captures()
    for server in SERVERS:
        cairn("fleet", "init", "--cluster", "pair", url=server.url())
    began = time.monotonic()
    cairn("push", *captures[:RUNS // 2], url=first.url())
    length = time.monotonic() - began
    push = subprocess.Popen([CAIRN, "push", *captures[RUNS // 2:]], stdout=subprocess.PIPE, text=True,
                            env=dict(os.environ, CAIRN_FLEET=first.url(), CAIRN_LABELS=""))
    time.sleep(length / 2)
    second.kill()
    time.sleep(1)
    second.start()
    push.communicate(timeout=120)
    same(push.returncode, 0, "status of the push")
    with clickhouse.Server() as alone:
        cairn("fleet", "init", url=alone.url())
        cairn("push", *captures, url=alone.url())
        same_tables(first, alone)
        same_tables(second, alone)
        for question in (("top",), ("trend", "main"), ("spans",), ("slowest", "job"), ("runs",),
                         ("top", "--by", "host")):
            words = ("fleet", *question, "--json", "--top", "0")
            # Percentiles of digests depend on the order of the rows.
            answers = [sorted(str({key: value for key, value in row.items()
                                   if key not in ("p50", "p99", "span p99")})
                              for row in json.loads(cairn(*words, url=server.url())))
                       for server in (second, alone)]
            same(answers[0], answers[1], question)
        for found, in alone.ask("SELECT hex(run) FROM runs FINAL LIMIT 4"):
            for server, name in ((first, "one"), (alone, "other")):
                cairn("fleet", "get", found, "-o", path(name + ".cairn"), url=server.url())
            reports = [run(CAIRN, "spans", "--json", "--top", "0", path(name + ".cairn"))
                       .replace(path(name + ".cairn"), "") for name in ("one", "other")]
            same(reports[0] == reports[1], True, "the run that comes back")
    counts = [int(server.ask("SELECT count() FROM runs_local")[0][0]) for server in SERVERS]
    assert min(counts) > 0, counts


def mounted(folder):
    """A small file system for a full disk, or None without the right to mount."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", folder], check=False,
                          capture_output=True)
    return folder if done.returncode == 0 else None


@case("killed at random moments, then sent again: counts once")
def _():
    server = SERVERS[0]
    captures = [path("%d.cairn" % number) for number in range(4)]
    for name in ("whole", "killed"):
        cairn("fleet", "init", url=server.url(name))
    began = time.monotonic()
    cairn("push", *captures, url=server.url("whole"))
    length = time.monotonic() - began
    chance, killed = random.Random(7), 0
    while killed < KILLS:
        began = time.monotonic()
        process = subprocess.Popen([CAIRN, "push", *captures], stdout=subprocess.DEVNULL,
                                   env=dict(os.environ, CAIRN_FLEET=server.url("killed"),
                                            CAIRN_LABELS=""))
        try:
            same(process.wait(chance.random() * length), 0, "status of a push that was not killed")
            length = time.monotonic() - began  # it takes shorter now
        except subprocess.TimeoutExpired:
            process.kill()
            killed += process.wait() < 0
    cairn("push", *captures, url=server.url("killed"))
    same_tables(server, server, "killed", "whole")


@case("a full disk on the server: push says so and sends all once there is space")
def _():
    folder = path("small")
    os.mkdir(folder)
    if not mounted(folder):
        print("# not tested: no right to mount a file system")
        return
    try:
        with clickhouse.Server(folder=folder) as server:
            cairn("fleet", "init", url=server.url())
            cairn("push", path("0.cairn"), url=server.url())
            with open(os.path.join(folder, "ballast"), "wb") as ballast:
                try:
                    while True:
                        ballast.write(b"x" * 65536)
                        ballast.flush()
                except OSError:
                    pass
            done = subprocess.run([CAIRN, "push", "--retry", "1", path("1.cairn")], check=False,
                                  env=dict(os.environ, CAIRN_FLEET=server.url()),
                                  capture_output=True, text=True)
            same(done.returncode, 2, "status")
            assert "not all of it was sent" in done.stderr, done.stderr
            os.unlink(os.path.join(folder, "ballast"))
            cairn("push", path("1.cairn"), url=server.url())
            same(len(json.loads(cairn("fleet", "runs", "--json", url=server.url()))), 2, "runs")
    finally:
        subprocess.run(["umount", folder], check=False)


def listener_for(serve):
    listener = socket.create_server(("127.0.0.1", 0))

    def work():
        while True:
            try:
                connection, _ = listener.accept()
                connection.recv(65536)
                serve(connection)
                connection.close()
            except OSError:
                if listener.fileno() < 0:
                    return
    threading.Thread(target=work, daemon=True).start()
    return listener


@case("an answer without an end is cut at a limit, and memory with it")
def _():
    def serve(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            connection.sendall(b"100000\r\n" + b"\x01" * 0x100000 + b"\r\n")
    listener = listener_for(serve)
    url = "clickhouse://127.0.0.1:%d/x" % listener.getsockname()[1]
    done = subprocess.run([CAIRN, "fleet", "top"], env=dict(os.environ, CAIRN_FLEET=url),
                          check=False, capture_output=True, text=True, timeout=120)
    same(done.returncode, 2, "status")
    assert "longer than" in done.stderr, done.stderr
    listener.close()


SERVERS = shards()
try:
    with SERVERS[0], SERVERS[1]:
        main()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
