#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds all functions of libc that may be called on threads that libc does not know: the collector of
`cairn run`, and the thread that charges the samples of `cairn cc --profile=time`. Holds them against
the table "Calls of libc on hidden threads" of docs/SAMPLING.md.

Usage: hidden_calls.py TABLE LIBCAIRN SAMPLE [TIME]        prints TAP
"""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "alloc"))
import libc_calls  # noqa: E402

# Neither thread calls these: its profile has no other thread and no timer, and it is not in a child
# that no fork handler knows of.
NEVER = ["cairn_priv_process_begin_unseen", "cairn_process_profile", "crn_helper_halt", "crn_helper_let_end",
         "crn_helper_start", "crn_helper_stop", "crn_hidden_thread_start", "crn_off_core_start",
         "crn_preparer_start", "crn_sampler_start", "crn_timer_start", "crn_timers_begin"]
# The collector makes no system call that the library's own `syscall` does something about. The other
# thread ends with its process, so it is in no child.
NEVER_BY = {"collector": ["_exit", "before_filter", "crn_sample_end_early", "crn_sample_go_on", "crn_sample_pause",
                          "crn_sample_show", "crn_sample_signal_block", "crn_sample_signal_is_kept", "handle",
                          "pthread_create"],
            "charging": ["crn_child_begin"]}
BEGIN = {"collector": "collect", "charging": "charge_in_turns"}


def read_graphs(libraries):
    """The graph of libraries that call each other."""
    whole = {}
    for library in libraries:
        for function, names in libc_calls.read_graph(library).items():
            whole.setdefault(function, set()).update(names)
    for function, names in whole.items():
        bare = {name.split("@")[0]: name for name in names}
        whole[function] = {name if name in whole else full for name, full in bare.items()}
    return whole


def read_table(path):
    with open(path, encoding="utf-8") as file:
        section = file.read().split("## Calls of libc on hidden threads", 1)[1].split("\n## ")[0]
    return {name: set(threads.split(", "))
            for threads, names in re.findall(r"^\| ((?:both|collector|charging)) \| ([^|]+) \| [^|]{10,} \|$",
                                             section, re.M)
            for name in names.split(", ")}


def faults_of(thread, graph, table, needed):
    for name, path in libc_calls.called(graph, [BEGIN[thread]], NEVER + NEVER_BY[thread]).items():
        needed.add(name)
        if not {"both", thread} & table.get(name, set()) and name not in libc_calls.MEMORY and "cairn" not in name:
            yield f"{name} ({thread}): " + " > ".join(path)


def is_bound_early(library):
    """Calls of other libraries are bound when the library is loaded: the loader binds no call on a hidden thread."""
    headers = subprocess.run(["objdump", "-p", library], capture_output=True, text=True, check=True).stdout
    return any(int(flags, 16) & bit for name, bit in (("FLAGS", 8), ("FLAGS_1", 1))
               for flags in re.findall(rf"^ +{name} +(0x[0-9a-f]+)$", headers, re.M))


def main():
    path, libcairn, sample, *time = sys.argv[1:]
    if os.uname().machine != "x86_64" or not shutil.which("objdump"):
        print("1..0 # SKIP reads x86-64 code with objdump, which is not here")
        return 0
    table, needed, faults = read_table(path), set(), []
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
    forbidden = list(faults_of("collector", graphs["collector"], {}, set()))
    late = [library for library in (libcairn, sample, *time) if not is_bound_early(library)]
    print("1..3")
    print(("ok" if forbidden else "not ok") + " 1 - a call that is not in the table is found")
    print(("ok" if not faults else "not ok") + " 2 - the table of docs/SAMPLING.md is right")
    print("".join(f"# {fault}\n" for fault in sorted(faults)), end="")
    print(("ok" if not late else "not ok") + " 3 - all calls are bound when the libraries are loaded")
    print("".join(f"# {library} is not linked with -z now\n" for library in late), end="")
    return 1 if faults or late or not forbidden else 0


if __name__ == "__main__":
    sys.exit(main())
