# SPDX-License-Identifier: MIT
"""Programs whose calls are known (cases.c), and whether each profiler gets them right."""
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field

import readings
from tools import (CALLGRIND, HERE, PG, SOURCE, TIMEOUT, UFTRACE, XRAY, XRAY_MODES, Tool,
                   Unavailable, linked_with, need, run)

STACK = 1 << 30


@dataclass
class Case:
    title: str
    arcs: dict
    deep: bool = False  # needs more stack than the usual 8 MiB


CASES = {
    "depth": Case("recursion 1,000,000 deep",
                  {("run", "deep"): 1, ("deep", "deep"): 999_999}, True),
    "tail": Case("1,000,000 tail calls of two functions",
                 {("run", "even"): 1, ("even", "odd"): 500_000, ("odd", "even"): 499_999}),
    "longjmp": Case("longjmp out of two calls, 1,000 times",
                    {("jump", "middle"): 1000, ("middle", "thrower"): 1000,
                     ("jump", "after"): 1000}),
    "threads": Case("10,000,000 calls in two threads", {("thread", "work"): 10_000_000}),
}


@dataclass
class Judged(Tool):
    read: object = None
    more: list = field(default_factory=list)  # sources beside cases.c


TOOLS = [
    Judged("`-finstrument-functions`, a stack of its own", "", flags=["-finstrument-functions"],
           link=["-no-pie"], read=readings.hooks, more=["cases_hooks.c"], needs=["nm"]),
    Judged("gprof", "", flags=PG, link=[*PG, "-no-pie"], read=readings.gprof, needs=["gprof"]),
    Judged("uftrace", "", flags=PG, link=PG, command=UFTRACE, read=readings.uftrace,
           needs=["uftrace"]),
    Judged("XRay, profiling mode", "", compiler="clang", flags=[*XRAY, "-DPEER_XRAY"],
           link=XRAY_MODES, read=readings.xray, needs=["clang", "llvm-xray"]),
    Judged("callgrind", "", command=[*CALLGRIND, f"--main-stacksize={STACK}"],
           read=readings.callgrind, needs=["valgrind"]),
    Judged("**Cairn**", "", flags=["-DPEER_CAIRN"], read=readings.cairn),
]

NOTE = """\
Programs whose calls are known (bench/peers/cases.c), as optimised code; each tool as it is set up
by default. Right is: every function's calls, from each caller, and no function's share above the
whole. Cairn is told of each call, tail call, mark and unwinding by the program, the others find
out for themselves.
"""


def build(tool, place, where):
    need(tool)
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    options = ["-O2", "-g", "-std=gnu17", f"-I{SOURCE / 'include'}"]
    run([tool.compiler, *options, *tool.flags, "-c", str(HERE / "cases.c"), "-o", "cases.o"], where)
    others = [str(HERE / name) for name in tool.more]
    run([tool.compiler, *options, "cases.o", *others, *tool.link, *linked_with(place),
         "-o", "cases"], where)


def limit_stack(case):
    def limit():
        size = STACK if case.deep else 8 << 20
        resource.setrlimit(resource.RLIMIT_STACK, (size, resource.getrlimit(
            resource.RLIMIT_STACK)[1]))
    return limit


def execute(tool, name, where):
    """Runs the program under the tool. Returns how it died, if it did."""
    try:
        done = subprocess.run([*tool.command, "./cases", name], cwd=where, timeout=TIMEOUT,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              preexec_fn=limit_stack(CASES[name]))
    except subprocess.TimeoutExpired:
        return f"not done after {TIMEOUT} s"
    if done.returncode < 0:
        return f"the program dies of {signal.Signals(-done.returncode).name}"
    return f"exit status {done.returncode}" if done.returncode else ""


def judge(case, reading):
    """The cell of a case: right, or what is wrong."""
    wanted = {}
    for (_, callee), calls in case.arcs.items():
        wanted[callee] = wanted.get(callee, 0) + calls
    lost = [f"`{name}` {reading.calls(name):,} calls of {calls:,}"
            for name, calls in wanted.items() if reading.calls(name) != calls]
    if lost:
        return "**wrong**: " + "; ".join([*lost, *filter(None, [reading.complaint])])
    strange = [f"`{callee}` called by `{caller or 'nobody'}` {calls:,} times"
               for (caller, callee), calls in sorted(reading.arcs.items())
               if callee in wanted and calls != case.arcs.get((caller, callee))
               and (caller, callee) not in case.arcs]
    if strange:
        return "calls right, **callers wrong**: " + "; ".join(strange)
    differ = [f"`{callee}` from `{caller}` {reading.arcs[caller, callee]:,} times"
              for (caller, callee), calls in case.arcs.items()
              if reading.arcs[caller, callee] != calls]
    if differ:
        return "calls right, **callers wrong**: " + "; ".join(differ)
    if reading.complaint:
        return "calls right, **cost wrong**: " + reading.complaint
    if reading.share > 100.05:
        return (f"calls right, **inclusive cost wrong**: `{reading.share_of}` is "
                f"{reading.share:,.0f} % of the whole")
    return "right"


def verdict(tool, name, where):
    for left in [*where.glob("xray-log.*"), *where.glob("gmon.out"), *where.glob("hooks.txt"),
                 *where.glob("callgrind.out*"), *where.glob("cases.cairn")]:
        left.unlink()
    shutil.rmtree(where / "uftrace.data", ignore_errors=True)
    died = execute(tool, name, where)
    if died:
        return f"**wrong**: {died}"
    try:
        return judge(CASES[name], tool.read(where, "./cases"))
    except Unavailable as why:
        return str(why)


def row(tool, place, where):
    try:
        build(tool, place, where)
    except Unavailable as why:
        return [str(why)] + [""] * (len(CASES) - 1)
    cells = [verdict(tool, name, where) for name in CASES]
    shutil.rmtree(where)
    return cells


def table(place, scratch):
    text = f"### Hard cases\n\n{NOTE}\n| tool | " + " | ".join(c.title for c in CASES.values())
    text += " |\n| --- |" + " --- |" * len(CASES) + "\n"
    for at, tool in enumerate(TOOLS):
        print(f"bench/run: peers: cases: {tool.name}", file=sys.stderr)
        text += f"| {tool.name} | " + " | ".join(row(tool, place, scratch / f"cases-{at}")) + " |\n"
    return text
