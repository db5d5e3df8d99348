#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn run on programs that know nothing of Cairn.

usage: sample.py CAIRN PROGRAM WORK
"""
import ctypes
import errno
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import case, main, run, same  # noqa: E402

CAIRN, PROGRAM = (os.path.abspath(name) for name in sys.argv[1:3])
WORK = sys.argv[3]
PATIENCE = 120  # seconds, before a program that hangs is killed with all that it started
shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK)


def sampled(*command, options=(), cwd=WORK):
    """Runs under cairn run. Returns the output, the status and the report."""
    capture = os.path.join(cwd, "out.cairn")
    if os.path.exists(capture):
        os.remove(capture)
    process = subprocess.Popen([CAIRN, "run", *options, "-o", capture, *command], text=True, cwd=cwd,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        output = process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError("%s hangs" % " ".join(command)) from None
    report = None
    if os.path.exists(capture):
        report = report_of(capture, "cpu")
        report["wall"] = report_of(capture, "wall")["flat"]
        recorded, = json.loads(run(CAIRN, "query", "--json", capture, "select sum(cpu) from samples"))["rows"][0]
        same(recorded or 0, total(report, "cpu"), "processor time of all samples")
    return output, process.returncode, report


def report_of(capture, metric):
    return json.loads(run(CAIRN, "report", "--json", "--top", "0", "-m", metric, capture))


def costs(report, metric, name):
    """The inclusive cost of a function."""
    rows = report["wall" if metric == "wall" else "flat"]
    return sum(row["inclusive"].get(metric, 0) for row in rows if row["block"]["name"] == name)


def total(report, metric):
    return next(m["total"] for m in report["metrics"] if m["name"] == metric)


def share(report, metric, name):
    return costs(report, metric, name) / total(report, metric)


@case("the program's output and exit status are its own")
def _():
    output, status, report = sampled(PROGRAM, "split")
    same((output, status), ("done\n", 7), "output and status")
    same(report["notes"]["exit_status"], "7", "noted status")
    same(report["notes"]["host"], "sample", "host")


@case("processor time by call path: recursion, callbacks, pointers; every stack complete")
def _():
    report = sampled(PROGRAM, "split")[2]
    # Of 50 pieces and qsort's about 20: 10 directly, 20 below recursion, 20 through the pointer.
    pieces = {"recursive": 20, "through_pointer": 20}
    whole = share(report, "cpu", "recursive") / 20
    for name, count in pieces.items():
        found = share(report, "cpu", name)
        assert abs(found - whole * count) < 0.08 and 0.15 < found < 0.45, (name, found)
    direct = share(report, "cpu", "direct")  # also below through_pointer
    assert 0.25 < direct < 0.65, direct
    assert share(report, "cpu", "compare") > 0.1, share(report, "cpu", "compare")
    assert share(report, "cpu", "through_library") >= share(report, "cpu", "compare")
    # A sample at the program's end, outside of main, is charged with all since the one before.
    assert share(report, "cpu", "main") > 0.95, share(report, "cpu", "main")
    incomplete, samples = report["notes"]["incomplete_stacks"].split(" of ")
    assert int(samples) > 20 and int(incomplete) <= int(samples) / 50, (incomplete, samples)


def built(name, *options):
    """Compiles the program in another way. Returns its path, None if that is not possible here."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.c")
    path = os.path.join(WORK, name)
    command = ["cc", "-O2", "-g", "-pthread", "-D_GNU_SOURCE", "-Wno-deprecated-declarations", *options,
               "-o", path, source]
    return path if subprocess.run(command, check=False).returncode == 0 else None


def chance_of(report, share_of_all=1):
    """How far a share may be from the truth by chance: on a busy machine there are fewer samples,
    of more time each."""
    return 4.5 * math.sqrt(0.5 / (share_of_all * int(report["notes"]["cpu_samples"])))


def check_split(report):
    """Of 50 pieces and qsort's about 20: 10 directly, 20 below recursion, 20 by the pointer."""
    recursive, pointer = (share(report, "cpu", name) for name in ("recursive", "through_pointer"))
    chance = chance_of(report)
    assert abs(recursive - pointer) < chance + 0.05 and abs(recursive - 0.28) < chance + 0.05, \
        (recursive, pointer, chance)
    names = {row["block"]["name"] for row in report["flat"]}
    assert {"recursive", "through_pointer", "direct", "compare", "main"} <= names, names
    incomplete, samples = report["notes"]["incomplete_stacks"].split(" of ")
    assert int(incomplete) <= int(samples) / 50 + 1, (incomplete, samples)


@case("a program with holes between its segments: every stack complete")
def _():
    program = built("program-with-holes", "-no-pie", "-Wl,-z,max-page-size=2097152",
                    "-Wl,-z,separate-code")
    assert program
    check_split(sampled(program, "split")[2])


LOOP = "_PyEval_EvalFrameDefault"


def python_of(version):
    """An interpreter of this version that is linked with symbols; None if there is none here."""
    for program in ("/usr/bin/python3", sys.executable):
        said = subprocess.run([program, "-c", "import sys; print(sys.version)"], check=False, text=True,
                              stdout=subprocess.PIPE).stdout
        if said.startswith(version + "."):
            return program
    return None


def stacks(capture, metric):
    """Yields the names of a stack, outermost first and without places, and its cost."""
    for line in run(CAIRN, "export", "--to", "folded", "-m", metric, "-o", "-", capture).splitlines():
        path, cost = line.rsplit(" ", 1)
        yield [name.split(" ")[0] for name in path.split(";")], int(cost)


@case("functions of Python stand between the native ones, in order")
def _():
    program = python_of("3.11")
    if not program:
        print("# no Python 3.11 here")
        return
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_program.py")
    output, status, report = sampled(program, "-X", "utf8", script)
    same((output, status), ("done\n", 0), "output and status")
    assert report["notes"]["python"].startswith("3.11."), report["notes"]["python"]
    main_only = {"directly": ["directly"], "by_sort": ["by_sort", "key"],
                 "by_generator": ["by_generator", "generator"],
                 "by_slot": ["by_slot", "Größe.函数"],
                 "by_freed_code": ["by_freed_code", "made_%d"]}
    ways, made, spun = dict.fromkeys(main_only, 0), {"made_0": 0, "made_1": 0}, 0
    for path, cost in stacks(os.path.join(WORK, "out.cairn"), "cpu"):
        if "spin" not in path:
            continue
        spun += cost
        last = path.index("spin")
        outer = path[path.index("main") + 1:last]
        way = outer[0]
        names = [name for name in outer if name in ways or name in made or name in
                 ("key", "generator", "Größe.函数")]
        if way == "by_freed_code":
            # On a busy machine the code may be freed before its name is read.
            unnamed = [name for name in outer[1:] if name in ("[Python", "<module>")]
            name = names.pop() if len(names) > 1 else unnamed[0]
            made[name] = made.get(name, 0) + cost
            names.append("made_%d")
        same(names, main_only[way], "the functions from main to spin")
        if way in ("by_sort", "by_generator", "by_slot"):  # C calls the second function
            assert outer.index(LOOP) == len(outer) - 2, outer
        else:
            assert LOOP not in outer, outer
        assert path[:path.index("main")].count(LOOP) == 1, path
        ways[way] += cost
    assert spun > 0.5 * total(report, "cpu"), spun
    for way, cost in ways.items():
        assert cost and abs(cost / spun - 0.2) < chance_of(report) + 0.05, (way, ways)
    assert abs(made["made_0"] / sum(made.values()) - 0.5) < chance_of(report, 0.2) + 0.05, made
    row = next(r["block"] for r in report["flat"] if r["block"]["name"] == "spin")
    same((os.path.basename(row["file"]), row["line"]), ("python_program.py", 10), "the place of spin")
    slept = costs(report, "wall", "sleeper")
    assert 0.5 * total(report, "cpu") < slept < 2 * costs(report, "wall", "main"), slept


def sleeps_are_where_they_are():
    """Runs threads that sleep. Returns what is wrong with where they slept."""
    output, _, report = sampled(PROGRAM, "sleep")
    same(output, "done\n", "output")
    nap, poll = costs(report, "wall", "nap"), costs(report, "wall", "wait_in_poll")
    assert costs(report, "cpu", "nap") < 0.2e9
    calls = costs(report, "wall", "[clock_nanosleep]") + costs(report, "wall", "[nanosleep]")
    assert calls > 0.8 * nap, (calls, nap)
    # Three threads: 0.8 s each in nap, 0.4 s in poll; the rest is main, which joins them.
    # Each change of place is known to half the time between two looks at an idle process: 50 ms.
    return None if nap > 1.9e9 and poll > 0.8e9 and 1.2 < nap / poll < 4 else (nap, poll)


@case("sleeping threads are not disturbed, and wall time is where they sleep")
def _():
    # A machine that lets the sampler wait as long as a whole sleep lasts does not do so each time.
    wrong = []
    while len(wrong) < 10:
        wrong.append(sleeps_are_where_they_are())
        if not wrong[-1]:
            return
    raise AssertionError(wrong)


@case("samples that come while a wait begins do not end it")
def _():
    if os.uname().machine != "x86_64": # see "Signals" in docs/SAMPLING.md
        print("# other kernels may end a wait")
        return
    output, _, report = sampled(PROGRAM, "waits")
    same(output, "done\n", "output")
    assert int(report["notes"]["cpu_samples"]) > 0, report["notes"]


def is_as_late(found, output):
    """The program says how late it was: at least 0.5 s, and more on a busy machine."""
    late = int(output.split()[output.split().index("late") + 1])
    assert 0.35e9 < found < late + 0.15e9, (found, late)


@case("a page that comes late is a page fault, not a system call")
def _():
    output, _, report = sampled(PROGRAM, "faults")
    if "not allowed" in output:
        print("# the kernel does not let this user handle page faults")
        return
    late = costs(report, "wall", "[page fault]")
    is_as_late(late, output)
    assert late <= costs(report, "wall", "touch"), report["flat"][:10]


@case("two programs on one core: ready is apart from waiting, and the parts add up")
def _():
    core = str(min(os.sched_getaffinity(0)))
    loop = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    report = sampled("taskset", "-c", core, "dash", "-c", "(%s) & %s; wait" % (loop, loop))[2]
    wall, cpu, ready = (total(report, metric) for metric in ("wall", "cpu", "ready"))
    assert ready > 0.2 * cpu, (wall, cpu, ready)
    assert ready < 1.1 * (wall - cpu), (wall, cpu, ready)
    compared = json.loads(run(CAIRN, "report", "--json", "--compare", "wall,cpu", "--top", "0",
                              os.path.join(WORK, "out.cairn")))["compare"]
    same(sum(row["ready"] for row in compared), ready, "ready of all functions")
    assert all(row["waits"] <= row["self"]["wall"] for row in compared), compared


@case("signals: a program may reset, catch and wait for any")
def _():
    output, status, report = sampled(PROGRAM, "signals")
    same(output, "waited: Resource temporarily unavailable\ndone\n", "output")
    same(status, 7, "status")
    assert costs(report, "cpu", "work") > 0


@case("threads that live for a moment; processor time adds up")
def _():
    output, status, report = sampled(PROGRAM, "threads")
    same((output, status), ("done\n", 7), "output and status")
    assert share(report, "cpu", "main") > 0.2


@case("a thread that begins when another ends is found")
def _():
    output, status, report = sampled(PROGRAM, "relays")
    same((output, status), ("done\n", 7), "output and status")
    # Ten threads use 60 ms each. What the last looks miss of each is less than half.
    assert costs(report, "cpu", "work") > 300e6, report["flat"]


@case("forks in threads: nothing hangs, each child is in the report")
def _():
    output, status, report = sampled(PROGRAM, "forks")
    same((output, status), ("done\n", 7), "output and status")
    found = sorted(row["block"]["name"] for row in report["flat"])
    assert costs(report, "cpu", "work") > 0, (report["metrics"], report["notes"], found)
    left = [name for name in os.listdir(WORK) if name.endswith(".cairn")]
    same(left, ["out.cairn"], "captures")


@case("a tree of processes: programs are the first level")
def _():
    script = "%s split; python3 -c 'sum(i * i for i in range(2000000))'; exit 3" % PROGRAM
    output, status, report = sampled("sh", "-c", script)
    same((output, status), ("done\n", 3), "output and status")
    assert share(report, "cpu", os.path.basename(PROGRAM)) > 0.2
    assert any(row["block"]["name"].startswith("_PyEval_EvalFrame") or
               "python" in row["block"]["file"] for row in report["flat"]), "no Python"


@case("a program that ends by _exit leaves a complete capture")
def _():
    loop = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3"
    _, status, report = sampled("dash", "-c", loop)
    same((status, report["notes"]["state"]), (3, "closed"), "status and state")
    assert total(report, "cpu") > 10e6, report["metrics"]


@case("a shell with a setenv of its own, and all it starts, are in one capture")
def _():
    status, report = sampled("bash", "-c", "x=$(ls -R /usr/lib); ls -R /usr/lib >/dev/null; exit 3")[1:]
    same(status, 3, "status")
    found = {row["block"]["name"] for row in report["flat"]}
    assert {"bash", "ls"} <= found, found
    left = [name for name in os.listdir(WORK) if name.endswith(".cairn")]
    same(left, ["out.cairn"], "captures")


@case("a script runs under its interpreter, found on PATH")
def _():
    folder = os.path.join(WORK, "bin")
    os.makedirs(folder)
    tool = os.path.join(folder, "tool")
    with open(tool, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n%s split\nexit 5\n" % PROGRAM)
    os.chmod(tool, 0o755)
    same(sampled(tool)[:2], ("done\n", 5), "output and status")
    os.environ["PATH"] = folder + ":" + os.environ["PATH"]
    same(sampled("tool")[:2], ("done\n", 5), "output and status")


def until(true):
    end = time.time() + PATIENCE
    while not true():
        assert time.time() < end, "nothing happened for %d seconds" % PATIENCE
        time.sleep(0.02)


def shows(capture, names, least_ns):
    """Returns true if a live capture has these functions, or others of the same tuple, and as much wall time."""
    done = subprocess.run([CAIRN, "report", "--json", "--top", "0", "-m", "wall", capture], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        return False
    report = json.loads(done.stdout)
    found = {row["block"]["name"] for row in report["flat"] if row["inclusive"].get("wall", 0)}
    return total(report, "wall") > least_ns and all(found & {*of} for of in names)


@case("a program that is killed leaves a capture that can be read, and so does it with cairn run")
def _():
    capture, live = (os.path.join(WORK, name) for name in ("killed.cairn", "killed.sampled.cairn"))
    wanted = (("nap",), ("wait_in_poll",)), 0
    for with_tool in False, True:
        tool = subprocess.Popen([CAIRN, "run", "-o", capture, PROGRAM, "sleep", "until-told"], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        until(lambda: shows(live, *wanted))
        if with_tool:
            os.killpg(tool.pid, signal.SIGKILL)
        else:
            os.kill(int(report_of(live, "wall")["notes"]["process"]), signal.SIGKILL)
        said = tool.communicate(timeout=PATIENCE)[0]
        left = live if with_tool else capture
        same((said, tool.returncode), ("begun\n", -9), "output and status")
        assert shows(left, *wanted) and report_of(left, "wall")["state"] == "killed", (with_tool, said)
        os.remove(left)


@case("descriptors closed, a tiny stack, LD_PRELOAD of others")
def _():
    same(sampled("sh", "-c", "exec <&- >&- 2>&-; exec %s split" % PROGRAM)[1], 7, "status")
    same(sampled("sh", "-c", "ulimit -s 128; exec %s split" % PROGRAM)[:2], ("done\n", 7), "tiny")


# ---- from outside --------------------------------------------------------------------


def allowed():
    """Whether the kernel lets this user sample processes."""
    return sampled(PROGRAM, "split", options=["--outside"])[1] == 7


OUTSIDE = allowed()


def outside(name):
    """A case that needs the kernel's samples."""
    def add(test):
        @case(name)
        def _():
            if OUTSIDE:
                return test()
            print("# the kernel does not let this user sample processes (perf_event_paranoid)")
            return None
    return add


@outside("from outside: processor time by call path")
def _():
    output, status, report = sampled(PROGRAM, "split", options=["--outside"])
    same((output, status, report["notes"]["sampler"]), ("done\n", 7, "outside"), "run")
    check_split(report)


@outside("a static program is sampled from outside, without being told")
def _():
    static = built("static-program", "-static")
    if not static:
        print("# no static libc")
        return
    output, status, report = sampled(static, "split")
    same((output, status, report["notes"]["sampler"]), ("done\n", 7, "outside"), "run")
    check_split(report)


@outside("a tree of processes from outside: programs are the first level")
def _():
    script = "%s split; python3 -c 'sum(i * i for i in range(2000000))'; exit 3" % PROGRAM
    output, status, report = sampled("sh", "-c", script, options=["--outside"])
    same((output, status), ("done\n", 3), "output and status")
    assert share(report, "cpu", os.path.basename(PROGRAM)[:15]) > 0.2
    assert any(row["block"]["name"].startswith("_PyEval_EvalFrame") for row in report["flat"])


@outside("from outside: a late page, and a process that is stopped")
def _():
    output, _, report = sampled(PROGRAM, "faults", options=["--outside"])
    if "not allowed" in output:
        print("# the kernel does not let this user handle page faults")
        return
    late = costs(report, "wall", "[page fault]")
    is_as_late(late, output)
    output, _, report = sampled(PROGRAM, "stopped", options=["--outside"])
    is_as_late(costs(report, "wall", "[stopped]"), output)


def refuse_events():
    """In a child, before the tool: makes the kernel refuse perf_event_open, as it does in containers."""
    numbers = {"x86_64": 298, "aarch64": 241}
    load, equal, give = 0x20, 0x15, 0x06  # BPF: load a word; jump if equal; return
    refused, allowed = 0x00050000 | errno.EPERM, 0x7fff0000
    code = b"".join(struct.pack("HBBI", *part) for part in (
        (load, 0, 0, 0), (equal, 0, 1, numbers[os.uname().machine]), (give, 0, 0, refused),
        (give, 0, 0, allowed)))
    text = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, filter_mode = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, filter_mode, program, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


@case("from outside: a refusal names what the kernel forbids, and no other way")
def _():
    process = subprocess.run([CAIRN, "run", "--outside", "-o", os.path.join(WORK, "none.cairn"),
                              PROGRAM, "split"], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, preexec_fn=refuse_events, check=False)
    assert "was not run" in process.stdout and "perf_event_open" in process.stdout, process.stdout
    assert "ptrace" not in process.stdout, process.stdout


def attached(*command, options=(), before=None, until_shown=None):
    """Attaches to a process that has said that it begun, and tells it to end: when it is sampled, with
    `until_shown` when its capture shows that, or with --for after that. Returns the report, and what
    became of the process."""
    capture = os.path.join(WORK, "attached.cairn")
    if os.path.exists(capture):
        os.unlink(capture)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    same(process.stdout.readline(), "begun\n", "the program")
    tool = subprocess.Popen([CAIRN, "attach", *options, "-o", capture, str(process.pid)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=before)
    until(lambda: tool.poll() is not None or not options and os.path.exists(capture)
          and (not until_shown or shows(capture, *until_shown)))
    process.stdin.close()
    try:
        said = tool.communicate(timeout=PATIENCE)[0]
    finally:
        tool.kill()
        process.wait(timeout=PATIENCE)
    same((tool.returncode, said), (0, ""), "cairn attach")
    report = report_of(capture, "cpu")
    report["wall"] = report_of(capture, "wall")["flat"]
    return report, process.stdout.read(), process.returncode


SLEEPING = (("nap",), ("wait_in_poll",), ("sleeper",), ("main",))


@outside("attach: threads that sleep are where they sleep, with the call that they wait in")
def _():
    begin = time.monotonic()
    wanted = (*SLEEPING, ("[clock_nanosleep]", "[nanosleep]"), ("[poll]", "[ppoll]"))
    report, output, status = attached(PROGRAM, "sleep", "until-told", until_shown=(wanted, 3 * 0.5e9))
    same((output, status), ("done\n", 7), "output and status")
    # Four threads; three of them sleep, the first one waits for them.
    whole = total(report, "wall")
    assert 3 * 0.5e9 < whole < 4e9 * (time.monotonic() - begin), whole
    assert costs(report, "cpu", "main") < 0.2e9


@outside("attach: cairn top shows the functions of the running process")
def _():
    capture = os.path.join(WORK, "live.cairn")
    process = subprocess.Popen([PROGRAM, "split", "until-told"], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL)
    tool = subprocess.Popen([CAIRN, "attach", "-o", capture, str(process.pid)])
    until(lambda: os.path.exists(capture) and
          "main" in subprocess.run([CAIRN, "top", "--once", capture], text=True, check=False,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    process.stdin.close()
    same((process.wait(timeout=PATIENCE), tool.wait(timeout=PATIENCE)), (7, 0), "status")


@outside("attach: a process that ends meanwhile")
def _():
    report, output, status = attached(PROGRAM, "split", "until-told")
    same((output, status), ("done\n", 7), "output and status")
    assert costs(report, "cpu", "main") > 50e6, report["metrics"]


@outside("attach: threads begin, end and fork")
def _():
    for what in "threads", "forks":
        report, output, status = attached(PROGRAM, what, "until-told")
        same((output, status), ("done\n", 7), "output and status")
        assert total(report, "wall") > 0, report["metrics"]


@outside("attach: a process whose first thread has ended, and for which nobody waits when it ends")
def _():
    report, output, status = attached(PROGRAM, "leave")
    same((output, status), ("done\n", 7), "output and status")
    assert total(report, "cpu") > 10e6, report["metrics"]
    # Its mappings are those of the thread that runs on. What it is charged at first may be one sample
    # at its end; so the time in which it waits is looked at, too.
    assert costs(report, "wall", "survivor") > 0 or costs(report, "cpu", "survivor") > 0, report["wall"]


@outside("attach: 1,000 threads")
def _():
    report, output, _ = attached("python3", "-c", """
import sys, threading
told = threading.Event()
threads = [threading.Thread(target=told.wait) for _ in range(1000)]
for thread in threads: thread.start()
print("begun", flush=True)
sys.stdin.read()
told.set()
for thread in threads: thread.join()
print("done")
""", options=["--for", "500ms"])
    same(output, "done\n", "output")
    assert total(report, "wall") > 1000 * 0.4e9, report["metrics"]


def may_trace():
    """Whether the kernel lets this user trace processes that are not his children."""
    yama = "/proc/sys/kernel/yama/ptrace_scope"
    return os.geteuid() == 0 or not os.path.exists(yama) or open(yama, encoding="ascii").read() == "0\n"


@case("attach: where the kernel gives no samples, threads are stopped for them, and the cost is said")
def _():
    if not may_trace():
        print("# the kernel does not let this user trace processes")
        return
    report, output, status = attached(PROGRAM, "split", "until-told", options=["--for", "1s"],
                                      before=refuse_events)
    same((output, status, report["notes"]["sampler"]), ("done\n", 7, "stops"), "output and status")
    assert int(report["notes"]["stops"]) > 3 and int(report["notes"]["longest_stop_ns"]) > 0, report["notes"]
    # On a busy machine a second is less than one round through the parts.
    assert share(report, "cpu", "main") > 0.9, report["flat"]
    incomplete, samples = report["notes"]["incomplete_stacks"].split(" of ")
    assert int(incomplete) <= int(samples) / 10 + 1, (incomplete, samples)
    report, output, _ = attached(PROGRAM, "sleep", "until-told", before=refuse_events, until_shown=(SLEEPING, 0))
    same(output, "done\n", "no sleep was interrupted")
    report, output, status = attached(PROGRAM, "leave", before=refuse_events)
    same((output, status), ("done\n", 7), "output and status")
    attached(PROGRAM, "threads", "until-told", before=refuse_events)


@outside("attach: a process in another mount namespace: its files are read through /proc/PID/root")
def _():
    place = os.path.join(WORK, "hidden")
    os.makedirs(place, exist_ok=True)
    script = ("mount -t tmpfs none %s && cp %s %s/inner && exec %s/inner split until-told" %
              (place, PROGRAM, place, place))
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", place], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("# this user may not make mount namespaces")
        return
    report, output, status = attached("unshare", "-m", "sh", "-c", script, options=["--for", "1s"])
    same((output, status, os.listdir(place)), ("done\n", 7, []), "output, status and the folder here")
    assert report["notes"]["incomplete_stacks"].startswith("0 of "), report["notes"]
    # On a busy machine a second is less than one round through the parts: only names are compared.
    assert share(report, "cpu", "main") > 0.9, report["flat"]


@case("attach: a process that does not exist, and arguments that are none")
def _():
    for arguments, message in ((["2147483646"], "there is no process 2147483646"),
                               (["self"], 'PID is a process number, not "self"'),
                               (["--for", "1parsec", "1"], "--for needs a time"),
                               ([], "no process given")):
        found = subprocess.run([CAIRN, "attach", *arguments], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, check=False, cwd=WORK)
        assert found.returncode == 2 and message in found.stdout, (arguments, found)


@outside("attach: another user may not, and is told why")
def _():
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return
    process = subprocess.Popen([PROGRAM, "sleep"], stdout=subprocess.DEVNULL)
    found = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", CAIRN,
                            "attach", "-o", "/tmp/not-made.cairn", str(process.pid)], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    process.wait()
    assert "does not let this user" in found.stdout or found.returncode == 126, found


@outside("code compiled at run time has names of /tmp/perf-PID.map or of jitdump, inside and outside")
def _():
    if shutil.which("node") is None:
        return
    script = os.path.join(WORK, "spin.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write("function leaf(n) { let s = 0; for (let i = 0; i < n; i++) s += i * i % 7; return s }\n"
                   "const end = Date.now() + 600; let t = 0\n"
                   "while (Date.now() < end) t += leaf(1000000)\n")
    for options, names_by in ((options, names_by) for options in ([], ["--outside"])
                              for names_by in ("--perf-basic-prof", "--perf-prof")):
        report = sampled("node", names_by, script, options=options)[2]
        names = [row["block"]["name"] for row in report["flat"] if "leaf" in row["block"]["name"]
                 and row["self"].get("cpu", 0) > 0.2 * total(report, "cpu")]
        assert names, (options, names_by, report["flat"][:5])


main()
