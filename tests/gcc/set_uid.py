#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that `cairn cc` has compiled, owned by root and set-uid, is run by another user whose
environment asks for a capture: it does not write one. Without the set-uid bit it does.

Usage: set_uid.py CAIRN        prints TAP
"""
import os
import stat
import subprocess
import sys
import tempfile

CAIRN = os.path.abspath(sys.argv[1])
KINDS = ["count", "time", "alloc"]
NOBODY = 65534

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int sum;
__attribute__((noinline)) static void work(void) {
    for (int i = 0; i < 100000; i++) sum += i;
    free(malloc(100));
}
int main(void) {
    for (int i = 0; i < 100; i++) work();
    printf("%d %d\\n", (int)getuid(), (int)geteuid());
    return 0;
}
"""


def run_as_nobody(program, capture):
    return subprocess.run([program], user=NOBODY, group=NOBODY, extra_groups=[], umask=0,
                          env={"CAIRN_OUT": capture, "CAIRN_ALLOC": "exact", "CAIRN_SEED": "1"},
                          capture_output=True, text=True, timeout=60, check=False)


def fault_of(place, kind):
    """Returns an error or None; "skip: ..." if set-uid programs cannot run here."""
    program, folder = os.path.join(place, kind), os.path.join(place, "out-" + kind)
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    subprocess.run([CAIRN, "cc", "--profile=" + kind, "-O1", "-o", program,
                    os.path.join(place, "program.c")], check=True)
    capture = os.path.join(folder, "plain.cairn")
    plain = run_as_nobody(program, capture)
    if plain.returncode != 0:
        return "skip: another user cannot run the program: " + plain.stderr.strip()
    if sorted(os.listdir(folder)) != ["plain.cairn"]:
        return f"a plain program leaves {os.listdir(folder)}"
    mode = stat.S_IMODE(os.stat(capture).st_mode)
    if mode != 0o600:
        return f"the capture has mode {mode:o}"
    if subprocess.run([CAIRN, "report", capture], capture_output=True, check=False).returncode != 0:
        return "the capture of a plain program cannot be read"
    os.unlink(capture)
    os.chmod(program, 0o4755)
    done = run_as_nobody(program, os.path.join(folder, "set-uid.cairn"))
    if done.stdout == f"{NOBODY} {NOBODY}\n":
        return "skip: this file system ignores the set-uid bit"
    if done.stdout != f"{NOBODY} 0\n" or done.stderr:
        return f"the set-uid program does not do what it does: {done}"
    if os.listdir(folder):
        return f"a set-uid program leaves {os.listdir(folder)}"
    return None


def link_fault_of(place):
    """A symbolic link at the capture's place is not followed, and stays."""
    target, link = os.path.join(place, "target"), os.path.join(place, "link.cairn")
    os.symlink(target, link)
    subprocess.run([os.path.join(place, "count")], env={"CAIRN_OUT": link}, check=True,
                   capture_output=True)
    if os.path.exists(target) or not os.path.islink(link):
        return "the capture went through a symbolic link"
    return None


def main():
    print(f"1..{len(KINDS) + 1}")
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        with open(os.path.join(place, "program.c"), "w", encoding="utf-8") as file:
            file.write(SOURCE)
        for number, kind in enumerate(KINDS, 1):
            name = f"{number} - a set-uid program with --profile={kind} writes no capture"
            if os.geteuid() != 0:
                print(f"ok {name} # SKIP only root can make one for another user")
                continue
            fault = fault_of(place, kind)
            if fault and fault.startswith("skip: "):
                print(f"ok {name} # SKIP {fault[6:]}")
                continue
            failed += bool(fault)
            print(("not ok " if fault else "ok ") + name + (f"\n# {fault}" if fault else ""))
        number, name = len(KINDS) + 1, "a symbolic link is not followed"
        if os.geteuid() != 0:
            print(f"ok {number} - {name} # SKIP needs the programs from above")
            return 0
        fault = link_fault_of(place)
        failed += bool(fault)
        print(("not ok " if fault else "ok ") + f"{number} - {name}"
              + (f"\n# {fault}" if fault else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
