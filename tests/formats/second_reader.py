#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second reader of spans, written from docs/CAPTURE_FORMAT.md alone, compared with `cairn query`.

second_reader.py CAIRN MAKE_SPANS
"""
import json
import os
import struct
import sys
import tempfile

from tap import case, main, run, same

CAIRN, MAKE_SPANS = sys.argv[1:3]
FOLDER = tempfile.TemporaryDirectory()
STRINGS, BLOCKS, LANE, SPANS, DETAILS, KEYS, RING = 1, 2, 5, 8, 9, 10, 11
INTEGER, NUMBER, TEXT, MORE, HANDOFF, WAITS, FOLLOWS, CPU, NAME, EVENT = 1, 2, 3, 4, 5, 6, 7, 10, 16, 19
LEVELS = ["event", "debug", "info", "warning", "error"]
NONE = -1 << 63


class Capture:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        assert self.data[:8] == b"CAIRN\r\n\x1a"
        self.sections = {}
        at, = self.numbers("Q", 32)
        while at:
            following, _, count = self.numbers("QII", at)
            for entry in range(at + 16, at + 16 + 32 * count, 32):
                kind, metric, lane, place, offset, size = self.numbers("HHIQQQ", entry)
                if kind and not metric:
                    chunks = self.sections.setdefault((kind, lane), [])
                    chunks.append((place, self.data[offset:offset + size]))
            at = following
        self.lanes = sorted(lane for kind, lane in self.sections if kind == LANE)
        self.strings = self.section(STRINGS)
        clock, first, self.moments = *self.numbers("QQ", 72), self.numbers("QQQQQ", 88)
        self.last, monotonic = self.moments[:4][2 * (self.moments[4] & 1):][:2]
        self.first = clock
        self.scale = ((monotonic - first) / (self.last - clock)
                      if self.numbers("I", 64) == (2,) else 1)

    def numbers(self, types, at):
        return struct.unpack_from("<" + types, self.data, at)

    def section(self, kind, lane=0):
        return b"".join(bytes for _, bytes in sorted(self.sections.get((kind, lane), [])))

    def text(self, offset):
        return self.strings[offset:self.strings.index(b"\0", offset)].decode()

    def records(self, kind, types, lane=0, valid=lambda record: True):
        size = struct.calcsize("<" + types)
        data = self.section(kind, lane)
        for record in struct.iter_unpack("<" + types, data[:len(data) // size * size]):
            if not valid(record):
                return
            yield record

    def used(self, kind):
        return self.numbers("Q", 168 + 8 * kind)[0]


def read(path):
    """Spans, attributes, edges and events, as the tables of `cairn query` have them."""
    capture = Capture(path)
    names = [capture.text(name) for name, *_ in capture.records(BLOCKS, "IIIIII")]
    names = names[:capture.used(BLOCKS) // 24]
    keys = [capture.text(name) for name, in capture.records(KEYS, "I")][:capture.used(KEYS) // 4]
    spans, attributes, edges, events, firsts, counts = [], [], [], [], {}, {}
    for number, lane in enumerate(capture.lanes):
        assert (RING, lane) not in capture.sections, "rings are not read"
        firsts[lane] = len(spans)
        for start, end, iteration, block, parent in capture.records(
                SPANS, "QQqII", lane, lambda span: span[0]):
            own = len(spans) - firsts[lane] + 1
            spans.append({"name": names[block], "start": start, "end": end, "lane": number,
                          "iteration": None if iteration == NONE else iteration, "cpu": None,
                          "parent": firsts[lane] + parent - 1 if 0 < parent < own else None,
                          "handed_off": 0})
        counts[lane] = len(spans) - firsts[lane]

    def span_of(name):
        lane, span = (name >> 32 & 0xfffff) - 1, name & 0xffffffff | name >> 52 << 32
        return firsts[lane] + span - 1 if 1 <= span <= counts.get(lane, 0) else None

    for lane in capture.lanes:
        text = None
        for own, kind, key, value, more in capture.records(
                DETAILS, "IHHQQ", lane, lambda detail: detail[1]):
            assert 1 <= own <= counts[lane]
            at = firsts[lane] + own - 1
            raw = struct.pack("<QQ", value, more)
            if kind == MORE:
                text[2] += raw
            elif kind == TEXT:
                text = [at, keys[key], raw]
                attributes.append(text)
            elif kind == INTEGER:
                attributes.append([at, keys[key], struct.unpack("<q", raw[:8])[0]])
            elif kind == NUMBER:
                attributes.append([at, keys[key], struct.unpack("<d", raw[:8])[0]])
            elif kind == NAME:
                attributes.append([at, keys[key], capture.text(value)])
            elif kind == HANDOFF and span_of(value) is not None:
                spans[at].update(parent=span_of(value), handed_off=1)
                edges.append([at, "handoff", span_of(value)])
            elif kind in (WAITS, FOLLOWS) and span_of(value) is not None:
                edges.append([at, "waits" if kind == WAITS else "follows", span_of(value)])
            elif kind == CPU:
                spans[at]["cpu"] = value
            elif kind == EVENT:
                text = [at, LEVELS[key], capture.text(more) if more else b"", value]
                events.append(text)
    for texts in attributes + events:
        if isinstance(texts[2], bytes):
            texts[2] = texts[2].rstrip(b"\0").decode()
    latest = max([capture.last] + [max(span["start"], span["end"]) for span in spans])
    for span in spans:
        span["open"] = int(span["end"] == 0)
        for name in ("start", "end"):
            span[name] = ((span[name] or latest) - capture.first) * capture.scale
    for event in events:
        event[3] = (event[3] - capture.first) * capture.scale
    return spans, sorted(attributes, key=str), sorted(edges), sorted(events)


def query(path, sql):
    found = json.loads(run(CAIRN, "query", "--json", path, sql))
    return [dict(zip(found["columns"], row)) for row in found["rows"]]


def same_rows(found, expected, what):
    same(dict(enumerate(found)), dict(enumerate(expected)), what)


def compare(path, merged=False):
    spans, attributes, edges, events = read(path)
    theirs = query(path, "select name, start, end, lane, iteration, cpu, parent, handed_off, open "
                         "from spans order by id")
    same(len(spans), len(theirs), "number of spans")
    for number, (left, right) in enumerate(zip(spans, theirs)):
        for name in ("start", "end"):
            time = left.pop(name) - right.pop(name)
            assert abs(time) <= 1 or (merged and left["open"]), (number, name, time)
        same(right, left, "span %d" % number)
    theirs = query(path, "select span, key, value from attributes")
    same_rows(sorted((list(row.values()) for row in theirs), key=str), attributes, "attribute")
    theirs = query(path, "select span, kind, other from span_edges")
    same_rows(sorted(list(row.values()) for row in theirs), edges, "edge")
    theirs = sorted(list(row.values()) for row in
                    query(path, "select span, level, text, at from events"))
    same_rows([row[:3] for row in theirs], [event[:3] for event in events], "event")
    for event, row in zip(events, theirs):
        assert abs(event[3] - row[3]) <= 1, (event, row)
    assert spans and attributes and edges and events


@case("spans, attributes, edges and events of a capture")
def capture_of_spans():
    path = os.path.join(FOLDER.name, "spans.cairn")
    run(MAKE_SPANS, path)
    compare(path)


@case("the same of a merged capture")
def merged_capture():
    one, two, merged = (os.path.join(FOLDER.name, name + ".cairn") for name in "abm")
    run(MAKE_SPANS, one)
    run(MAKE_SPANS, two)
    run(CAIRN, "merge", "-o", merged, one, two)
    compare(merged, True)


main()
