#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An installed Cairn: below a prefix of its own its programs have a run path, and below /usr none, as
the dynamic linker finds libraries there by itself. A mount in a namespace of its own puts the
installation below /usr.

Usage: installed.py CAIRN        prints TAP
"""
import os
import shutil
import subprocess
import sys
import tempfile

CAIRN = os.path.abspath(sys.argv[1])
BUILD = os.path.dirname(CAIRN)
LIBRARIES = [("src", "libcairn"), ("hosts/gcc", "libcairn-gcc")]
PARTS = ["hosts/gcc/cairn_gcc.so", "hosts/gcc/cairn_begin.o"]
SOURCE = """
__attribute__((noinline)) static int twice(volatile int *of) { return *of * 2; }
int main(void) { volatile int none = 0; return twice(&none); }
"""


def install(prefix):
    for folder in ("bin", "lib", "libexec/cairn"):
        os.makedirs(os.path.join(prefix, folder))
    shutil.copy(CAIRN, os.path.join(prefix, "bin"))
    for part in PARTS:
        shutil.copy(os.path.join(BUILD, part), os.path.join(prefix, "libexec/cairn"))
    for folder, name in LIBRARIES:
        shutil.copy(os.path.join(BUILD, folder, name + ".so.0"), os.path.join(prefix, "lib"))
        os.symlink(name + ".so.0", os.path.join(prefix, "lib", name + ".so"))


def try_below(prefix, before=""):
    """Compiles and runs a program by the installation, after a command of the shell. Returns what
    readelf says of the program, and an error or None."""
    script = (f"{before} {prefix}/bin/cairn cc -O1 -o program program.c && "
              "CAIRN_OUT=$PWD/program.cairn ./program && readelf -d program")
    command = (["unshare", "-rm"] if before else []) + ["sh", "-c", script]
    if os.path.exists("program.cairn"):
        os.unlink("program.cairn")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        return "", done.stdout + done.stderr
    shown = subprocess.run([CAIRN, "report", "program.cairn"], capture_output=True, text=True,
                           check=False).stdout
    return done.stdout, None if "twice" in shown else "the capture lacks a function: " + shown


def fault_of_own_prefix(prefix):
    dynamic, fault = try_below(prefix)
    return fault or (None if f"[{prefix}/lib]" in dynamic else "no run path: " + dynamic)


def fault_below_usr(prefix):
    mount = f"mount -t overlay overlay -o lowerdir={prefix}:/usr /usr &&"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount + " true"], capture_output=True,
                      check=False).returncode:
        return "skip: no mounts here"
    dynamic, fault = try_below("/usr", mount)
    return fault or ("a run path: " + dynamic if "RUNPATH" in dynamic else None)


def main():
    cases = [("below a prefix of its own", fault_of_own_prefix), ("below /usr", fault_below_usr)]
    failed = 0
    print(f"1..{len(cases)}")
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        prefix = os.path.join(os.path.realpath(place), "prefix")
        install(prefix)
        with open("program.c", "w", encoding="utf-8") as file:
            file.write(SOURCE)
        for number, (name, check) in enumerate(cases, 1):
            fault = check(prefix)
            if fault and fault.startswith("skip: "):
                print(f"ok {number} - {name} # SKIP {fault[6:]}")
                continue
            failed += bool(fault)
            print(f"{'not ok' if fault else 'ok'} {number} - {name}")
            for line in (fault or "").splitlines():
                print("# " + line)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
