# SPDX-License-Identifier: MIT
"""The rows of the table: the commands of each, and the bars."""
from dataclasses import dataclass, field


@dataclass
class Result:
    name: str
    median: float
    least: float
    most: float
    remark: str


@dataclass
class Line:
    """How a result is shown. `bar` is the most that it may be, None if it only informs."""
    work: str
    bar: float = None
    unit: str = ""
    digits: int = 3


@dataclass
class Row:
    title: str
    note: str
    commands: list
    lines: dict = field(default_factory=dict)


STAMPS = " × two rdtsc"
SHAPES = {
    "leaf-inside": "a leaf that profiles itself",
    "leaf-around": "a leaf, profiled around the call",
    "fan": "eight leaves, one after the other",
    "fib": "fib: double recursion",
    "tree": "tree: 64 functions, 40 deep, 20,000 paths",
    "tree-once": "the tree, each path exactly once a round",
    "chains": "520 chains of 40 calls, each path once a round",
    "tree-random": "the tree, at random one way at each branch",
}


# Shapes without a bar.
UNBOUND = ["fan", "tree-random"]


def calls(mode, shapes, bar):
    """The lines of a mode: `bar` holds for what runs in a fixed order."""
    return {f"{mode}/{shape}": Line(SHAPES[shape], None if shape in UNBOUND else bar, STAMPS)
            for shape in shapes}


# Streams to replay, recorded and generated; see bench/stream.h.
STREAMS = ["fble=STREAM", "puzzles=LUA/puzzles", "handbook=LUA/handbook",
           "random=random:12,24,16000000", "recursive=recursive:8,200,16000000",
           "megamorphic=megamorphic:64,4,16000000"]
BASES = {"plain": "in memory, of the plain tree", "proposal": "in memory, of the proposal's tree",
         "disk": "on disk, of in memory"}


def replay_lines():
    """Medium and large streams must be no slower than the baselines."""
    lines = {}
    for stream in (source.split("=")[0] for source in STREAMS):
        for form in ("inlined", "called"):
            for heat, bar in (("cold", 0.85), ("warm", 1.0)):
                bars = {"plain": bar, "disk": 1.1, "proposal": 0.6 if heat == "cold" else None}
                for base, says in BASES.items():
                    bound = bars[base] if stream in ("fble", "random") else None
                    lines[f"{stream}/{form}/{heat}/{base}"] = Line(
                        f"{stream}, {form}, {heat}: {says}", bound, " ×", 2)
        lines[f"{stream}/contexts"] = Line(f"{stream}: contexts", None, "", 0)
    return lines


DEEP = ["fib", "tree", "tree-once", "chains", "fan", "tree-random"]
LEAVES = ["leaf-inside", "leaf-around"]
ONCE = ["tree-once", "chains"]
SAMPLERS = {
    "thread-wall": "wall from outside",
    "thread-cpu": "cpu from outside",
    "thread-both": "both from outside",
    "timer-cpu": "cpu by the library's timers",
    "signal-wall": "wall by timers",
    "sender-wall": "wall by signals from one thread",
}

MALLOC = {
    "terms": "trees and strings in C",
    "terms-2": "the same, two threads",
    "documents": "maps, strings, unique_ptr in C++",
    "documents-2": "the same, two threads",
    "pairs": "only malloc and free",
}


def sampling_bar(way, threads, rate):
    if threads > 1:
        return None
    return 1.01 if rate == 1000 else 1.05 if way.startswith("thread") else 1.1


def malloc_lines():
    """`pairs` is the worst case, and for information."""
    lines = {}
    for name, says in MALLOC.items():
        bound = name != "pairs"
        lines[f"sampled/{name}"] = Line(f"sampled, 512 KiB: {says}", 1.05 if bound else None,
                                        " × plain")
        lines[f"exact/{name}"] = Line(f"exact, with live bytes: {says}", 2.5 if bound else None,
                                      " × plain")
        lines[f"part/{name}"] = Line(f"exact's overhead: {says}", 0.25, " × heaptrack's")
        lines[f"part-raw/{name}"] = Line(f"exact's overhead: {says}", 0.25, " × heaptrack --raw's")
        lines[f"names/{name}"] = Line(f"cairn run's own time: {says}", None, " s")
        for peer in ("heaptrack", "heaptrack-raw", "massif", "dhat"):
            lines[f"{peer}/{name}"] = Line(f"{peer}: {says}", None, " × plain")
    return lines


PIPELINES = {
    "two": "one worker chunks and writes, one compresses",
    "shared": "two workers do everything",
}


def whatif_lines():
    cases = [(stage, speedup) for stage in ("chunk", "compress", "write") for speedup in (1.25, 2, 4)]
    lines = {"million": Line("a scenario, from the command to its answer", 2, " s"),
             "million-table": Line("the same with the table of the effect of each block", None,
                                   " s")}
    for layout, says in PIPELINES.items():
        lines.update({f"{layout}/{stage}/{speedup:g}":
                      Line(f"{says}: {stage} {speedup:g} times as fast", 0.05, " off")
                      for stage, speedup in cases})
    lines.update({f"coz/{stage}/{speedup:g}":
                  Line(f"coz, two workers do everything: {stage} {speedup:g} times as fast", None,
                       " off") for stage, speedup in cases})
    return lines


ROWS = {
    "replay": Row(
        "streams of events, against a plain tree and against the proposal's tree",
        "Enter, replace, leave and tick of Cairn and of two baselines (bench/baseline): the profile "
        "tree as fble's author proposed it, and a plain tree, with a one-entry child cache in each "
        "node and nothing else. All are compiled alike, once inlined and once as functions. The "
        "time of a loop that dispatches the events, without verbs, is subtracted. Cold: no context "
        "exists, no memory was touched; warm: the same stream again. Each replay is a fresh "
        "process; times are processor time. A loop's time depends on its address, so each exists "
        "in three layouts: the ratio is that of the least times, in brackets the least and largest "
        "ratio of a turn. Contexts, calls, ticks and paths are checked to be equal. fble: a "
        "recorded run of a functional language; puzzles, handbook: recorded Lua programs "
        "(bench/lua/hook.c).",
        [["replay", *STREAMS]], replay_lines()),
    "leaf": Row(
        "enter, one tick and leave around a leaf",
        "Counts and ticks are on. The time of the loop without them is subtracted.",
        [["calls", "ticks", *LEAVES]], calls("ticks", LEAVES, 0.10)),
    "calls": Row(
        "enter, one tick and leave, in recursion and in a call tree",
        "As above. The tree's functions call one another through pointers.",
        [["calls", "ticks", *DEEP]], calls("ticks", DEEP, 0.25)),
    "wall": Row(
        "enter and leave with exact wall time",
        "Two time stamps are taken for each call.",
        [["calls", "exact", *LEAVES, *DEEP]],
        {**calls("exact", [*LEAVES, *DEEP], 1.1), **calls("exact", ONCE, 1.2)}),
    "disabled": Row(
        "enter and leave with a NULL strand",
        "Against a call of an empty function that is not inlined.",
        [["calls", "pair"]], {"null/pair": Line("enter and leave", 1.0, " × the call")}),
    "memory": Row(
        "memory",
        "All anonymous memory, as the kernel counts it, and the whole capture, at the worst "
        "moment from 10,000 contexts on, with calls, ticks and wall time.",
        [["memory", "stream", "STREAM"], ["memory", "random"], ["memory", "wide"],
         ["memory", "stack"]],
        {"stream": Line("a context of the recorded stream", 96, " bytes", 1),
         "random": Line("a context of random calls, 12 blocks, 24 deep", 96, " bytes", 1),
         "wide": Line("a context of random calls, 1,000 blocks, 2 deep", 96, " bytes", 1),
         "stack": Line("a frame of a strand's stack, 100,000 to 10,000,000 deep", 8, " bytes", 1)}),
    "spans": Row(
        "begin and end of a span, with its iteration number",
        "Processor time of the recording thread; that of the same loop without spans is subtracted. "
        "LTTng-UST and uftrace (Debian's) run the same loop: two tracepoints, one with the iteration "
        "number; and a call of a function compiled with -pg.",
        [["spans"]],
        {"pair": Line("recorded", 1.3, STAMPS),
         "pair-whole": Line("with the thread that prepares space", None, STAMPS),
         "pair-last": Line("recorded, keeping the last ones", None, STAMPS),
         "pair-skipped": Line("in trees that are not sampled", None, STAMPS),
         "histograms": Line("counted in histograms alone", None, STAMPS),
         "histograms-too": Line("recorded, and counted in histograms", None, STAMPS),
         "cpu": Line("recorded with processor time", None, STAMPS, 1),
         "attribute": Line("recorded with an attribute", None, STAMPS),
         "peer/lttng": Line("LTTng-UST: two tracepoints", None, STAMPS),
         "peer/uftrace": Line("uftrace: one call", None, STAMPS),
         "even/tail": Line("99.9th percentile of a million, each timed", None,
                           " × the median", 2),
         "even/most": Line("the slowest of a million, interrupts included", None, " × the median", 0),
         "even/faults": Line("page faults in a million, after the first", 0, "", 0),
         "even/first": Line("page faults in the first of a thread", None, "", 0),
         "bytes": Line("a span in the capture", 32, " bytes", 2),
         "handoff": Line("hand-off taken, adopted and left; its context was adopted before", 100,
                         " ns", 1),
         "job": Line("the same with a span of the adopted work", 60, " ns", 1),
         "off": Line("hand-off taken, adopted and left without a profile", 2, " ns", 1),
         "burst/usual": Line("5,000 spans in a row, median of a thousand", None, " µs", 1),
         "burst/worst": Line("5,000 spans in a row, the slowest of a thousand", None, " µs", 0),
         "flood": Line("lost of five million spans a second for 20 s", 0, " %", 2)}),
    "alloc": Row(
        "cairn run --alloc on programs that allocate most of the time",
        "Elapsed time of the whole process. heaptrack without options, and with --raw: recording "
        "only, to be interpreted later.",
        [["alloc"]], malloc_lines()),
    "lua": Row(
        "cairn run on Lua programs",
        "Against the same program under an empty hook of the same kind, or under plain lua5.4.",
        [["lua"]]),
    "report": Row(
        "cairn report against go tool pprof -top",
        "A profile of 300,000 contexts with paths up to 500 long, exported by cairn export.",
        [["readers"]],
        {"time": Line("time", 0.05, " × pprof's", 4),
         "memory": Line("memory", 0.05, " × pprof's"),
         "linear-1m": Line("time a context, 1 million contexts", 1.5, " × that of 300,000"),
         "linear-5m": Line("time a context, 5 million contexts", 1.5, " × that of 300,000")}),
    "query": Row(
        "cairn query over ten million spans",
        "A capture of 10 million spans in 6 blocks, 4 deep, 0.4 % of them handed off and each "
        "fourteenth with an attribute. From the start to the end of the process, with the file "
        "in the page cache. Memory is the most anonymous memory of all questions; pages of the "
        "file are mapped, and not counted.",
        [["query"]],
        {"summary": Line("the summary by block, with exact percentiles", 1.0, " s", 2),
         "by-name": Line("GROUP BY name", 6.0, " s", 2),
         "by-iteration": Line("GROUP BY iteration: 700,000 groups", 6.0, " s", 2),
         "by-attribute": Line("GROUP BY an attribute, with medians", 6.0, " s", 2),
         "by-columns": Line("GROUP BY start, name, self, parent: 10 million groups", 6.0, " s", 2),
         "by-part": Line("GROUP BY name, iteration / 10000, with percentiles", 6.0, " s", 2),
         "by-expressions": Line("GROUP BY three expressions, one of them a text", 6.0, " s", 2),
         "memory": Line("memory", 1.0, " × the file", 2)}),
    "top": Row(
        "a program watched by cairn top, each second",
        "Against the same program alone, before and after. All its calls are counted, and wall "
        "time is sampled at 1 kHz. The second row of each is the program's own processor time, "
        "the third compares the two runs alone: the noise of the machine.",
        [["top"]],
        {"small": Line("2,000 contexts", 1.01, " × alone"),
         "small-processor": Line("2,000 contexts: processor time", 1.01, " × alone"),
         "small-alone": Line("2,000 contexts: alone, against alone", None, " × alone"),
         "large": Line("2 million contexts", 1.01, " × alone"),
         "large-processor": Line("2 million contexts: processor time", None, " × alone"),
         "large-alone": Line("2 million contexts: alone, against alone", None, " × alone")}),
    "view": Row(
        "the page of cairn view",
        "In Debian's Chromium, headless: from the printed address to the first paint, and from a "
        "click to the paint that it causes (the median over one click of each kind). Memory is the "
        "server's resident memory (VmRSS, and VmHWM for its maximum; pages of the file that are "
        "mapped while it is loaded count), relative to the size of the file.",
        [["view"]],
        {"contexts-paint": Line("first paint of 2 million contexts", 1.5, " s", 2),
         "contexts-click": Line("a click, of 2 million contexts", 0.2, " s", 2),
         "contexts-memory": Line("memory, of 2 million contexts", 1.5, " × the capture", 2),
         "contexts-memory-peak": Line("maximum of that, while loading and over all clicks", 1.5,
                                      " × the capture", 2),
         "spans-paint": Line("first paint of 10 million spans", 3, " s", 2),
         "spans-click": Line("a click, of 10 million spans", 0.2, " s", 2),
         "spans-memory": Line("memory, of 10 million spans", 1.5, " × the capture", 2),
         "spans-memory-peak": Line("maximum of that, while loading and over all clicks", 1.5,
                                   " × the capture", 2),
         "spans-explain": Line("explain, of 10 million spans", None, " s", 2),
         "spans-explain-block-4": Line("explain, of the name with most of them, computed in advance",
                                       None, " s", 2),
         "spans-whatif": Line("the first what-if, of 10 million spans", None, " s", 2),
         "spans-causes-peak": Line("maximum of memory with those two", None, " × the capture", 2),
         "html-click": Line("a click in a page in one file, of 2 million contexts", 0.5, " s", 2),
         "html-size": Line("a page in one file of 100,000 contexts", 5, " MB", 2),
         "html-open": Line("opening that", 1, " s", 2)}),
    "sampling": Row(
        "exact counts and sampled time, against exact counts alone",
        "Double recursion on 1, 8 and 30 threads. A line is fitted through the cost at 0, 1, 2, 5 "
        "and 10 kHz; the figures are its values at 1 and 10 kHz. Samplers: a thread of the library; "
        "the library's timers on processor time, one a thread, at the requested rate; and, for "
        "comparison, signals on wall time, which interrupt the program's waits: from a timer of "
        "each thread, and from one sending thread. Eight and thirty threads are for information: "
        "they are more than the processors, so each sample preempts one of them, and the figure "
        "includes that.",
        [["sampling", way, threads] for way in SAMPLERS for threads in ("1", "8", "30")]
        + [["sampling", "waits"]],
        {**{f"{way}/{threads}/{rate}":
            Line(f"{SAMPLERS[way]}, {threads} threads, {rate} Hz",
                 sampling_bar(way, threads, rate), " × counts alone", 4)
            for way in SAMPLERS for threads in (1, 8, 30) for rate in (1000, 10000)},
         "waits": Line("sleeps interrupted by a signal", None, " of them")}),
    "short": Row(
        "a short process, compiled by cairn cc --profile=count",
        "bench/short.c makes two hundred contexts and ends. It writes a capture over that of the "
        "process before. The plain program and the profiled one run in random order; times include "
        "those of the kernel, to load the program and to end it.",
        [["short"]],
        {"wall": Line("wall time", 1.3, " × plain", 2),
         "processor": Line("processor time", 1.3, " × plain", 2),
         "size": Line("the capture on disk", 16, " KB", 0)}),
    "whatif": Row(
        "predictions of cairn whatif against measured runs",
        "examples/pipeline with bounded queues, its workers pinned to two processors. The capture "
        "of a run predicts the duration of one with less work in one stage; medians of five pairs. "
        "Off: relative error of the predicted end-to-end time. coz (Debian's, end-to-end mode, perf "
        "events) is given the line that calls the stage.",
        [["whatif"]], whatif_lines()),
    "writeback": Row(
        "location of the capture: disk or memory",
        "Random counters in 4 MB are incremented for 90 seconds, over the kernel's writeback, in "
        "turn in a file on disk, in a file in memory and in plain memory. For information.",
        [["writeback", "90", "4", ".", "/dev/shm"]],
        {"disk": Line("a file on disk", None, " × plain memory"),
         "memory-file": Line("a file in memory", None, " × plain memory")}),
}

# Results of bench/lua/run: prefix of the name, bar, unit. The program's name follows the prefix.
LUA_BARS = [
    ("exact-wall", 2.5, " × an empty call/return hook"),
    ("exact", 1.6, " × an empty call/return hook"),
    ("ticks", 1.6, " × an empty call/return/count hook"),
    ("sample", 1.05, " × plain lua5.4"),
]


def line_for(row, result):
    if result.name in row.lines:
        return row.lines[result.name]
    for start, bar, unit in LUA_BARS:
        if result.name.startswith(start + "/"):
            return Line(result.name, bar, unit)
    return Line(result.name)


def table(row, results):
    """The Markdown of a row's results, and how many hold their bar and how many miss it."""
    text = "| work | must reach | reached | spread | | |\n| --- | --- | --- | --- | --- | --- |\n"
    count = {"ok": 0, "**misses**": 0, "": 0}
    for result in results:
        line = line_for(row, result)
        number = f"{{:.{line.digits}f}}".format
        verdict, bar = "", ""
        if line.bar is not None:
            verdict = "ok" if result.median <= line.bar else "**misses**"
            bar = f"≤ {line.bar:g}{line.unit}"
        count[verdict] += 1
        text += (f"| {line.work} | {bar} | {number(result.median)}{line.unit} | "
                 f"{number(result.least)}–{number(result.most)} | {verdict} | {result.remark} |\n")
    return text, count["ok"], count["**misses**"]
