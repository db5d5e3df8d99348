# SPDX-License-Identifier: MIT
"""What `cairn whatif` predicts of a pipeline whose stages are made faster, against how long it then
takes: examples/pipeline, which can do less work in one stage and the same in the others. And how
long a prediction takes over a million spans.

Each pair is a run as it is, from whose capture the other is predicted, and a run with a stage cut.
Workers are pinned, one to a processor. coz sees the same program, where it runs."""
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from rows import Result

STAGES = ["chunk", "compress", "write"]
SPEEDUPS = [1.25, 2, 4]
LAYOUTS = {"two": "chunk+write:1,compress:1", "shared": "chunk+write+compress:2"}
PAIRS = 5
COZ_TURNS = 2
MILLION = 170_000  # items, of six spans each
SOURCE = Path(__file__).resolve().parent.parent / "examples" / "pipeline" / "pipeline.c"


def output_of(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, **options)
    if done.returncode:
        sys.exit(f"bench/run: {' '.join(map(str, command))} failed")
    return done.stdout


def record(place, capture, layout, cut=None):
    command = [place / "bench" / "bench-pipeline", "-o", capture, "--pin", "--layout", layout]
    output_of(command + (["--cut", cut] if cut else []))


def ask(place, capture, *options):
    return json.loads(output_of([place / "cairn", "whatif", "--json", "--no-table", *options,
                                 capture]))


def pair(place, scratch, layout, cut):
    """Predicted, measured, as it was, drift."""
    before, after = scratch / "whatif.cairn", scratch / "whatif-cut.cairn"
    record(place, before, layout)
    record(place, after, layout, cut)
    predicted = ask(place, before, "--speedup", cut)
    measured = ask(place, after)
    return predicted["predicted"], measured["recorded"], predicted["recorded"], predicted["drift"]


def case(place, scratch, name, layout, cut):
    """How far the prediction is off: of the median of the pairs, and of the best and worst."""
    pairs = [pair(place, scratch, layout, cut) for _ in range(PAIRS)]
    ratios = [predicted / measured for predicted, measured, _, _ in pairs]
    off = sorted(abs(ratio - 1) for ratio in ratios)
    predicted, measured, was = (median(p[i] for p in pairs) / 1e9 for i in range(3))
    drift = max((p[3] for p in pairs), key=abs)
    remark = (f"{was:.3f} s; predicted {predicted:.3f}, took {measured:.3f} s"
              f" ({100 * (median(ratios) - 1):+.1f} %; unscaled at most {100 * drift:+.1f} %)")
    return Result(name, abs(median(ratios) - 1), off[0], off[-1], remark)


# ---- coz ----

def line_of(source, call):
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if call in line:
            return number
    sys.exit(f"bench/run: {source} does not call {call}")


def coz_run(program, scratch, line, percent):
    """Seconds of an experiment as coz reckons them, and its samples of the line."""
    profile = scratch / "profile.coz"
    profile.unlink(missing_ok=True)
    subprocess.run(["coz", "run", "--end-to-end", "-s", "%/pipeline.c", "--fixed-line",
                    f"pipeline.c:{line}", "--fixed-speedup", str(percent), "-o", profile, "---",
                    program, "--pin", "--layout", LAYOUTS["shared"]],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    text = profile.read_text() if profile.exists() else ""
    found = re.search(r"duration=(\d+)\s+selected-samples=(\d+)", text)
    total = sum(map(int, re.findall(r"count=(\d+)", text)))
    return (int(found[1]) / 1e9, int(found[2]), total) if found else None


def coz(place, scratch):
    """What coz predicts of the same cases, as the part of the time that is left; or why not."""
    program = place / "bench" / "bench-pipeline-coz"
    if not shutil.which("coz") or not program.exists():
        return {}, "coz-profiler is not installed"
    calls = dict(zip(STAGES, ["chunk(item);", "compress_item(item, stream);", "write_item(item);"]))
    left = {}
    for stage, call in calls.items():
        line = line_of(SOURCE, call)
        plain = [coz_run(program, scratch, line, 0) for _ in range(COZ_TURNS)]
        if None in plain:
            return {}, "coz does not run here: are there perf events?"
        for speedup in SPEEDUPS:
            percent = round(100 * (1 - 1 / speedup))
            faster = [coz_run(program, scratch, line, percent) for _ in range(COZ_TURNS)]
            if None in faster:
                return {}, "coz does not run here: are there perf events?"
            share = sum(f[1] for f in plain + faster) / max(1, sum(f[2] for f in plain + faster))
            left[stage, speedup] = (median(f[0] for f in faster) / median(f[0] for f in plain),
                                    share)
    return left, ""


def coz_results(place, scratch, measured):
    """By case, how far coz is off; what is left of the time against what is left when measured."""
    left, why = coz(place, scratch)
    results = []
    for stage in STAGES:
        for speedup in SPEEDUPS:
            name = f"coz/{stage}/{speedup:g}"
            if (stage, speedup) not in left:
                results.append(Result(name, float("nan"), float("nan"), float("nan"), why))
                continue
            ratio, share = left[stage, speedup]
            off = abs(ratio / measured[stage, speedup] - 1)
            remark = f"coz leaves {ratio:.3f} of the time, measured {measured[stage, speedup]:.3f}"
            if share < 0.05:
                remark += f"; it has {100 * share:.0f} % of its samples in this stage: most are in " \
                          "a library without frame pointers"
            results.append(Result(name, off, off, off, remark))
    return results


# ---- a million spans ----

def million(place, scratch):
    capture = scratch / "whatif-million.cairn"
    output_of([place / "bench" / "bench-pipeline", "-o", capture, "--rounds", "0,0,0", "--items",
               str(MILLION)])
    tool = place / "cairn"
    kinds = {"million": ["--no-table", "--speedup", "compress=2"], "million-table": []}
    results = []
    for name, options in kinds.items():
        seconds = []
        for _ in range(5 if "--no-table" in options else 3):
            begin = time.monotonic()
            answer = output_of([tool, "whatif", "--json", *options, capture])
            seconds.append(time.monotonic() - begin)
        spans = json.loads(answer)["spans"]
        results.append(Result(name, median(seconds), min(seconds), max(seconds),
                              f"{spans:,} spans, {capture.stat().st_size / 2**20:.0f} MiB"))
    capture.unlink()
    return results


def compare(place):
    scratch = place / "bench-scratch"
    scratch.mkdir(exist_ok=True)
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("bench/run: whatif takes two processors")
    results = million(place, scratch)
    measured = {}
    for layout, how in LAYOUTS.items():
        for stage in STAGES:
            for speedup in SPEEDUPS:
                result = case(place, scratch, f"{layout}/{stage}/{speedup:g}", how,
                              f"{stage}={speedup:g}")
                was, took = re.match(r"([\d.]+) s; predicted [\d.]+, took ([\d.]+)",
                                     result.remark).groups()
                if layout == "shared":
                    measured[stage, speedup] = float(took) / float(was)
                results.append(result)
    results += coz_results(place, scratch, measured)
    for name in ("whatif.cairn", "whatif-cut.cairn", "profile.coz"):
        (scratch / name).unlink(missing_ok=True)
    return results
