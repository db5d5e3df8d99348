#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn push to collectors: OTLP traces and profiles, Pyroscope. What arrives is decoded here, by the
published field numbers, and compared with the capture.

usage: collectors.py CAIRN MAKE_SPANS MAKE_CAPTURE
"""
import gzip
import http.server
import json
import os
import shutil
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import case, main, run, same  # noqa: E402

CAIRN, MAKE_SPANS, MAKE_CAPTURE = sys.argv[1:4]
WORK = tempfile.mkdtemp()


def path(name):
    return os.path.join(WORK, name)


# ---- protobuf ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a message: number -> list of values (numbers, or bytes)."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            same(tag & 7, 2, "wire type")
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            same(len(value), size, "length")
        found.setdefault(tag >> 3, []).append(value)
    return found


def one(message, number, otherwise=0):
    return message.get(number, [otherwise])[-1]


def packed(message, number):
    values = []
    for data in message.get(number, []):
        if isinstance(data, int):
            values.append(data)
            continue
        at = 0
        while at < len(data):
            value, at = varint(data, at)
            values.append(value)
    return values


def attributes(list_of):
    found = {}
    for item in list_of:
        item = fields(item)
        value = fields(one(item, 2, b""))
        if 1 in value:
            content = value[1][0].decode("utf-8")
        elif 4 in value:
            content = struct.unpack("<d", struct.pack("<Q", value[4][0]))[0]
        else:
            content = one(value, 3, one(value, 2))
            content -= (content >> 63) << 64
        found[one(item, 1, b"").decode("utf-8")] = content
    return found


# ---- a server ----

class Collector(http.server.BaseHTTPRequestHandler):
    got = []
    refuse = []  # statuses to answer first

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if Collector.refuse:
            self.send_response(Collector.refuse.pop(0))
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"why\n")
            return
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        Collector.got.append((self.path, self.headers["Content-Type"], self.headers["X-Token"], body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=SERVER.serve_forever, daemon=True).start()


def push(scheme, *words, status=0):
    Collector.got = []
    url = "%s://127.0.0.1:%d" % (scheme, SERVER.server_address[1])
    done = subprocess.run([CAIRN, "push", "--to", url, *words], capture_output=True, text=True,
                          check=False, env=dict(os.environ, CAIRN_LABELS="",
                                                CAIRN_COLLECTOR_HEADER="X-Token: secret"))
    same(done.returncode, status, done.stdout + done.stderr)
    return done.stderr


def all_spans():
    spans, resource = [], {}
    for where, kind, token, body in Collector.got:
        if where != "/v1/traces":
            continue
        same((kind, token), ("application/x-protobuf", "secret"), "headers")
        for group in fields(body)[1]:
            group = fields(group)
            resource = attributes(fields(group[1][0])[1])
            for scope in group[2]:
                spans += [fields(span) for span in fields(scope).get(2, [])]
    return spans, resource


@case("OTLP traces: ids, names, times, attributes and links are those of the JSON export")
def _():
    push("otlp", path("spans.cairn"), "--label", "version=1.2", "--label", "service=it's")
    cairn_json = path("spans.otlp.json")
    run(CAIRN, "export", "-o", cairn_json, path("spans.cairn"))
    with open(cairn_json, encoding="utf-8") as file:
        groups = json.load(file)["resourceSpans"]
    expected = [span for group in groups for scope in group["scopeSpans"] for span in scope["spans"]]
    spans, resource = all_spans()
    same((resource["service.name"], resource["service.version"]), ("it's", "1.2"), "resource")
    same(len(spans), len(expected), "spans")

    def told(span):
        return (one(span, 1).hex(), one(span, 2).hex(), one(span, 4, b"").hex(),
                one(span, 5).decode("utf-8"), str(one(span, 7)), str(one(span, 8)),
                sorted((fields(link)[1][0].hex(), fields(link)[2][0].hex())
                       for link in span.get(13, [])))
    same(sorted(map(told, spans)),
         sorted((s["traceId"], s["spanId"], s.get("parentSpanId", ""), s["name"],
                 s["startTimeUnixNano"], s["endTimeUnixNano"],
                 sorted((link["traceId"], link["spanId"]) for link in s.get("links", [])))
                for s in expected), "spans")

    def texts_of(values):
        return {key: str(value * 1 if isinstance(value, bool) else value)
                for key, value in values.items()}

    def of_json(found):
        return texts_of({a["key"]: list(a["value"].values())[0] for a in found["attributes"]})
    by_id = {s["spanId"]: of_json(s) for s in expected}
    for span in spans:
        same(texts_of(attributes(span.get(9, []))), by_id[one(span, 2).hex()], "attributes")
    assert any("cairn.handed_off" in each for each in by_id.values())
    theirs = of_json(groups[0]["resource"])
    for key in ("process.command_line", "process.pid"):
        same(str(resource.get(key)), theirs.get(key), key)


def stacks_of(profiles):
    """By metric: a sum for each path of names, from the root."""
    sums = {}
    for body in profiles:
        request = fields(body)
        tables = fields(request[2][0])
        texts = [text.decode("utf-8") for text in tables[5]]
        same(texts[0], "", "the first string")
        for number in (1, 2, 3, 4, 6, 7):
            same(tables[number][0], b"", "the first of table %d" % number)
        names = [texts[one(fields(function), 1)] for function in tables[3]]
        at = [names[one(fields(fields(location)[3][0]), 1)] if location else ""
              for location in tables[2]]
        stacks = [[at[index] for index in packed(fields(stack), 1)] for stack in tables[7]]
        for group in request[1]:
            for scope in fields(group)[2]:
                for profile in fields(scope)[2]:
                    profile = fields(profile)
                    kind = fields(profile[1][0])
                    into = sums.setdefault(texts[one(kind, 1)], {})
                    for sample in profile.get(2, []):
                        sample = fields(sample)
                        key = ";".join(reversed(stacks[one(sample, 1)]))
                        into[key] = into.get(key, 0) + sum(packed(sample, 4))
    return sums


@case("OTLP profiles (v1development): each stack's figures are those of folded stacks")
def _():
    for name in ("c", "spans"):
        push("otlp", path(name + ".cairn"))
        sums = stacks_of(body for where, _, _, body in Collector.got
                         if where == "/v1development/profiles")
        for metric in sums:
            run(CAIRN, "export", "-m", metric, "-o", path("x.folded"), path(name + ".cairn"))
            with open(path("x.folded"), encoding="utf-8") as file:
                lines = [line.rstrip("\n").rpartition(" ") for line in file]
            same(sum(sums[metric].values()), sum(int(value) for _, _, value in lines), metric)
            same(sorted(value for value in sums[metric].values()),
                 sorted(int(value) for _, _, value in lines), metric)
        assert "calls" in sums, sums.keys()


@case("Pyroscope: pprof with the application's name, labels and times")
def _():
    push("pyroscope", path("c.cairn"), "--label", "version=1.2", "--label", "service=app",
         "--label", "odd={a&b}")
    (where, _, _, body), = Collector.got
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(where).query)
    assert where.startswith("/ingest?"), where
    assert query["name"][0].startswith("app{version=1.2,odd=_a&b_"), query
    same(query["format"], ["pprof"], "format")
    assert int(query["until"][0]) > int(query["from"][0]), query
    with open(path("got.pb.gz"), "wb") as file:
        file.write(body)
    run(CAIRN, "import", path("got.pb.gz"), "-o", path("got.cairn"))
    report = json.loads(run(CAIRN, "report", "--json", "--top", "0", path("got.cairn")))
    expected = json.loads(run(CAIRN, "report", "--json", "--top", "0", path("c.cairn")))
    totals = [{m["name"]: m["total"] for m in one["metrics"] if m["total"]}
              for one in (report, expected)]
    for metric, total in totals[0].items():
        same(total, totals[1][metric], metric)


@case("TLS: a server whose certificate nobody vouches for gets nothing")
def _():
    if not shutil.which("openssl"):
        print("# not tested: there is no openssl command")
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
                    "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                    path("key.pem"), "-out", path("certificate.pem")], check=True,
                   capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path("certificate.pem"), path("key.pem"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Collector.got = []
    for url in ("otlps://127.0.0.1:%d", "clickhouses://127.0.0.1:%d/x"):
        done = subprocess.run([CAIRN, "push", "--retry", "0", "--to", url % server.server_address[1],
                               path("c.cairn")], capture_output=True, text=True, check=False)
        same(done.returncode, 2, "status")
        assert "certificate" in done.stderr, done.stderr
    same(Collector.got, [], "sent")
    server.shutdown()


@case("503 is tried again, 400 is told in the server's words")
def _():
    Collector.refuse = [503, 503]
    push("otlp", path("c.cairn"))
    Collector.refuse = [400]
    error = push("otlp", path("c.cairn"), status=2)
    assert "400" in error and "why" in error, error
    SERVER.shutdown()
    SERVER.server_close()
    assert "is the server running" in push("otlp", "--retry", "0", path("c.cairn"), status=2)


try:
    run(MAKE_SPANS, path("spans.cairn"))
    run(MAKE_CAPTURE, path("c.cairn"))
    main()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
