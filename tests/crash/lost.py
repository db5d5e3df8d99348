#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The capture of a running program is cut to a random length, under each host: the program prints and
returns what it does alone, and no report shows what is left as if it were the whole run. Programs work
until they are told on standard input that the capture has been cut, and then some more.

Usage: lost.py CAIRN [RUNS]        prints TAP
"""
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

CAIRN = os.path.abspath(sys.argv[1])
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 100 if os.environ.get("CAIRN_TEST_LONG") else 4

# Many contexts, allocations, a second thread and an own handler of SIGBUS, which must not be called.
NATIVE = r"""
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void on_fault(int number) { (void)number; _exit(9); }
#define FUNCTION(n) __attribute__((noinline)) static unsigned f##n(unsigned seed, int depth);
#define ALL FUNCTION(0) FUNCTION(1) FUNCTION(2) FUNCTION(3) FUNCTION(4) FUNCTION(5)
ALL
static unsigned (*const functions[])(unsigned, int) = {f0, f1, f2, f3, f4, f5};
__attribute__((noinline)) static unsigned next(unsigned seed, int depth)
{
    unsigned sum = seed;
    for (unsigned i = 0; i < seed % 3 && depth < 12; i++)
        sum += functions[(seed >> 8) % 6](seed * 1664525u + i * 1013904223u, depth + 1);
    return sum;
}
#undef FUNCTION
#define FUNCTION(n) static unsigned f##n(unsigned seed, int depth) \
    { unsigned *volatile block = malloc(sizeof *block + seed % 100); *block = next(seed, depth); \
      unsigned sum = *block + n; free(block); return sum; }
ALL
static bool is_told(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}
static unsigned turn(unsigned seed)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 500; i++)
        sum += next(i * 2654435761u + seed, 0);
    return sum;
}
static void *work(void *data)
{
    unsigned seed = *(unsigned *)data, sum = 0;
    for (unsigned i = 0; !is_told(); i++)
        turn(seed + i);
    for (unsigned i = 0; i < 20; i++)
        sum += turn(seed + i);
    *(unsigned *)data = sum;
    return NULL;
}
int main(void)
{
    unsigned sums[2] = {1, 2};
    pthread_t thread;
    struct sigaction action = {.sa_handler = on_fault};
    sigaction(SIGBUS, &action, NULL);
    pthread_create(&thread, NULL, work, &sums[1]);
    work(&sums[0]);
    pthread_join(thread, NULL);
    if (sigaction(SIGBUS, NULL, &action) != 0 || action.sa_handler != on_fault)
        return 1;
    printf("%u\n", sums[0] + sums[1]);
    return 3;
}
"""
LUA = """
local function f(seed, depth)
  local t, sum = {seed}, seed
  for i = 1, seed % 3 do
    if depth < 12 then sum = sum + f((seed * 16807 + i * 12345) % 2147483647, depth + 1) end
  end
  return (sum + #t) % 1000003
end
local function work(from, to)
  local sum = 0
  for i = from, to do
    local g = load("local f = ... return function(s) local r = f(s, 0) return r end", "=g" .. i)(f)
    for s = 1, 60 do sum = sum + g(s * i) end
  end
  return sum
end
local sum = work(1, 60)
print("waiting")
io.stdout:flush()
io.read()
print(sum + work(61, 200))
os.exit(3)
"""


class Host:
    """How a program is started, the name of the capture that it writes, and whether it prints a line
    before it waits for the cut."""

    def __init__(self, name, command, environment=None, live="out.cairn", waits=False):
        self.name, self.command, self.environment = name, command, environment or {}
        self.live, self.waits = live, waits


def hosts(folder):
    source, script = os.path.join(folder, "program.c"), os.path.join(folder, "program.lua")
    open(source, "w").write(NATIVE)
    open(script, "w").write(LUA)
    plain = os.path.join(folder, "plain")
    subprocess.run(["cc", "-O1", "-g", "-pthread", source, "-o", plain], check=True)
    capture = os.path.join(folder, "out.cairn")
    run = [CAIRN, "run", "-o", capture]
    yield Host("sample", run + [plain], live="out.sampled.cairn"), [plain]
    yield Host("alloc", run + ["--alloc=1", plain]), [plain]
    for kind in ("count", "time"):
        built = os.path.join(folder, kind)
        done = subprocess.run([CAIRN, "cc", "--profile=" + kind, "-O1", "-g", "-pthread", source,
                               "-o", built], check=False, capture_output=True, text=True)
        if done.returncode == 0:
            yield Host("cairn cc --profile=" + kind, [built], {"CAIRN_OUT": capture}), [plain]
        else:
            print("# cairn cc --profile=%s: %s" % (kind, done.stderr.strip()))
    if subprocess.run([CAIRN, "run", "-o", capture, script], check=False, stdin=subprocess.DEVNULL,
                      capture_output=True).returncode == 3:
        plain_lua = ["lua5.4", script]
        for options in (["--exact"], ["--sample=1000"], ["--alloc"]):
            yield Host("lua " + options[0], run + options + [script], waits=True), plain_lua


def size_in_use(capture):
    """Returns the header's size: the file may be longer. Behind an earlier cut that is 0."""
    with open(capture, "rb") as file:
        header = file.read(48)
    in_use = struct.unpack_from("<Q", header, 40)[0] if len(header) == 48 else 0
    size = os.path.getsize(capture)
    return min(size, in_use) or size


def cut(capture, draw):
    size = size_in_use(capture)
    length = 0 if draw.random() < 0.25 else draw.randrange(max(size, 1))
    os.truncate(capture, length)
    return "from %d to %d bytes" % (size, length)


def run(host, folder, cuts, draw):
    """Returns the program's output and status, and to which length its capture was cut."""
    capture = os.path.join(folder, host.live)
    for name in ("out.cairn", "out.sampled.cairn"):
        if os.path.exists(os.path.join(folder, name)):
            os.unlink(os.path.join(folder, name))
    program = subprocess.Popen(host.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, cwd=folder,
                               env=dict(os.environ, **host.environment))
    first = program.stdout.readline() if host.waits else ""
    while cuts and not os.path.exists(capture) and program.poll() is None:
        time.sleep(0.001)
    lengths = []
    for _ in range(cuts):
        time.sleep(draw.random() / 20)
        lengths += [cut(capture, draw)]
    out, err = program.communicate("go on\n", timeout=120)
    return first + out, program.returncode, lengths, err


def says_so(folder):
    """Returns what the report says of the loss; None if it says nothing."""
    done = subprocess.run([CAIRN, "report", os.path.join(folder, "out.cairn")], capture_output=True,
                          text=True, check=False)
    assert done.returncode >= 0, done.returncode
    for line in (done.stderr + done.stdout).splitlines():
        if any(words in line for words in ("recording stopped", "truncated", "is empty", "damaged",
                                           "not a capture")):
            return line.strip()
    return None


def check(host, plain, folder):
    draw = random.Random(host.name)
    alone = subprocess.run(plain, input="go on\n", capture_output=True, text=True, check=False, cwd=folder)
    expected = (alone.stdout, alone.returncode)
    for number in range(RUNS + 1):
        out, status, lengths, err = run(host, folder, min(number, draw.choice((1, 1, 2))), draw)
        assert (out, status) == expected, (out, status, err, lengths)
        said = says_so(folder)
        assert bool(said) == bool(lengths), ("the report says", said, "of", lengths)


def main():
    with tempfile.TemporaryDirectory() as folder:
        number, failed = 0, False
        for host, plain in hosts(folder):
            number += 1
            try:
                check(host, plain, folder)
                print("ok %d - %s" % (number, host.name), flush=True)
            except AssertionError as error:
                failed = True
                print("# %s" % (error,))
                print("not ok %d - %s" % (number, host.name), flush=True)
        print("1..%d" % number)
    return failed


if __name__ == "__main__":
    sys.exit(main())
