# SPDX-License-Identifier: MIT
"""The rows of the table: what is run for each, and what must be reached."""
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


# Shapes that the table asks nothing of.
UNBOUND = ["fan", "tree-random"]


def calls(mode, shapes, bar):
    """The lines of a mode: `bar` holds for what runs in a fixed order."""
    return {f"{mode}/{shape}": Line(SHAPES[shape], None if shape in UNBOUND else bar, STAMPS)
            for shape in shapes}


DEEP = ["fib", "tree", "tree-once", "chains", "fan", "tree-random"]
LEAVES = ["leaf-inside", "leaf-around"]
SWEEP = ["leaf-inside", "fib", "tree"]
MODES = {
    "null": "off: the strand is NULL",
    "disabled": "off: the profile is disabled",
    "counts": "counts",
    "ticks": "counts, a tick a call",
    "sampled": "counts, sampled wall time",
    "exact": "counts, exact wall time",
}

ROWS = {
    "replay": Row(
        "a recorded stream of events, against the baseline",
        "The baseline is the proposal of fble's profile tree built as it is written "
        "(bench/baseline). Each replay is a fresh process. The same loop calling empty functions "
        "is subtracted from both. Contexts, calls, ticks and paths of both are held equal.",
        [["replay", "STREAM", "11"]],
        {"disk": Line("capture on disk", 0.6, " × the baseline"),
         "disk-whole": Line("the same, opening and closing the profile included", 0.6,
                            " × the baseline"),
         "memory": Line("in memory", 0.6, " × the baseline"),
         "memory-whole": Line("the same, opening and closing the profile included", 0.6,
                              " × the baseline")}),
    "leaf": Row(
        "enter, one tick and leave around a leaf",
        "Counts and ticks are on. What the loop costs without them is subtracted.",
        [["calls", "ticks", *LEAVES]], calls("ticks", LEAVES, 0.10)),
    "calls": Row(
        "enter, one tick and leave, in recursion and in a call tree",
        "As above. The tree's functions call one another through pointers.",
        [["calls", "ticks", *DEEP]], calls("ticks", DEEP, 0.25)),
    "wall": Row(
        "enter and leave with exact wall time",
        "Two time stamps are taken for each call.",
        [["calls", "exact", *LEAVES, *DEEP]],
        {**calls("exact", LEAVES, 1.2), **calls("exact", DEEP, 1.35)}),
    "disabled": Row(
        "enter and leave with a NULL strand",
        "Against a call of an empty function that is not inlined.",
        [["calls", "pair"]], {"null/pair": Line("enter and leave", 1.0, " × the call")}),
    "memory": Row(
        "memory",
        "All anonymous memory, as the kernel counts it, and the whole capture, at the worst "
        "moment from 10,000 contexts on; calls, ticks and wall time in use.",
        [["memory", "stream", "STREAM"], ["memory", "random"], ["memory", "wide"],
         ["memory", "stack"]],
        {"stream": Line("a context of the recorded stream", 96, " bytes", 1),
         "random": Line("a context of random calls, 12 blocks, 24 deep", 96, " bytes", 1),
         "wide": Line("a context of random calls, 1,000 blocks, 2 deep", 96, " bytes", 1),
         "stack": Line("a frame of a strand's stack, 100,000 to 10,000,000 deep", 8, " bytes", 1)}),
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
    "sweep": Row(
        "what each way of profiling costs",
        "For information.",
        [["calls", mode, *SWEEP] for mode in MODES],
        {f"{mode}/{shape}": Line(f"{says}: {shape}", None, STAMPS)
         for mode, says in MODES.items() for shape in SWEEP}),
    "writeback": Row(
        "where the capture lies",
        "Counters bumped at random in 4 MB for 90 seconds, over the kernel's writeback, in turn "
        "in a file on disk, in a file in memory and in plain memory. For information.",
        [["writeback", "90", "4", ".", "/dev/shm"]],
        {"disk": Line("a file on disk", None, " × plain memory"),
         "memory-file": Line("a file in memory", None, " × plain memory")}),
}

# What bench/lua/run prints: the name of a result says which of these it is, then which program.
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
