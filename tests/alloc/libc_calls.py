#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds all functions of libc that libcairn-alloc may call from inside malloc and its kin, and holds
them against the table "Calls of libc from inside malloc" of docs/ALLOC.md.

libc itself calls malloc while it holds locks: of a thread, of the environment, of a stream. A
function that takes such a lock waits for ever if the profiler calls it there. The call graph is read
from the disassembly; a function whose address is taken counts as called.

Usage: libc_calls.py LIBRARY TABLE        prints TAP
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

INTERPOSED = ["malloc", "calloc", "realloc", "reallocarray", "free", "aligned_alloc", "memalign",
              "posix_memalign", "valloc", "pvalloc"]
# Functions that are called through tables of pointers, and the destructor of the thread's key.
BY_POINTER = ["cairn_context_charge", "cairn_context_counters", "cairn_lane_profile",
              "cairn_priv_catch_up", "cairn_priv_generation", "cairn_priv_memory_show",
              "cairn_strand_context", "grow_lane",
              "thread_ends"]
# The rows of the table by when a call is made: each begins at these functions.
ROOTS = {"any": INTERPOSED + BY_POINTER, "start": ["crn_start"], "fork": ["crn_child_begin"]}
# A profile of libcairn-alloc has no clock: it starts neither threads nor timers.
WITHOUT_CLOCK = ["crn_sampler_start", "crn_preparer_start", "crn_off_core_start",
                 "crn_timers_begin", "crn_timer_start"]

# Compilers call these in place of each other, and of loops. They only touch memory.
MEMORY = {"memcpy", "memmove", "memset", "memcmp", "bcmp", "memchr", "strlen", "strchr", "strcpy",
          "stpcpy", "strcat", "strcmp"}


def read_graph(library):
    """The names that each function mentions. Those of other libraries have an @."""
    text = subprocess.run(["objdump", "-dw", "--no-show-raw-insn", library], capture_output=True,
                          text=True, check=True).stdout
    graph, function = {}, None
    for line in text.split("\n"):
        begins = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if begins:
            function = begins.group(1)
            graph.setdefault(function, set())
        elif function:
            graph[function].update(re.sub(r"\+0x[0-9a-f]+$", "", name)
                                   for name in re.findall(r"<([^<>]+)>", line))
    return graph


def plain(name):
    """The name without its version, and without what fortification and large files add to it."""
    name = name.split("@")[0]
    name = re.sub(r"^__(\w+)_chk$", r"\1", name)
    return re.sub(r"^(\w+?)64(_time64)?$", r"\1", name.replace("v64v2", "v2"))


def called(graph, roots, without):
    """The functions of other libraries, each with one path that leads there."""
    paths = {root: [root] for root in roots if root in graph}
    found, pending = {}, list(paths)
    while pending:
        function = pending.pop()
        for name in graph[function]:
            if "@" in name:
                found.setdefault(plain(name), paths[function] + [name])
            elif name in graph and name not in paths and name not in without:
                paths[name] = paths[function] + [name]
                pending.append(name)
    return found


def faults_of(graph, table):
    """Calls that the table does not allow, and rows of the table without a call."""
    roots = set(sum(ROOTS.values(), []))
    needed = set()
    for when, begin in ROOTS.items():
        others = [name for name in roots if name not in begin]
        for name, path in called(graph, begin, WITHOUT_CLOCK + others).items():
            allowed = table.get(name, set())
            needed.add(name)
            if not {"any", when} & allowed and name not in MEMORY:
                yield f"{name} ({when}): " + " > ".join(path)
    for name in table:
        if name not in needed and name not in MEMORY:
            yield f"{name} is in the table and is not called"


def read_table(path):
    """The names of functions by when they may be called."""
    with open(path, encoding="utf-8") as file:
        section = file.read().split("## Calls of libc from inside malloc", 1)[1].split("\n## ")[0]
    table = {}
    for when, names in re.findall(r"^\| ((?:any|start|fork|, )+) \| ([^|]+) \| [^|]{10,} \|$", section, re.M):
        table.update({name: set(when.split(", ")) for name in names.split(", ")})
    return table


CASE = """
#include <pthread.h>
#include <stdlib.h>
static int deeper(void) { pthread_attr_t a; return pthread_getattr_np(pthread_self(), &a); }
static int (*volatile pointer)(void);
void *malloc(size_t size) { pointer = deeper; return (void *)(size + pointer()); }
"""


def finds_what_it_must():
    """A malloc that asks for the stack's bounds, through a pointer."""
    with tempfile.TemporaryDirectory() as place:
        source, library = os.path.join(place, "case.c"), os.path.join(place, "case.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write(CASE)
        subprocess.run([*os.environ.get("CC", "cc").split(), "-D_GNU_SOURCE", "-O2", "-shared",
                        "-fPIC", "-fno-builtin", "-o", library, source], check=True)
        faults = " ".join(faults_of(read_graph(library), {"pthread_self": {"any"}}))
    return "pthread_getattr_np (any): malloc > deeper > " in faults


def main():
    library, path = sys.argv[1:3]
    if os.uname().machine != "x86_64" or not shutil.which("objdump"):
        print("1..0 # SKIP reads x86-64 code with objdump, which is not here")
        return 0
    print("1..3")
    graph, table = read_graph(library), read_table(path)
    faults = sorted(faults_of(graph, table))
    missing = [name for name in sum(ROOTS.values(), []) + WITHOUT_CLOCK if name not in graph]
    found = finds_what_it_must()
    print(("ok" if found else "not ok") + " 1 - a call that is not in the table is found")
    print(("ok" if not missing else "not ok") + " 2 - all functions that calls begin at are there")
    print("".join(f"# {name} is missing\n" for name in missing), end="")
    print(("ok" if not faults else "not ok") + " 3 - the table of docs/ALLOC.md is right")
    print("".join(f"# {fault}\n" for fault in faults), end="")
    return 1 if faults or missing or not found else 0


if __name__ == "__main__":
    sys.exit(main())
