#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `cairn cc` counts and samples in real programs beside what others say of them: calls that are
jumps, callgrind, gcov, gcc -finstrument-functions, perf.

Usage: agree.py CAIRN SOURCES FOLDER [--only PROGRAM]... [--what WHAT]...
SOURCES is what fetch.sh has fetched; programs are built in FOLDER. Prints a table, and each function
that differs.
"""
import argparse
import collections
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
from cpp_names import shortened  # noqa: E402

SMALL = {"sqlite3": ["--size", "2"], "fmt": ["3000"]}
STEADY = {"lua5.4": ["-DSTRCACHE_N=1"]} # its cache of strings is indexed by their addresses
# A shell reads its environment: valgrind adds four variables, which with CAIRN_OUT and CAIRN_WALL these two make.
LIKE_VALGRIND = {"GLIBCXX_FORCE_NEW": "", "GLIBCPP_FORCE_NEW": ""}
STARTUP = {"_start", "_init", "_fini", "__do_global_dtors_aux", "frame_dummy", "register_tm_clones",
           "deregister_tm_clones"} # of gcc's own object files


def run(command, folder, statuses=(0,), **environment):
    done = subprocess.run(command, cwd=folder, env=dict(os.environ, **environment), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode not in statuses:
        raise subprocess.CalledProcessError(done.returncode, command)
    return done.stdout


def run_program(binary, program, folder, before=(), **environment):
    """At the same path each build: a program can process the path by which it was started."""
    path = os.path.join(folder, "program")
    shutil.copy2(binary, path)
    run([*before, path] + program["run"], folder, program.get("statuses", (0,)), PWD=folder, **environment)
    return path


def build(program, front, folder, name, *options):
    target = os.path.join(folder, name)
    tool = front[0] if os.path.exists(front[0]) else None
    if os.path.exists(target) and (not tool or os.path.getmtime(target) > measure.newest(tool)):
        return target
    made = measure.make(dict(program, options=program.get("options", []) + list(options)), front,
                        target)
    if made is None:
        raise SystemExit("%s could not be built" % target)
    return target


def plain_name(name):
    """Names as in the report, without suffixes of clones."""
    name = re.sub(r"\s*\[clone [^]]*\]", "", name)
    name = re.sub(r"'\d+$", "", name) # callgrind: recursion
    return name.split(".", 1)[0] if not name.startswith(".") else name


def demangled(counts):
    names = subprocess.run(["c++filt", "--no-params"], input="\n".join(counts), text=True,
                           capture_output=True, check=True).stdout.split("\n")
    found = collections.Counter()
    for name, count in zip(names, counts.values()):
        found[shortened(name)] += count
    return found


# ---- calls that are jumps ------------------------------------------------------------------


def ways_out(path):
    """By function and by whom it calls ("*": through a pointer): calls, and jumps in their place, to
    where another function begins. Jumps of switches are marked notrack (-fcf-protection)."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True,
                          text=True, check=True).stdout
    calls, jumps, name = collections.Counter(), collections.Counter(), None
    for line in text.split("\n"):
        head = re.match(r"[0-9a-f]+ <([^>+]+)>:$", line)
        if head:
            name = head.group(1)
            continue
        way = re.search(r"\s(notrack )?(?:bnd )?(jmp|call) +(?:[0-9a-f]+ <([^>]+)>$|\*)", line)
        if not way or way.group(1) or not name or name.endswith("@plt"):
            continue
        to = way.group(3) or "*"
        if "+" not in to and to != name and not to.startswith("cairn_priv_"):
            (calls if way.group(2) == "call" else jumps)[name, to] += 1
    return calls, jumps


def compare_siblings(program, folder, tool, cpp):
    """By kind: how many there are, of how many there is one copy less, and which are calls now."""
    rows = {}
    calls, jumps = ways_out(build(program, measure.other("gcc")(tool, cpp), folder, "plain-cf",
                                  "-fcf-protection"))
    names = {name for name, _ in jumps}
    for kind, options in KINDS.items():
        calls_now, jumps_now = ways_out(build(program, measure.cairn(*options)(tool, cpp), folder,
                                              kind + "-cf", "-fcf-protection"))
        kept = {name for name, _ in list(calls_now) + list(jumps_now)}
        fewer = [way for way in jumps if jumps_now[way] < jumps[way] and way[0] in kept]
        lost = ["%s: %s" % way for way in sorted(fewer) if calls_now[way] > calls[way]]
        rows[kind] = (sum(jumps.values()), len(names), len(fewer) - len(lost), lost)
    return rows


KINDS = {"count": [], "inlined": ["--inlined"], "alloc": ["--profile=alloc"],
         "time": ["--profile=time"]}

# ---- calls ---------------------------------------------------------------------------------


def cairn_calls(tool, binary, program, folder):
    path = os.path.join(folder, "x.cairn")
    if os.path.exists(path):
        os.unlink(path)
    run_program(binary, program, folder, CAIRN_OUT=path, CAIRN_WALL="off", **LIKE_VALGRIND)
    found = json.loads(run([tool, "report", "--json", "-n", "0", path], folder))
    counts, lines = collections.Counter(), {}
    for row in found["flat"]:
        if row["block"]["line"]:
            counts[plain_name(row["block"]["name"])] += row["calls"]
    return counts


def callgrind_calls(binary, program, folder):
    out = os.path.join(folder, "callgrind.out")
    binary = run_program(binary, program, folder,
                         ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out,
                          "--compress-strings=no", "--compress-pos=no", "--demangle=no"])
    counts, to, place, there = collections.Counter(), None, None, None
    with open(out, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("ob="):
                place = there = line[3:].strip()
            elif line.startswith("cob="):
                there = line[4:].strip()
            elif line.startswith("cfn="):
                to = line[4:].strip()
            elif line.startswith("calls="):
                if there == binary and not re.search(r"\.cold('\d+)?$", to): # a jump to the cold part
                    counts[to] += int(line[6:].split()[0])
                there = place
    os.unlink(out)
    return counts


def symbols(binary):
    text = subprocess.run(["nm", "--defined-only", binary], capture_output=True, text=True,
                          check=True).stdout
    return {line.split()[-1] for line in text.split("\n")
            if len(line.split()) == 3 and line.split()[1] in "tTwW"}


def by_plain_name(counts):
    found = collections.Counter()
    for name, count in counts.items():
        found[plain_name(name)] += count
    return found


def gcov_calls(program, folder, cpp):
    """Of a build without optimizing: each function of the source."""
    place = os.path.join(folder, "gcov")
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    binary = build(program, measure.other("gcc")("", cpp), place, "gcov", "-O0", "--coverage")
    run_program(binary, program, place)
    counts = collections.Counter()
    files = [f for f in os.listdir(place) if f.endswith(".gcda")]
    subprocess.run(["gcov", "--json-format"] + files, cwd=place, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for path in glob.glob(os.path.join(place, "*.gcov.json.gz")):
        with gzip.open(path) as file:
            for each in json.load(file)["files"]:
                for function in each["functions"]:
                    counts[function["name"]] += function["execution_count"]
    return demangled(counts)


def hooked_calls(program, folder, cpp):
    """gcc -O0 -finstrument-functions."""
    made = os.path.join(folder, "hooks.o")
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-O2", "-c", os.path.join(HERE, "hooks.c"), "-o", made],
                   check=True)
    binary = build(program, measure.other("gcc")("", cpp), folder, "hooked", "-O0",
                   "-finstrument-functions", made)
    out = os.path.join(folder, "hooks.out")
    run_program(binary, program, folder, HOOKS_OUT=out)
    names = {}
    for line in subprocess.run(["nm", "--defined-only", binary], capture_output=True, text=True,
                               check=True).stdout.split("\n"):
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            names[int(words[0], 16)] = words[2]
    counts = collections.Counter()
    with open(out, encoding="ascii") as file:
        for line in file:
            address, count = line.split()
            counts[names.get(int(address, 16), address)] += int(count)
    return demangled(counts)


def differences(mine, theirs, names):
    return ["%s: %d, they have %d" % (name, mine.get(name, 0), theirs.get(name, 0))
            for name in sorted(names) if mine.get(name, 0) != theirs.get(name, 0)]


def compare_calls(name, program, folder, tool, cpp, what):
    rows = {}
    if "callgrind" in what:
        plain = build(program, measure.other("gcc")(tool, cpp), folder, "plain")
        own = symbols(plain)
        theirs = by_plain_name(callgrind_calls(plain, program, folder))
        if cpp:
            theirs = by_plain_name(demangled(theirs))
        known = set(by_plain_name(demangled(dict.fromkeys(own, 0)) if cpp else dict.fromkeys(own, 0)))
        for kind, options in (("count", []), ("lean by an estimate", ["--lean"]),
                              ("lean", ["--lean=" + os.path.join(folder, measure.BEFORE)]),
                              ("standby", ["--standby"])):
            binary = build(program, measure.cairn(*options)(tool, cpp), folder, kind.replace(" ", "-"))
            mine = cairn_calls(tool, binary, program, folder)
            if kind == "count": # chooses what "lean" does not enter
                run_program(binary, program, folder, CAIRN_OUT=os.path.join(folder, measure.BEFORE))
            names = set(mine) | {n for n in theirs if n in known - STARTUP}
            rows["callgrind, " + kind] = (len(names), sum(theirs[n] for n in names),
                                          differences(mine, theirs, names))
    if "gcov" in what or "hooks" in what:
        inlined = build(program, measure.cairn("--inlined")(tool, cpp), folder, "inlined")
        mine = cairn_calls(tool, inlined, program, folder)
        for kind, counted in (("gcov", gcov_calls), ("hooks", hooked_calls)):
            if kind not in what:
                continue
            theirs = counted(program, folder, cpp)
            names = {n for n in theirs if not n.startswith("_") and n in mine or theirs[n]}
            names = {n for n in names if not n.startswith(("_", "std::", "__"))}
            rows[kind] = (len(names), sum(theirs[n] for n in names), differences(mine, theirs, names))
    return rows


# ---- time ----------------------------------------------------------------------------------


LIBRARIES = "[libraries]" # whose functions have several names each


def innermost(sample):
    """Of a sample's call chain: what the program was in; the kernel works for who has called it."""
    for line in sample.split("\n"):
        words = line.strip().split(None, 1)
        if len(words) == 2 and int(words[0], 16) < 1 << 47:
            return plain_name(words[1].split("(")[0])
    return None


def compare_time(program, folder, tool, cpp):
    """Shares of each function's own code; what is inlined counts with who has it, for perf."""
    binary = build(program, measure.cairn("--profile=time")(tool, cpp), folder, "time")
    path, data = os.path.join(folder, "t.cairn"), os.path.join(folder, "perf.data")
    mine, theirs = collections.Counter(), collections.Counter()
    own = set(by_plain_name(demangled(dict.fromkeys(symbols(binary), 0))))
    for _ in range(8):
        run_program(binary, program, folder, CAIRN_OUT=path, CAIRN_PERIOD="4000000")
        found = json.loads(run([tool, "report", "--json", "-n", "0", "--tree", "-T", "0", path], folder))
        outer = {}
        for row in found["tree"]:
            name = plain_name(row["block"]["name"])
            above = outer.get(row["parent"])
            outer[row["context"]] = above or (name if name in own else None)
            mine[outer[row["context"]] or LIBRARIES] += row["self"].get("cpu", 0) / 4e6
        run_program(binary, program, folder,
                    ["perf", "record", "-q", "-g", "-e", "cpu-clock", "-F", "250", "-o", data])
        text = run(["perf", "script", "-i", data, "-F", "ip,sym"], folder).decode(errors="replace")
        for sample in text.split("\n\n"):
            name = innermost(sample)
            if name:
                theirs[name if name in own else LIBRARIES] += 1
    return mine, theirs


def time_rows(mine, theirs):
    all_mine, all_theirs = sum(mine.values()), sum(theirs.values())
    wrong, seen = [], 0
    for name in set(mine) | set(theirs):
        a, b = mine[name] / all_mine, theirs[name] / all_theirs
        share = (mine[name] + theirs[name]) / (all_mine + all_theirs)
        if share < 0.01 or name not in mine:
            continue
        seen += 1
        error = (share * (1 - share) * (1 / all_mine + 1 / all_theirs)) ** 0.5
        if abs(a - b) > 3 * error:
            wrong.append("%s: %.1f %%, they have %.1f %% (error %.1f)" % (name, 100 * a, 100 * b, 100 * error))
    return seen, int(all_mine), int(all_theirs), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cairn")
    parser.add_argument("sources")
    parser.add_argument("folder")
    parser.add_argument("--only", action="append", choices=measure.PROGRAMS)
    parser.add_argument("--what", action="append",
                        choices=["siblings", "callgrind", "gcov", "hooks", "time"])
    given = parser.parse_args()
    what = given.what or ["siblings", "callgrind", "gcov", "hooks", "time"]
    tool = os.path.abspath(given.cairn)
    for name in given.only or measure.PROGRAMS:
        folder = os.path.join(os.path.abspath(given.folder), name)
        os.makedirs(folder, exist_ok=True)
        program = measure.PROGRAMS[name](os.path.abspath(given.sources), folder, 1)
        cpp = program.get("cpp")
        small = dict(program, run=SMALL.get(name) or program["run"],
                     options=program.get("options", []) + STEADY.get(name, []))
        if "siblings" in what:
            for kind, (total, count, copies, lost) in compare_siblings(program, folder, tool,
                                                                       cpp).items():
                print("%s: %d calls in %d functions are jumps; %s: %d have a copy less, %d are calls"
                      % (name, total, count, kind, copies, len(lost)), *lost, sep="\n    ",
                      flush=True)
        for kind, (count, calls, wrong) in compare_calls(name, small, folder, tool, cpp, what).items():
            print("%s: %s: %d functions, %d calls, %d differ" % (name, kind, count, calls, len(wrong)),
                  *wrong[:40], sep="\n    ", flush=True)
        if "time" in what:
            seen, mine, theirs, wrong = time_rows(*compare_time(program, folder, tool, cpp))
            print("%s: time: %d functions of 1 %% and more, %d and %d samples, %d differ by more than "
                  "three standard errors" % (name, seen, mine, theirs, len(wrong)), *wrong,
                  sep="\n    ", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
