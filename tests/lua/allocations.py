#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `cairn run --alloc` says of programs whose allocations are known: a string of n bytes,
made by a concatenation, is one block of 25 + n bytes.

Usage: allocations.py CAIRN CPATH        prints TAP
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import words_of  # noqa: E402

CAIRN = os.path.abspath(sys.argv[1])
# A leak sanitizer looks, in a child, for threads that stayed with the parent, and complains.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
os.environ["CAIRN_TEST_CPATH"] = sys.argv[2]
with open(CAIRN, "rb") as binary:
    HAS_SANITIZER = b"__asan_init" in binary.read()
HEADER = 25  # of a long string, its final zero included
TESTS = []

COMMON = """
local base = ("b"):rep(1000)
local function join(text) return base .. text end
local function short(text) return base .. text end
join("x") short("x") -- named from now on
"""


def test(function):
    TESTS.append(function)
    return function


def run(program, options=("--alloc",)):
    with open("program.lua", "w", encoding="utf-8") as file:
        file.write(COMMON + program)
    done = subprocess.run([CAIRN, "run", "-o", "x.cairn", *options, "program.lua"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def figures(metric, capture="x.cairn"):
    """By the last block of the context."""
    done = subprocess.run([CAIRN, "export", "--to", "folded", "--metric", metric, "-o", "-",
                           capture], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sums = {}
    for line in done.stdout.splitlines():
        stack, _, value = line.rpartition(" ")
        block = stack.split(";")[-1]
        sums[block] = sums.get(block, 0) + int(value)
    return sums


def totals():
    done = subprocess.run([CAIRN, "report", "--json", "x.cairn"], capture_output=True, text=True,
                          check=False)
    return {m["name"]: m["total"] for m in json.loads(done.stdout)["metrics"]}


def sizes(count, first=1):
    """Size of base and a number as text."""
    return sum(HEADER + 1000 + len(str(i)) for i in range(first, first + count))


@test
def every_byte_by_context():
    run("for i = 1, 5000 do join(tostring(i)) end for i = 1, 50 do short(tostring(i)) end")
    assert figures("alloc bytes")["join"] == sizes(5000) + HEADER + 1001
    assert figures("alloc objects")["join"] == 5001
    assert figures("alloc bytes")["short"] == sizes(50) + HEADER + 1001


@test
def what_is_kept_is_alive_at_the_end():
    run("kept = {} for i = 1, 3000 do local s = join(tostring(i)) "
        "if i <= 700 then kept[i] = s end end "
        "collectgarbage() collectgarbage()")
    alive = figures("alloc bytes")["join"] - figures("freed bytes")["join"]
    assert alive == sizes(700), (alive, sizes(700))
    assert figures("alloc objects")["join"] - figures("freed objects")["join"] == 700


@test
def frees_belong_to_who_allocated():
    run("local t = {} for i = 1, 100 do t[i] = join(tostring(i)) end t = nil "
        "local function other() collectgarbage() collectgarbage() end other()")
    assert figures("freed objects")["join"] == 101
    assert "other" not in figures("freed objects")


@test
def the_peak_is_right_to_a_hundredth():
    run("collectgarbage('stop') local t = {} "
        "for i = 1, 2000 do t[i] = join(tostring(i)) end t = nil "
        "collectgarbage() collectgarbage() for i = 1, 100 do short(tostring(i)) end")
    peak = figures("peak bytes")["join"]
    expected = sizes(2000)
    assert 0.985 * expected <= peak <= expected + 2 * (HEADER + 1001), (peak, expected)


@test
def the_collector_has_its_own_place():
    run("for i = 1, 300000 do local t = {i} end")
    done = subprocess.run([CAIRN, "export", "--to", "folded", "--metric", "calls", "-o", "-",
                           "x.cairn"], capture_output=True, text=True, check=False)
    assert "main chunk of program.lua;<gc> " in done.stdout, done.stdout


@test
def a_sample_of_bytes_stands_for_all():
    run("for i = 1, 40000 do join(tostring(i)) end "
        "for i = 1, 10000 do short(tostring(i)) end", ["--alloc=8192"])
    # Some 6,300 samples of p = 0.12: the standard error of the whole is 1.3 %.
    for block, count in (("join", 40000), ("short", 10000)):
        found, expected = figures("alloc bytes")[block], sizes(count)
        assert abs(found - expected) < 0.12 * expected, (block, found, expected)
        found = figures("alloc objects")[block]
        assert abs(found - count) < 0.12 * count, (block, found, count)


@test
def blocks_about_as_large_as_the_mean():
    # Some 3,800 samples of p = 0.63: the weight 1.58 must be rounded both ways, at one address too.
    run("for i = 1, 6000 do join('x') end", ["--alloc=1026"])
    found = figures("alloc objects")["join"]
    assert abs(found - 6000) < 0.08 * 6000, found


@test
def a_sampled_block_is_freed_as_it_was_allocated():
    run("for i = 1, 40000 do join(tostring(i)) end collectgarbage() collectgarbage()",
        ["--alloc=4096"])
    assert figures("alloc bytes")["join"] == figures("freed bytes")["join"]


@test
def what_goes_in_comes_out():
    run("local t = {} for i = 1, 20000 do t[i % 97] = {join(tostring(i))} end pcall(error, {})",
        ["--alloc=exact"])
    found = totals()
    for metric in ("alloc bytes", "alloc objects", "freed bytes", "freed objects", "peak bytes"):
        assert sum(figures(metric).values()) == found[metric], metric
    assert found["freed bytes"] <= found["alloc bytes"]
    assert found["peak bytes"] <= found["alloc bytes"]


@test
def a_child_counts_what_is_its_own():
    run("""
        package.cpath = os.getenv("CAIRN_TEST_CPATH")
        local native = require("native")
        local before = {} for i = 1, 300 do before[i] = join(tostring(i)) end
        if native.fork() then
          local own = {} for i = 1, 200 do own[i] = join(tostring(i)) end
          before = nil collectgarbage() collectgarbage()
          os.exit(true, true)
        end
        native.wait()
    """)
    child, = glob.glob("x.*.cairn")
    assert figures("alloc bytes")["join"] == sizes(300) + HEADER + 1001
    assert figures("alloc bytes", child)["join"] == sizes(200)
    assert figures("alloc objects", child)["join"] == 200
    assert "join" not in figures("freed objects", child)


def first_column(terminal=False):
    """The heading of the table, and the lines that say what to look at next."""
    command = f"'{CAIRN}' report x.cairn"
    if terminal:
        command = f"""script -qec "stty cols 120; NO_COLOR=1 {command}" /dev/null"""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True,
                          env=dict(os.environ, TERM="xterm"))
    lines = done.stdout.replace("\r", "").split("\n")
    heading = [line.strip() for line in lines if line.strip().endswith("function")]
    return heading[0], [line for line in lines if line.startswith("next: ")]


@test
def memory_is_shown_first_unless_a_clock_is_asked_for():
    program = "for i = 1, 50000 do join(tostring(i)) end"
    for options, memory in ((["--alloc"], True), (["--alloc=1000"], True),
                            (["--alloc", "--wall=sampled"], False), (["--alloc", "--cpu"], False),
                            (["--alloc", "--ticks=100"], False)):
        run(program, options)
        assert first_column()[0].startswith("total alloc bytes") == memory, options
    run(program, ["--alloc"])
    if subprocess.run(["script", "-qec", "true", "/dev/null"], check=False,
                      capture_output=True).returncode == 0:
        lines = " ".join(first_column(terminal=True)[1])
        for command in ("--metric 'live bytes'", "--metric 'peak bytes'", "--metric wall",
                        "--focus 'join'"):
            assert command in lines, (command, lines)


@test
def the_program_does_not_notice():
    program = "for i = 1, 1000 do join(tostring(i)) end print(pcall(string.rep, 'x', 1 << 40))"
    plain = run(program, [])
    assert "false" in plain
    assert run(program, ["--alloc=1000"]) == plain


STARVING = """
local function address_space()
    for line in io.lines("/proc/self/status") do
        local size = line:match("^VmSize:%s*(%d+)")
        if size then return tonumber(size) * 1024 end
    end
end
local limit = math.tointeger(address_space() + (4 << 20))
assert(os.execute("prlimit --pid $PPID --as=" .. limit))
collectgarbage("stop")
local kept = {}
for size = 18, 12, -1 do
    while true do
        local made, text = pcall(string.rep, "x", 1 << size)
        if not made then break end
        kept[#kept + 1] = text
    end
end
os.execute("prlimit --pid $PPID --as=unlimited")
"""


@test
def what_is_lost_without_memory_is_said():
    if HAS_SANITIZER: # its own memory does not fit into the limit
        return
    for ending in ("", "os.execute('kill -9 $PPID')"):
        with open("program.lua", "w", encoding="utf-8") as file:
            file.write(STARVING + ending)
        subprocess.run([CAIRN, "run", "--quiet", "-o", "x.cairn", "--alloc=exact", "program.lua"],
                       capture_output=True, timeout=120, check=False)
        text = subprocess.run([CAIRN, "report", "x.cairn"], capture_output=True, text=True,
                              check=True).stdout
        assert "not every allocation and free was counted" in text, text
        assert "memory ran out" in text and "every allocation was counted" not in text, text


def main():
    print(f"1..{len(TESTS)}")
    failed = False
    for number, function in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                function()
                print(f"ok {number} - {function.__name__}")
            except Exception as error:  # pylint: disable=broad-except
                failed = True
                print(f"not ok {number} - {function.__name__}")
                for line in f"{type(error).__name__}: {words_of(error)}".splitlines():
                    print("#", line)
            os.chdir("/")
    sys.exit(failed)


main()
