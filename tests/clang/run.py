#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs compiled by `cairn clang` do what they do when clang compiles them, and what their
captures count is what the slow reference of tests/gcc counts.

Usage: run.py CAIRN GCC GXX CLANG CLANGXX [WORD...]        prints TAP; cases whose names have all words
       run.py CAIRN GCC GXX CLANG CLANGXX --smoke          as in tests/gcc/run.py
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gcc"))
sys.dont_write_bytecode = True
import run as harness  # noqa: E402  pylint: disable=wrong-import-position
from run import (CAIRN, PROGRAMS, calls_of, case, counted, counts_match, is_cpp, record, report,  # noqa: E402
                 run, sibling_calls, smoke, source, stacks_match, usual)

HERE = os.path.dirname(os.path.abspath(__file__))
CLANG, CLANGXX = sys.argv[4:6]
del sys.argv[4:6]
harness.CASES.clear()
harness.SMOKE.clear()

GNU = {"with_nested", "add", "add.0"}  # what gcc alone compiles of the programs
ALL = [["tail.c"], ["jumps.c"], ["threads.c"], ["process.c"], ["exceptions.cpp"],
       ["user.c", "library.c"]]


def front(names):
    return [CAIRN, "clang++" if is_cpp(names) else "clang"]


def plain(names, *options):
    harness.build("plain", [CLANGXX if is_cpp(names) else CLANG], names, options)


def profiled(names, *options):
    harness.build("profiled", front(names), names, options)


harness.plain, harness.profiled = plain, profiled


def compare(names, *options):
    plain(names, *[word for word in options if word != "--inlined"])
    profiled(names, *options)
    rows = record(names)
    stacks_match(rows)
    counts_match(rows, {name: calls for name, calls in counted(names).items()
                        if name not in GNU and "{lambda" not in name})


for each in ALL:
    odd = each[0] not in ("tail.c", "user.c")  # other things than calls and returns happen
    for way in (["-O0"], ["-O2"], ["-O2", "--inlined"]) if odd else (["-O2"],):
        case("%s counts like its reference, %s" % (each[0], " ".join(way)), each, *way)(compare)
for each in (["threads.c"], ["exceptions.cpp"]):
    for way in (["-O3", "-fPIE", "-pie"], ["-Os", "-fno-pie", "-static"]):
        case("%s counts like its reference, %s" % (each[0], " ".join(way)), each, *way)(compare)
case("exceptions.cpp counts like its reference in C++20", ["exceptions.cpp"], "-O2", "-std=c++20")(compare)


case("a tail recursion of millions of steps has a small stack and a small profile")(
    harness.tail_is_bounded)
case("a tail call to code with sleds shows who called; one to other code does not keep the caller")(
    harness.tail_contexts)


@case("as many calls are jumps as without a profile, function by function")
def siblings():
    for names in (["tail.c"], ["exceptions.cpp"], ["user.c", "library.c"]):
        plain(names, "-O2")
        profiled(names, "-O2")
        before, after = sibling_calls("plain"), sibling_calls("profiled")
        for function, count in before.items():
            if not function.endswith("@plt") and not function.startswith("_"):
                assert after.get(function, 0) >= count, (names, function)


LIBRARY = "int twice(int n); int leaf(int n);" \
    " __attribute__((weak)) int leaf(int n) { return n + 1; }" \
    " int twice(int n) { return leaf(n) + leaf(n); }"
PROGRAM = """#include <dlfcn.h>
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        void *library = dlopen("./liblate.so", RTLD_NOW);
        int (*twice)(int) = dlsym(library, "twice");
        for (int k = 0; k < 10; k++)
            sum += twice(k);
        dlclose(library);
    }
    return sum != 330;
}
"""


def compile_text(text, *options):
    with open("text.c", "w", encoding="utf-8") as file:
        file.write(text)
    run(CAIRN, "clang", "-O2", "text.c", *options)


@case("shared objects: linked, loaded and loaded again")
@smoke
def shared():
    plain(["user.c", "library.c"], "-O2")
    run(*front([]), "-O2", "-fPIC", "-shared", source("library.c"), "-o", "libx.so")
    run(*front([]), "-O2", source("user.c"), "-o", "profiled", "-L.", "-Wl,-rpath,$ORIGIN",
        "-l:libx.so")
    rows = record(["user.c"])
    stacks_match(rows)
    counts_match(rows, counted(["user.c", "library.c"]))
    compile_text(LIBRARY, "-fPIC", "-shared", "-o", "liblate.so")
    compile_text(PROGRAM, "-o", "late")
    run("./late", CAIRN_OUT="x.cairn")
    rows = harness.contexts("x.cairn")
    calls = calls_of(rows)
    assert calls["twice"] == 30 and calls["leaf"] == 60, calls
    assert ("[root]", "main", "twice", "leaf") in {path for path, _ in rows}, rows


SEVERAL = """#include <dlfcn.h>
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 6; i++) {
        void *library = dlopen(i % 2 ? "./libtwo.so" : "./libone.so", RTLD_NOW);
        int (*function)(int) = dlsym(library, i % 2 ? "two" : "one");
        sum += function(i);
        dlclose(library);
    }
    return sum != 21;
}
"""


@case("a shared object that is loaded where another was has its own functions")
@smoke
def one_after_another():
    for name in ("one", "two"):
        compile_text("int %s(int n) { return n + 1; }" % name, "-fPIC", "-shared", "-o",
                     "lib%s.so" % name)
    compile_text(SEVERAL, "-o", "several")
    run("./several", CAIRN_OUT="x.cairn")
    calls = calls_of(harness.contexts("x.cairn"))
    assert calls["one"] == 3 and calls["two"] == 3, calls
    for name in ("one", "two"):
        compile_text("int %s(int n) { return n + 1; }" % name, "--inlined", "-fPIC", "-shared", "-o",
                     "lib%s.so" % name)
    compile_text(SEVERAL, "--inlined", "-o", "several")
    run("./several", CAIRN_OUT="x.cairn")
    calls = calls_of(harness.contexts("x.cairn"))
    assert calls["one"] == 3 and calls["two"] == 3, calls


@case("functions of other calling conventions keep what their callers rely on")
def conventions():
    for level in ("-O0", "-O1", "-O2"):
        compare([os.path.join(HERE, "programs", "conventions.c")], level)


@case("objects of gcc's plugin and of clang in one program")
@smoke
def mixed():
    plain(["user.c", "library.c"], "-O2")
    for first, second in (("cc", "clang"), ("clang", "cc")):
        run(CAIRN, first, "-O2", "-c", source("library.c"), "-o", "library.o")
        run(CAIRN, "clang", "-O2", "-c", source("user.c"), "-o", "user.o")
        run(CAIRN, second, "-O2", "-c", source("user.c"), "-o", "user.o")
        run(CAIRN, "clang", "library.o", "user.o", "-o", "profiled")
        rows = record(["user.c"])
        stacks_match(rows)
        counts_match(rows, counted(["user.c", "library.c"]))


@case("signals at any moment leave the stack right")
@smoke
def storm():
    plain(["storm.c"], "-O2")
    for options in (["-O0"], ["-O2"], ["-O2", "--inlined"]):
        profiled(["storm.c"], *options)
        rows = record(["storm.c"])
        stacks_match(rows)
        calls = calls_of(rows)
        assert calls["work"] == 30 * (3 ** 11 - 1) // 2, calls
        assert calls["leaf"] - calls["work"] == calls.get("handle", 0), calls


@case("handlers on a stack of their own, and longjmp out of them, leave the stack right")
@smoke
def other_stack():
    names = [os.path.join(HERE, "programs", "handlers.c")]
    plain(names, "-O2")
    for options in (["-O0"], ["-O2"], ["-O2", "--inlined"]):
        profiled(names, *options)
        rows = record(names)
        stacks_match(rows)
        calls = calls_of(rows)
        assert (calls["handle"], calls["jump"], calls["round_trip"], calls["after_each"]) == \
            (50, 50, 50, 100), calls


@case("coroutines leave the stack right")
def coroutines():
    for level in ("-O0", "-O2"):
        plain(["coroutines.cpp"], level)
        profiled(["coroutines.cpp"], level)
        rows = record(["coroutines.cpp"])
        stacks_match(rows)
        calls = calls_of(rows)
        assert calls["work"] == 10 and calls["fail"] == 5, calls


@case("what is profiled is chosen by size and attribute; what never ran is known")
def choice():
    text = "int used(int n), never(int n), skipped(int n);" \
        "__attribute__((weak)) int used(int n) { return n * 3; }" \
        "__attribute__((weak)) int never(int n) { return n * 5; }" \
        "__attribute__((weak, xray_never_instrument)) int skipped(int n) { return n; }" \
        "int main(int n, char **a) { return n > 3 ? never(n) : used(n) + skipped(n) - 4 + !a; }"
    compile_text(text, "--zero", "-o", "profiled")
    run("./profiled", CAIRN_OUT="x.cairn")
    rows = {row["block"]["name"]: row["calls"] for row in report("x.cairn")["flat"]}
    assert rows["used"] == rows["main"] == 1 and "skipped" not in rows, rows
    shown = run(CAIRN, "report", "--zero", "x.cairn")
    assert "never" in shown and "used" not in shown, shown
    compile_text(text, "--small=1000", "-o", "profiled")
    run("./profiled", CAIRN_OUT="x.cairn")
    assert {row["block"]["name"] for row in report("x.cairn")["flat"]} == {"[root]"}
    for option in ("--only=x", "--branch", "--verify", "--calls"):
        done = run(CAIRN, "clang", option, "text.c", status=2)
        assert not done, done


@case("what unwinds from inside of sleds finds who called")
@smoke
def unwinds():
    harness.unwind(front([]), ["-O0"], ["-O2"], ["-O2", "--inlined"])


@case("scopes that are marked by hand end where they do, but for one that is jumped out of")
def scopes_by_hand():
    harness.scopes(5, ["-O0"], ["-O2"], ["-O2", "--inlined"], ["-O2", "-static"])


# clang's C has no nested functions: what they are nested in is an argument of its own.
NESTED = """
define i32 @inner(i8* nest %outer, i32 %n) noinline "function-instrument"="xray-always" {
  %place = bitcast i8* %outer to i32*
  %value = load i32, i32* %place
  %sum = add i32 %value, %n
  ret i32 %sum
}
define i32 @jumps(i8* nest %outer, i32 %n) noinline "function-instrument"="xray-always" {
  %sum = tail call i32 @inner(i8* nest %outer, i32 %n)
  ret i32 %sum
}
define i32 @main() "function-instrument"="xray-always" {
  %variable = alloca i32
  store i32 40, i32* %variable
  %outer = bitcast i32* %variable to i8*
  %sum = call i32 @jumps(i8* nest %outer, i32 2)
  %differs = icmp ne i32 %sum, 42
  %status = zext i1 %differs to i32
  ret i32 %status
}
"""


@case("sleds keep what a nested function is nested in")
@smoke
def nested():
    with open("nested.ll", "w", encoding="utf-8") as file:
        file.write(NESTED)
    for level in ("-O0", "-O2"):
        run(*front([]), level, "-Wno-override-module", "nested.ll", "-o", "nested")
        run("./nested", CAIRN_OUT="x.cairn")
        calls = calls_of(harness.contexts("x.cairn"))
        assert calls["inner"] == calls["jumps"] == 1, calls


@case("allocation and time as with gcc")
@smoke
def other_kinds():
    profiled(["branches.cpp"], "-O0", "-Wno-unknown-attributes", "--profile=alloc")
    run("./profiled", CAIRN_OUT="x.cairn")
    rows = harness.flat("x.cairn", "-m", "calls,alloc bytes,freed bytes")
    assert rows["allocate"]["self"]["alloc bytes"] == 10 * 100 + 12345, rows["allocate"]
    assert rows["keep"]["inclusive"]["alloc bytes"] == 10 * 100, rows["keep"]
    profiled(["busy.c"], "-O2", "--profile=time")
    assert run("./profiled", CAIRN_OUT="x.cairn") == "done\n"
    rows = harness.flat("x.cairn")
    total = sum(row["self"]["cpu"] for row in rows.values())
    assert rows["burn_much"]["inclusive"]["cpu"] > 0.5 * total, rows


@case("the plugin for gcc is not needed")
def no_plugin():
    there = os.path.dirname(CAIRN)
    os.makedirs("tool/hosts/gcc")
    shutil.copy(CAIRN, "tool/cairn")
    for name in ("src", "hosts/alloc", "hosts/clang"):
        os.symlink(os.path.join(there, name), os.path.join("tool", name))
    for name in os.listdir(os.path.join(there, "hosts/gcc")):
        if name != "cairn_gcc.so":
            os.symlink(os.path.join(there, "hosts/gcc", name), os.path.join("tool/hosts/gcc", name))
    with open("empty.c", "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    run("tool/cairn", "clang", "empty.c", "-o", "empty")
    run("./empty", CAIRN_OUT="x.cairn")
    assert calls_of(harness.contexts("x.cairn"))["main"] == 1


if __name__ == "__main__":
    sys.exit(harness.main())
