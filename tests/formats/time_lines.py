#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What others make of the exports of spans: protoc, which knows nothing but field numbers;
speedscope's importer of Chrome's events; the messages of OpenTelemetry's npm package.

time_lines.py CAIRN MAKE_SPANS FOLDER
npm packages are fetched into FOLDER, where they stay, in the versions of the lock files.
"""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from tap import case, cases, main, run, same

CAIRN, MAKE_SPANS, KEPT = sys.argv[1:4]
HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = tempfile.TemporaryDirectory()
CAPTURE = os.path.join(FOLDER.name, "spans.cairn")


class Skip(Exception):
    pass


def package(folder, name):
    """The folder of an npm package, fetched unless it is there."""
    if not shutil.which("node") or not shutil.which("npm"):
        raise Skip("nodejs and npm are not there")
    kept = os.path.join(KEPT, folder)
    os.makedirs(kept, exist_ok=True)
    for file in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(HERE, folder, file), kept)
    there = os.path.join(kept, "node_modules", name)
    with open(os.path.join(HERE, folder, "package.json"), encoding="utf-8") as file:
        wanted = json.load(file)["dependencies"][name]
    try:
        with open(os.path.join(there, "package.json"), encoding="utf-8") as file:
            if json.load(file)["version"] == wanted:
                return there
    except OSError:
        pass
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=kept,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Skip("npm cannot fetch it: "
                   + done.stdout.decode("utf-8", "replace")[-200:].replace("\n", " "))
    return there


def exported(name, *options):
    path = os.path.join(FOLDER.name, name)
    run(CAIRN, "export", CAPTURE, "-o", path, *options)
    return path


def spans():
    return json.loads(run(CAIRN, "spans", CAPTURE, "--slowest=0", "--json"))


# The spans of make_spans: block names with numbers; and edges.
EXPECTED = {"main": 1, "ask \\ \"quoted\"": 3, "take turns": 20, "job": 120, "part": 3 * 80 + 1}
HANDOFFS, WAITS, FOLLOWS, OPEN = 120, 3, 3 * 39, 2


@case("the capture holds what the program did")
def check_capture():
    all_of_them = spans()["slowest"]
    same(collections.Counter(s["block"]["name"] for s in all_of_them), EXPECTED, "spans")
    same(sum(s["open"] for s in all_of_them), OPEN, "open")
    same(sum(s["handed_off"] for s in all_of_them), HANDOFFS, "handed off")


# ---- protocol buffers, by nothing but their numbers ----

VARINT, FIXED64, BYTES = 0, 1, 2
kinds = collections.defaultdict(set)  # by number of a field: how it was written


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def message(data):
    """From the number of a field to its values: a number, 8 bytes as one, or bytes."""
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == VARINT:
            value, at = varint(data, at)
        elif tag & 7 == FIXED64:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            same(tag & 7, BYTES, "the kind of field %d" % (tag >> 3))
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "cut short"
        fields[tag >> 3].append(value)
        kinds[tag >> 3].add(tag & 7)
    return fields


def messages(fields, field):
    return [message(data) for data in fields[field]]


def text(fields, field):
    return fields[field][0].decode("utf-8")


def number(fields, field):
    return fields[field][0]


def signed(fields, field):
    return struct.unpack("<q", struct.pack("<Q", fields[field][0]))[0]


def double(fields, field):
    return struct.unpack("<d", struct.pack("<Q", fields[field][0]))[0]


TRACE_PACKET, TIMESTAMP, EVENT, DESCRIPTOR, INTERNED, SEQUENCE, CLOCKS = 1, 8, 11, 60, 12, 10, 6
EVENT_TYPE, EVENT_NAME, EVENT_TRACK, ANNOTATION = 9, 10, 11, 4
DOUBLE_COUNTER_VALUE = 44
FLOW, FLOW_END, COUNTER_VALUE, BEGIN, END, INSTANT, COUNTER = 47, 48, 30, 1, 2, 3, 4
EVENT_TEXT = 23


def perfetto():
    with open(exported("a.pftrace"), "rb") as file:
        return messages(message(file.read()), TRACE_PACKET)


@case("protoc decodes Perfetto's trace; nothing in it is unknown to the messages")
def check_protoc():
    if not shutil.which("protoc"):
        raise Skip("protoc is not there")
    path = exported("c.pftrace")
    schema = os.path.join(HERE, "..", "..", "src", "formats")
    for options in (["--decode_raw"], ["--decode=perfetto.protos.Trace", "--proto_path=" + schema,
                                       "perfetto.proto"]):
        with open(path, "rb") as file:
            done = subprocess.run(["protoc", *options], stdin=file, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False)
        same(done.returncode, 0, done.stderr.decode("utf-8", "replace"))
    unknown = re.findall(rb"^\s*\d+: .*$", done.stdout, re.M)
    same(unknown, [], "fields without a name")
    same(len(re.findall(rb"type: TYPE_SLICE_BEGIN$", done.stdout, re.M)), sum(EXPECTED.values()),
         "slices")


@case("Perfetto's field numbers: a slice for each span, to the nanosecond, on its track")
def check_perfetto():
    packets = perfetto()
    same({number(p, SEQUENCE) for p in packets}, {1}, "the sequence")
    names, keys, tracks = {}, {}, {}
    base = None
    for packet in packets:
        for snapshot in messages(packet, CLOCKS):
            clocks = {number(c, 1): number(c, 2) for c in messages(snapshot, 1)}
            base = clocks[3]
            assert clocks[1] > 1600000000 * 10**9, "CLOCK_REALTIME is not known"
            same(number(snapshot, 2), 3, "the primary clock")
        for data in messages(packet, INTERNED):
            for name in messages(data, 2):
                names[number(name, 1)] = text(name, 2)
            for key in messages(data, 3):
                keys[number(key, 1)] = text(key, 2)
        for track in messages(packet, DESCRIPTOR):
            assert number(track, 1) not in tracks, "two tracks of one number"
            tracks[number(track, 1)] = track
    stacks, slices, flows, last = collections.defaultdict(list), [], collections.Counter(), {}
    for packet in packets:
        for event in messages(packet, EVENT):
            kind, track = number(event, EVENT_TYPE), number(event, EVENT_TRACK)
            when = number(packet, TIMESTAMP) - base
            if kind == INSTANT:
                continue
            assert when >= last.get(track, 0), "time goes back on a track"
            last[track] = when
            for flow in event[FLOW]:
                flows["from", flow] += 1
            for flow in event[FLOW_END]:
                flows["to", flow] += 1
            if kind == BEGIN:
                notes = [(keys[number(a, 1)], a) for a in messages(event, ANNOTATION)]
                stacks[track].append((names[number(event, EVENT_NAME)], when, notes))
            elif kind == END:
                name, start, notes = stacks[track].pop()
                slices.append((name, start, when - start, notes))
            else:
                same(kind, COUNTER, "the type")
    left = [name for stack in stacks.values() for name, _, _ in stack]
    same(sorted(left), ["main", "part"], "what has not ended")
    wanted = collections.Counter((s["block"]["name"], s["start"], s["duration"])
                                 for s in spans()["slowest"] if not s["open"])
    same(collections.Counter(s[:3] for s in slices), wanted, "the slices")
    edges = HANDOFFS + WAITS + FOLLOWS
    same(kinds[FLOW] | kinds[FLOW_END], {FIXED64}, "how flows are written")
    same(flows, collections.Counter({(end, f): 1 for f in range(1, edges + 1)
                                     for end in ("from", "to")}), "the flows")
    jobs = sorted((dict(notes) for name, _, _, notes in slices if name == "job"),
                  key=lambda notes: signed(notes["iteration"], 4))
    for i, notes in enumerate(jobs):
        same(signed(notes["iteration"], 4), i, "the iteration")
        same(signed(notes["width"], 4), i * 1000000007, "an integer")
        same(double(notes["ratio"], 5), i / 8, "a number")
        same(text(notes["name"], 6), "image \"%d\" of a long name, <é>" % (i % 4), "a text")
    process = [p for t in tracks.values() for p in messages(t, 3)]
    same([text(p, 6) for p in process], ["spans --of \"everything\""], "the process")
    threads = collections.Counter(text(h, 5) for t in tracks.values() for h in messages(t, 4))
    assert threads["main"] == 1 and threads["worker"] >= 1, threads
    # The strands that take turns do not fit onto one row.
    assert any(t[2] and text(t, 2) == "main (2)" for t in tracks.values()), "no second row"


@case("the counter of lanes that have a span open ends where spans do")
def check_counter():
    levels = [number(e, COUNTER_VALUE) for p in perfetto() for e in messages(p, EVENT)
              if number(e, EVENT_TYPE) == COUNTER and e[COUNTER_VALUE]]
    assert max(levels) <= 4 and levels[0] == 1 and levels[-1] == 1, levels[-5:]


@case("the program's counters are tracks with their values, when they had them")
def check_own_counters():
    wanted = [(row[0], row[1]) for row in json.loads(run(CAIRN, "query", "--json", CAPTURE, "select at, value from counters"))["rows"]]
    packets, base = perfetto(), None
    base = min(number(c, 2) for p in packets for s in messages(p, CLOCKS) for c in messages(s, 1) if number(c, 1) == 3)
    tracks = [number(t, 1) for p in packets for t in messages(p, DESCRIPTOR) if t[2] and text(t, 2) == "queue depth"]
    same(len(tracks), 1, "tracks of the counter")
    found = [(number(p, TIMESTAMP) - base, double(e, DOUBLE_COUNTER_VALUE)) for p in packets for e in messages(p, EVENT)
             if e[DOUBLE_COUNTER_VALUE]]
    same({number(e, EVENT_TRACK) for p in packets for e in messages(p, EVENT) if e[DOUBLE_COUNTER_VALUE]}, set(tracks), "its track")
    same(sorted(found), sorted(wanted), "values")
    assert len(found) == 120, len(found)


@case("log lines are instants on the row of their span, with their level and text")
def check_log():
    packets, keys = perfetto(), {}
    for packet in packets:
        for data in messages(packet, INTERNED):
            for key in messages(data, 3):
                keys[number(key, 1)] = text(key, 2)
    base = min(number(c, 2) for p in packets for s in messages(p, CLOCKS) for c in messages(s, 1) if number(c, 1) == 3)
    found = [(number(p, TIMESTAMP) - base, text(e, EVENT_TEXT), keys[number(a, 1)], text(a, 6))
             for p in packets for e in messages(p, EVENT) if number(e, EVENT_TYPE) == INSTANT
             for a in messages(e, ANNOTATION)]
    wanted = json.loads(run(CAIRN, "query", "--json", CAPTURE, "select at, text, 'level', level from events"))["rows"]
    same(sorted(found), sorted(tuple(row) for row in wanted), "log lines")
    assert len(found) == 12, len(found)


# ---- Chrome ----

@case("speedscope reads Chrome's events: how long each block took, on each row")
def check_chrome():
    there = package("speedscope", "speedscope")
    path = exported("a.json")
    group = json.loads(run("node", os.path.join(HERE, "speedscope", "import.mjs"), there, path))
    found = collections.Counter()
    for profile in group["profiles"]:
        same(profile["unit"], "microseconds", "the unit")
        for frame in profile["frames"]:
            name, _, arguments = frame["name"].partition(" {")
            found[name] += round(frame["total"] * 1000)
            if name == "job":
                values = json.loads("{" + arguments)
                same(values["width"], values["iteration"] * 1000000007, "an argument")
    wanted = collections.Counter()
    for span in spans()["slowest"]:
        wanted[span["block"]["name"]] += span["duration"]
    same(dict(found), dict(wanted), "nanoseconds")
    same({p["name"].split(" (")[0] for p in group["profiles"]},
         {p["name"].split(" (")[0] for p in group["profiles"]
          if "main" in p["name"] or "worker" in p["name"]}, "the rows' names")


@case("Chrome's events: each edge a pair, in the order of time, of its kind")
def check_flows():
    with open(exported("b.json"), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    flows = collections.defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            assert event["ph"] not in flows[event["id"]], "twice"
            flows[event["id"]][event["ph"]] = event
    kinds = collections.Counter()
    for flow in flows.values():
        same(flow["s"]["cat"], flow["f"]["cat"], "the kind")
        assert flow["s"]["ts"] <= flow["f"]["ts"], "it goes back in time"
        kinds[flow["s"]["cat"]] += 1
    same(kinds, {"hand-off": HANDOFFS, "waits for": WAITS, "follows": FOLLOWS}, "edges")


# ---- OTLP ----

@case("OpenTelemetry's messages take OTLP's JSON, and all of it")
def check_otlp_messages():
    there = package("otlp", "@opentelemetry/otlp-transformer")
    path = exported("a.otlp.json")
    counts = json.loads(run("node", os.path.join(HERE, "otlp", "read.mjs"), there, path))
    same(counts, {"spans": sum(EXPECTED.values()), "links": WAITS + FOLLOWS,
                  "attributes": counts["attributes"]}, "what was read")


@case("OTLP: times, parents and links are the spans'")
def check_otlp():
    with open(exported("b.otlp.json"), encoding="utf-8") as file:
        resources = json.load(file)["resourceSpans"]
    same(len(resources), 1, "resources")
    labels = {one["key"]: one["value"].get("stringValue") for one in resources[0]["resource"]["attributes"]}
    same(labels["service.name"], os.path.basename(labels["process.command_line"].split(" ")[0]), "service")
    found = resources[0]["scopeSpans"][0]["spans"]
    wanted = spans()["slowest"]
    same(len(found), len(wanted), "spans")
    by_id = {s["spanId"]: s for s in found}
    same(len(by_id), len(found), "ids")
    same({s["traceId"] for s in found}, {found[0]["traceId"]}, "traces")
    durations = collections.Counter(
        (s["name"], int(s["endTimeUnixNano"]) - int(s["startTimeUnixNano"])) for s in found)
    same(durations, collections.Counter((s["block"]["name"], s["duration"]) for s in wanted),
         "durations")
    parents = collections.Counter(
        (s["name"], by_id[s["parentSpanId"]]["name"]) for s in found if "parentSpanId" in s)
    same(parents, collections.Counter(
        (s["block"]["name"], s["ancestors"][0]["block"]["name"]) for s in wanted
        if s["ancestors"]), "parents")
    links = collections.Counter(
        (s["name"], link["attributes"][0]["value"]["stringValue"], by_id[link["spanId"]]["name"])
        for s in found for link in s.get("links", []))
    same(links, {("job", "follows", "job"): FOLLOWS, ("main", "waits for", "job"): WAITS}, "links")
    for span in found:
        assert re.fullmatch("[0-9a-f]{32}", span["traceId"]), span["traceId"]
        assert re.fullmatch("[0-9a-f]{16}", span["spanId"]), span["spanId"]


@case("what was merged exports as it did")
def check_merged():
    merged = os.path.join(FOLDER.name, "merged.cairn")
    run(CAIRN, "merge", "-o", merged, CAPTURE)
    for suffix in (".pftrace", ".json", ".otlp.json"):
        with open(exported("one" + suffix), "rb") as file:
            one = file.read()
        path = os.path.join(FOLDER.name, "two" + suffix)
        run(CAIRN, "export", merged, "-o", path)
        with open(path, "rb") as file:
            assert file.read() == one, suffix + " differs"


def skipping(function):
    """A case that cannot run here is skipped with a reason."""
    def guarded():
        try:
            function()
        except Skip as reason:
            print("# skipped: %s" % reason, flush=True)
    return guarded


run(MAKE_SPANS, CAPTURE)
cases[:] = [(name, skipping(function)) for name, function in cases]
main()
