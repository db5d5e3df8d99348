#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose threads begin or end in unusual ways run under `cairn run --alloc`: they end as
they do without it, and the capture agrees with their own books.

Usage: threads.py CAIRN THREADS        prints TAP
"""
import glob
import json
import os
import shutil
import subprocess
import sys

from cases import run_all

CAIRN, THREADS = (os.path.abspath(argument) for argument in sys.argv[1:3])
MODES = ["exact", "524288"]
FIGURES = ["alloc bytes", "alloc objects", "freed bytes", "freed objects"]
LIMIT = 120  # seconds; each program takes less than five


def run(*command, mode):
    environment = dict(os.environ, ALLOC_BOOKS="books")
    for name in ("CAIRN_OUT", "CAIRN_ALLOC", "LD_PRELOAD"):
        environment.pop(name, None)
    done = subprocess.run([CAIRN, "run", "--quiet", "--alloc=" + mode, "-o", "x.cairn", *command],
                          env=environment, capture_output=True, text=True, timeout=LIMIT,
                          check=False)
    assert done.returncode == 0, (mode, done)
    return done.stdout


def figures_by_function(kind, capture="x.cairn"):
    found = subprocess.run([CAIRN, "report", "--json", "--top", "0", "--metric", ",".join(FIGURES),
                            capture], capture_output=True, text=True, check=True)
    sums = {}
    for row in json.loads(found.stdout)["flat"]:
        before = sums.get(row["block"]["name"], [0] * len(FIGURES))
        sums[row["block"]["name"]] = [a + row[kind].get(f, 0) for a, f in zip(before, FIGURES)]
    return sums


def books():
    with open("books", encoding="utf-8") as file:
        lines = [line.split() for line in file]
    return {line[0]: [int(number) for number in line[1:]] for line in lines}


def agrees_with_books():
    figures = figures_by_function("self")
    for function, expected in books().items():
        assert figures.get(function) == expected, (function, figures.get(function), expected)


def a_thread_asks_for_its_stack_before_it_allocates():
    for mode in MODES:
        run(THREADS, "asks_for_stack", mode=mode)
        if mode == "exact":
            agrees_with_books()


def java():
    if not shutil.which("java") or not shutil.which("javac"):
        return "java is not here"
    with open("Hello.java", "w", encoding="utf-8") as file:
        file.write("""public class Hello {
            public static void main(String[] arguments) throws Exception {
                Thread thread = new Thread(() -> System.out.println("from a thread"));
                thread.start();
                thread.join();
            }
        }""")
    subprocess.run(["javac", "Hello.java"], check=True, timeout=LIMIT)
    for mode in MODES:
        assert run("java", "Hello", mode=mode) == "from a thread\n"
    return None


def rust():
    if not shutil.which("rustc"):
        return "rustc is not here"
    with open("hello.rs", "w", encoding="utf-8") as file:
        file.write("""fn main() {
            let threads: Vec<_> = (0..8)
                .map(|i| std::thread::spawn(move || vec![i; 1000].iter().sum::<usize>()))
                .collect();
            let total: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
            println!("{total}");
        }""")
    subprocess.run(["rustc", "-O", "hello.rs"], check=True, timeout=LIMIT)
    for mode in MODES:
        assert run("./hello", mode=mode) == "28000\n"
    return None


def a_constructor_sets_the_environment_before_anything_is_allocated():
    with open("set.c", "w", encoding="utf-8") as file:
        file.write("""#include <stdlib.h>
            __attribute__((constructor)) static void set(void) { setenv("SET_EARLY", "yes", 1); }
            int is_there(void) { return 1; }""")
    with open("main.c", "w", encoding="utf-8") as file:
        file.write("""#include <stdio.h>
            #include <stdlib.h>
            int is_there(void);
            int main(void) { printf("%d %s %s", is_there(), getenv("SET_EARLY"),
                                    getenv("CAIRN_OUT") ? "seen" : "not seen"); return 0; }""")
    compiler = os.environ.get("CC", "cc").split()
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", "libset.so", "set.c"], check=True)
    subprocess.run([*compiler, "-o", "main", "main.c", "./libset.so"], check=True)
    for mode in MODES:
        assert run("./main", mode=mode) == "1 yes not seen"


def detached_threads():
    for _ in range(3):
        assert run(THREADS, "detached", mode="exact") == "this line was buffered"
        agrees_with_books()
        # Ending threads free what libc had allocated for the stacks of others.
        made, gone = figures_by_function("inclusive")["start_thread"][1::2]
        assert 0 < gone < made, (made, gone)


def many_short_detached_threads():
    for mode in ("524288", "1000"):
        assert run(THREADS, "many_detached", mode=mode) == "this line was buffered"


def threads_that_only_free():
    run(THREADS, "only_frees", mode="exact")
    agrees_with_books()


def threads_that_only_free_in_a_child_of_fork():
    run(THREADS, "only_frees_and_forks", mode="exact")
    agrees_with_books()
    child, = glob.glob("x.*.cairn")
    assert figures_by_function("self", child)["by_malloc"] == books()["by_malloc"]


TESTS = [a_thread_asks_for_its_stack_before_it_allocates, java, rust,
         a_constructor_sets_the_environment_before_anything_is_allocated, detached_threads,
         many_short_detached_threads, threads_that_only_free,
         threads_that_only_free_in_a_child_of_fork]


if __name__ == "__main__":
    sys.exit(run_all(TESTS))
