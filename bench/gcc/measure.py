#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs compiled by `cairn cc` beside gcc's own: the same output, how much slower, how much
larger, how long to compile; with gprof, uftrace and clang's XRay beside it where they are there.

Usage: measure.py CAIRN SOURCES FOLDER [--rounds N] [--only PROGRAM]
                  [--variant NAME] [--scale N] [--once] [--build]
SOURCES is what fetch.sh has fetched; FOLDER is where programs are built, two at a time, unless they
are there already and newer than CAIRN. --once compares outputs alone, without timing; --build runs
nothing; --scale gives each program so many times as much to do. Variants take turns; a figure is
the median of ratios to plain, and what takes 8 times as long and more runs once. What others leave
behind is removed after each run.
"""
import argparse
import concurrent.futures
import glob
import hashlib
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OPTIONS = ["-O2", "-g0", "-w"]


def sources(pattern, without=()):
    return sorted(path for path in glob.glob(pattern) if os.path.basename(path) not in without)


def sqlite(root, folder, scale):
    made = os.path.join(folder, "sqlite-made")
    if not os.path.exists(os.path.join(made, "sqlite3.c")):
        os.makedirs(made, exist_ok=True)
        for command in ([os.path.join(root, "sqlite3", "configure"), "--disable-tcl",
                         "--disable-readline"], ["make", "sqlite3.c"]):
            subprocess.run(command, cwd=made, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    return {"files": [os.path.join(root, "sqlite3/test/speedtest1.c"),
                      os.path.join(made, "sqlite3.c")],
            "options": ["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-I", made, "-lm"],
            "run": ["--size", str(15 * scale)], "times_in_output": True}


def lua(root, _, scale):
    return {"files": sources(os.path.join(root, "lua5.4/src/*.c"), ["luac.c"]),
            "options": ["-std=gnu99", "-DLUA_USE_LINUX", "-Wl,-E", "-ldl", "-lm",
                        "-Dluai_makeseed(L)=1"], # the same hashes each time
            "run": [os.path.join(HERE, "work.lua"), str(scale)]}


def zstd(root, folder, scale):
    data = os.path.join(folder, "numbers")
    with open(data, "w", encoding="ascii") as file:
        file.write("\n".join(map(str, range(1500000 * scale))))
    base = os.path.join(root, "libzstd")
    files = sources(base + "/lib/common/*.c") + sources(base + "/lib/compress/*.c") + \
        sources(base + "/lib/decompress/*.c") + sources(base + "/lib/dictBuilder/*.c") + \
        sources(base + "/programs/*.c")
    return {"files": files,
            "options": ["-DZSTD_DISABLE_ASM", "-DZSTD_MULTITHREAD", "-pthread", "-I", base + "/lib",
                        "-I", base + "/lib/common", "-I", base + "/lib/dictBuilder"],
            "run": ["-q", "-9", "-T1", "-c", data]}


def fmt(root, _, scale):
    base = os.path.join(root, "fmtlib")
    return {"files": [base + "/src/format.cc", os.path.join(HERE, "formats.cpp")],
            "options": ["-std=c++17", "-I", base + "/include"], "run": [str(300000 * scale)], "cpp": True}


def jq(root, folder, scale):
    base = os.path.join(root, "jq")
    data = os.path.join(folder, "rows.json")
    with open(data, "w", encoding="ascii") as file:
        for i in range(120000 * scale):
            file.write('{"id": %d, "name": "row %d", "tags": ["a", "b%d"]}\n' % (i, i, i % 9))
    made = os.path.join(folder, "jq-made")
    if not os.path.exists(os.path.join(made, "Makefile")):
        shutil.rmtree(made, ignore_errors=True)
        shutil.copytree(base, made, symlinks=True)
        for command in (["autoreconf", "-fi"],
                        ["./configure", "--without-oniguruma", "--disable-maintainer-mode",
                         "--disable-docs", "--disable-shared", "--disable-valgrind"],
                        ["make", "-j2", "src/builtin.inc", "src/version.h"]):
            subprocess.run(command, cwd=made, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    return {"tree": made, "program": "jq",
            "run": ["-c", "select(.id % 3 == 0) | {n: .name, t: (.tags | length)}", data]}


def repeated_script(folder, turns):
    """work.js, which runs so many times in one interpreter."""
    path = os.path.join(folder, "work.js")
    with open(os.path.join(HERE, "work.js"), encoding="ascii") as work, open(path, "w", encoding="ascii") as file:
        file.write("function work() {\n%s}\nfor (var turn = 0; turn < %d; turn++) work();\n" % (work.read(), turns))
    return path


def duktape(root, folder, scale):
    base = os.path.join(root, "duktape")
    return {"files": [base + path for path in ("/src-noline/duktape.c", "/examples/cmdline/duk_cmdline.c",
                                                "/extras/print-alert/duk_print_alert.c")],
            "options": ["-DDUK_CMDLINE_PRINTALERT_SUPPORT", "-I", base + "/src-noline", "-I",
                        base + "/examples/cmdline", "-I", base + "/extras/print-alert", "-lm"],
            "run": [repeated_script(folder, 12 * scale)]}


def minisat(root, folder, scale):
    base = os.path.join(root, "minisat2")
    data = os.path.join(folder, "problem.cnf")
    variables, clauses, state = 220, 931, 11
    with open(data, "w", encoding="ascii") as file:
        file.write("p cnf %d %d\n" % (variables, clauses))
        for _ in range(clauses):
            for _ in range(3):
                state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
                file.write("%d " % ((state >> 33) % variables * (1 if state >> 62 & 1 else -1) or 1))
            file.write("0\n")
    return {"files": [base + path for path in ("/minisat/core/Main.cc", "/minisat/core/Solver.cc",
                                                "/minisat/utils/Options.cc", "/minisat/utils/System.cc")],
            "options": ["-I", base, "-D__STDC_LIMIT_MACROS", "-D__STDC_FORMAT_MACROS", "-fpermissive",
                        "-lz"], "cpp": True, "statuses": (0, 10, 20),
            "run": ["-verb=0", data] * min(scale, 1)}


def numbers(folder, count):
    """A file to be compressed."""
    path = os.path.join(folder, "numbers")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(str(i * i % 999983) for i in range(count)))
    return path


def bzip2(root, folder, scale):
    names = ("blocksort", "huffman", "crctable", "randtable", "compress", "decompress", "bzlib", "bzip2")
    return {"files": [os.path.join(root, "bzip2", name + ".c") for name in names], "options": [],
            "run": ["-9", "-c", "-k", numbers(folder, 800000 * scale)]}


def lz4(root, folder, scale):
    base = os.path.join(root, "lz4")
    return {"files": sources(base + "/lib/*.c") + sources(base + "/programs/*.c"),
            "options": ["-I", base + "/lib"],
            "run": ["-9", "-c", "-q", numbers(folder, 2000000 * scale)]}


def minigzip(root, folder, scale):
    base = os.path.join(root, "zlib")
    return {"files": sources(base + "/*.c") + [base + "/test/minigzip.c"], "options": ["-I", base],
            "run": ["-9", "-c", numbers(folder, 800000 * scale)]}


def expat(root, folder, scale):
    base = os.path.join(root, "expat/expat")
    data = os.path.join(folder, "rows.xml")
    with open(data, "w", encoding="ascii") as file:
        file.write("<rows>\n")
        for i in range(240000 * scale):
            file.write('<row id="%d" name="row %d"><tag>a</tag><tag>b &amp; %d</tag></row>\n' % (i, i, i % 9))
        file.write("</rows>\n")
    with open(os.path.join(folder, "expat_config.h"), "w", encoding="ascii") as file:
        file.write("#define BYTEORDER 1234\n#define XML_NS\n#define XML_DTD 1\n#define XML_CONTEXT_BYTES 1024\n"
                   "#define XML_DEV_URANDOM\n#define HAVE_UNISTD_H 1\n")
    out = os.path.join(folder, "out")
    os.makedirs(out, exist_ok=True)
    names = ("xmlwf", "xmlfile", "codepage", "readfilemap")
    return {"files": [base + "/lib/%s.c" % name for name in ("xmlparse", "xmlrole", "xmltok")] +
                     [base + "/xmlwf/%s.c" % name for name in names],
            "options": ["-I", folder, "-I", base + "/lib"], "run": ["-n", "-c", "-d", out, data]}


def mujs(root, folder, scale):
    base = os.path.join(root, "mujs")
    return {"files": [base + "/one.c", base + "/main.c"], "options": ["-I", base, "-lm"],
            "run": [repeated_script(folder, 12 * scale)]}


def configured(source, made, *commands):
    """A copy of the source in which the commands have run."""
    if not os.path.exists(os.path.join(made, ".done")):
        shutil.rmtree(made, ignore_errors=True)
        shutil.copytree(source, made, symlinks=True)
        for command in commands:
            subprocess.run(command, cwd=made, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        open(os.path.join(made, ".done"), "w", encoding="ascii").close()
    return made


def mawk(root, folder, scale):
    made = configured(os.path.join(root, "mawk"), os.path.join(folder, "mawk-made"), ["./configure"],
                      ["make", "scancode.c"])
    return {"tree": made, "program": "mawk", "options": [],
            "run": ["-f", os.path.join(HERE, "work.awk"), numbers(folder, 480000 * scale)]}


def dash(root, folder, scale):
    made = configured(os.path.join(root, "dash"), os.path.join(folder, "dash-made"), ["autoreconf", "-fi"],
                      ["./configure", "--disable-dependency-tracking"],
                      ["make", "-C", "src"])
    made = os.path.join(made, "src")
    tools = ["mkinit.c", "mknodes.c", "mksignames.c", "mksyntax.c"]
    return {"files": sources(made + "/*.c", tools) + sources(made + "/bltin/*.c"),
            "options": ["-include", os.path.join(made, "../config.h"), "-DBSD=1", "-DSHELL", "-I", made],
            "run": [os.path.join(HERE, "work.sh"), str(90000 * scale)]}


def pcre2grep(root, folder, scale):
    base = os.path.join(root, "pcre2/src")
    for name, source in (("pcre2.h", "pcre2.h.generic"), ("config.h", "config.h.generic"),
                         ("pcre2_chartables.c", "pcre2_chartables.c.dist")):
        shutil.copyfile(os.path.join(base, source), os.path.join(folder, name))
    without = ["pcre2_dftables.c", "pcre2_fuzzsupport.c", "pcre2_jit_test.c", "pcre2_printint.c", "pcre2demo.c",
               "pcre2posix_test.c", "pcre2test.c", "pcre2_jit_match.c", "pcre2_jit_misc.c", "pcre2_ucptables.c"]
    return {"files": sources(base + "/*.c", without) + [os.path.join(folder, "pcre2_chartables.c")],
            "options": ["-DHAVE_CONFIG_H", "-DPCRE2_CODE_UNIT_WIDTH=8", "-DSUPPORT_PCRE2_8", "-DSUPPORT_UNICODE",
                        "-DHAVE_UNISTD_H", "-DHAVE_SYS_TYPES_H", "-DHAVE_SYS_STAT_H", "-DHAVE_DIRENT_H",
                        "-DHAVE_MEMMOVE", "-DHAVE_STRERROR", "-I", folder, "-I", base],
            "run": ["-c", r"(\d)(\d)?.*\2(?=\1|[24]+$)", numbers(folder, 800000 * scale)]}


def brotli(root, folder, scale):
    base = os.path.join(root, "brotli/c")
    return {"files": sources(base + "/common/*.c") + sources(base + "/dec/*.c") + sources(base + "/enc/*.c") +
                     [base + "/tools/brotli.c"],
            "options": ["-I", base + "/include", "-lm"],
            "run": ["-q", "6", "-c", numbers(folder, 400000 * scale)]}


def cmark(root, folder, scale):
    base = os.path.join(root, "cmark/src")
    data = os.path.join(folder, "text.md")
    with open(data, "w", encoding="ascii") as file:
        for i in range(20000 * scale):
            file.write("## Part %d\n\nSome *text* with a [link](http://x.org/%d 'title'), `code` and **bold _words_**,\n"
                       "which goes on &amp; on.\n\n- one\n- two\n  - three\n\n> quoted\n\n    code %d\n\n" % (i, i, i))
    for name, text in (("config.h", "#include <stdbool.h>\n#define HAVE___BUILTIN_EXPECT\n#define CMARK_INLINE inline\n"
                        "#define CMARK_ATTRIBUTE(list) __attribute__ (list)\n"),
                       ("cmark_export.h", "#define CMARK_EXPORT\n#define CMARK_NO_EXPORT\n"),
                       ("cmark_version.h", "#define CMARK_VERSION 0\n#define CMARK_VERSION_STRING \"0\"\n")):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    return {"files": sources(base + "/*.c"), "options": ["-I", folder, "-I", base], "run": [data]}


def tinyscheme(root, folder, scale):
    base = os.path.join(root, "tinyscheme")
    shutil.copyfile(os.path.join(base, "init.scm"), os.path.join(folder, "init.scm"))
    return {"files": [base + "/scheme.c", base + "/dynload.c"],
            "options": ["-I", base, "-DSUN_DL=1", "-DUSE_DL=1", "-DUSE_MATH=1", "-DUSE_ASCII_NAMES=0", "-ldl", "-lm"],
            "run": [os.path.join(HERE, "work.scm")] * scale}


PROGRAMS = {"sqlite3": sqlite, "lua5.4": lua, "zstd": zstd, "jq": jq, "fmt": fmt,
            "duktape": duktape, "minisat": minisat, "bzip2": bzip2, "lz4": lz4,
            "minigzip": minigzip, "expat": expat, "mujs": mujs, "mawk": mawk, "dash": dash,
            "pcre2grep": pcre2grep, "brotli": brotli, "cmark": cmark, "tinyscheme": tinyscheme}


def cairn(*options):
    def front(tool, cpp):
        return [tool, "c++" if cpp else "cc", *options]
    return front


BEFORE = "before.cairn" # a run of "count", which chooses what "lean" does not enter


def lean(*options):
    front = cairn(*options, "--lean")
    front.after = "count, not profiled"
    return front


def other(*words):
    return lambda tool, cpp: [{"gcc": "g++", "clang": "clang++"}[words[0]] if cpp else words[0],
                              *words[1:]]


# (name, compiler, environment of the run, what runs it)
def xray(mode, **more):
    return dict({"XRAY_OPTIONS": "patch_premain=true xray_mode=%s xray_logfile_base=x." % mode},
                **more)


HERTZ = {"CAIRN_OUT": "x.cairn", "CAIRN_PERIOD": "10000000"}
KILOHERTZ = {"CAIRN_OUT": "x.cairn", "CAIRN_PERIOD": "1000000"}
PG = ["-pg", "-no-pie"]

# (name, compiler, environment of the run, what runs it, what it is compared with)
VARIANTS = [
    ("plain", other("gcc"), {}, [], None),
    ("count, not profiled", cairn(), {}, [], "plain"),
    ("count", "count, not profiled", {"CAIRN_OUT": "x.cairn"}, [], "plain"),
    ("standby, not profiled", cairn("--standby"), {}, [], "plain"),
    ("standby", "standby, not profiled", {"CAIRN_OUT": "x.cairn"}, [], "plain"),
    ("lean, not profiled", lean(), {}, [], "plain"),
    ("lean", "lean, not profiled", {"CAIRN_OUT": "x.cairn"}, [], "plain"),
    ("count+time", "count, not profiled", {"CAIRN_OUT": "x.cairn", "CAIRN_CPU": "sampled"}, [], "plain"),
    ("count --small=10", cairn("--small=10"), {"CAIRN_OUT": "x.cairn"}, [], "plain"),
    ("count --inlined", cairn("--inlined"), {"CAIRN_OUT": "x.cairn"}, [], "plain"),
    ("time 100 Hz", cairn("--profile=time"), HERTZ, [], "plain"),
    ("time 1 kHz", "time 100 Hz", KILOHERTZ, [], "plain"),
    ("time --stack 1 kHz", "time 100 Hz", dict(KILOHERTZ, CAIRN_STACK="on"), [], "plain"),
    ("gprof", other("gcc", *PG), {}, [], "plain"),
    ("uftrace", "gprof", {}, ["uftrace", "record", "--no-libcall", "-d", "x.uftrace"], "plain"),
    ("-finstrument-functions, hooks empty", other("gcc", "-finstrument-functions"), {}, [], "plain"),
    ("clang plain", other("clang"), {}, [], None),
    ("XRay, not patched", "XRay profiling", {}, [], "clang plain"),
    ("XRay profiling", other("clang", "-fxray-instrument", "-fxray-instruction-threshold=1"),
     xray("xray-profiling"), [], "clang plain"),
    ("XRay basic", "XRay profiling", xray("xray-basic"), [], "clang plain"),
    ("XRay flight data recorder", "XRay profiling", xray("xray-fdr"), [], "clang plain"),
]
SLOW = 8 # times the plain run: once is enough
LONGEST = 90 # seconds; what takes longer is left out


def run_counted(command, **more):
    """(exit status, seconds of processor time), of it and all that it has waited for."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, **more)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, used.ru_utime + used.ru_stime


def make(program, front, target):
    """Seconds of processor time that it took, or None."""
    log = target + ".log"
    with open(log, "w", encoding="utf-8") as messages:
        if "tree" in program:
            tree = target + ".tree"
            shutil.rmtree(tree, ignore_errors=True)
            shutil.copytree(program["tree"], tree, symlinks=True)
            status, taken = run_counted(
                ["make", "CC=" + " ".join(front), "CFLAGS=" + " ".join(OPTIONS +
                 program.get("options", [])), program["program"]], cwd=tree, stderr=messages)
            if status == 0:
                shutil.copy(os.path.join(tree, program["program"]), target)
            shutil.rmtree(tree, ignore_errors=True)
        else:
            status, taken = run_counted([*front, *OPTIONS, *program["files"], *program["options"],
                                         "-o", target], cwd=os.path.dirname(target), stderr=messages)
    if status:
        with open(log, encoding="utf-8", errors="replace") as messages:
            print("# %s: %s" % (os.path.basename(target), messages.read()[-300:]), file=sys.stderr)
        return None
    os.unlink(log)
    return taken


def code_size(path):
    text = subprocess.run(["size", path], capture_output=True, text=True, check=True).stdout
    return int(text.split("\n")[1].split()[0])


def run(program, command, environment, folder):
    """(seconds, what it printed); None if it failed."""
    clear(folder)
    begin = time.monotonic()
    try:
        done = subprocess.run(command + program["run"], cwd=folder, timeout=LONGEST, check=False,
                              env=dict(os.environ, **environment),
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None
    taken = time.monotonic() - begin
    clear(folder)
    if done.returncode not in program.get("statuses", (0,)):
        return None
    output = done.stdout
    if program.get("times_in_output"):
        output = b"\n".join(line.rsplit(b" ", 1)[0] for line in output.split(b"\n"))
    return taken, hashlib.sha256(output).hexdigest()


def clear(folder):
    for left in glob.glob(os.path.join(folder, "x.*")) + [os.path.join(folder, "gmon.out")]:
        shutil.rmtree(left, ignore_errors=True)
        if os.path.exists(left):
            os.unlink(left)


def newest(tool):
    """When what `cairn cc` puts into programs was made."""
    return max(map(os.path.getmtime, [tool] + [
        path for beside in ("hosts/gcc/*.so*", "src/*.so*")
        for path in glob.glob(os.path.join(os.path.dirname(tool), beside))]))


def choose(program, job, target, folder):
    """Runs the program built by the job, if any, to choose what "lean" does not enter."""
    before = os.path.join(folder, BEFORE)
    if job:
        job.result()
    if job or not os.path.exists(before):
        run(program, [target], {"CAIRN_OUT": before}, folder)


def build(name, program, folder, tool):
    """By variant: the program, and its facts (seconds to compile it, bytes of code)."""
    facts_path = os.path.join(folder, "facts.json")
    facts, targets, old = {}, {}, newest(tool)
    if os.path.exists(facts_path):
        with open(facts_path, encoding="utf-8") as file:
            facts = json.load(file)
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        made = {}
        for variant, front, _, _, _ in sorted(VARIANTS, key=lambda v: hasattr(v[1], "after")):
            if isinstance(front, str):
                continue
            target = os.path.join(folder, re.sub("[^a-z0-9=]+", "-", variant.lower()))
            command, targets[variant] = front(tool, program.get("cpp")), target
            if hasattr(front, "after"):
                choose(program, made.get(front.after), targets[front.after], folder)
                command[-1] = "--lean=" + os.path.join(folder, BEFORE)
            if variant in facts and os.path.exists(target) and (
                    os.path.getmtime(target) > old or (tool not in command and variant != "plain")):
                continue
            facts.pop(variant, None)
            made[variant] = workers.submit(make, program, command, target)
        for variant, job in made.items():
            taken = job.result()
            if taken is not None:
                facts[variant] = (taken, code_size(targets[variant]))
    with open(facts_path, "w", encoding="utf-8") as file:
        json.dump(facts, file)
    return {variant: target for variant, target in targets.items() if variant in facts}, facts


def measure(name, root, folder, tool, rounds, scale):
    folder = os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    program = PROGRAMS[name](root, folder, scale)
    built, facts = build(name, program, folder, tool)
    print("# %s is built" % name, file=sys.stderr, flush=True)
    times = {variant: [] for variant, _, _, _, _ in VARIANTS}
    outputs, failed = {}, set()
    for turn in range(rounds):
        for variant, front, environment, before, against in VARIANTS:
            binary = built.get(front if isinstance(front, str) else variant)
            if turn and against and times[variant] and \
                    times[variant][0] > SLOW * times[against][0]:
                continue
            if not binary or variant in failed or (before and not shutil.which(before[0])):
                continue
            done = run(program, before + [binary], environment, folder)
            if done:
                times[variant].append(done[0])
                outputs[variant] = done[1]
            else:
                failed.add(variant)
                print("# %s: %s fails, or takes more than %d s" % (name, variant, LONGEST),
                      file=sys.stderr, flush=True)
    return times, outputs, facts


def ratio(times, variant, against):
    if not times.get(variant):
        return None
    return statistics.median(a / b for a, b in zip(times[variant], times[against]))


def mean(ratios):
    known = [r for r in ratios if r]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None


def row(name, cells):
    print("| %s | %s |" % (name, " | ".join("%.2f" % c if c else "–" for c in cells)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cairn")
    parser.add_argument("sources")
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", choices=PROGRAMS)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--variant", action="append", choices=[v[0] for v in VARIANTS])
    given = parser.parse_args()
    if given.variant:
        wanted = set(given.variant) | {"plain"}
        wanted |= {v[4] for v in VARIANTS if v[0] in wanted and v[4]}
        wanted |= {v[1] for v in VARIANTS if v[0] in wanted and isinstance(v[1], str)}
        VARIANTS[:] = [v for v in VARIANTS if v[0] in wanted]
    names = given.only or list(PROGRAMS)
    rounds = 1 if given.once else 0 if given.build else given.rounds
    found = {name: measure(name, os.path.abspath(given.sources), os.path.abspath(given.folder),
                           os.path.abspath(given.cairn), rounds, given.scale) for name in names}
    if given.build:
        return 0
    wrong = 0
    for name, (_, outputs, _) in found.items():
        for variant, output in outputs.items():
            if output != outputs.get("plain"):
                wrong += 1
                print("%s: %s prints something else" % (name, variant))
        print("%s: the same output from %s" % (name, ", ".join(outputs)))
    if given.once:
        return 1 if wrong else 0
    print("\n| × plain | %s | mean |\n|%s" % (" | ".join(names), " --- |" * (len(names) + 2)))
    print("| plain, seconds | %s | |" % " | ".join(
        "%.2f" % statistics.median(found[name][0]["plain"]) for name in names))
    for variant, _, _, _, against in VARIANTS:
        if against:
            cells = [ratio(found[name][0], variant, against) for name in names]
            row(variant + (", × clang" if against != "plain" else ""), cells + [mean(cells)])
    for what, index in (("compile time", 0), ("code size", 1)):
        for variant in ("count, not profiled", "lean, not profiled", "standby, not profiled", "count --small=10",
                        "count --inlined", "time 100 Hz", "gprof"):
            if all(variant not in found[name][2] for name in names):
                continue
            cells = [found[name][2][variant][index] / found[name][2]["plain"][index]
                     if variant in found[name][2] and "plain" in found[name][2] else None
                     for name in names]
            row("%s of %s" % (what, variant.replace(" 100 Hz", "")), cells + [mean(cells)])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
