#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What surrounds a Lua program: how it is started, interrupted and ended, and what each mode
promises. Where lua5.4 can do the same, it is asked.

Usage: behaviour.py CAIRN CPATH SLOW_CLOCK [--no-module] [--no-spans]        prints TAP
"""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import words_of  # noqa: E402

CAIRN = os.path.abspath(sys.argv[1])
CPATH, SLOW_CLOCK = sys.argv[2], os.path.abspath(sys.argv[3])
SAMPLER = os.path.join(os.path.dirname(CAIRN), "hosts/sample/libcairn-sample.so")
HERE = pathlib.Path(__file__).resolve().parent
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def run(command, **more):
    more.setdefault("input", "")
    environment = dict(os.environ, LC_ALL="C.UTF-8", CAIRN_TEST_CPATH=CPATH, **more.pop("env", {}))
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300,
                          check=False, **more)


def write(name, text):
    pathlib.Path(name).write_text(text)
    return name


def folded(capture, metric="calls"):
    done = run([CAIRN, "export", "--to", "folded", "--metric", metric, "-o", "-", capture])
    assert done.returncode == 0, done.stderr
    lines = [line.rpartition(" ") for line in done.stdout.splitlines()]
    return {stack: int(value) for stack, _, value in lines}


def notes(capture):
    done = run([CAIRN, "report", "--json", capture])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["notes"]


def same(arguments, plain_arguments=None, **more):
    """Runs under both; the results must not differ."""
    plain = run(["lua5.4", *(plain_arguments or arguments)], **more)
    found = run([CAIRN, "run", "-o", "x.cairn", *arguments], **more)
    for what in ("returncode", "stdout", "stderr"):
        assert getattr(plain, what) == getattr(found, what), (what, plain, found)
    return found


@test
def script_from_standard_input():
    same(["-", "a", "-b"], input="print(arg[0], ...) print(io.read())\n-- end")
    assert folded("x.cairn")["main chunk of stdin;print"] == 2


@test
def first_line_with_an_interpreter():
    write("script", "#!/usr/bin/env lua5.4\nerror('line two')\n")
    assert same(["script"]).returncode == 1


@test
def script_that_does_not_parse():
    write("bad.lua", "local x = = 1\n")
    assert same(["bad.lua"]).returncode == 1


@test
def script_that_is_not_there():
    assert same(["missing.lua"]).returncode == 1


@test
def lua_init():
    write("script.lua", "print(initial, ...)")
    write("init.lua", "initial = 'from a file'")
    for init in ("initial = 'from a string'", "@init.lua", "error('no')", "x = = 1", "@missing.lua",
                 "arg = nil"):
        same(["script.lua", "1"], env={"LUA_INIT": init})
        same(["script.lua", "1"], env={"LUA_INIT_5_4": init, "LUA_INIT": "error('not me')"})


@test
def error_values():
    for value in ("nil", "false", "{}", "42", "setmetatable({}, {__tostring = function() return 'm' end})",
                  "setmetatable({}, {__tostring = function() return {} end})", "coroutine.create(print)"):
        write("script.lua", f"error({value})")
        assert same(["script.lua"]).returncode == 1


@test
def exit_statuses():
    for status in ("0", "3", "true", "false", "255, true", "256"):
        write("script.lua", f"local t <close> = setmetatable({{}}, {{__close = print}}) os.exit({status})")
        plain = run(["lua5.4", "script.lua"])
        found = run([CAIRN, "run", "-o", "x.cairn", "script.lua"])
        assert plain.returncode == found.returncode
        assert notes("x.cairn")["exit_status"] == str(plain.returncode)


@test
def warnings():
    write("script.lua", "warn('@on') warn('a', 'b') setmetatable({}, {__gc = function() error('g') end})")
    same(["script.lua"])


def used_ticks(process):
    """The processor time that a process has used, in ticks."""
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def wait_for_loop(process):
    """What a program does before its loop takes far less processor time, but any time on a busy machine."""
    enough = used_ticks(process) + os.sysconf("SC_CLK_TCK") // 5
    while used_ticks(process) < enough:
        assert process.poll() is None, "it has ended"
        time.sleep(0.01)


def interrupted(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    wait_for_loop(process)
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)
    return rest, errors, process.returncode


@test
def control_c():
    for body in ("while true do end", "pcall(function() while true do end end) print('caught')",
                 "debug.sethook(function() end, 'l') while true do end"):
        write("script.lua", f"print('ready') io.stdout:flush()\n{body}\n")
        plain = interrupted(["lua5.4", "script.lua"])
        for options in (["--exact"], ["--ticks", "1000"], ["--sample", "1000"]):
            found = interrupted([CAIRN, "run", *options, "-o", "x.cairn", "script.lua"])
            assert plain == found, (body, options, plain, found)


@test
def sampled_after_the_state():
    write("script.lua", """
        package.cpath = os.getenv("CAIRN_TEST_CPATH")
        require("native").sample_late()
    """)
    for _ in range(5): # freed memory is filled, so that who looks at it falls
        done = run([CAIRN, "run", "--sample", "1000", "-o", "x.cairn", "script.lua"],
                   env={"MALLOC_PERTURB_": "165"})
        assert done.returncode == 0, done
        assert notes("x.cairn")["exit_status"] == "0"


@test
def killed():
    write("script.lua", "local function work() end\nfor i = 1, 1e5 do work() end\n"
                        "print('ready') io.stdout:flush() while true do end")
    process = subprocess.Popen([CAIRN, "run", "-o", "x.cairn", "script.lua"], stdout=subprocess.PIPE)
    process.stdout.readline()
    assert folded("x.cairn")["main chunk of script.lua;work"] == 100000, "while it runs"
    process.kill()
    process.wait()
    assert folded("x.cairn")["main chunk of script.lua;work"] == 100000


@test
def ticks_are_the_same_each_time():
    program = write("script.lua", """
        local t = {} for i = 1, 300 do t["key" .. i] = i end
        local function visit(k) return #k end
        local n = 0
        for k in pairs(t) do n = n * 31 + visit(k) if n % 7 == 0 then visit(k .. "x") end end
        for i = 1, 1000 do if math.random() < 0.5 then visit("a") end end
        local order = {} for i = 1, 3000 do order[i] = i < 1500 and i or 3000 - i end
        table.sort(order, function(a, b) visit("c") return a < b end)
        for i = 1, 10 do
            coroutine.wrap(function() for j = 1, 2000 do visit("z") end end)()
        end
        print(n)
    """)
    exports = set()
    outputs = set()
    for _ in range(3):
        outputs.add(run([CAIRN, "run", "--ticks", "1000", "-o", "x.cairn", program]).stdout)
        done = subprocess.run([CAIRN, "export", "--to", "pprof", "--no-times", "-o", "-", "x.cairn"],
                              capture_output=True, check=True)
        exports.add(done.stdout)
    assert len(outputs) == 1 and len(exports) == 1
    assert folded("x.cairn", "ticks")


@test
def the_program_still_sees_the_time():
    write("script.lua", "print(os.time() > 1.5e9, os.clock() < 100)")
    same(["script.lua"])
    assert run([CAIRN, "run", "--ticks", "10", "-o", "x.cairn", "script.lua"]).stdout == "true\ttrue\n"


@test
def samples_say_where_the_time_went():
    write("script.lua", """
        local function busy() local s = 0 for i = 1, 4e7 do s = s + i end return s end
        local function idle() return 1 end
        local function deep(n) if n == 0 then return busy() + 0 end return deep(n - 1) + 0 end
        local before = os.clock()
        idle() deep(50)
        coroutine.wrap(function() busy() end)()
        print(os.clock() - before)
    """)
    found = run([CAIRN, "run", "--sample", "1000", "-o", "x.cairn", "script.lua"])
    assert found.returncode == 0 and found.stderr == "", found
    wall = folded("x.cairn", "wall")
    total = sum(wall.values())
    busy = sum(value for stack, value in wall.items() if stack.endswith(";busy"))
    assert busy > total * 0.8, wall
    assert wall["main chunk of script.lua;deep;busy"] > 0
    assert any(stack.startswith("function <script.lua:7>") for stack in wall), wall
    # Bounds that hold on a busy machine: the script ran for at least its processor time (of which the
    # sampler used a little), and for no longer than the profile was open.
    elapsed, computed = int(notes("x.cairn")["elapsed_ns"]), float(found.stdout) * 1e9
    assert computed * 0.97 < total < elapsed * 1.01, (computed, total, elapsed)


@test
def samples_do_not_cut_waits_short():
    write("script.lua", """
        package.cpath = os.getenv("CAIRN_TEST_CPATH")
        local native = require("native")
        print(native.nap(40))
        print(os.execute("sleep 0.1"))
        local pipe = io.popen("sleep 0.1; echo done") print(pipe:read("a")) print(pipe:close())
    """)
    same(["--sample", "1000", "script.lua"], ["script.lua"])
    wall = folded("x.cairn", "wall")
    assert wall["main chunk of script.lua;native.nap"] >= 9 * 40e6 * 0.9, wall
    assert wall["main chunk of script.lua;os.execute"] >= 90e6, wall


@test
def samples_that_wait_for_a_core_do_not_make_others_rare():
    write("script.lua", "local s = 0 for i = 1, 6e7 do s = s + i end")
    environment = {"LD_PRELOAD": SLOW_CLOCK,
                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    found = run([CAIRN, "run", "--sample", "1000", "-o", "x.cairn", "script.lua"], env=environment)
    assert found.returncode == 0, found
    signals = int(re.search(r"(\d+) signals", notes("x.cairn")["cost_method"])[1])
    samples = sum(folded("x.cairn", "samples").values())
    assert samples > signals / 4 > 5, (samples, signals)


# On a busy machine the sampling thread may get no core in a nap of 90 ms. Then no sample falls in it, and its
# time goes to the next sample's context, so the program waits for a sample.
@test
def wall_time_goes_to_who_waits():
    write("script.lua", """
        package.cpath = os.getenv("CAIRN_TEST_CPATH")
        local native = require("native")
        local function waits() native.nap_until_sampled(10) end
        waits()
    """)
    for wall in ("sampled", "exact"):
        run([CAIRN, "run", "--wall", wall, "-o", "x.cairn", "script.lua"])
        assert folded("x.cairn", "wall")["main chunk of script.lua;waits;native.nap_until_sampled"] >= 80e6


@test
def many_coroutines():
    write("script.lua", """
        local function body() coroutine.yield() end
        local all = {}
        for i = 1, 20000 do all[i] = coroutine.wrap(body) all[i]() end
        for i = 1, 20000 do all[i]() end
        for i = 1, 100000 do coroutine.wrap(body)() end
    """)
    assert run([CAIRN, "run", "-o", "x.cairn", "script.lua"]).returncode == 0
    assert folded("x.cairn")["body"] == 120000


@test
def child_of_fork():
    write("script.lua", """
        package.cpath = os.getenv("CAIRN_TEST_CPATH")
        local native = require("native")
        local function leaf() end
        for i = 1, 10 do leaf() end
        if native.fork() then
            for i = 1, 100000 do leaf() end
            coroutine.wrap(leaf)()
            os.exit(5, true)
        end
        print(native.wait())
        for i = 1, 10 do leaf() end
    """)
    # A leak sanitizer looks, in the child, for threads that stayed with the parent, and complains.
    environment = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    for options in (["--exact"], ["--ticks", "100"], ["--sample", "1000"]):
        same([*options, "script.lua"], ["script.lua"], env=environment)
        assert notes("x.cairn")["exit_status"] == "0"
        if "--sample" not in options:
            assert folded("x.cairn")["main chunk of script.lua;leaf"] == 20


@test
def many_texts():
    write("script.lua", """
        local sum = 0
        for i = 1, 30000 do sum = sum + load("local function f() return " .. i .. " end return f() + 0")() end
        print(sum)
    """)
    assert run([CAIRN, "run", "-o", "x.cairn", "script.lua"]).stdout == "450015000\n"
    calls = folded("x.cairn")
    assert sum(value for stack, value in calls.items() if stack[-2:] in (";f", ".f")) == 30000
    assert len(calls) < 25000


@test
def interpreter_in_place_of_a_script():
    found = run([CAIRN, "run", "lua5.4", "script.lua"])
    assert found.returncode == 2 and "cairn run script.lua" in found.stderr, found


@test
def interpreters_of_other_versions_are_programs():
    """They run as they are, sampled; that of the host's version is refused as above."""
    if not os.path.exists(SAMPLER):
        return
    write("version.lua", "print(_VERSION)\n")
    for name in ("lua5.1", "lua5.2", "lua5.3", "luajit"):
        if not shutil.which(name):
            continue
        plain = run([name, "version.lua"])
        write("other", "#!/usr/bin/env %s\nprint(_VERSION)\n" % name)
        os.chmod("other", 0o755)
        shutil.copy("other", "other.lua")
        os.symlink(shutil.which(name), "lua")
        for program in ([name, "version.lua"], ["./lua", "version.lua"], ["./other"], ["./other.lua"]):
            found = run([CAIRN, "run", "-o", "other.cairn", *program])
            assert found.stdout == plain.stdout, (program, found, plain)
        os.unlink("lua")
    write("script", "#!/usr/bin/env lua5.4\nprint(_VERSION)\n")
    os.chmod("script", 0o755)
    assert run([CAIRN, "run", "-o", "other.cairn", "./script"]).stdout == "Lua 5.4\n"


@test
def machine_code_is_told_where_to_write():
    if not os.path.exists(SAMPLER): # with sanitizers
        found = run([CAIRN, "run", "-o", "sub.cairn", "env"])
        assert found.returncode == 2 and "libcairn-sample" in found.stderr, found
        return
    found = run([CAIRN, "run", "-o", "sub.cairn", "env"])
    assert f"CAIRN_OUT={os.getcwd()}/sub.cairn\n" in found.stdout
    told = run([CAIRN, "run", "--ticks", "5", "--cpu", "--period=2ms", "--spans", "--span-rate=0.5",
                "--label", "a=b", "--label", "c=d=e", "env"]).stdout
    assert {"CAIRN_TICKS=5", "CAIRN_WALL=off", "CAIRN_CPU=sampled", "CAIRN_PERIOD=2000000",
            "CAIRN_SPANS=first", "CAIRN_SPAN_RATE=0.5", "CAIRN_LABELS=a=b", "c=d=e"} <= set(told.splitlines()), told
    assert not any(line.startswith("CAIRN_") for line in run([CAIRN, "run", "--exact", "-o", "x", "env"])
                   .stdout.replace("CAIRN_OUT", "").replace("CAIRN_SINCE", "")
                   .replace("CAIRN_SAMPLE", "").replace("CAIRN_TEST", "").splitlines())
    assert run([CAIRN, "run", "--sample", "5", "env"]).returncode == 2


@test
def capture_is_named_for_the_script():
    os.mkdir("elsewhere")
    write("elsewhere/some.lua", "print(1)")
    run([CAIRN, "run", "elsewhere/some.lua"])
    assert folded("some.cairn")["main chunk of some.lua;print"] == 1
    run([CAIRN, "run", "-"], input="print(2)")
    assert folded("stdin.cairn")


@test
def capture_that_cannot_be_made():
    write("script.lua", "print('ran')")
    found = run([CAIRN, "run", "-o", "missing/x.cairn", "script.lua"])
    assert found.returncode == 2 and found.stdout == "" and found.stderr.count("\n") == 1, found


@test
def bad_options():
    for options in (["--ticks", "0"], ["--ticks", "x"], ["--sample", "-1"], ["--wall", "never"],
                    ["--label", "x"], ["--spans=some"], ["--span-rate=0"], ["--span-rate=nan"],
                    ["--span-limit=0"], ["--exact", "--ticks", "5"], ["--nothing"], []):
        found = run([CAIRN, "run", *options, *(["script.lua"] if options else [])])
        assert found.returncode == 2 and "cairn run: " in found.stderr, (options, found)


@test
def labels_and_notes():
    write("script.lua", "")
    run([CAIRN, "run", "--ticks", "7", "--label", "branch=main", "--label", "a=b=c", "-o", "x.cairn",
         "script.lua", "with", "arguments"])
    found = notes("x.cairn")
    expected = {"branch": "main", "a": "b=c", "mode": "ticks 7", "exit_status": "0",
                "command": "script.lua with arguments"}
    assert expected.items() <= found.items(), found
    assert re.fullmatch(r"lua5\.4\.\d+", found["host"]) and int(found["cost_ns"]) >= 0


@test
def a_terminal_is_told_how_to_go_on():
    write("script.lua", "")
    for options, told in (([], True), (["--quiet"], False)):
        reader, terminal = pty.openpty()
        subprocess.run([CAIRN, "run", *options, "-o", "x.cairn", "script.lua"], stderr=terminal, check=True)
        os.close(terminal)
        try:
            text = os.read(reader, 1000).decode()
        except OSError:
            text = ""
        os.close(reader)
        assert ("cairn report x.cairn" in text) == told, text


def module_program(stop):
    return f"""
        package.cpath = os.getenv("CAIRN_TEST_CPATH")
        local cairn = require "cairn"
        local function leaf() end
        local function items(n)
            for i = 1, n do
                local own <close> = cairn.scope "item"
                leaf()
                do local inner <close> = cairn.scope "inner" leaf() end
            end
        end
        local function main()
            assert(cairn.start {{ output = "module.cairn", mode = arg[1] }} ~= nil)
            items(3)
            pcall(function() local s <close> = cairn.scope "failing" error("x") end)
            leaf()
            local c = coroutine.wrap(function()
                local s <close> = cairn.scope "task"
                leaf() coroutine.yield() leaf()
            end)
            c() leaf() c()
            local never_closed = cairn.scope "open"
            leaf()
        end
        main()
        leaf()
        {stop}
        leaf()
    """


@test
def module_in_lua():
    for stop, leaves in (("assert(cairn.stop()) assert(not cairn.running())", 1), ("", 2),
                         ("os.exit(0, true)", 1)):
        for mode in ("exact", "ticks"):
            write("script.lua", module_program(stop))
            found = run(["lua5.4", "script.lua", mode])
            assert found.returncode == 0, found
            calls = folded("module.cairn")
            main = "main chunk of script.lua;main"
            assert calls[f"{main};items;item"] == 3 and calls[f"{main};items;item;leaf"] == 3, calls
            assert calls[f"{main};items;item;inner;leaf"] == 3
            assert calls[f"{main};leaf"] == 2 and calls[f"{main};open;leaf"] == 1
            assert calls["main chunk of script.lua;leaf"] == leaves
            assert any(stack.endswith(";task;leaf") and calls[stack] == 2 for stack in calls)


@test
def module_under_run():
    write("script.lua", module_program("assert(not cairn.stop()) assert(cairn.running())"))
    found = run([CAIRN, "run", "-o", "x.cairn", "script.lua", "exact"])
    assert found.returncode == 0, found
    calls = folded("x.cairn")
    assert calls["main chunk of script.lua;main;items;item;inner;leaf"] == 3
    assert not os.path.exists("module.cairn")


SPANS = """
    package.cpath = os.getenv("CAIRN_TEST_CPATH") .. ";" .. package.cpath
    local cairn = require "cairn"
    if arg[1] then assert(cairn.start { output = arg[1] }) end
    local function work(i)
        local own <close> = cairn.scope("work", {iteration = i, width = 7 * i, scale = 0.5,
            image = "x" .. i, big = i == 3})
        own:set("late", math.mininteger)
        cairn.counter("queue depth", i / 2)
        assert(not pcall(cairn.counter, "queue depth", "many"))
        if i == 1 then cairn.event "loop closed" end
        cairn.log("warning", "image " .. i .. " is late")
        assert(not pcall(cairn.log, "loud", "text"))
        local inner = cairn.begin "inner"
        if i == 2 then error "two" end
        inner:finish()
        inner:finish()
    end
    local main <close> = cairn.scope "main"
    for i = 1, 3 do pcall(work, i) end
    local token, parent
    do
        local asks <close> = cairn.scope "asks"
        token, parent = cairn.handoff(), cairn.traceparent()
    end
    local task = coroutine.wrap(function(mode)
        local its <close> = cairn.adopt(mode == "adopt" and token or nil)
        local own <close> = cairn.scope("task", {iteration = math.maxinteger})
        coroutine.yield()
        local after <close> = cairn.scope "after"
    end)
    local alone = coroutine.wrap(function()
        local own <close> = cairn.scope "alone"
        coroutine.yield()
    end)
    task "adopt"
    alone()
    do local other <close> = cairn.scope "other" task() end
    do
        local again <close> = cairn.adopt(parent)
        local own <close> = cairn.scope "again"
    end
    do
        local far <close> = cairn.adopt "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        local own <close> = cairn.scope "far"
        print(cairn.traceparent())
    end
    do local bad <close> = cairn.adopt "nonsense" end
    print(parent ~= nil, token ~= nil)
    for _, wrong in ipairs { {1}, {iteration = "x"}, {a = {}} } do
        print(pcall(cairn.scope, "wrong", wrong))
    end
"""


def spans_of(capture):
    done = run([CAIRN, "spans", "--slowest=0", "--json", capture])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["slowest"]


def assert_spans(capture):
    found = {}
    for span in spans_of(capture):
        path = "/".join(above["block"]["name"] for above in reversed(span["ancestors"]))
        name = f'{path}/{span["block"]["name"]}'.lstrip("/")
        found.setdefault(name, []).append(span)
    assert {name: len(spans) for name, spans in found.items()} == {
        "main": 1, "main/work": 3, "main/work/inner": 3, "main/asks": 1, "main/asks/task": 1,
        "main/asks/task/after": 1, "main/other": 1, "alone": 1, "main/asks/again": 1, "far": 1}, \
        sorted(found)
    work = sorted(found["main/work"], key=lambda span: span["iteration"])
    assert [span["iteration"] for span in work] == [1, 2, 3]
    attributes = {each["key"]: each["value"] for each in work[2]["attributes"]}
    assert attributes == {"width": 21, "scale": 0.5, "image": "x3", "big": "true",
                          "late": -2**63}, attributes
    done = run([CAIRN, "query", "--json", capture, "select c.name, value, s.iteration from counters c join spans s on s.id = c.span order by at"])
    assert json.loads(done.stdout)["rows"] == [["queue depth", i / 2, i] for i in (1, 2, 3)], done
    done = run([CAIRN, "query", "--json", capture, "select e.level, e.text, s.iteration from events e join spans s on s.id = e.span order by at"])
    late = [["warning", "image %d is late" % i, i] for i in (1, 2, 3)]
    assert json.loads(done.stdout)["rows"] == [["event", "loop closed", 1]] + late, done
    assert found["main/asks/task"][0]["iteration"] == 2**63 - 1
    assert not any(span["open"] for spans in found.values() for span in spans if span != found["alone"][0])


@test
def memory_over_time():
    write("script.lua", """
    local cairn = require "cairn"
    local own <close> = cairn.scope "main"
    local kept, last = {}, os.clock()
    for i = 1, 3000 do
        kept[i] = string.rep("x", 10000)
        while os.clock() < last + 5e-5 do end
        last = os.clock()
    end
    """)
    done = run([CAIRN, "run", "--alloc", "--spans=first", "-o", "x.cairn", "script.lua"])
    assert done.returncode == 0, done
    done = run([CAIRN, "query", "--json", "x.cairn", "select name, count(*) > 20, max(value) > 20e6, max(value) from counters group by name order by name"])
    rows = json.loads(done.stdout)["rows"]
    assert [row[:3] for row in rows] == [["allocation rate", 1, 1], ["live bytes", 1, 1]], rows
    assert 28e6 < rows[1][3] < 40e6, rows


@test
def spans_under_run():
    write("script.lua", SPANS)
    found = run([CAIRN, "run", "-o", "x.cairn", "script.lua"])
    lines = found.stdout.splitlines()
    assert found.returncode == 0 and len(lines) == 5, found
    assert re.fullmatch("00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01", lines[0]), lines
    assert lines[1] == "true\ttrue" and all(line.startswith("false\t") for line in lines[2:])
    assert_spans("x.cairn")
    assert notes("x.cairn")["misuses"] == "0"
    for mode in ("--ticks=100", "--spans=off", "--sample=100"):
        found = run([CAIRN, "run", mode, "-o", "x.cairn", "script.lua"])
        assert found.returncode == 0 and found.stdout.splitlines()[2:] == lines[2:], found
        assert run([CAIRN, "spans", "x.cairn"]).returncode == 2
    found = run([CAIRN, "run", "--spans=last", "--wall=exact", "--span-cpu", "--span-histograms",
                 "-o", "x.cairn", "script.lua"])
    assert found.returncode == 0, found
    assert_spans("x.cairn")


@test
def module_in_lua_spans():
    write("script.lua", SPANS)
    found = run(["lua5.4", "script.lua", "module.cairn"])
    assert found.returncode == 0, found
    assert_spans("module.cairn")
    found = run(["lua5.4", "script.lua"])
    lines = found.stdout.splitlines()
    assert found.returncode == 0 and lines[:2] == ["nil", "false\tfalse"], found


@test
def module_in_lua_refuses():
    write("script.lua", """
        package.cpath = os.getenv("CAIRN_TEST_CPATH")
        local cairn = require "cairn"
        print(pcall(cairn.start, {}))
        print(pcall(cairn.start, { output = "missing/x.cairn" }))
        print(pcall(cairn.start, { output = "x.cairn", mode = "sample" }))
        print(pcall(cairn.start, { output = "x.cairn", wall = "never" }))
        print(pcall(cairn.scope))
    """)
    found = run(["lua5.4", "script.lua"])
    lines = found.stdout.splitlines()
    assert found.returncode == 0 and len(lines) == 5 and all("false\t" in line for line in lines), found


def main():
    failed = 0
    left_out = []
    if "--no-module" in sys.argv:
        left_out += [function for function in TESTS if function.__name__.startswith("module_in_lua")]
    if "--no-spans" in sys.argv:
        left_out += [memory_over_time, spans_under_run, module_in_lua_spans]
    tests = [function for function in TESTS if function not in left_out]
    for number, function in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            try:
                function()
                problem = None
            except Exception as error:  # any failure is reported, and the next test runs
                problem = f"{type(error).__name__}: {words_of(error)}"
            os.chdir("/")
        failed += problem is not None
        print("ok" if problem is None else "not ok", number, "-", function.__name__.replace("_", " "),
              flush=True)
        for line in (problem or "").splitlines():
            print("#", line[:2000])
    print(f"1..{len(tests)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
