#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn run on programs that do what samplers stumble over: each ends as it does alone, and leaves
a complete capture.

usage: hostile.py CAIRN PROGRAM SAMPLED-PROGRAM PROGRAM-OF-ANOTHER-ROOT PROGRAM-WITH-RIGHTS
                  PROGRAM-WITH-STRAY-STACKS WORK
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import case, main, run, same  # noqa: E402

CAIRN, PROGRAM, SAMPLED, ELSEWHERE, RIGHTS, STRAY, WORK = (os.path.abspath(name) for name in sys.argv[1:8])
HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 120  # seconds, before a program that hangs is killed with all that it started
shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK)
CAPTURE = os.path.join(WORK, "out.cairn")


def ends_as(command, **variables):
    """Runs a command. Returns its output and status."""
    process = subprocess.Popen(command, text=True, cwd=WORK, env={**os.environ, **variables},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.communicate(timeout=PATIENCE)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError("%s hangs" % " ".join(command)) from None


def check(*command, options=(), may_stop=False, **variables):
    """Runs a command alone and under Cairn: output and status are the same. Returns the report.
    `may_stop`: for lack of memory the recording may stop, which is said."""
    alone = ends_as(command, **variables)
    if os.path.exists(CAPTURE):
        os.remove(CAPTURE)
    output, status = ends_as([CAIRN, "run", *options, "-o", CAPTURE, *command], **variables)
    if may_stop:
        output = re.sub("^cairn run: .*: recording stopped: the system has no memory left; .*\n", "", output,
                        flags=re.M)
    same((output, status), alone, "output and status")
    report = json.loads(run(CAIRN, "report", "--json", "--top", "0", CAPTURE))
    assert report["notes"]["state"] == "closed" or (may_stop and report["notes"]["state"] == "stopped"), report["notes"]
    same([name for name in os.listdir(WORK) if name.endswith(".cairn")], ["out.cairn"], "captures")
    return report


def names_of(report):
    return {row["block"]["name"] for row in report["flat"]}


def part(name, title, function, *options):
    @case(title)
    def _():
        found = names_of(check(PROGRAM, name, options=options))
        assert function in found, found


part("stacks", "threads ask for their stack's bounds as they begin", "main")
part("tiny", "the smallest stacks, and alternate ones that go away", "work")
part("small-stacks", "a program whose threads have the smallest stacks by default", "recurse")
part("last", "the first thread ends; the process ends with its last thread", "end_last")
part("forks", "forks and vforks of several threads while others allocate", "main")
part("vforks", "vfork and exec", "main")
part("signals", "10,000 signals a second, and a handler that calls free", "signals")
part("named", "every real-time signal is the program's, without a handler", "work")
@case("a program that handles all real-time signals: the note says why it has no samples")
def _():
    report = check(PROGRAM, "handled")
    same(report["notes"].get("no_samples"), "the program uses all real-time signals", "no_samples")


part("by-number", "system calls by number: all signals are reset, namespaces unshared", "work")
part("unknown-forks", "children that no fork handler knows of", "work")
part("quick", "a program that ends by quick_exit", "work")
part("pending", "a signal that is blocked when the process ends", "work")
part("pending", "the same, with a collector that the C library knows", "work", "--off-core")
part("alone", "for the C library a program with one thread has one, though the collector runs", "work")
part("closed", "all descriptors are closed, and no further one is allowed", "work")
part("filtered", "seccomp: a thread that may only write and exit", "work")
part("filtered-all", "seccomp: all threads may only write and exit", "work")
part("filtered-child", "seccomp: a thread that inherited its filter ends the process", "work")
part("strict", "seccomp: the strict mode, and the status of the last thread", "work")


@case("all signals are blocked: none ends a wait, and the time is the working function's")
def _():
    report = check(PROGRAM, "masked")
    cpu = {row["block"]["name"]: row["inclusive"]["cpu"] for row in report["flat"]}
    assert cpu["work"] > 0.8 * sum(row["self"]["cpu"] for row in report["flat"]), cpu


def samples_after(name):
    report = check(PROGRAM, name)
    assert int(report["notes"]["cpu_samples"]) > 20, report["notes"]


@case("seccomp: a filter that the kernel refuses ends no sampling")
def _():
    samples_after("refused")
    samples_after("refused-all")


@case("threads that cannot be recorded for lack of memory take none, with --alloc beside, too")
def _():
    check(PROGRAM, "cramped")
    # With --alloc a thread needs less, so some are recorded, and keep what they need.
    check(PROGRAM, "cramped", options=["--alloc"], may_stop=True, THREADS_MAY_TAKE="1")


part("files", "descriptors: none is Cairn's, and each number is the one that it is alone", "files")
part("user", "a server that gives up root", "work")


@case("a program that calls exec: what it used before is its own")
def _():
    report = check(PROGRAM, "becomes")
    cpu = {row["block"]["name"]: row["inclusive"]["cpu"] / 1e6 for row in report["flat"]}
    assert 180 < cpu["becomes"] < 230 and 80 < cpu["became"] < 120, cpu
    assert sum(row["self"]["cpu"] for row in report["flat"]) < 340e6, cpu
    same(report["notes"].get("unaccounted_ns"), None, "what is unaccounted")


@case("rights that come and go, and a chroot, do not end the recording")
def _():
    for name in ("root-again", "confined"):
        report = check(PROGRAM, name)
        same(report["notes"].get("stopped_by"), None, "%s: what stopped the recording" % name)
        assert "outer11" in names_of(report) and report["contexts"] > 100, (name, report["contexts"])


def rights_part(name, title):
    @case(title)
    def _():
        report = check(RIGHTS, name)
        assert "work" in names_of(report) and int(report["notes"]["cpu_samples"]) > 0, report["notes"]


rights_part("user", "rights: no thread keeps the old ones")
rights_part("filtered", "rights: no thread keeps the old ones when the one that changes them has a filter")
rights_part("late", "rights: a collector that does not end in time ends the run when it can")
rights_part("two", "rights: of two threads that change them at once, one waits for the other")
rights_part("ends", "rights: a handler changes the group while exit() ends the collector")


@case("alternate stacks that are too small for a sample: nothing below them is written")
def _():
    assert "work" in names_of(check(STRAY, "alternate"))


@case("a handler that has used most of its alternate stack: nothing below it is written")
def _():
    check(STRAY, "nested")


@case("stacks of coroutines that go away, with --alloc, too")
def _():
    for name in "coroutines", "unlimited":
        for options in [], ["--alloc=exact"]:
            assert "run_lower" in names_of(check(STRAY, name, options=options)), (name, options)


@case("code that is unloaded: the code that comes to its place has its own name")
def _():
    libraries = {}
    for name in "first", "second":
        libraries[name] = os.path.join(WORK, name + ".so")
        source = os.path.join(WORK, name + ".c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("void %s_work(void) { for (volatile int i = 0; i < 100000; i++); }\n" % name)
        subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", "-o", libraries[name], source], check=True)
    report = check(STRAY, "unloaded", FIRST=libraries["first"], SECOND=libraries["second"])
    cpu = {row["block"]["name"]: row["inclusive"]["cpu"] / 1e6 for row in report["flat"]}
    assert all(120 < cpu[name] < 280 for name in ("first_work", "second_work")), cpu


@case("words that are no return addresses: they are neither functions nor an interpreter's")
def _():
    report = check(STRAY, "stray")
    assert "work" in names_of(report), names_of(report)
    assert report["contexts"] < 60, report["contexts"]


@case("wrong addresses that the kernel reports: it reports them under Cairn, too")
def _():
    check(STRAY, "refused")


@case("without /proc, it says what to do")
def _():
    if os.geteuid() != 0 or not shutil.which("unshare"):
        print("# needs root and unshare")
        return
    output, status = ends_as(["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh",
                              CAIRN, "run", "-o", CAPTURE, PROGRAM, "quick"])
    if output.startswith("unshare:"):
        print("# not allowed: " + output.strip())
        return
    assert status == 2 and "mount" in output, (status, output)


@case("programs in another root are started without the library, and print nothing of it")
def _():
    if os.geteuid() != 0:
        print("# needs root")
        return
    root, echo = os.path.join(WORK, "root"), os.path.realpath(shutil.which("echo"))
    libraries = re.findall(r"(/\S+) \(0x", run("ldd", echo))
    for path, place in [(echo, "/bin/echo"), *((path, path) for path in libraries)]:
        os.makedirs(os.path.dirname(root + place), exist_ok=True)
        shutil.copy(path, root + place)
    check(ELSEWHERE, root)


part("forks", "forks and vforks, with --alloc beside", "allocate", "--alloc")
part("signals", "signals, with --alloc beside", "signals", "--alloc")


def library(name):
    found = glob.glob("/usr/lib/*/" + name) + glob.glob("/lib/*/" + name)
    return found[0] if found else None


@case("malloc is another's: jemalloc, tcmalloc")
def _():
    for name in "libjemalloc.so.2", "libtcmalloc_minimal.so.4":
        path = library(name)
        if not path:
            print("# no %s" % name)
            continue
        for part_name in "stacks", "forks", "signals":
            check(PROGRAM, part_name, LD_PRELOAD=path)


@case("another library is preloaded: it stays, and comes first")
def _():
    source, other = os.path.join(WORK, "other.c"), os.path.join(WORK, "other.so")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#define _GNU_SOURCE\n#include <errno.h>\n#include <stdio.h>\n#include <string.h>\n"
                   "__attribute__((constructor)) static void begin(void)\n"
                   '{ if (!strcmp(program_invocation_short_name, "sampled-program")) puts("preloaded"); }\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", other, source], check=True)
    assert "work" in names_of(check(SAMPLED, "split", LD_PRELOAD=other))


@case("another library has its own function that the collector calls: the C library knows the collector")
def _():
    source, other = os.path.join(WORK, "own.c"), os.path.join(WORK, "own.so")
    for define in ("long strtol(const char *text, char **end, int base) { return (long)strtoll(text, end, base); }",
                   "long syscall(long n, long a, long b, long c, long d, long e, long f)\n"
                   '{ return ((__typeof__(&syscall))dlsym(RTLD_NEXT, "syscall"))(n, a, b, c, d, e, f); }'):
        with open(source, "w", encoding="utf-8") as file:
            file.write("#define _GNU_SOURCE\n#include <dlfcn.h>\n"
                       "long long strtoll(const char *text, char **end, int base);\n%s\n" % define)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", other, source], check=True)
        found = ends_as([CAIRN, "run", "-o", CAPTURE, PROGRAM, "alone"], LD_PRELOAD=other)
        assert "at the begin 0" in found[0], (define, found)


@case("a program that a debugger runs: it stops at no signal of Cairn's")
def _():
    if not shutil.which("gdb"):
        print("# no gdb")
        return
    output, status = ends_as([CAIRN, "run", "-o", CAPTURE, "gdb", "-nx", "-batch", "-ex", "run",
                              "--args", PROGRAM, "quick"])
    if "ptrace" in output:
        print("# the kernel does not let this user debug")
        return
    assert status == 0 and "exited with code 07" in output, output


@case("a program that an emulator runs")
def _():
    emulator = shutil.which("qemu-" + os.uname().machine)
    if not emulator:
        print("# no qemu-user")
        return
    found = ends_as([CAIRN, "run", "-o", CAPTURE, emulator, PROGRAM, "quick"])
    same(found, ("done\n", 7), "output and status")


@case("programs of musl, dynamically linked and static")
def _():
    if not shutil.which("musl-gcc"):
        print("# no musl-gcc")
        return
    source = os.path.join(WORK, "musl.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <stdio.h>\n#include <time.h>\n#include <stdlib.h>\n"
                   "__attribute__((noinline)) static void work(void)\n"
                   "{ for (volatile long i = 0; i < 200000000; i++); }\n"
                   'int main(void) { work(); puts("done"); return 7; }\n')
    for name, options in ("dynamic", []), ("static", ["-static"]):
        program = os.path.join(WORK, "musl-" + name)
        subprocess.run(["musl-gcc", "-O1", "-g", *options, "-o", program, source], check=True)
        if ends_as([CAIRN, "run", "--outside", "-o", CAPTURE, program])[1] != 7:
            print("# the kernel does not let this user sample processes")
            return
        assert "work" in names_of(check(program)), name


@case("a set-uid program keeps its rights, and one that changes its user with capabilities kept")
def _():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("# needs root")
        return
    program = os.path.join(WORK, "set-uid")
    shutil.copy(shutil.which("id"), program)
    os.chmod(program, 0o4755)
    os.chmod(WORK, 0o777)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    alone = ends_as([*user, program, "-u"])
    if alone != ("0\n", 0):
        print("# this file system has no set-uid programs")
        return
    if ends_as([*user, "test", "-r", program])[1] != 0:
        print("# another user cannot reach " + WORK)
        return
    same(ends_as([CAIRN, "run", "-o", CAPTURE, *user, program, "-u"]), alone, "started by another")
    found = ends_as([*user, CAIRN, "run", "-o", os.path.join(WORK, "own.cairn"), program, "-u"])
    # Either it runs with its rights, or it is not run at all, and Cairn says why.
    assert found == alone or found[1] == 126 or "was not run" in found[0], found


main()
