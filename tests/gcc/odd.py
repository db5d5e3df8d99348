#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Odd things that programs do to themselves, and what they are compiled with: what cairn cc makes of
them does what it does without a profile, and counts.

Usage: odd.py CAIRN GCC GXX [WORD...]        prints TAP; cases whose names have all words
"""
import difflib
import os
import re
import shutil
import subprocess
import sys

import run as base
from run import CAIRN, GCC, calls_of, case, contexts, counted, plain, profiled, record, report, run

base.CASES.clear()  # those of run.py are another test
OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def captures():
    return sorted(name for name in os.listdir(".") if name.endswith(".cairn"))


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


@case("nothing waits for a lock that a thread that forks has: other handlers of fork, and signals")
def forking():
    for options in (["-O0"], ["-O2"], ["-O2", "--inlined"], ["-O2", "-static"], ["-O2", "--zero"],
                    ["-O2", "--profile=alloc"]):
        plain(["forking.c"], "-O2")
        profiled(["forking.c"], *options)
        calls = calls_of(record(["forking.c"]))
        assert calls["main"] == 1 and calls["after_fork"] == 3, (options, calls)
        # Between the first of Cairn's handlers and the last nothing is recorded, in neither process.
        for name in ("handle", "handled_1", "late_1", "handled_2", "late_2"):
            assert not calls.get(name), (options, name, calls)
        children = [name for name in captures() if name != "x.cairn"]
        assert len(children) == 3, (options, children)
        for name in children:
            calls = calls_of(contexts(name))
            assert calls["after_fork"] == 1 and not calls.get("late_3"), (options, calls)


@case("Cairn's own threads answer the C library's signals, in children, too")
def identity():
    for options in (["-O2"], ["-O2", "--inlined"], ["-O2", "-static"]):
        plain(["identity.c"], "-O2")
        profiled(["identity.c"], *options)
        counts = calls_of(record(["identity.c"]))
        assert (counts["step"], counts["become"]) == (1, 1), (options, counts)
        (child,) = [name for name in captures() if name != "x.cairn"]
        assert calls_of(contexts(child))["step"] == 1, options


@case("the runtime's own threads have no lane, in children neither")
def own_threads():
    plain(["identity.c"], "-O2")
    for options in (["-O2"], ["-O2", "--inlined"], ["-O2", "-static"], ["-O2", "--profile=alloc"]):
        profiled(["identity.c"], *options)
        record(["identity.c"])
        for name in captures():
            assert report(name)["notes"]["lanes"] == "1", (options, name)
    profiled(["busy.c"], "-O2", "--profile=time")
    run("./profiled", CAIRN_OUT="x.cairn")
    assert report("x.cairn")["notes"]["lanes"] == "2"  # it begins one thread


RELOADER = """#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
static double used(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}
int main(void) {
    for (int i = 0; i < 20; i++) {
        int second = i / 2 % 2;
        void *library = dlopen(second ? "./second.so" : "./first.so", RTLD_NOW);
        void (*work)(void);
        if (!library)
            abort();
        *(void **)&work = dlsym(library, second ? "second_work" : "first_work");
        for (double end = used() + 0.02; used() < end;)
            work();
        dlclose(library);
    }
    return 0;
}
"""


@case("--profile=time: code that comes to the place of unloaded code has its own name")
def unloaded():
    for name in ("first", "second"):
        write(name + ".c", "void %s_work(void) { for (volatile int i = 0; i < 100000; i++); }\n" % name)
        run(GCC, "-g", "-O1", "-shared", "-fPIC", name + ".c", "-o", name + ".so")
    write("reloader.c", RELOADER)
    for options in ([], ["--stack"]):
        run(CAIRN, "cc", "--profile=time", *options, "-g", "-O1", "reloader.c", "-o", "reloader")
        run("./reloader", CAIRN_OUT="x.cairn")
        cpu = {row["block"]["name"]: row["inclusive"]["cpu"] for row in report("x.cairn")["flat"]}
        assert all(0.12e9 < cpu.get(name, 0) < 0.28e9 for name in ("first_work", "second_work")), (options, cpu)
        os.unlink("x.cairn")


CLOSER = """#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
static volatile unsigned long sink;
static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
__attribute__((noinline)) static void work(void) { for (int i = 0; i < 100000; i++) sink += i; sink++; }
#define CALLER(name, callee) __attribute__((noinline)) static void name(void) { callee(); sink++; }
CALLER(one, work) CALLER(two, one) CALLER(three, two) CALLER(four, three)
int main(void)
{
    const char *const names[] = {NULL, "./first.so"};
    double closed = now(CLOCK_MONOTONIC);
    int closes = 0;
    while (now(CLOCK_PROCESS_CPUTIME_ID) < 1 || closes < 10) {
        four();
        if (now(CLOCK_MONOTONIC) < closed + 0.05)
            continue;
        dlclose(dlopen(names[closes++ % 2], RTLD_NOW)); /* the second is unloaded */
        closed = now(CLOCK_MONOTONIC);
    }
}
"""


@case("--profile=time --stack: callers stay known when a program calls dlclose, and unloads code")
def callers_stay():
    write("first.c", "void first_work(void) {}\n")
    run(GCC, "-shared", "-fPIC", "first.c", "-o", "first.so")
    write("closer.c", CLOSER)
    run(CAIRN, "cc", "--profile=time", "--stack", "-g", "-O1", "closer.c", "-o", "closer")
    run("./closer", CAIRN_OUT="x.cairn")
    cpu = {row["block"]["name"]: row["inclusive"]["cpu"] for row in report("x.cairn")["flat"]}
    # Callers are learnt in the first turns, at most one each 20 ms.
    assert cpu["work"] > 0.5e9 and cpu.get("four", 0) > 0.6 * cpu["work"], cpu
    os.unlink("x.cairn")


@case("for the C library a program with one thread has one, though a thread samples")
def alone():
    ways = {"none": "none 11 2 1", "bus": "01 bus 11 2 1", "cut": "cut 11 2 1", "end": "end 11 2 1",
            "group": "group 11 2 1", "thread": "thread 10 2 1", "fork": "fork 11 2 1", "vfork": "vfork 11 2 1",
            "cut after thread": "cut after thread 10 2 1"}
    for options in (["-O2"], ["-O2", "--inlined"], ["-O2", "--lean"], ["-O2", "-static"]):
        profiled(["alone.c"], *options)
        for way, expected in ways.items():
            if "-static" in options:  # there is no thread that the C library does not know
                expected = expected.replace(" 11 ", " 00 ").replace(" 10 ", " 00 ")
            said = run("./profiled", way, CAIRN_OUT="x.cairn").splitlines()
            assert sorted(said) == [expected] * (2 if way == "fork" else 1), (options, way, said)
            if not way.startswith("cut"):
                whole, times = report("x.cairn"), {"bus": 3}.get(way, 2)
                assert whole["state"] == "ended" and calls_of(contexts("x.cairn"))["step"] == 100 * times
            for name in captures():
                os.unlink(name)
    profiled(["alone.c"], "-O2")
    for way in ("user namespace", "mount namespace"):  # the kernel may refuse either to any program
        error = run("./profiled", way).split()[0]
        assert run("./profiled", way, CAIRN_OUT="x.cairn") == "%s %s 11 2 1\n" % (error, way), error
        assert report("x.cairn")["state"] == "ended" and calls_of(contexts("x.cairn"))["step"] == 200
        os.unlink("x.cairn")
    for clock, known in (("sampled", "00"), ("off", "11")):
        said = run("./profiled", "none", CAIRN_OUT="x.cairn", CAIRN_WALL="exact", CAIRN_CPU=clock)
        assert said.split()[1] == known, (clock, said)
        os.unlink("x.cairn")


@case("the thread that charges the samples of --profile=time is one that the C library does not know")
def alone_in_time():
    ways = {"none": "none 11 2 1", "bus": "01 bus 11 2 1", "cut": "cut 11 2 1", "end": "end 11 2 1",
            "group": "group 11 2 1", "thread": "thread 10 3 1", "vfork": "vfork 11 2 1",
            "cut after thread": "cut after thread 10 3 1"}
    for options in ([], ["--stack"]):
        profiled(["alone.c"], "-O2", "--profile=time", *options)
        for way, expected in ways.items():
            assert run("./profiled", way, CAIRN_OUT="x.cairn") == expected + "\n", (options, way)
            assert way.startswith("cut") or report("x.cairn")["state"] == "ended", (options, way)
            os.unlink("x.cairn")
    said = run("./profiled", "fork", CAIRN_OUT="x.cairn")
    assert sorted(said.splitlines()) == ["fork 11 1 1", "fork 11 2 1"], said  # a child is not sampled
    for way in ("user namespace", "mount namespace"):  # the kernel may refuse either to any program
        error = run("./profiled", way).split()[0]
        assert run("./profiled", way, CAIRN_OUT="x.cairn") == "%s %s 11 2 1\n" % (error, way), error


@case("--standby: a stack at a multiple of 4 GiB is taken for no profile")
def stack_at_zero():
    write("zero.c", r"""#include <stdio.h>
#include <sys/mman.h>
__attribute__((noipa)) int leaf(int n) { return n + 1; }
__attribute__((noipa)) int work(int n) { return leaf(n) + leaf(n + 1); }
static int on_stack(char *stack, int n)
{
    long result, number = n;
    __asm__ volatile("mov %%rsp, %%rbx\n\tmov %2, %%rsp\n\tcall work\n\tmov %%rbx, %%rsp"
                     : "=&a"(result), "+D"(number) : "r"(stack)
                     : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
    return (int)result;
}
int main(void)
{
    char *top = (char *)0x300000000;
    int sum = 0;
    if (mmap(top - 65536, 131072, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return 1;
    for (int below = -128; below <= 256; below += 8)
        sum += on_stack(top + below, below);
    printf("%d\n", sum);
    return 0;
}
""")
    for options in (["-O0"], ["-O2"], ["-O2", "-fno-omit-frame-pointer"]):
        run(CAIRN, "cc", "--standby", *options, "zero.c", "-o", "zero")
        for more in ({}, {"CAIRN_SWITCH": "USR2"}, {"CAIRN_OUT": "x.cairn"}):
            assert run("./zero", **more) == "6419\n", (options, more)
        calls = calls_of(contexts("x.cairn"))
        assert captures() == ["x.cairn"] and (calls["work"], calls["leaf"]) == (49, 98), (options, calls)
        os.unlink("x.cairn")


@case("spans of a program with one thread find space, though nobody prepares it")
def spans_alone():
    include = ["-I", os.path.join(OURS, "include")]
    write("spans.c", r"""#include <cairn/scope.h>
#include <sys/single_threaded.h>
__attribute__((noipa)) static int step(int n) { CAIRN_SCOPE("part"); return n + 1; }
int main(void) { int n = 0; while (n < 100000) n = step(n); return !__libc_single_threaded; }
""")
    run(CAIRN, "cc", "-O2", *include, "spans.c", "-o", "spans")
    for policy, limit in (("first", 1 << 30), ("last", 1 << 20)):
        run("./spans", CAIRN_OUT="x.cairn", CAIRN_SPANS=policy, CAIRN_SPAN_LIMIT=str(limit))
        said = run(CAIRN, "spans", "x.cairn")
        assert "dropped" not in said and ("overwritten" in said) == (policy == "last"), (policy, said)
        os.unlink("x.cairn")


@case("every call in a signal's handler counts, and of what it interrupts, whatever that is")
def flood():
    for options in (["-O2"], ["-O2", "--inlined"], ["-O2", "-static"]):
        run(CAIRN, "cc", *options, base.source("flood.c"), "-o", "profiled", "-pthread")
        for clock, word in (("exact", ""), ("exact", "jump"), ("sampled", "")):
            if os.path.exists("x.cairn"):
                os.unlink("x.cairn")
            said = run("./profiled", *word.split(), CAIRN_OUT="x.cairn", CAIRN_WALL=clock).split()
            assert said[4] == "1", (options, clock, word, said)  # sigaction returns the handlers
            calls = calls_of(contexts("x.cairn"))
            found = [calls.get(name, 0) for name in ("job", "request", "handle", "handle_other")]
            said = [int(number) for number in said[:4]]
            signals = calls.get("handle", 0) + calls.get("handle_other", 0)
            for calls, counted in zip(found, said):  # a jump may come before the program counts
                assert counted <= calls <= counted + (signals if word else 0), (options, clock, found, said)


@case("setjmp costs no system call")
def setjmp_is_quick():
    write("quick.c", r"""#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
static int calls; /* of rt_sigprocmask through syscall, which libcairn-gcc calls */
static jmp_buf place;
__attribute__((no_instrument_function)) long syscall(long number, ...)
{
    long a[6], result;
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    calls += number == SYS_rt_sigprocmask;
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]),
                     "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return result < 0 ? -1 : result;
}
__attribute__((noipa)) static int try(int n) { return setjmp(place) == 0 ? n : -n; }
__attribute__((noipa)) static int throw(int n) { if (setjmp(place) == 0) longjmp(place, n + 1); return n; }
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += try(i) + throw(i);
    printf("%d %d\n", sum, calls);
    return 0;
}
""")
    for options in (["-O2"], ["-O2", "--inlined"]):
        run(CAIRN, "cc", *options, "quick.c", "-o", "quick")
        assert run("./quick", CAIRN_OUT="x.cairn") == "999000 0\n", options
        calls = calls_of(contexts("x.cairn"))
        assert calls["try"] == calls["throw"] == 1000, (options, calls)
        os.unlink("x.cairn")


WAYS_TO_FORK = r"""#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) static int step(int n) { return n + 1; }
__attribute__((noipa)) static int steps(int n)
{
    int below = n ? steps(n - 1) : 0;
    __asm__ volatile("" : "+r"(below)); /* no loop */
    return step(n) + below;
}
__attribute__((noipa)) static int only_in_child(int n) { return n + 1; }
static int square(int n) { return n * n; }
__attribute__((noipa)) static int squares(const int *n, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += square(n[i]);
    return sum;
}
static int child(void *way)
{
    static int numbers[100];
    squares(numbers, 100);
    steps(100);
    only_in_child(1);
    if (strstr(way, "exit"))
        exit(3);
    _exit(3);
}
int main(int count, char **words)
{
    static char stack[1 << 16];
    char *way = words[count - 1];
    int numbers[100] = {0}, status = 0;
    squares(numbers, 100);
    steps(100);
    if (strstr(way, "end"))
        syscall(SYS_exit, 7);
    pid_t pid = -1;
    if (strstr(way, "_Fork"))
        pid = _Fork();
    else if (strstr(way, "SYS_fork"))
        pid = syscall(SYS_fork);
    else if (strstr(way, "SYS_clone"))
        pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    else if (strstr(way, "asm"))
        __asm__ volatile("syscall" : "=a"(pid) : "a"(SYS_fork) : "rcx", "r11", "memory");
    else
        pid = clone(child, stack + sizeof stack, SIGCHLD, way);
    if (pid == 0)
        child(way);
    squares(numbers, 100);
    steps(100);
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status) == 3 ? 0 : 1;
}
"""


@case("a child that is made without fork records nothing, and leaves its parent's capture alone")
def unseen_children():
    write("ways.c", WAYS_TO_FORK)
    for options in (["-O2"], ["-O2", "--inlined"], ["-O2", "-static"], ["-O2", "--profile=count+time"]):
        run(CAIRN, "cc", *options, "ways.c", "-o", "ways")
        for way in ("_Fork", "SYS_fork", "SYS_clone", "clone", "asm"):
            for ending in ("", "exit"):
                run("./ways", way + ending, CAIRN_OUT="x.cairn")
                assert captures() == ["x.cairn"] and report("x.cairn")["state"] == "ended", (options, way)
                calls = calls_of(contexts("x.cairn"))
                found = [calls.get(name, 0) for name in ("step", "steps", "only_in_child", "squares")]
                assert found == [202, 202, 0, 2], (options, way, ending, found)
                assert calls.get("square", 200) == 200, (options, way, ending, calls)
                os.unlink("x.cairn")
        for clock in ("off", "sampled"):
            run("./ways", "end", status=7, CAIRN_OUT="x.cairn", CAIRN_CPU=clock)
            os.unlink("x.cairn")


@case("what a parent counts after a fork is not its child's, however late that begins")
def later():
    plain(["later.c"], "-O2")
    for options in (["-O2", "--inlined"], ["-O2"], ["-O2", "--inlined", "--frames"]):
        profiled(["later.c"], *options)
        calls = calls_of(record(["later.c"]))
        (child,) = [name for name in captures() if name != "x.cairn"]
        in_child = calls_of(contexts(child))
        if "--inlined" in options:
            assert (calls["square"], in_child["square"]) == (513, 512), (options, calls, in_child)
        assert calls["each_100"] == in_child["each_100"] == 8, (options, calls, in_child)


@case("who calls malloc and strlen for Cairn may be profiled")
def allocator():
    ways = [["-O2"], ["-O2", "--zero"], ["-O0", "--branch"], ["-O2", "--inlined", "--zero"]]
    for options in ways:
        plain(["allocator.c"], "-O2", "-fno-builtin")
        profiled(["allocator.c"], *options, "-fno-builtin")
        calls = calls_of(record(["allocator.c"]))
        assert calls["after_start"] == calls["main"] == 1, (options, calls)
        if "--zero" in options:
            assert "never" in run(CAIRN, "report", "--zero", "x.cairn"), options


@case("who calls malloc with a lock of Cairn's has no strand: what is new there waits for none")
def words():
    include = ["-I", os.path.join(OURS, "include")]
    for options in (["-O2"], ["-O2", "--inlined"], ["-O2", "-static"]):
        run(CAIRN, "cc", *options, *include, "-fno-builtin", base.source("words.c"), "-o", "profiled")
        assert run("./profiled") == run("./profiled", CAIRN_OUT="x.cairn") == "said\n"
        calls = calls_of(contexts("x.cairn"))
        assert calls["word"] == 20000 and calls["after_words"] == calls["main"] == 1, (options, calls)


@case("threads of C11 have their strand from their beginning, too")
def teams():
    for options in (["-O0"], ["-O2"], ["-O2", "--inlined"], ["-O2", "-static"]):
        plain(["teams.c"], "-O2")
        profiled(["teams.c"], *options)
        calls = calls_of(record(["teams.c"]))
        assert (calls["run"], calls["work"], calls["leaves"]) == (4, 402, 2), (options, calls)


@case("a handler on a small stack of its own has room: Enter and Leave take little of it")
def handler():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        most = 3400 if " avx512" in file.read() else 2000 # what is saved, and what runs
    plain(["handler.c"], "-O2")
    before = int(run("./plain"))
    for options in (["-O0"], ["-O2"], ["-O2", "--inlined"], ["-O2", "--profile=count+time", "--inlined"]):
        profiled(["handler.c"], *options)
        for wall in ("off", "exact"):
            after = int(run("./profiled", CAIRN_OUT="x.cairn", CAIRN_WALL=wall))
            assert after - before < most, (options, wall, before, after)
        assert calls_of(contexts("x.cairn"))["deep"] == 60, options


def refused(*words, front="cc", env=None):
    done = subprocess.run([CAIRN, front, *words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, **env or {}))
    assert done.returncode == 2, (words, done)
    return done.stderr


@case("programs that name libc themselves are linked with ours; those that have none are left alone")
def names_libraries():
    write("bare.c", "#include <stdio.h>\nint main(void) { return puts(\"bare\") < 0; }\n")
    run(CAIRN, "cc", "-O2", "-c", "bare.c")
    libc = run(GCC, "-print-file-name=libc.so.6").strip()
    crt = [run(GCC, "-print-file-name=" + name).strip()
           for name in ("Scrt1.o", "crti.o", "crtbeginS.o", "crtendS.o", "crtn.o")]
    for words in (["-nodefaultlibs", "bare.o", "-lc"], ["-nodefaultlibs", "bare.c", "-lgcc", "-lc"],
                  ["-nodefaultlibs", "bare.o", libc], ["-nostdlib", *crt[:3], "bare.o", "-lc", *crt[3:]],
                  ["-static", "-nodefaultlibs", "bare.o", "-lc", "-lgcc", "-lgcc_eh"]):
        run(CAIRN, "cc", "-O2", *words, "-o", "bare")
        assert run("./bare", CAIRN_OUT="x.cairn") == "bare\n", words
        assert calls_of(contexts("x.cairn"))["main"] == 1, words


@case("units with transactions are left as they are")
def transactions():
    write("memory.c", """int many;
void add(int n)
{
    __transaction_atomic {
        many += n;
        if (many == 10)
            __transaction_cancel;
    }
}
""")
    for options in (["-O0"], ["-O2"], ["-O2", "--inlined"]):
        run(CAIRN, "cc", *options, "-fgnu-tm", "-c", "memory.c", "-o", "memory.o")
        assert "cairn_priv" not in run("nm", "memory.o"), options


@case("what is not understood is said: numbers, words apart, other compilers, registers")
def not_understood():
    write("one.c", "int main(void) { return 0; }\n")
    for text in ("abc", "-1", "0", "", "5x"):
        for front in ("cc", "clang"):
            assert "--small" in refused("--small=" + text, "one.c", front=front), (text, front)
    assert "--profile=time" in refused("--profile", "time", "one.c")
    assert "--small=5" in refused("--small", "5", "one.c")
    assert "cairn clang" in refused("one.c", env={"CAIRN_GCC": "/usr/bin/clang-14"})
    assert "cairn cc" in refused("one.c", env={"CAIRN_CLANG": "gcc"}, front="clang")
    assert "-ffixed-rcx" in refused("-ffixed-rcx", "-c", "one.c")
    assert "-ffixed-r11" in refused("-ffixed-r11", "-c", "one.c")
    run(CAIRN, "cc", "-ffixed-r14", "-c", "one.c")


@case("options of ours are understood in a file of arguments, too, and in those that it names")
def in_files():
    plain(["leaf.c"], "-O2")
    write("inner words", "--inlined '-DUNUSED=\"a b\"'")
    write("words", "-O2 \"@inner words\" -o profiled")
    run(CAIRN, "cc", "@words", base.source("leaf.c"), "-pthread")
    rows = record(["leaf.c"])
    base.counts_match(rows, counted(["leaf.c"], True))
    write("words", "--small=x")
    assert "--small" in refused("@words", "one.c")


@case("a function that is called through a cast is called as the cast says, const or not")
def cast():
    write("cast.c", """#include <stdio.h>
#define KEPT __attribute__((noipa))
KEPT int whole(int n) { return n + 1; }
__attribute__((const, noinline)) int always(int n) { return n * 2; }
KEPT double as_double(int n) { return ((double (*)(int))whole)(n); }
int main(int count, char **words)
{
    (void)words;
    ((void (*)(int))whole)(3);
    always(4);
    int twice = ((int (*)(int))always)(5);
    printf("%d %d\\n", whole(2), count > 9 ? (int)as_double(1) : twice);
}
""")
    run(GCC, "-w", "cast.c", "-o", "plain")
    for level in ("-O0", "-O2"):
        run(CAIRN, "cc", level, "--inlined", "-w", "cast.c", "-o", "profiled")
        calls = calls_of(record([]))
        assert calls["whole"] == 2 and calls["always"] == 2, (level, calls)


@case("what returns oddly is not entered, and who calls it in tail position knows")
def returns_oddly():
    write("odd.c", """#include <stdio.h>
#define KEPT __attribute__((noipa))
KEPT int target(int n) { return n + 1; }
__attribute__((noinline)) int passes_on(int n)
{
    target(n);
    __builtin_return(__builtin_apply((void (*)())target, __builtin_apply_args(), 64));
}
KEPT int calls(int n) { return passes_on(n); }
int main(void) { printf("%d\\n", calls(1) + calls(2)); }
""")
    run(GCC, "-O2", "odd.c", "-o", "plain")
    for options in (["-O2"], ["-O0"]):
        run(CAIRN, "cc", *options, "odd.c", "-o", "profiled")
        found = {path[1:]: row["calls"] for path, row in record([]) if row["calls"]}
        above = ("main",) if options == ["-O2"] else ("main", "calls")
        assert found.get((*above, "target")) == 4 and found[("main", "calls")] == 2, (options, found)


def names_in(files):
    return {name for name, calls in calls_of(
        [each for file in files for each in contexts(file)]).items() if calls}


@case("processes of one run leave each other's captures alone; those of another run replace them")
def one_run():
    write("ways.c", """#include <stdio.h>
#define WAY(name) __attribute__((noipa)) void name(void) { puts(#name); }
WAY(first) WAY(second) WAY(third) WAY(never)
int main(int count, char **words)
{
    void (*const ways[])(void) = {first, second, third, never};
    ways[words[1][0] - '1']();
    return count != 2;
}
""")
    run(CAIRN, "cc", "--zero", "-O1", "ways.c", "-o", "ways")
    three = "./ways 1; ./ways 2; ./ways 3"
    for _ in range(2): # what an earlier run left beside it is not in the way
        before = captures()
        run(CAIRN, "run", "-o", "t.cairn", "sh", "-c", three)
        fresh = [name for name in captures() if name == "t.cairn" or name not in before]
        if "t.sampled.cairn" in fresh: # of the shell, if it ran long enough
            fresh.remove("t.sampled.cairn")
        assert len(fresh) == 3 and names_in(fresh) == {"[root]", "main", "first", "second", "third"}
        zero = run(CAIRN, "report", "--zero", *fresh)
        assert "never" in zero and "second" not in zero, zero
    for name in captures():
        os.unlink(name)
    run(CAIRN, "run", "-o", "%p.cairn", "sh", "-c", three)
    assert all(re.fullmatch("[0-9]+[.]cairn", name) for name in captures())
    exact = [name for name in captures() if report(name)["notes"].get("host") != "sample"]
    assert len(exact) == 3 and names_in(exact) == {"[root]", "main", "first", "second", "third"}
    for name in captures():
        os.unlink(name)
    for way in "123": # by hand each replaces the last
        run("./ways", way, CAIRN_OUT="x.cairn")
        run("./ways", way, CAIRN_OUT="%p-%p.cairn")
    assert names_in(["x.cairn"]) == {"[root]", "main", "third"}
    assert len(captures()) == 4 and "x.cairn" in captures(), captures()
    done = subprocess.run([CAIRN, "run", "--alloc", "-o", "%p.cairn", "./ways", "1"], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 2 and "%p" in done.stderr, done


NOT_CALLED = "key_ends"


def tree_of(capture):
    """Returns calls by context, without functions outside of the program."""
    calls = {}
    for path, row in contexts(capture):
        if not base.own(path[-1]):
            continue
        path = tuple(filter(base.own, path[1:]))
        if NOT_CALLED in path: # but by libc, when a thread has ended
            path = path[path.index(NOT_CALLED):]
        for end in range(1, len(path)) if row["calls"] else ():
            calls.setdefault(path[:end], 0)
        if row["calls"]:
            calls[path] = calls.get(path, 0) + row["calls"]
    return "".join("%s%s %d\n" % ("  " * (len(path) - 1), path[-1], calls[path])
                   for path in sorted(calls) if path)


def trees(words, **clocks):
    """For each process of the program, sorted."""
    for name in captures():
        os.unlink(name)
    expected = run("./plain", *words)
    assert run("./profiled", *words) == expected, "prints something else, unprofiled"
    assert run("./profiled", *words, CAIRN_OUT="x.cairn", **clocks) == expected, "prints other text"
    assert "verify" not in report("x.cairn")["notes"]
    return "--\n".join(sorted(map(tree_of, captures())))


CLOCKS = [{}, {"CAIRN_WALL": "off"}, {"CAIRN_WALL": "exact"}, {"CAIRN_PERIOD": "20000"}]


def is_tree(name, words=(), clocks=CLOCKS, of=trees):
    """Calls by caller equal those in tests/gcc/trees."""
    with open(os.path.join(base.HERE, "trees", name), encoding="utf-8") as file:
        right = file.read()
    for clock in clocks:
        found = of(words, **clock)
        different = difflib.unified_diff(right.split("\n"), found.split("\n"), lineterm="")
        assert found == right, "%r\n%s" % (clock, "\n".join(different))


def callers(names, ways, words=(), more=(), tree=None, clocks=CLOCKS):
    """Compiled in each of the ways; the first two run with all clocks."""
    plain(names, "-O2")
    for number, options in enumerate(ways):
        profiled(names, *options, *more)
        try:
            is_tree(tree or os.path.splitext(names[0])[0], words, clocks[:1 if number > 1 else None])
        except AssertionError as fault:
            raise AssertionError("%r %s" % (options, fault)) from None


WAYS = ["-O2"], ["-O2", "--inlined"], ["-O2", "--verify"], ["-O2", "-fno-omit-frame-pointer"]
SPANS = ["-DSPANS", "-I", os.path.join(OURS, "include")]


@case("who calls is right in children of fork that return through their parents' frames")
def callers_in_children():
    callers(["generations.c"], [*WAYS, ["-O2", "-static"]])
    callers(["generations.c"], WAYS[:2], words=["thread"], tree="generations-thread")


@case("who calls is right where exceptions lead to")
def callers_of_landings():
    callers(["landings.cpp"], [*WAYS, ["-O2", "-static"]])


@case("who calls is right where exceptions lead to, also in spans that are still open there")
def callers_in_spans():
    callers(["landings.cpp"], WAYS, more=SPANS, tree="landings-spans")


@case("who calls is right where jumps lead to, out of handlers of signals, too")
def callers_of_jumps():
    callers(["distances.c"], [*WAYS, ["-O0"], ["-O2", "-static"]])


@case("who calls is right after chains of calls in tail position, and when recursion is deep")
def callers_of_chains():
    callers(["chains.c", "chained.c"], WAYS, clocks=CLOCKS[:1])


@case("there is room for frames of who is called, however deep, by functions that give theirs back")
def callers_of_givers():
    for options in (*WAYS, ["-O0"], ["-O2", "--calls"]):
        plain(["givers.c"], "-O2")
        profiled(["givers.c"], *options)
        rows = record(["givers.c"])
        calls = calls_of(rows)
        inner = 4 * (sum(range(101)) + 101)
        takes = [calls["takes_" + name] for name in ("late", "guarded", "inlined")]
        gives = [calls["gives_" + name] for name in ("late", "guarded", "inlined")]
        assert takes == [4 * 4001 + inner, 4 * 4001, 4 * 101], (options, calls)
        assert gives == [4 * 4000 + inner, 4 * 4000, 4 * 100], (options, calls)
        paths = [path for path, row in rows if path[-1] == "after_givers" and row["calls"]]
        assert len(paths) == 1 and paths[0][-2:] == ("main", "after_givers"), (options, paths)


@case("where there is little address space, there is no inline cache, and all is counted")
def narrow():
    plain(["inline_cache.c"], "-O2")
    for options in WAYS[:2]:
        profiled(["inline_cache.c"], *options)
        calls = calls_of(record(["inline_cache.c"]))
        run("sh", "-c", "ulimit -v 60000; exec ./profiled", CAIRN_OUT="x.cairn")
        assert calls_of(contexts("x.cairn")) == calls, options


@case("who calls is right where threads and processes end deep inside")
def callers_of_ends():
    callers(["endings.cpp"], [*WAYS, ["-O0"]])


@case("who calls is right whatever the machine's frame looks like")
def callers_of_shapes():
    callers(["shapes.c"], [*WAYS, ["-O0"], ["-O2", "-fPIE", "-fstack-protector-all"],
                           ["-Os", "-mavx"], ["-O2", "-fcf-protection", "-fstack-clash-protection"]])


@case("who calls is right while a profile is disabled, enabled and reset in the midst of frames")
def callers_of_pauses():
    callers(["pauses.c"], [*WAYS, ["-O0"], ["-O2", "-static"]], more=SPANS)


@case("who calls is right while handlers of signals call functions that call")
def callers_in_handlers():
    callers(["interrupts.c"], [*WAYS, ["-O0"]])


def without_traps(words, **clocks):
    """As many as there are instructions, and none is recorded while the runtime is in its own."""
    lines = trees(words, **clocks).split("\n")
    return "\n".join(line for line in lines if not line.lstrip().startswith(("trap_", "handle_trap")))


@case("what is called where something is caught is called in the scope that is open")
def callers_in_open_scope():
    callers(["caught.cpp"], [["-O2"], ["-O0"], ["-O2", "--calls"]], more=SPANS,
            clocks=[*CLOCKS, {"CAIRN_SPANS": "1", "CAIRN_SPAN_RATE": "0.3"}])


@case("who calls is right behind a catch and a tail call, though handlers push at each instruction")
def callers_of_pushing_steps():
    for options in WAYS:
        plain(["steps.cpp"], "-O2")
        profiled(["steps.cpp"], *options)
        trees(())
        calls = {path[1:]: row["calls"] for path, row in contexts("x.cairn")}
        for caller, callee in (("calls_catch", "behind"), ("calls_tail", "behind")):
            assert calls.get(("main", caller, callee)) == 8, (options, calls)
        for callee in ("thrower", "in_catch", "behind"):
            assert calls.get(("main", "calls_catch", "catches", callee)) == 8, (options, calls)


@case("who calls is right where frames are pushed, though a handler that keeps its own pushes meanwhile")
def callers_of_pushes():
    for options in (*WAYS, ["-O0"]):
        plain(["pushes.c"], "-O2")
        profiled(["pushes.c"], *options)
        trees((), CAIRN_WALL="off")
        calls = {path[1:]: row["calls"] for path, row in contexts("x.cairn")}
        for name, steps in ("pushes_late", 2), ("pushes_guarded", 1):
            above = "main", "calls_" + name
            assert calls.get((*above, name)) == calls.get((*above, "behind")) == 8, (options, calls)
            assert calls.get((*above, name, "step")) == 8 * steps, (options, calls)


@case("who calls is right though a signal's handler calls behind each single instruction")
def callers_of_steps():
    plain(["steps.c"], "-O2")
    for options in (*WAYS, ["-O0"]):
        profiled(["steps.c"], *options)
        is_tree("steps", clocks=CLOCKS[:1], of=without_traps)
        calls = calls_of(contexts("x.cairn"))
        times = calls["handle_trap"]
        assert times > 1000, (options, calls)
        assert calls["trap_deeper"] == 4 * times, (options, calls)
        assert calls["trap_leaf"] == 6 * times, (options, calls)


@case("who calls is right where objects that are compiled in several ways throw through each other")
def callers_in_mixed():
    def objects(first, second):
        for word, front in (("FIRST", first), ("SECOND", second), ("PLAIN", [base.GXX])):
            run(*front, "-std=c++20", "-O2", "-D" + word, "-c", base.source("mixed.cpp"),
                "-o", word + ".o")
    names = "FIRST.o", "SECOND.o", "PLAIN.o"
    objects([base.GXX], [base.GXX])
    run(base.GXX, *names, "-o", "plain")
    cairn = [CAIRN, "c++"]
    ways = [(cairn, cairn), (cairn, [*cairn, "--inlined"]), ([*cairn, "--inlined"], cairn),
            (cairn, [*cairn, "--calls"]), ([*cairn, "--profile=count+time", "--inlined"], cairn)]
    for first, second in ways:
        objects(first, second)
        run(*cairn, *names, "-o", "profiled")
        is_tree("mixed")
    host = os.path.join(os.path.dirname(CAIRN), "hosts", "clang", "libcairn-clang.a")
    if os.path.exists(host) and any(map(shutil.which, ("clang++-14", "clang++"))):
        objects(cairn, [CAIRN, "clang++"])
        run(CAIRN, "clang++", *names, "-o", "profiled")
        is_tree("mixed", clocks=CLOCKS[:1])


@case("stacks that run by turns, on several threads too, do no harm, and all calls count")
def switches():
    calls = {"resumes": 21, "gives_way": 18, "turns": 3, "fiber": 3, "deeper": 6, "goes_on": 15,
             "below": 2, "goes_down": 53, "comes_back": 50, "after_switch": 1, "by_turns": 1}
    moved = {**calls, "below": 12, "goes_down": 63, "comes_back": 60, "after_switch": 4,
             "by_turns": 4, "body": 2}
    ways = [*WAYS, ["-O0"]] + [["-O1", "-fsanitize=address"]] * base.sanitizes("address")
    for options in ways:
        plain(["switching.c"], "-O2")
        profiled(["switching.c"], *options)
        quiet = ["sh", "-c", "exec ./profiled \"$@\" 2> asan", "sh"] # it warns of swapcontext in any case
        program = quiet if "-fsanitize=address" in options else ["./profiled"]
        for words, right in ([], calls), (["moved"], moved):
            expected = run("./plain", *words)
            for clock in CLOCKS:
                shown = run(*program, *words, CAIRN_OUT="x.cairn", **clock)
                assert shown == expected, (options, words, clock)
                found = {row["block"]["name"]: row["calls"] for row in report("x.cairn")["flat"]}
                different = {name: (count, found.get(name)) for name, count in right.items()
                             if found.get(name) != count}
                assert not different, (options, words, clock, different)
        run(*program, CAIRN_OUT="x.cairn")
        base.stacks_match(contexts("x.cairn"))


@case("exact time is that of who runs, also behind a call, a catch and a jump")
def durations():
    for options in (["-O2"], ["-O2", "--inlined"], ["-O0"]):
        profiled(["durations.cpp"], *options)
        shown = run("./profiled", CAIRN_OUT="x.cairn", CAIRN_WALL="exact")
        found = report("x.cairn")
        own = {row["block"]["name"]: row["self"]["wall"] for row in found["flat"]}
        for name, least in (line.split() for line in shown.strip().split("\n")):
            assert own[name] > int(least) * 0.995, (options, name, least, own)
        assert sum(own.values()) <= int(found["notes"]["recorded_ns"]) * 1.005, (options, found)


LOCKING = """
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noipa)) void locked(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}
static void *turn(void *none)
{
    for (int i = 0; i < 30; i++)
        locked();
    return none;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, turn, 0);
    turn(0);
    return pthread_join(thread, 0);
}
"""


@case("--locks records the program's mutexes, and none of the profiler's")
def locks_of_the_program():
    write("locking.c", LOCKING)
    run(CAIRN, "cc", "-O2", "locking.c", "-o", "locking", "-pthread")
    run(CAIRN, "run", "--quiet", "--locks", "-o", "x.cairn", "./locking")
    found = report("x.cairn")
    assert found["notes"]["strands"] == "2", found["notes"]
    names = run(CAIRN, "query", "--json", "x.cairn", "select distinct name from spans")
    assert '"mutex 1"' in names and "mutex 2" not in names, names


@case("the dynamic linker searches no folder of which the program needs nothing")
def run_path():
    write("empty.c", "int main(void) { return 0; }\n")
    run(CAIRN, "cc", "empty.c", "-o", "empty")
    folders = re.search(r"R(?:UN)?PATH.*\[(.*)\]", run("readelf", "-d", "empty"))[1].split(":")
    useless = [folder for folder in folders
               if not any(name.startswith(("libcairn.so", "libcairn-gcc.so"))
                          for name in os.listdir(folder))]
    assert not useless, useless


# Two callers have equal frames, so their callees begin with equal stack pointers. `misses` counts
# the events that the inline cache does not answer.
ALTERNATING = r"""#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
long misses;
void *found[3];
#define COUNTED(name, at) __asm__(".globl " name "\n" name ": incq misses(%rip)\n\tjmp *" at "+found(%rip)");
COUNTED("cairn_priv_site_2_enter_leaf", "0")
COUNTED("cairn_priv_site_2_enter_saved_caller", "8")
COUNTED("cairn_priv_site_2_enter_guarded", "16")
__attribute__((constructor, no_instrument_function)) static void find(void)
{
    found[0] = dlsym(RTLD_NEXT, "cairn_priv_site_2_enter_leaf");
    found[1] = dlsym(RTLD_NEXT, "cairn_priv_site_2_enter_saved_caller");
    found[2] = dlsym(RTLD_NEXT, "cairn_priv_site_2_enter_guarded");
}
jmp_buf place;
__attribute__((noipa)) int leaf(int n) { return n + 1; }
__attribute__((noipa)) int saving(int n) { return leaf(n) + 1; }
__attribute__((noipa)) int jumped_to(int n) { return setjmp(place) ? 0 : n + 1; }
__attribute__((noipa)) int one(int n) { return leaf(n) + saving(n) + jumped_to(n); }
__attribute__((noipa)) int other(int n) { return leaf(n) - saving(n) - jumped_to(n); }
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += one(i) + other(i);
    printf("%d\n", sum);
    return misses > 100;
}
"""


@case("callers in turns do not displace each other's entries of the inline cache")
def alternating():
    write("alternating.c", ALTERNATING)
    for options in (["-O2"], ["-O2", "--standby"]):
        run(CAIRN, "cc", *options, "alternating.c", "-o", "alternating", "-ldl")
        run("./alternating", CAIRN_OUT="x.cairn", CAIRN_WALL="off")
        assert calls_of(contexts("x.cairn"))["leaf"] == 4000, options


@case("a leave calls only in its rare part, which is behind the function's return")
def rare_part():
    write("alternating.c", ALTERNATING)
    run(CAIRN, "cc", "-O2", "-S", "alternating.c", "-o", "alternating.s")
    with open("alternating.s", encoding="utf-8") as file:
        code = re.search(r"^saving:\n(.*?)\n\t\.size\tsaving", file.read(), re.M | re.S)[1]
    assert 0 < code.find("\tret\n") < code.find("leave_saved_caller\n"), code


if __name__ == "__main__":
    sys.exit(base.main())
