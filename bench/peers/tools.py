# SPDX-License-Identifier: MIT
"""The profilers that are compared: how a program is built for each and how it is run.

Debian 12's packages: binutils (gprof), clang, libclang-rt-14-dev and llvm (XRay), uftrace,
valgrind. What is missing has its row all the same, which says so.
"""
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCH = HERE.parent
SOURCE = BENCH.parent
TIMEOUT = 600


class Unavailable(Exception):
    """A tool cannot be measured here; says why."""


@dataclass
class Tool:
    name: str
    records: str
    source: str = "flags"                      # peer_<source>.c
    mode: str = "-"
    compiler: str = "gcc"
    flags: list = field(default_factory=list)  # for what is profiled
    link: list = field(default_factory=list)
    command: list = field(default_factory=list)  # in front of the program
    needs: list = field(default_factory=list)  # commands
    turns: int = 15
    outside: bool = False  # the command slows all: the plain program is run without it


PG = ["-pg"]
XRAY = ["-fxray-instrument", "-fxray-instruction-threshold=1"]
XRAY_MODES = ["-fxray-instrument", "-fxray-modes=xray-profiling"]
# gcc instruments inlined calls too; these two are a part of the tree's functions.
HOOKS = ["-finstrument-functions",
         "-finstrument-functions-exclude-function-list=scramble,next_random"]
UFTRACE = ["uftrace", "record", "--no-event", "-d", "uftrace.data"]
CALLGRIND = ["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=callgrind.out"]
# By default a thread has room for some hundred paths; what is beyond is dropped.
XRAY_ROOM = "no_flush=true:per_thread_allocator_max=67108864"

SPEED = [
    Tool("`-finstrument-functions`, empty hooks", "nothing", "hooks", flags=HOOKS),
    Tool("XRay, empty handler", "nothing", "xray", "empty", "clang", XRAY, XRAY_MODES,
         needs=["clang"]),
    Tool("gprof", "calls by caller and callee; time sampled by function", flags=PG, link=PG,
         needs=["gprof"]),
    Tool("uftrace record", "events: 32 bytes a call, written as it runs", flags=PG, link=PG,
         command=UFTRACE, needs=["uftrace"], turns=5),
    Tool("XRay, profiling mode", "calls and exact time by context, of the paths that 16 KiB hold",
         "xray", "no_flush=true", "clang", XRAY, XRAY_MODES, needs=["clang"]),
    Tool("XRay, profiling mode, 64 MiB", "calls and exact time by context",
         "xray", XRAY_ROOM, "clang", XRAY, XRAY_MODES, needs=["clang"]),
    Tool("callgrind", "calls by caller and callee; every instruction", command=CALLGRIND,
         needs=["valgrind"], turns=3, outside=True),
    Tool("**Cairn**, counts and ticks", "calls and ticks by context", "cairn", "ticks"),
    Tool("**Cairn**, sampled wall", "calls by context, time sampled at 1 kHz into it",
         "cairn", "sampled"),
    Tool("**Cairn**, exact wall", "calls and exact time by context", "cairn", "exact"),
]


def need(tool):
    wanted = dict.fromkeys([tool.compiler, *tool.needs])
    missing = [command for command in wanted if not shutil.which(command)]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}")


def run(command, where, **options):
    """Runs a command quietly and gives what it wrote; its own first words if it fails."""
    try:
        done = subprocess.run(command, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, errors="replace", timeout=TIMEOUT, **options)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"gave up after {TIMEOUT} s") from None
    if done.returncode:
        words = next((line for line in done.stderr.splitlines() if line.strip()), "no message")
        raise Unavailable(f"{Path(command[0]).name} failed ({done.returncode}): {words}")
    return done.stdout


def linked_with(place):
    """How a program finds the library that was just built."""
    library = place / "src"
    return [f"-L{library}", f"-Wl,-rpath,{library}", "-lcairn", "-lpthread"]


def build_speed(tool, place, where):
    """bench/workloads.c is compiled twice: as it is, and with the profiler's flags under
    other names."""
    need(tool)
    where.mkdir(parents=True, exist_ok=True)
    options = ["-O2", "-std=gnu17", f"-I{SOURCE / 'include'}", f"-I{BENCH}"]
    renamed = [f"-D{name}=profiled_{name}"
               for name in ("workloads", "workload_count", "workload_strand", "workload_stack")]
    parts = [("speed", HERE / "speed.c", []), ("measure", BENCH / "measure.c", []),
             ("peer", HERE / f"peer_{tool.source}.c", []),
             ("plain", BENCH / "workloads.c", []),
             ("profiled", BENCH / "workloads.c", [*renamed, *tool.flags])]
    objects = []
    for name, source, extra in parts:
        objects.append(f"{name}.o")
        run([tool.compiler, *options, *extra, "-c", str(source), "-o", f"{name}.o"], where)
    run([tool.compiler, *objects, *tool.link, *linked_with(place), "-o", "speed"], where)
