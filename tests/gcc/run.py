#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs compiled by `cairn cc` in many ways do what they do when gcc compiles them, and what
their captures count is what a slow reference counts (gcc -O0 -finstrument-functions).

Usage: run.py CAIRN GCC GXX [WORD...]        prints TAP; cases whose names have all words
       run.py CAIRN GCC GXX --smoke          the cases that depend on how Cairn itself was compiled
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "scripts"), os.path.join(HERE, "..", "formats")]
from cpp_names import shortened  # noqa: E402
from tap import words_of  # noqa: E402

CAIRN, GCC, GXX = sys.argv[1:4]
CAIRN = os.path.abspath(CAIRN)
PROGRAMS = os.path.join(HERE, "programs")
CASES = []
SMOKE = set()
BUILT = {}  # programs in KEPT, by how they were made
KEPT = tempfile.mkdtemp(prefix="cairn-gcc-")
STEPS = "30000"
LEVELS = ["-O0", "-O1", "-O2", "-O3", "-Os"]


def case(name, *arguments):
    def add(function):
        CASES.append((name, function, arguments))
        return function
    return add


def smoke(function):
    """Marks a case that runs again with a Cairn built by another compiler: it needs most of what
    libcairn-gcc exports."""
    SMOKE.add(function)
    return function


def source(name):
    return os.path.join(PROGRAMS, name)


def run(*command, status=0, **more):
    environment = dict(os.environ, **more.pop("env", {}))
    environment.pop("CAIRN_OUT", None) if "CAIRN_OUT" not in more else None
    environment.update({k: v for k, v in more.items() if k.isupper()})
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == status, "%s ended with %d\n%s%s" % (
        " ".join(command), done.returncode, done.stdout[-1000:], done.stderr[-3000:])
    assert not done.stderr or status, done.stderr[-3000:]
    return done.stdout


def is_cpp(names):
    return any(name.endswith(".cpp") for name in names)


def usual(names):
    """These are compiled often, in C++14, whose headers take half the time of those of C++20."""
    if names[0] in ("caught.cpp", "exceptions.cpp", "inlined.cpp", "landings.cpp"):
        return ["-std=c++14"]
    return ["-std=c++20"] if is_cpp(names) else []


def build(output, front, names, options):
    """Compiles and links, or takes what an earlier case made in just this way."""
    key = (*front, *names, *options)
    if key in BUILT:
        shutil.copy(BUILT[key], output)
        return
    run(*front, *usual(names), *options, *map(source, names), "-o", output, "-pthread")
    BUILT[key] = shutil.copy(output, os.path.join(KEPT, str(len(BUILT))))


def plain(names, *options):
    build("plain", [GXX if is_cpp(names) else GCC], names, options)


def profiled(names, *options):
    build("profiled", [CAIRN, "c++" if is_cpp(names) else "cc"], names, options)


def reference(names):
    """Calls by function, from the reference program: of those alone that no compiler can leave out, as others
    may call them; and of all."""
    build("reference.o", [GCC, "-D_GNU_SOURCE", "-O1", "-c"], ["../reference.c"], [])
    run(GXX if is_cpp(names) else GCC, *usual(names), "-O0", "-finstrument-functions", "-rdynamic",
        *map(source, names), "reference.o", "-o", "reference", "-pthread")
    run("./reference", *arguments_of(names), REFERENCE_OUT="reference.out")
    symbols = {}
    for line in run("nm", "reference").split("\n"):
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            symbols[int(words[0], 16)] = words[2]
    with open("reference.out", "rb") as file:
        rows = list(struct.iter_unpack("112sQQ", file.read()))
    return by_name(rows, {}), by_name(rows, symbols)


def by_name(rows, symbols):
    """Calls by function. What is not exported has its name in `symbols`, or is left out."""
    calls = {}
    for name, offset, count in rows:
        name = name.split(b"\0")[0].decode() or symbols.get(offset, "")
        if name and count:
            name = re.sub(r"[.][0-9]+$", "", name) # of a nested function, or a static one
            calls[name] = calls.get(name, 0) + count
    plain_names = run("c++filt", "--no-params", *calls).split("\n") if calls else []
    found = {}
    for name, count in zip(plain_names, calls.values()):
        name = shortened(re.sub(r"^[a-z]+ (?=\w+::)", "", name))
        found[name] = found.get(name, 0) + count
    return found


def arguments_of(names):
    return [STEPS] if names == ["tail.c"] else []


def record(names, name="./profiled"):
    """Runs it without a profile and with one; returns the contexts: (path of names, calls)."""
    for left in os.listdir("."):
        if left.endswith(".cairn"):
            os.unlink(left)
    expected = run("./plain", *arguments_of(names))
    assert run(name, *arguments_of(names)) == expected, "prints something else, unprofiled"
    assert not [f for f in os.listdir(".") if f.endswith(".cairn")], "left a capture, unprofiled"
    found = run(name, *arguments_of(names), CAIRN_OUT="x.cairn")
    assert found == expected, "prints %r, not %r" % (found, expected)
    return contexts("x.cairn")


def report(path, *options):
    return json.loads(run(CAIRN, "report", "--json", "-n", "0", *options, path))


def contexts(path):
    found = report(path, "--tree", "-T", "0")
    assert found["notes"]["misuses"] == "0", "misuses: " + found["notes"]["misuses"]
    paths, rows = {}, []
    for row in found["tree"]:
        above = paths.get(row["parent"], ())
        paths[row["context"]] = above + (row["block"]["name"],)
        rows.append((paths[row["context"]], row))
    return rows


def calls_of(rows):
    calls = {}
    for path, row in rows:
        calls[path[-1]] = calls.get(path[-1], 0) + row["calls"]
    return calls


def stacks_match(rows):
    for path, _ in rows:
        if path[-1].startswith("after_"):
            assert path == ("[root]", "main", path[-1]), "a stack was left wrong: %r" % (path,)
        if path[-1] == "main":
            assert path == ("[root]", "main"), "main is in %r" % (path,)


def own(name):
    return not name.startswith(("std::", "__", "_start", "operator", "void std"))


def counts_match(rows, expected):
    found = calls_of(rows)
    for name, count in expected.items():
        if own(name):
            assert found.get(name) == count, "%s was called %d times, found %r" % (
                name, count, found.get(name))


REFERENCES = {}


def counted(names, every=False):
    key = tuple(names)
    if key not in REFERENCES:
        REFERENCES[key] = reference(names)
    return REFERENCES[key][every]


def compare(names, *options):
    plain(names, *[option for option in options if not option.startswith("--")])
    profiled(names, *options)
    rows = record(names)
    stacks_match(rows)
    counts_match(rows, counted(names, "--inlined" in options))


ALL = [["tail.c"], ["jumps.c"], ["threads.c"], ["process.c"], ["exceptions.cpp"], ["user.c", "library.c"]]
for each in ALL:
    for level in LEVELS:
        case("%s counts like its reference, %s" % (each[0], level), each, level)(compare)
    for way in (["-O2", "-fPIC", "-flto"], ["-O2", "-fno-pie", "-no-pie", "-static"],
                ["-O2", "--calls"], ["-O1", "-foptimize-sibling-calls", "-fomit-frame-pointer"]):
        if way[1] == "--calls":
            continue
        case("%s counts like its reference, %s" % (each[0], " ".join(way)), each, *way)(compare)
for each in ALL:
    for way in (["-O0"], ["-O2"], ["-O3", "--inlined"], ["-Os", "-fPIC", "-flto"],
                ["-O2", "-fno-pie", "-no-pie", "-static"]):
        case("%s counts like its reference, --standby %s" % (each[0], " ".join(way)), each, *way,
             "--standby")(compare)


@case("functions that call nothing push no frame, and count, however time is measured")
@smoke
def leaves():
    for options in (["-O0"], ["-O1"], ["-O3"], ["-Os"], ["-O2", "-fPIC", "-flto"], ["-O2", "-mavx2"]):
        plain(["leaf.c"], *options)
        profiled(["leaf.c"], *options)
        rows = record(["leaf.c"])
        stacks_match(rows)
        counts_match(rows, counted(["leaf.c"]))
    for way in (["--wall", "exact"], ["--wall", "off"]):
        run(CAIRN, "run", "--quiet", *way, "-o", "way.cairn", "./profiled")
        counts_match(contexts("way.cairn"), counted(["leaf.c"]))


@case("functions that call others on some paths only count as others do, by context")
def late():
    for options in (["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-fPIC", "-flto"]):
        plain(["late.c"], *options)
        tables = []
        for more in ([], ["--calls"]):
            profiled(["late.c"], *options, *more)
            rows = record(["late.c"])
            stacks_match(rows)
            counts_match(rows, counted(["late.c"]))
            tables.append({path: row["calls"] for path, row in rows})
        assert tables[0] == tables[1], options
    profiled(["late.c"], "-O2", "-fPIC", "-flto")
    for wall in ("exact", "sampled", "off"):
        run(CAIRN, "run", "--quiet", "--wall", wall, "-o", "way.cairn", "./profiled")
        assert {path: row["calls"] for path, row in contexts("way.cairn")} == tables[0], wall


def contexts_match(name):
    """Calls by function equal those of the reference program, and by context as where functions are called for all of it."""
    tables = {}
    for options in (["-O2"], ["-O2", "--calls"], ["-Os"], ["-O2", "-fPIC", "-flto"]):
        plain([name], *[option for option in options if option != "--calls"])
        profiled([name], *options)
        rows = record([name])
        stacks_match(rows)
        counts_match(rows, counted([name]))
        tables[options[-1]] = {path: row["calls"] for path, row in rows}
    assert tables["-O2"] == tables["--calls"]
    for wall in ("exact", "sampled"):
        run(CAIRN, "run", "--quiet", "--wall", wall, "-o", "way.cairn", "./profiled")
        assert {path: row["calls"] for path, row in contexts("way.cairn")} == tables["-flto"], wall


case("a context that calls many by turns counts each, wherever it is found", "crowd.c")(
    contexts_match)
case("contexts as deep in the stack as each other count as they are called", "inline_cache.c")(
    contexts_match)


def compare_all(names, *options):
    """Every function of the source, wherever it has been inlined."""
    compare(names, "--inlined", *options)


for each, ways in ((["inlined.c"], [[level] for level in LEVELS + ["-Og"]] + [
        ["-O3", "-fPIC", "-flto"], ["-O2", "-fno-pie", "-no-pie", "-static"], ["-O2", "--verify"],
        ["-O2", "--branch"]]),
                   (["inlined.cpp"], [["-O0"], ["-O2"], ["-O3", "-flto"],
                                      ["-Os", "-fnon-call-exceptions"]]),
                   (["inline_cache.c"], [["-O2"], ["-O3", "-fPIC", "-flto"],
                                    ["-O2", "-fno-pie", "-no-pie", "-static"]])):
    for way in ways:
        case("%s counts all functions, %s" % (each[0], " ".join(way)), each, *way)(compare_all)
for each in ALL:
    case("%s counts all functions" % each[0], each, "-O2")(compare_all)
for each in (["exceptions.cpp"], ["inlined.cpp"]):
    for level in ("-O0", "-O2"):
        case("%s counts all functions in C++20, %s" % (each[0], level), each, level, "-std=c++20")(compare_all)
case("exceptions.cpp counts like its reference in C++20", ["exceptions.cpp"], "-O2", "-std=c++20")(compare)


def counted_contexts(names, *options):
    profiled(names, *options)
    calls = {}
    for path, row in record(names):
        if row["calls"]:
            calls[path] = calls.get(path, 0) + row["calls"]
    return calls


def different(one, other):
    return {key: (one.get(key), other.get(key)) for key in {*one, *other}
            if one.get(key) != other.get(key)}


@case("a call that is a counter counts in the context in which one that is entered does, or called")
def counters():
    for names in (["inlined.c"], ["inlined.cpp"], ["exceptions.cpp"], ["jumps.c"], ["tail.c"],
                  ["leaf.c"], ["inline_cache.c"], ["user.c", "library.c"], ["process.c"]):
        for level in ("-O1", "-O2", "-O3"):
            plain(names, level)
            counters, frames, by_calls = (counted_contexts(names, level, "--inlined", *more)
                                          for more in ([], ["--frames"], ["--calls"]))
            assert counters == frames, (names, level, different(counters, frames))
            assert frames == by_calls, (names, level, different(frames, by_calls))


@case("with counters a call of what is inlined is one instruction; with frames it is entered")
def counter_code():
    with open("count.c", "w", encoding="utf-8") as file:
        file.write("""static int square(int n) { return n * n; }
int squares(int n)
{
    int sum = 0;
    while (n > 0)
        sum += square(n--);
    return sum;
}
""")
    for options, expected in ((["--inlined"], (1, 1)), (["--inlined", "--frames"], (0, 2)),
                              (["--inlined", "--profile=count+time"], (0, 2)), ([], (0, 1))):
        text = run(CAIRN, "cc", "-O2", *options, "-S", "-o", "-", "count.c")
        found = text.count("# cairn count\n"), text.count("# cairn enter\n")
        assert found == expected, (options, found)


@case("--profile=time refuses --inlined and -static")
def time_refuses():
    done = subprocess.run([CAIRN, "cc", "--inlined", "--profile=time", "-c", source("tail.c")],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--inlined" in done.stderr, done
    done = subprocess.run([CAIRN, "cc", "--profile=time", "-static", source("user.c")],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "dynamically linked program" in done.stderr, done


@case("functions that are inlined are contexts under who calls them in the source")
def inlined_contexts():
    for level, *more in (["-O0"], ["-O2"], ["-O3"], ["-O2", "--calls"], ["-O2", "--frames"]):
        plain(["inlined.c"], level)
        profiled(["inlined.c"], level, "--inlined", *more)
        found = {path[1:]: row["calls"] for path, row in record(["inlined.c"])}
        expected = {("main", "once", "always", "square"): 10, ("main", "once", "square"): 10,
                    ("main", "split", "rare"): 60, ("main", "scaled", "alike_too"): 190,
                    ("main", "hands_over", "hands_on", "ends"): 10}
        for path, calls in expected.items():
            assert found.get(path) == calls, (level, more, path, found.get(path))
        assert ("main", "jumping", "deep", "square") in found, level
        assert ("main", "nested", "outer", "inner") in found, level


@case("all functions count, and a tail recursion through inlined ones has a small stack")
def inlined_tail_is_bounded():
    profiled(["inlined.c"], "-O2", "--inlined")
    run("sh", "-c", "ulimit -s 256; exec ./profiled 100000000", CAIRN_OUT="x.cairn")
    found = report("x.cairn")
    calls = {row["block"]["name"]: row["calls"] for row in found["flat"]}
    assert calls["pass_on"] == 50000000 and calls["even"] + calls["odd"] == 100000001, calls
    assert found["contexts"] < 150, found["contexts"]


@case("what is inlined and what is called count alike")
@smoke
def by_calls():
    for names in ALL:
        plain(names, "-O2")
        profiled(names, "-O2", "--calls")
        rows = record(names)
        stacks_match(rows)
        counts_match(rows, counted(names))
        profiled(names, "-O2", "--verify")
        stacks_match(record(names))


@case("coroutines leave the stack right, at each level")
def coroutines():
    for level in LEVELS:
        plain(["coroutines.cpp"], level)
        profiled(["coroutines.cpp"], level)
        rows = record(["coroutines.cpp"])
        stacks_match(rows)
        calls = calls_of(rows)
        assert calls["work"] == 10 and calls["fail"] == 5, calls


@case("signals at any moment leave the stack right")
@smoke
def storm():
    for level in ("-O0", "-O2"):
        plain(["storm.c"], level)
        profiled(["storm.c"], level)
        for _ in range(3):
            rows = record(["storm.c"])
            stacks_match(rows)
            calls = calls_of(rows)
            handlers = calls.get("handle", 0)
            assert calls["work"] == 30 * (3 ** 11 - 1) // 2, calls
            assert calls["leaf"] - calls["work"] == handlers, calls


@case("signal handlers that jump out of anything lose no call")
def escape():
    for options in (["-O0"], ["-O2"], ["-O2", "--inlined"]):
        plain(["escape.c"], "-O2")
        profiled(["escape.c"], *options)
        rows = record(["escape.c"])
        stacks_match(rows)
        calls = calls_of(rows)
        assert calls["after_jump"] == 1060 and calls["handle"] == 60, calls


@case("threads that are cancelled anywhere, in Enter too, end and leave the rest right")
@smoke
def cancelled():
    for options in (["-O0"], ["-O2"]):
        plain(["cancel.c"], "-O2")
        profiled(["cancel.c"], *options)
        rows = record(["cancel.c"])
        stacks_match(rows)
        assert calls_of(rows)["after_thread"] == 150, calls_of(rows)


@case("who is jumped to out of a function that calls nothing runs again, not that one")
@smoke
def fault():
    for options in (["-O0"], ["-O2"], ["-O2", "--inlined"], ["-O2", "-static"], ["-O3", "-flto"],
                    ["-O2", "--calls"], ["-O2", "--verify"], ["-Os", "-fPIC"]):
        plain(["fault.c"], "-O2")
        profiled(["fault.c"], *options)
        rows = record(["fault.c"])
        stacks_match(rows)
        counts_match(rows, counted(["fault.c"]))
        assert "verify" not in report("x.cairn")["notes"], options
        run(CAIRN, "run", "--quiet", "--wall", "exact", "-o", "exact.cairn", "./profiled")
        rows = contexts("exact.cairn")
        stacks_match(rows)
        counts_match(rows, counted(["fault.c"]))


def scopes(jumped, *ways):
    """Spans contain the calls in them, also after an exception was caught."""
    for options in ways:
        profiled(["scopes.cpp"], *options, "-I", os.path.join(HERE, "..", "..", "include"))
        shutil.copy("profiled", "plain")
        rows = record(["scopes.cpp"])
        stacks_match(rows)
        assert run("./profiled") == "445\n"
        found = {path[2:]: row["calls"] for path, row in rows}
        for path in (("catches", "outer", "inner", "throws"), ("catches", "outer", "work"),
                     ("catches_object", "object", "throws"), ("catches_object", "object", "work"),
                     ("is_jumped_to", "jumped", "left", "jumps"), ("is_jumped_to", "jumped", "work")):
            expected = jumped if path == ("is_jumped_to", "jumped", "work") else 10
            assert found.get(path) == expected, (options, path, found)
        inlined = ("is_inlined",) if "--inlined" in options else ()
        within = ("inlines", *inlined, "within")
        expected = ({(*within, "half", "work"): 10, (*within, "work"): 10, (*within, "half"): 10}
                    if inlined else {(*within, "work"): 20})
        expected.update({("inlines", "work"): 10, ("calls_behind", "work"): 10,
                         ("calls_behind", "ends_with_scope", "ending", "work"): 10})
        for path, calls in expected.items():
            assert found.get(path) == calls, (options, path, found)
        run("./profiled", CAIRN_OUT="x.cairn", CAIRN_WALL="exact")
        again = {path[2:]: row["calls"] for path, row in contexts("x.cairn")}
        assert again == found, (options, different(found, again))
        assert not [path for path in found if path and re.search("cairn_|lambda", path[-1])], found


@case("scopes that are marked by hand end where they do, whatever is caught in them")
def scopes_by_hand():
    scopes(10, ["-O0"], ["-O2", "-std=c++14"], ["-O2", "--inlined"], ["-O2", "--calls", "-std=c++14"],
           ["-O2", "-static", "-std=c++14"], ["-O1", "--verify", "-std=c++14"],
           ["-O2", "--inlined", "-std=c++17"], ["-O1", "--inlined", "-std=c++11"])


def unwind(front, *ways):
    """Each event calls the runtime: as many looks at the stack, and each comes to main."""
    for options in ways:
        run(*front, *options, "-D_GNU_SOURCE", "-I", os.path.join(HERE, "..", "..", "include"),
            source("unwind.c"), "-o", "profiled", "-ldl")
        shown = run("./profiled", CAIRN_OUT="x.cairn", CAIRN_WALL="exact")
        assert shown.startswith("0 of "), (options, shown)


@case("what unwinds from inside of Enter and Leave finds who called")
@smoke
def unwinds():
    unwind([CAIRN, "cc"], ["-O0"], ["-O2"], ["-O2", "--inlined"], ["-O2", "-fPIC", "--calls"])


@case("a tail recursion of millions of steps has a small stack and a small profile")
@smoke
def tail_is_bounded():
    profiled(["tail.c"], "-O2")
    limited = "ulimit -s 128; exec ./profiled 20000000"
    run("sh", "-c", limited, CAIRN_OUT="x.cairn")
    found = report("x.cairn")
    calls = {row["block"]["name"]: row["calls"] for row in found["flat"]}
    assert calls["even"] + calls["odd"] > 20000000, calls
    assert found["contexts"] < 40, found["contexts"]


@case("a tail call to profiled code shows who called; one to other code does not keep the caller")
def tail_contexts():
    profiled(["tail.c"], "-O2")
    plain(["tail.c"], "-O2")
    paths = {path for path, row in record(["tail.c"]) if row["calls"]}
    assert ("[root]", "main", "mixed", "leaf") in paths, paths
    assert ("[root]", "main", "even", "odd") in paths, paths
    assert ("[root]", "main", "compare") in paths, "sort() is a jump to qsort: %r" % paths
    assert ("[root]", "main", "leaf") in paths, "nobody knows whom by_pointer calls: %r" % paths


def sibling_calls(program):
    """By function: how many jumps lead to another function's beginning, or through a pointer."""
    text = run("objdump", "-d", "--no-show-raw-insn", program)
    counts, name = {}, None
    for line in text.split("\n"):
        head = re.match(r"[0-9a-f]+ <([^>+]+)>:$", line)
        if head:
            name = head.group(1)
            continue
        jump = re.search(r"\bjmp +(?:[0-9a-f]+ <([^>+]+)>$|\*)", line)
        if jump and name and jump.group(1) != name:
            counts[name] = counts.get(name, 0) + 1
    return counts


@case("as many calls are jumps as without a profile, function by function")
def siblings():
    for names in ALL:
        for level in ("-O2", "-O3", "-Os"):
            plain(names, level)
            profiled(names, level)
            before, after = sibling_calls("plain"), sibling_calls("profiled")
            for function, count in before.items():
                if not function.endswith("@plt") and not function.startswith("_"):
                    assert after.get(function, 0) >= count, (names, level, function)


@case("as many calls are jumps when all functions count, but for those that are no calls any more")
def inlined_siblings():
    for names in ALL:
        for level in ("-O2", "-O3"):
            plain(names, level)
            profiled(names, level, "--inlined")
            before, after = sibling_calls("plain"), sibling_calls("profiled")
            for function, count in before.items():
                if not function.endswith("@plt") and not function.startswith("_"):
                    assert after.get(function, 0) >= count, (names, level, function)


@case("shared objects: linked, and loaded late")
@smoke
def shared():
    for compiler, library, program in ((GCC, "libplain.so", "plain"), ("cairn", "libx.so", "profiled")):
        front = [GCC] if compiler == GCC else [CAIRN, "cc"]
        run(*front, "-O2", "-fPIC", "-shared", source("library.c"), "-o", library)
        run(*front, "-O2", source("user.c"), "-o", program, "-L.", "-Wl,-rpath,$ORIGIN",
            "-l:" + library)
    rows = record(["user.c"])
    stacks_match(rows)
    counts_match(rows, counted(["user.c", "library.c"]))


@case("the command line is gcc's: -c -S -E -M -r -x - @file -### -shared -static")
def command_line():
    cc = [CAIRN, "cc"]
    run(*cc, "-c", source("library.c"), "-o", "library.o")
    run(*cc, "-c", source("user.c"), "-o", "user.o", "-MMD", "-MF", "user.d")
    assert "user.c" in open("user.d", encoding="utf-8").read()
    run(*cc, "-r", "library.o", "user.o", "-o", "both.o")
    run(*cc, "both.o", "-o", "profiled")
    shutil.copy("profiled", "plain")
    counts_match(record(["user.c"]), counted(["user.c", "library.c"]))
    assert "cairn_priv" in run(*cc, "-S", "-o", "-", source("library.c"))
    assert run(*cc, "-E", source("library.c")) == run(GCC, "-E", source("library.c"))
    assert run(*cc, "-M", source("library.c")) == run(GCC, "-M", source("library.c"))
    with open("words", "w", encoding="utf-8") as file:
        file.write('-O2 "%s"\n%s -o\nprofiled' % (source("user.c"), source("library.c")))
    run(*cc, "@words")
    counts_match(record(["user.c"]), counted(["user.c", "library.c"]))
    for option in ["-O2", "--zero"]: # the latter links an object, which is not C
        subprocess.run([*cc, option, "-x", "c", "-", "-o", "profiled"],
                       input="int main(void) { return 7; }", text=True, check=True)
        run("./profiled", status=7, CAIRN_OUT="seven.cairn")
        assert report("seven.cairn")["metrics"][0]["total"] == 2
    assert run(*cc, "-dumpversion") == run(GCC, "-dumpversion")
    assert run(*cc, "-print-prog-name=cc1") == run(GCC, "-print-prog-name=cc1")
    run(*cc, "-nostdlib", "-ffreestanding", "-c", source("library.c"), "-o", "library.o")
    run(*cc, source("missing.c"), status=1)
    shown = subprocess.run([*cc, "-###", source("user.c")], capture_output=True, text=True,
                           check=True).stderr
    assert "cairn_gcc.so" in shown and "-lcairn-gcc" in shown, shown


def flat(path, *options):
    return {row["block"]["name"]: row for row in report(path, *options)["flat"]}


def calls_with(*options):
    profiled(["branches.cpp"], "-O2", *options)
    plain(["branches.cpp"], "-O2", "-Wno-attributes")
    return calls_of(record(["branches.cpp"]))


@case("what resolvers call is left alone, also where it runs before anything is set up")
@smoke
def resolvers():
    for options in (["-static"], ["-static", "-flto"], ["-static", "--inlined"], []):
        plain(["resolver.c"], "-O2")
        profiled(["resolver.c"], "-O2", *options)
        calls = calls_of(record(["resolver.c"]))
        assert set(calls) <= {"[root]", "main", "small", "large"}, calls


@case("headers are compiled, and programs without libc built, as gcc does")
def without_libraries():
    cc = [CAIRN, "cc"]
    for words in (["-x", "c-header"], ["-xc-header"], []):
        run(*cc, *words, source("library.h"), "-o", "library.h.gch")
        os.unlink("library.h.gch")
    with open("start.c", "w", encoding="utf-8") as file:
        file.write("void _start(void) { __asm__ volatile(\"syscall\" : : \"a\"(60), \"D\"(7)); }\n")
    run(*cc, "-nostdlib", "-static", "start.c", "-o", "start")
    run("./start", status=7)
    run(*cc, "-ffreestanding", "-c", "start.c")
    run(*cc, "-nostdlib", "-static", "start.o", "-o", "start")
    run("./start", status=7)
    assert "-lcairn" not in subprocess.run([*cc, "-m32", "-###", "start.c"], capture_output=True,
                                           text=True, check=True).stderr


def sanitizes(kind):
    with open("empty.c", "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    return subprocess.run([GCC, "-fsanitize=" + kind, "empty.c", "-o", "empty"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


@case("sanitizers and what is counted do not mind each other")
def sanitized():
    for kind in ("address", "undefined", "thread"):
        if not sanitizes(kind):
            continue
        for name in ("jumps.c", "exceptions.cpp"):
            plain([name], "-O1", "-fsanitize=" + kind)
            for more in ([], ["--inlined"]):
                profiled([name], "-O1", "-fsanitize=" + kind, *more)
                rows = record([name])
                stacks_match(rows)
                counts_match(rows, counted([name], bool(more)))
    if sanitizes("thread"):
        plain(["threads.c"], "-fsanitize=thread", "-O1")
        profiled(["threads.c"], "-fsanitize=thread", "-O1")
        stacks_match(record(["threads.c"]))


@case("what is profiled is chosen by attribute, name, file and size; the capture says so")
def choice():
    everything = calls_with()
    assert everything["branching"] == 20 and everything["small_leaf"] == 14, everything
    assert not {"skipped", "skipped_too"} & set(everything), everything
    small = calls_with("--small=8")
    assert "small_leaf" not in small and small["branching"] == 20, small
    assert "fewer than 8" in report("x.cairn")["notes"]["left_out"]
    some = calls_with("--only=^(branch|main)", "--only=^small")
    assert set(some) == {"[root]", "main", "branching", "small_leaf"}, some
    assert "keep" not in calls_with("--skip=ee")
    assert set(calls_with("--skip-file=branches[.]cpp$")) == {"[root]"}
    assert "main" in calls_with("--only-file=branches")
    done = subprocess.run([CAIRN, "cc", "--only=(", "-c", source("tail.c"), "-o", "x.o"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "not a regular expression" in done.stderr, done


@case("threads that a static library begins are recorded")
@smoke
def static_threads():
    with open("team.c", "w", encoding="utf-8") as file:
        file.write("""#include <omp.h>
__attribute__((noipa)) int work(int n) { return n + 1; }
int main(void)
{
    int sum = 0;
#pragma omp parallel for num_threads(3) reduction(+ : sum)
    for (int i = 0; i < 300; i++)
        sum += work(i);
    return sum != 45150;
}
""")
    for options in (["-static"], []):
        subprocess.run([CAIRN, "cc", "-O2", "-fopenmp", *options, "team.c", "-o", "team"],
                       check=True, stderr=subprocess.DEVNULL) # ld warns of libgomp's dlopen
        run("./team", CAIRN_OUT="team.cairn")
        assert calls_of(contexts("team.cairn"))["work"] == 300, options


@case("what calls the C library is not small; a tail call of what is small leaves its caller")
def small_tail():
    plain(["small.c"], "-O2")
    profiled(["small.c"], "-O2", "--small=10")
    found = {path[1:]: row["calls"] for path, row in record(["small.c"])}
    assert found.get(("main", "both", "ends_in_small")) == 3, found
    assert found.get(("main", "both", "prints")) == 3, found


@case("what gcc adds by itself is compiled with --inlined: bodies for vectors, counters")
def added():
    for options in (["-O0"], ["-O2"], ["-O2", "-fprofile-generate"], ["-O2", "--coverage"],
                    ["-O2", "-fprofile-generate", "-fprofile-update=atomic"]):
        for left in os.listdir("."):
            if left.endswith(".gcda"): # is of another program
                os.unlink(left)
        plain(["vectors.c"], options[0], "-fopenmp")
        profiled(["vectors.c"], *options, "--inlined", "-fopenmp")
        assert calls_of(record(["vectors.c"]))["limited"] == 100, options


@case("what gcc says of a unit when it is asked for all of it, it says of what is added, too")
def dumped():
    for options in (["-O2"], ["-O2", "--inlined"], ["-O0", "--branch"]):
        run(CAIRN, "cc", *options, "-c", "-fdump-ipa-all", "-fdump-tree-all", "-fdump-rtl-all",
            source("inlined.cpp"), "-o", "dumped.o")


@case("calls of what is left out for being small count with those who call it")
def small_calls():
    more = ["-O0"], ["-O2", "--calls"], ["-O2", "-static"]
    for names, ways in ((["threads.c"], ()), (["process.c"], ()), (["branches.cpp"], more)):
        for way in ["-O2"], ["-O2", "--inlined"], *ways:
            plain(names, "-Wno-attributes",
                  *[word for word in way if not word.startswith("--")])
            profiled(names, *way)
            everything = calls_of(record(names))
            profiled(names, *way, "--small=12")
            entered = calls_of(record(names))
            total = {metric["name"]: metric["total"] for metric in report("x.cairn")["metrics"]}
            gone = set(everything) - set(entered)
            assert gone and total["small calls"] == sum(everything[name] for name in gone), (
                names, way, total, {name: everything[name] for name in gone})
            assert all(everything[name] == entered[name] for name in entered), (everything, entered)
    text = run(CAIRN, "report", "x.cairn")
    assert re.search("left out +functions that call nothing and have fewer than 12 statements; "
                     "[0-9,]+ small calls? counted", text), text
    rows = report("x.cairn")["flat"]
    assert sum(row["small_calls"] for row in rows) == total["small calls"], rows


def whole_names(*options):
    """Calls by name, with the names around it."""
    return {".".join(filter(None, (row["block"].get("within"), row["block"]["name"]))): row["calls"]
            for row in report("x.cairn", *options)["flat"]}


@case("blocks have what they are written inside of; instances and clones are apart or one")
def written():
    plain(["written.cpp"], "-O1")
    profiled(["written.cpp"], "-O1", "--branch")
    record(["written.cpp"])
    apart, merged = whole_names(), whole_names("--merge")
    assert apart["half<int>.<true>"] == 6 and apart["half<double>.<true>"] == 10, apart
    assert apart["box::put<int>(int)::{lambda(int)#1}::operator().<true>"] == 7, apart
    assert apart["size_of<std::vector<std::string>>"] == 1, apart
    assert apart["size_of<std::map<std::string, std::vector<std::string>>>"] == 1, apart
    assert merged["half"] == 20 and merged["half.<true>"] == 16, merged
    assert merged["box::put::{lambda#1}::operator().<true>"] == 14, merged
    some = whole_names("--split", '"long"')
    assert some["box::put<long>"] == 10 and some["half"] == 20, some
    plain(["clones.c"], "-O3", "-fipa-cp-clone")
    profiled(["clones.c"], "-O3", "-fipa-cp-clone")
    record(["clones.c"])
    one = whole_names()
    assert one["work"] == 6 and one["outer.inner"] == 10 and one["versions"] == 2, one
    profiled(["clones.c"], "-O3", "-fipa-cp-clone", "--clones")
    record(["clones.c"])
    several = {name: calls for name, calls in whole_names().items() if name.startswith("work")}
    assert len(several) > 1 and sum(several.values()) == 6, several
    merged = whole_names("--merge")
    (version,) = [name for name in merged if name.startswith("versions.target_clone.")]
    merged["versions"] = merged.pop(version)
    assert merged == one, (merged, one)


@case("functions for vectors have their own names, and say which they are if clones are told apart")
def vectors():
    plain(["vectors.c"], "-O2", "-fopenmp")
    profiled(["vectors.c"], "-O2", "-fopenmp")
    record(["vectors.c"])
    one = whole_names()
    assert set(one) == {"[root]", "main", "square"}, one
    profiled(["vectors.c"], "-O2", "-fopenmp", "--clones")
    record(["vectors.c"])
    apart = {name: calls for name, calls in whole_names().items() if name.startswith("square")}
    assert any(name.startswith("square.simdclone.") for name in apart), apart
    assert sum(apart.values()) == whole_names("--merge")["square"] == one["square"], (apart, one)


@case("branches count which way they went, and what never ran is known")
def branches():
    for level in ("-O0", "-O2"):
        calls = calls_with("--branch", level)
        ways = sorted((row["block"]["name"], row["calls"]) for row in report("x.cairn")["flat"]
                      if row["block"]["name"].startswith("<"))
        assert ("<true>", 5) in ways and ("<false>", 15) in ways, ways
        assert sum(n for name, n in ways if name == "<case>") == 15, ways
        zero = run(CAIRN, "report", "--zero", "x.cairn")
        assert "never" in zero and "<case>" in zero and "small_leaf" not in zero, zero
        assert calls["branching"] == 20
    calls_with("--zero")
    assert "never" in run(CAIRN, "report", "--zero", "x.cairn")


@case("what is allocated goes to the contexts that count")
@smoke
def allocations():
    profiled(["branches.cpp"], "-O2", "--profile=alloc")
    run("./profiled", CAIRN_OUT="x.cairn")
    rows = flat("x.cairn", "-m", "calls,alloc bytes,freed bytes")
    assert rows["allocate"]["self"]["alloc bytes"] == 10 * 100 + 12345, rows["allocate"]
    assert rows["allocate"]["self"]["freed bytes"] == 10 * 100, rows["allocate"]
    assert rows["keep"]["inclusive"]["alloc bytes"] == 10 * 100, rows["keep"]


@case("allocations before main, as libstdc++'s, do not take the capture from the program's profile")
@smoke
def early_allocations():
    with open("early.cpp", "w", encoding="ascii") as file:
        file.write("#include <cstdlib>\n#include <iostream>\n"
                   "int main() { void *block = malloc(1000000); std::cout << (block != nullptr); free(block); }\n")
    run(CAIRN, "c++", "-O1", "early.cpp", "-o", "early")
    run(CAIRN, "run", "--quiet", "--alloc=exact", "-o", "early.cairn", "./early")
    rows = flat("early.cairn", "-m", "calls,alloc bytes")
    assert rows["main"]["self"]["alloc bytes"] >= 1000000 and rows["main"]["calls"] == 1, rows["main"]
    assert report("early.cairn")["notes"]["alloc"] == "exact"
    run(CAIRN, "run", "--quiet", "--alloc=4000", "-o", "early.cairn", "./early")
    assert report("early.cairn")["notes"]["alloc"] == "4000"


@case("time: samples say where, also in what was inlined, on each thread")
@smoke
def timed():
    for options in ([], ["--stack"]):
        profiled(["busy.c"], "-O2", "--profile=time", *options)
        assert run("./profiled") == "done\n" and not os.path.exists("x.cairn")
        assert run("./profiled", CAIRN_OUT="x.cairn") == "done\n"
        rows = flat("x.cairn")
        total = sum(row["self"]["cpu"] for row in rows.values())
        much = rows["burn_much"]["inclusive"]["cpu"]
        assert 0.6e9 < total < 1.2e9, total
        assert 0.6 < much / total < 0.9, (much, total)
        assert rows["burn_inlined"]["inclusive"]["cpu"] / total > 0.1, rows["burn_inlined"]
        if options:  # on a busy machine code is looked up late
            elsewhere = [(path, row["self"]["cpu"]) for path, row in contexts("x.cairn")
                         if not {"work", "[callers not known yet]"} & set(path)]
            assert sum(cpu for _, cpu in elsewhere) < 0.1 * total, elsewhere
        os.unlink("x.cairn")


@case("a program whose first thread ends before it does ends all the same, in each kind")
@smoke
def first_thread_ends():
    with open("first.c", "w", encoding="utf-8") as file:
        file.write("""#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noipa)) static void work(void) { printf("at exit\\n"); }
static void *other(void *first) { pthread_join(*(pthread_t *)first, NULL); return NULL; }
int main(void)
{
    static pthread_t first, second;
    first = pthread_self();
    atexit(work);
    pthread_create(&second, NULL, other, &first);
    pthread_exit(NULL);
}
""")
    for options in ([], ["--profile=time"], ["--profile=alloc"]):
        run(CAIRN, "cc", "-O2", *options, "first.c", "-o", "first", "-pthread")
        for clock in ("off", "sampled"):
            assert run("./first", CAIRN_OUT="x.cairn", CAIRN_CPU=clock) == "at exit\n", options


@case("cairn run starts it")
@smoke
def by_run():
    plain(["user.c", "library.c"])
    profiled(["user.c", "library.c"])
    run(CAIRN, "run", "--quiet", "-o", "run.cairn", "./profiled")
    counts_match(contexts("run.cairn"), counted(["user.c", "library.c"]))


@case("the checker refuses what does not match, with its place")
def checker():
    ways = [(broken, ()) for broken in ("leave", "twice", "enter", "tail", "restore")]
    ways += [(broken, ("--inlined",)) for broken in ("leave", "twice", "enter", "restore")]
    for broken, options in ways:
        done = subprocess.run([CAIRN, "c++" if broken == "restore" else "cc", "-O2", *options,
                               "--broken=" + broken, "-c",
                               source("exceptions.cpp" if broken == "restore" else "tail.c"),
                               "-o", "x.o"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1, (broken, done)
        assert re.search(r"\.(c|cpp):\d+:\d+: error: cairn: ", done.stderr), (broken, done.stderr)


def share_of_cases(number, count):
    """For shares.py: every count-th group of cases. Cases with the same sources stay together: they
    share programs and references that were built before."""
    groups = {}
    for each in CASES:
        groups.setdefault(str(each[2][0]) if each[2] else each[0], []).append(each)
    return [each for group in list(groups.values())[number - 1::count] for each in group]


def chosen_cases(words):
    if words[:1] == ["--share"]:
        return share_of_cases(*map(int, words[1].split("/")))
    if words[:1] == ["--smoke"]:
        return [each for each in CASES if each[1] in SMOKE]
    return [each for each in CASES if all(word in each[0] for word in words)]


def main():
    chosen = chosen_cases(sys.argv[4:])
    print("1..%d" % len(chosen), flush=True)
    failed = 0
    for number, (name, function, arguments) in enumerate(chosen, 1):
        folder = tempfile.mkdtemp(prefix="cairn-gcc-")
        os.chdir(folder)
        try:
            function(*arguments)
            print("ok %d - %s" % (number, name), flush=True)
        except (AssertionError, subprocess.SubprocessError, KeyError, OSError) as fault:
            failed += 1
            print("not ok %d - %s" % (number, name))
            print("# " + words_of(fault).replace("\n", "\n# "), flush=True)
        finally:
            os.chdir("/")
            shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(KEPT, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
