#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds all functions of libc that may be called on threads that libc does not know: the collector of
`cairn run`, and the thread that charges the samples of `cairn cc --profile=time`. Holds them against
the table "Calls of libc on hidden threads" of docs/SAMPLING.md, and against the lists of functions that must be libc's
own (`called` of hosts/sample/hidden.c and hosts/gcc/ids.c).

Usage: hidden_calls.py TABLE LIBCAIRN SAMPLE [TIME]        prints TAP
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "alloc"))
import libc_calls  # noqa: E402

# Neither thread calls these: its profile has no other thread, and it is not in a child that no fork handler knows of.
# Those of timers return at once, as the profile has no timers.
NEVER = ["cairn_priv_process_begin_unseen", "cairn_process_profile", "crn_fork_begin_unseen", "crn_helper_halt",
         "crn_helper_let_end", "crn_helper_start", "crn_helper_stop", "crn_hidden_thread_start", "crn_off_core_start",
         "crn_preparer_start", "crn_sampler_start", "crn_timer_forget", "crn_timer_start", "crn_timer_stop",
         "crn_timers_begin"]
# The collector makes no system call that the library's own `syscall` does something about. The other
# thread ends with its process, so it is in no child.
NEVER_BY = {"collector": ["_exit", "before_filter", "crn_sample_end_early", "crn_sample_go_on", "crn_sample_pause",
                          "crn_sample_show", "crn_sample_signal_block", "crn_sample_signal_is_kept", "handle",
                          "pthread_create"],
            "charging": ["crn_child_begin"]}
OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIST = {"collector": os.path.join(OURS, "hosts/sample/hidden.c"), "charging": os.path.join(OURS, "hosts/gcc/ids.c")}
HARMLESS = ["memory only", "reads a constant"]  # reasons in the table
# Calls that neither thread reaches, by functions that it does call (before and after inlining). Memory is from malloc
# in builds with a sanitizer alone. The thread has said that it is hidden (cairn_priv_thread_is_hidden). Walks of the
# own stack alone ask for the thread's state of Python. The collector's starter has found libc's functions.
CUT = {"calloc": ["crn_try_calloc", "crn_try_table"], "realloc": ["crn_try_realloc"],
       "free": ["crn_free", "crn_free_table"],
       "pthread_key_create": ["be_told_of_end", "crn_lane_own"],
       "pthread_setspecific": ["be_told_of_end", "crn_lane_own"],
       "pthread_getspecific": ["own_state", "add_chain"],
       "dlsym": ["crn_sample_find_call", "crn_sample_leave", "crn_sample_mask"]}
BEGIN = {"collector": "collect", "charging": "charge_in_turns"}


def whole_name(name):
    """The name of a function of which the compiler has made parts or copies."""
    return re.sub(r"(\.(part|isra|constprop|cold)(\.\d+)?)+$", "", name)


def read_graphs(libraries):
    """The graph of libraries that call each other, without the calls of CUT."""
    whole = {}
    for library in libraries:
        for function, names in libc_calls.read_graph(library).items():
            function = whole_name(function)
            whole.setdefault(function, set()).update(
                whole_name(name) for name in names if function not in CUT.get(name.split("@")[0], []))
    for function, names in whole.items():
        bare = {name.split("@")[0]: name for name in names}
        whole[function] = {name if name in whole else full for name, full in bare.items()}
    return whole


def read_table(path):
    with open(path, encoding="utf-8") as file:
        section = file.read().split("## Calls of libc on hidden threads", 1)[1].split("\n## ")[0]
    rows = re.findall(r"^\| ((?:both|collector|charging)) \| ([^|]+) \| ([^|]{10,}) \|$", section, re.M)
    names = {name: {threads} for threads, names, _ in rows for name in names.split(", ")}
    return names, {name for _, names, why in rows if why in HARMLESS for name in names.split(", ")}


def reached(thread, graph):
    """The functions of libc, each with one path that leads there."""
    return libc_calls.called(graph, [BEGIN[thread]], NEVER + NEVER_BY[thread])


def faults_of(thread, graph, table, needed):
    for name, path in reached(thread, graph).items():
        needed.add(name)
        if not {"both", thread} & table.get(name, set()) and name not in libc_calls.MEMORY and "cairn" not in name:
            yield f"{name} ({thread}): " + " > ".join(path)


def unlisted(thread, graph, harmless):
    """Functions that the program may replace by its own, though the thread calls them. Those that only touch memory may
    be the program's."""
    with open(LIST[thread], encoding="utf-8") as file:
        listed = set(re.findall(r'"(\w+)"', file.read().split("called[] = {", 1)[1].split("}", 1)[0]))
    for name, path in reached(thread, graph).items():
        called = path[-1].split("@")[0]
        if called not in listed and name not in harmless and "cairn" not in name:
            yield f"{called} ({thread}) is not listed in {os.path.relpath(LIST[thread], OURS)}"


def is_bound_early(library):
    """Calls of other libraries are bound when the library is loaded: the loader binds no call on a hidden thread."""
    headers = subprocess.run(["objdump", "-p", library], capture_output=True, text=True, check=True).stdout
    return any(int(flags, 16) & bit for name, bit in (("FLAGS", 8), ("FLAGS_1", 1))
               for flags in re.findall(rf"^ +{name} +(0x[0-9a-f]+)$", headers, re.M))


CASE = """
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *deeper(void *data) { pthread_mutex_lock(&mutex); free(data); return data; }
static void *(*volatile pointer)(void *data);
void crn_free(void *memory) { free(memory); }
void crn_timer_stop(void) { pthread_mutex_unlock(&mutex); }
void *collect(void *data) { crn_free(data); crn_timer_stop(); pointer = deeper; return pointer(data); }
"""


def finds_what_it_must():
    """A collector that locks and frees, through a pointer, and calls functions that stop before they do."""
    with tempfile.TemporaryDirectory() as place:
        source, library = os.path.join(place, "case.c"), os.path.join(place, "case.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write(CASE)
        subprocess.run([*os.environ.get("CC", "cc").split(), "-O2", "-shared", "-fPIC", "-fno-builtin", "-fno-inline",
                        "-o", library, source], check=True)
        graph = read_graphs([library])
        faults = {fault.split(" > ")[-2] + " > " + fault.split()[0]
                  for fault in faults_of("collector", graph, {}, set())}
        missing = [fault.split()[0] for fault in unlisted("collector", graph, set())]
    return faults == {"deeper > pthread_mutex_lock", "deeper > free"} and set(missing) == {"free", "pthread_mutex_lock"}


def main():
    path, libcairn, sample, *time = sys.argv[1:]
    if os.uname().machine != "x86_64" or not shutil.which("objdump"):
        print("1..0 # SKIP reads x86-64 code with objdump, which is not here")
        return 0
    (table, harmless), needed, faults = read_table(path), set(), []
    graphs = {"collector": read_graphs([sample])}
    if time:
        graphs["charging"] = read_graphs([*time, libcairn])
    for thread, graph in graphs.items():
        if BEGIN[thread] not in graph:
            faults.append(f"{BEGIN[thread]} is missing")
        faults += faults_of(thread, graph, table, needed)
    if time:
        faults += [f"{name} is in the table and is not called" for name in table
                   if name not in needed and name not in libc_calls.MEMORY]
    late = [library for library in (libcairn, sample, *time) if not is_bound_early(library)]
    replaceable = [fault for thread, graph in graphs.items()
                   for fault in unlisted(thread, graph, harmless | libc_calls.MEMORY)]
    found = finds_what_it_must()
    print("1..4")
    print(("ok" if found else "not ok") + " 1 - a call that is not in the table is found")
    print(("ok" if not faults else "not ok") + " 2 - the table of docs/SAMPLING.md is right")
    print("".join(f"# {fault}\n" for fault in sorted(faults)), end="")
    print(("ok" if not late else "not ok") + " 3 - all calls are bound when the libraries are loaded")
    print("".join(f"# {library} is not linked with -z now\n" for library in late), end="")
    print(("ok" if not replaceable else "not ok") + " 4 - functions that must be libc's own are listed")
    print("".join(f"# {fault}\n" for fault in replaceable), end="")
    return 1 if faults or late or replaceable or not found else 0


if __name__ == "__main__":
    sys.exit(main())
