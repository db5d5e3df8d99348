#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the parts of ./check that are named, and adds up what passed and what failed.

A part configures and builds below build-check/ and runs tests there with `meson test`. What
counts is the single case: a line of TAP, or a whole program where it prints none. A
build that fails is a failed case; so is a case that was announced and never came.

The parts take turns: one builds, and one that is built runs its tests. The build has a low
priority, so that it uses the processors while tests wait.

A test that fails has failed, whatever it does later. A few of them run once more, one after the
other with nothing beside them, only to say more: a test that passes alone depends on the load of
the machine, or the code has a race.
"""
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILDS = os.path.join(ROOT, "build-check")
AGAIN_MOST = 3  # failed test programs in one part that run again
TAP_PLAN = re.compile(r"^1\.\.(\d+)")
TAP_CASE = re.compile(r"^(not )?ok\b\s*(\d+)?\s*-?\s*([^#]*)(#\s*(\w+)(.*))?")


class Turns:
    """Lets the parts through a stage one after the other, in their order."""

    def __init__(self, parts):
        self.left = list(parts)
        self.changed = threading.Condition()

    def wait(self, part):
        with self.changed:
            self.changed.wait_for(lambda: self.left[0] == part)

    def end(self, part):
        with self.changed:
            if part in self.left:
                self.left.remove(part)
            self.changed.notify_all()


CHOSEN = list(dict.fromkeys(sys.argv[1:]))
BUILD_TURNS = Turns(CHOSEN)
TEST_TURNS = Turns(CHOSEN)


class Tally:
    def __init__(self, part):
        self.part = part
        self.said = []  # lines, printed when the part has ended
        self.passed = 0
        self.failures = []
        self.skipped = []
        self.unsteady = []  # of the failures: those that passed when they ran again
        self.skipped_oddly = False
        self.seconds = {"build": 0.0, "tests": 0.0}
        self.processor = {"build": 0.0, "tests": 0.0}  # seconds of one processor
        self.durations = {}  # seconds, by test program

    def say(self, text):
        self.said.append(text)

    def show(self, text, lines=60):
        for line in text.rstrip("\n").split("\n")[-lines:]:
            self.say("    | " + line)

    def show_log(self, log, lines=60):
        with open(os.path.join(BUILDS, log), encoding="utf-8", errors="replace") as file:
            self.show(file.read(), lines)

    def case(self, good, name):
        if good:
            self.passed += 1
        else:
            self.failures.append(name)

    def skip(self, name):
        self.skipped.append(name)

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skipped += other.skipped
        self.skipped_oddly |= other.skipped_oddly
        self.said += other.said
        self.durations.update(other.durations)


def tell(*lines):
    """Prints whole lines, whatever other threads print."""
    sys.stdout.write("".join(line + "\n" for line in lines))
    sys.stdout.flush()


USED = threading.local()  # .processor: seconds of processor time of the commands that a thread ran


def run(command, log, env=None, cwd=ROOT):
    """Runs a command with its output in a log below build-check/. True if it ended well."""
    os.makedirs(BUILDS, exist_ok=True)
    with open(os.path.join(BUILDS, log), "w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, cwd=cwd,
                                   stdin=subprocess.DEVNULL, env=dict(os.environ, **(env or {})))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    USED.processor = processor_used() + usage.ru_utime + usage.ru_stime
    return process.returncode == 0


def processor_used():
    return getattr(USED, "processor", 0.0)


def build(tally, options, env=None, targets=()):
    """Configures and builds a part's directory, or some targets of it; one case."""
    BUILD_TURNS.wait(tally.part)
    tell("%s is built ..." % tally.part)
    begin, used = time.monotonic(), processor_used()
    folder = os.path.join(BUILDS, tally.part)
    log = tally.part + ".build.log"
    priority = [] if tally.part == CHOSEN[0] else ["nice"]  # beside tests, but not starved by others
    configure = ["meson", "setup", folder, *options]
    if os.path.isfile(os.path.join(folder, "build.ninja")):
        configure.insert(2, "--reconfigure")
    good = run(configure, log, env)
    if not good and os.path.isdir(folder):
        shutil.rmtree(folder)
        good = run(["meson", "setup", folder, *options], log, env)
    good = good and run([*priority, "ninja", "--quiet", "-C", folder, *targets], log, env)
    tally.case(good, "build")
    tally.seconds["build"] += time.monotonic() - begin
    tally.processor["build"] += processor_used() - used
    BUILD_TURNS.end(tally.part)
    if not good:
        tally.show_log(log)
    TEST_TURNS.wait(tally.part)
    if good:
        tell("%s is tested ..." % tally.part)
    return good


def count_tap(tally, name, lines, ended_well):
    """Returns a case for each line of TAP. Planned cases without a line have failed."""
    planned = None
    seen = 0
    failed = 0
    skipped_oddly = False
    for line in lines:
        plan = TAP_PLAN.match(line)
        if plan:
            planned = int(plan.group(1))
        case = TAP_CASE.match(line)
        if not case:
            continue
        seen += 1
        title = "%s: %s" % (name, case.group(3).strip() or case.group(2))
        if case.group(5) and case.group(5).lower().startswith("skip"):
            # cmocka says "not ok 3 # SKIP its_name", which Meson takes for a failure.
            skipped_oddly |= bool(case.group(1))
            tally.skipped_oddly |= bool(case.group(1))
            tally.skip("%s (%s)" % (title, case.group(6).strip()))
        else:
            failed += bool(case.group(1))
            tally.case(not case.group(1), title)
    if planned is not None and seen < planned:
        failed += 1
        for number in range(seen, planned):
            tally.case(False, "%s: case %d of %d did not run" % (name, number + 1, planned))
    if not ended_well and not failed and not skipped_oddly:
        tally.case(False, "%s: failed outside its cases" % name)


def count_tests(part, folder):
    """Reads what `meson test` left behind: a tally for each test."""
    log = os.path.join(folder, "meson-logs", "testlog.json")
    tallies = {}
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            test = json.loads(line)
            name = test["name"].split(" / ")[-1]
            tally = tallies.setdefault(name, Tally(part))
            tally.durations[name] = tally.durations.get(name, 0) + test["duration"]
            lines = (test.get("stdout") or "").split("\n")
            if test["result"] == "SKIP":
                tally.skip(name)
            elif any(TAP_PLAN.match(text) for text in lines):
                count_tap(tally, name, lines, test["result"] == "OK")
            else:
                tally.case(test["result"] in ("OK", "EXPECTEDFAIL"), name)
            if tally.failures:
                tally.say("    %s: %s" % (name, test["result"].lower()))
                tally.show("\n".join(text for text in lines if not text.startswith("ok ")))
                tally.show(test.get("stderr") or "")
    return tallies


def run_tests(part, arguments, env):
    """Runs tests of a part's build. A tally for each, and whether Meson ended well."""
    folder = os.path.join(BUILDS, part)
    left = os.path.join(folder, "meson-logs", "testlog.json")
    if os.path.exists(left):
        os.remove(left)
    if "--num-processes" not in arguments:  # more than processors: some wait for a clock or a browser
        arguments = ["--num-processes", str(os.cpu_count() + 2), *arguments]
    good = run(["meson", "test", "-C", folder, "--no-rebuild", *arguments],
               part + ".test.log", env)
    return (count_tests(part, folder) if os.path.exists(left) else {}), good


def run_again(tally, tallies, patience, env):
    """Runs what failed alone, and names what passes then. Counts nothing."""
    for name in [name for name, result in tallies.items() if result.failures]:
        alone, _ = run_tests(tally.part, ["--num-processes", "1", *patience, name], env)
        if name in alone and not alone[name].failures:
            tally.unsteady += tallies[name].failures
        elif name in alone:
            tally.say("    once more, alone:")
            tally.said += alone[name].said


def test(tally, suites=(), but=(), env=None, patience=1, names=()):
    begin, used = time.monotonic(), processor_used()
    patience = ["-t", str(patience)]
    arguments = [*patience, *names]
    for suite in suites:
        arguments += ["--suite", suite]
    for suite in but:
        arguments += ["--no-suite", suite]
    tallies, good = run_tests(tally.part, arguments, env)
    failed = sum(bool(result.failures) for result in tallies.values())
    for result in tallies.values():
        tally.add(result)
    if failed <= AGAIN_MOST:
        run_again(tally, tallies, patience, env)
    if not tallies:
        tally.case(False, "no test was run")
    if not good and not failed and not tally.skipped_oddly:
        tally.case(False, "meson test ended with an error")
    if not tallies or (not good and not failed):
        tally.show_log(tally.part + ".test.log")
    tally.seconds["tests"] += time.monotonic() - begin
    tally.processor["tests"] += processor_used() - used


SANITIZED = {
    "ASAN_OPTIONS": "abort_on_error=0:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}
# Suites that do not depend on how Cairn is built run once, in the first part. The comment at the top of
# tests/meson.build says what `once` and `smoke` are.
ONCE = ["layers", "compile", "disabled"]
# Suites of the tool. They run in the part gcc, and under sanitizers in the part address; clang
# compiles the tool with its own warnings.
TOOL = ["cli", "golden", "formats", "fleet", "top", "view"]


def lines(*arguments):
    """Options for debug information that has functions and lines, but no variables and types: it takes
    a quarter less time to compile. And more arguments of the compiler."""
    return ["-Ddebug=false", "-Dc_args=" + " ".join(["-g1", *arguments])]


def part_gcc(tally):
    options = ["-Dwerror=true", "-Dunoptimized=bench,tests", *lines()]
    if build(tally, options, {"CC": "gcc", "CXX": "g++"}):
        test(tally, but=["long", "smoke"])


def part_clang(tally):
    """First sizes as small as can be, so that each thing grows, folds and runs out early. The part gcc
    has the usual sizes."""
    options = ["-Dwerror=true", "-Dtiny_limits=true", "-Dviewer=disabled", "-Dbench=false",
               "-Dunoptimized=tests,tool,fuzz", *lines()]
    if build(tally, options, {"CC": "clang", "CXX": "clang++"}):
        test(tally, but=["long", "once", *ONCE, *TOOL])


def part_address(tally):
    options = ["-Db_sanitize=address,undefined", "-Doptimization=1", "-Dbench=false", "-Dtiny_limits=true",
               "-Dviewer=disabled", "-Dunoptimized=tests",
               *lines("-fno-sanitize-recover=all", "-fno-omit-frame-pointer")]
    if build(tally, options, {"CC": "gcc", "CXX": "g++", "CC_LD": "gold"}):  # twice as fast as ld
        test(tally, but=["long", *ONCE], env=SANITIZED, patience=4)


def part_soak(tally):
    """Everything at once under the thread sanitizer; other parts have it with signals and forks."""
    options = ["-Db_sanitize=thread", "-Doptimization=1", "-Dtool=false", "-Dlua=disabled",
               "-Dbench=false", *lines()]
    if build(tally, options, {"CC": "gcc", "CXX": "g++"}, targets=["tests/stress/soak"]):
        test(tally, names=["soak"], env=SANITIZED, patience=4)


def part_thread(tally):
    options = ["-Db_sanitize=thread", "-Doptimization=1", "-Dbench=false"]
    if build(tally, options, {"CC": "gcc", "CXX": "g++"}):
        test(tally, suites=["unit", "stress"], but=["long"], env=SANITIZED, patience=8)


def part_release(tally):
    if build(tally, ["--buildtype=release", "-Dwerror=true"], {"CC": "gcc", "CXX": "g++"}):
        test(tally, suites=["unit", "long"], patience=4)


def part_coverage(tally):
    """Lines and branches of the library and the tool that the tests execute, by folder. The hosts
    for gcc and clang are left out: their runtime is linked into programs that have no coverage."""
    options = ["-Db_coverage=true", "-Doptimization=0", "-Dbench=false", "-Dgcc=disabled",
               "-Dc_args=-fprofile-update=atomic"]
    if not build(tally, options, {"CC": "gcc", "CXX": "g++"}):
        return
    folder = os.path.join(BUILDS, tally.part)
    for counters in glob.glob(folder + "/**/*.gcda", recursive=True):  # of an earlier run
        os.remove(counters)
    test(tally, suites=["unit", "stress", "golden", "cli", "symbols", "formats", "lua", "crash",
                        "process", "top", "fleet", "view", "sample", "locks"],
         but=["long", "uncounted"], env={"GCOV_ERROR_FILE": "/dev/null"}, patience=8)  # some fill the disk
    summary = os.path.join(folder, "coverage.json")
    good = run(["gcovr", "--root", ROOT, "--filter", "(src|cli|hosts)/", "--object-directory", folder,
                "--exclude-directories", ".*alloc-checked.*",  # other variants of the same functions
                "--gcov-ignore-parse-errors", "--exclude-unreachable-branches",
                "--exclude-throw-branches", "--json-summary", summary, "--html-details",
                os.path.join(folder, "coverage.html"), folder], "coverage.gcovr.log")
    tally.case(good, "gcovr")
    if good:
        show_coverage(tally, summary)
    else:
        tally.show_log("coverage.gcovr.log")


def show_coverage(tally, summary):
    """Prints the share of lines and branches by folder, and the files with the most bare lines."""
    with open(summary, encoding="utf-8") as file:
        found = json.load(file)
    folders = {}
    for each in found["files"]:
        sums = folders.setdefault(os.path.dirname(each["filename"]), [0, 0, 0, 0])
        for i, what in enumerate(("line_covered", "line_total", "branch_covered", "branch_total")):
            sums[i] += each[what]
    for folder, (lines, of_lines, branches, of_branches) in sorted(folders.items()):
        tally.say("    %-24s %5.1f %% of %5d lines, %5.1f %% of %5d branches" % (
            folder, 100 * lines / max(1, of_lines), of_lines,
            100 * branches / max(1, of_branches), of_branches))
    tally.say("    all: %.1f %% of %d lines, %.1f %% of %d branches" % (
        found["line_percent"], found["line_total"], found["branch_percent"], found["branch_total"]))
    for each in sorted(found["files"], key=lambda f: f["line_covered"] - f["line_total"])[:8]:
        tally.say("    %4d lines that no test runs: %s" % (
            each["line_total"] - each["line_covered"], each["filename"]))


def part_fuzz(tally):
    seconds = os.environ.get("CAIRN_FUZZ_SECONDS", "180")
    options = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=1",
               "-Dbench=false", "-Dc_args=-fno-sanitize-recover=all"]
    if build(tally, options, {"CC": "clang", "CXX": "clang++"}):
        test(tally, suites=["fuzz"], env=dict(SANITIZED, CAIRN_FUZZ_SECONDS=seconds),
             patience=0)


def part_tidy(tally):
    """clang-tidy over each source of the library, the tool and the hosts; clang-format over
    every source."""
    if not build(tally, [], {"CC": "clang", "CXX": "clang++"}):
        return
    folder = os.path.join(BUILDS, tally.part)
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    sources = sorted({os.path.relpath(os.path.join(c["directory"], c["file"]), ROOT)
                      for c in commands})
    sources = [source for source in sources
               if source.split("/")[0] in ("src", "cli", "hosts") and not source.endswith(".S")]
    logs = ["tidy.%d.log" % number for number in range(len(sources))]

    def tidy(source, log):
        return run(["clang-tidy", "-quiet", "-p", folder, source], log)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for source, log, good in zip(sources, logs, threads.map(tidy, sources, logs)):
            tally.case(good, "clang-tidy " + source)
            if not good:
                tally.show_log(log, 40)
    for pattern in ("include/**/*.h", "src/**/*.[ch]", "cli/**/*.[ch]", "hosts/**/*.[ch]",
                    "tests/**/*.[ch]", "bench/**/*.[ch]"):
        for source in sorted(glob.glob(pattern, root_dir=ROOT, recursive=True)):
            good = run(["clang-format", "--dry-run", "-Werror", source], "format.log")
            tally.case(good, "clang-format " + source)


def aarch64_libraries(folder):
    """Debian's own arm64 build of cmocka, unpacked beside the build: the system's list of
    architectures stays as it is."""
    state = os.path.join(folder, "apt")
    unpacked = os.path.join(folder, "root")
    if not glob.glob(unpacked + "/usr/lib/*/libcmocka.so"):
        for sub in ("lists/partial", "archives/partial"):
            os.makedirs(os.path.join(state, sub), exist_ok=True)
        open(os.path.join(state, "status"), "a", encoding="utf-8").close()
        options = ["-o", "APT::Architectures=amd64,arm64", "-o", "APT::Sandbox::User=root",
                   "-o", "Dir::State::Lists=" + state + "/lists",
                   "-o", "Dir::State::status=" + state + "/status",
                   "-o", "Dir::Cache=" + state]
        good = run(["apt-get", "-q", *options, "update"], "aarch64.apt.log")
        good = good and run(["apt-get", "-q", *options, "download", "libcmocka-dev:arm64",
                             "libcmocka0:arm64"], "aarch64.apt.log", cwd=state)
        for package in glob.glob(state + "/*.deb"):
            good = good and run(["dpkg-deb", "-x", package, unpacked], "aarch64.apt.log")
        if not good:
            return None
    return unpacked


CROSS = """[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu', '-E', 'LD_LIBRARY_PATH={libraries}']
[properties]
sys_root = '{root}'
pkg_config_libdir = '{libraries}/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""


def part_aarch64(tally):
    """The unit tests, built for another processor and run under qemu-user."""
    folder = os.path.join(BUILDS, "aarch64-sysroot")
    root = aarch64_libraries(folder)
    tally.case(root is not None, "cmocka for arm64")
    if root is None:
        tally.show_log("aarch64.apt.log")
        return
    libraries = os.path.join(root, "usr/lib/aarch64-linux-gnu")
    cross = os.path.join(folder, "cross.ini")
    with open(cross, "w", encoding="utf-8") as file:
        file.write(CROSS.format(root=root, libraries=libraries))
    options = ["--cross-file", cross, "-Dtool=false", "-Dlua=disabled", "-Dbench=false"]
    if build(tally, options):
        emulator = "qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=" + libraries
        test(tally, suites=["unit"], but=["long"], patience=10,
             env={"CAIRN_TEST_EMULATOR": emulator})


PARTS = {name[len("part_"):]: function for name, function in list(globals().items())
         if name.startswith("part_")}


def show_times(tallies, all_seconds, slowest=10):
    """Prints the times of the parts, also of the processors, and the slowest test programs. The
    build of a part takes longer beside the tests of one before it."""
    row = "%-10s %8.0f %8.0f %12.0f %8.0f"
    print("%-10s %8s %8s %12s %8s" % ("seconds", "build", "tests", "processor:", ""))
    for tally in tallies:
        print(row % (tally.part, tally.seconds["build"], tally.seconds["tests"],
                     tally.processor["build"], tally.processor["tests"]))
    print("%-10s %8.0f %8s %12.0f %8.0f" % (
        "all", all_seconds, "", sum(tally.processor["build"] for tally in tallies),
        sum(tally.processor["tests"] for tally in tallies)))
    durations = [(seconds, tally.part, name) for tally in tallies
                 for name, seconds in tally.durations.items()]
    for seconds, part, name in sorted(durations, reverse=True)[:slowest]:
        print("%-10s %8s %8.1f  %s" % (part, "", seconds, name))


def run_part(tally):
    try:
        PARTS[tally.part](tally)
    except Exception:  # a fault of this script
        tally.case(False, "ended early")
        tally.show(traceback.format_exc())
    finally:
        BUILD_TURNS.end(tally.part)
        TEST_TURNS.end(tally.part)


def show_part(tally):
    lines = ["%s:" % tally.part, *tally.said]
    lines += ["  skipped: %s" % skipped for skipped in tally.skipped]
    lines += ["  unsteady, fails beside other tests and passes alone: %s" % case
              for case in tally.unsteady]
    lines += ["  FAILED: %s" % failure for failure in tally.failures]
    tell(*lines, "  %d passed, %d failed, %d skipped" % (
        tally.passed, len(tally.failures), len(tally.skipped)))


def main():
    begin = time.monotonic()
    tallies = [Tally(name) for name in CHOSEN]
    # Daemons: an interrupt ends the script, and with it all parts.
    threads = [threading.Thread(target=run_part, args=(tally,), daemon=True) for tally in tallies]
    for thread in threads:
        thread.start()
    for thread, tally in zip(threads, tallies):
        thread.join()
        show_part(tally)
    passed = sum(tally.passed for tally in tallies)
    failed = sum(len(tally.failures) for tally in tallies)
    show_times(tallies, time.monotonic() - begin)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
