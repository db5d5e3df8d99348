#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn top on a terminal that is emulated: what stands on the screen, and that nothing that
happens to the program, its capture or the terminal brings it down. And as text.

usage: screen.py CAIRN LIVE ALLOCATING
"""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from tap import case, main, run  # noqa: E402

try:
    import pyte
except ImportError:
    print("1..0 # SKIP there is no pyte (python3-pyte) to emulate a terminal")
    sys.exit(0)

CAIRN, LIVE, ALLOCATING = sys.argv[1:4]
WORK = tempfile.mkdtemp()
CAPTURE = os.path.join(WORK, "live.cairn")
PATIENCE = 120  # seconds, on a machine that has other things to do


class Program:
    """The program that is watched, for as long as a `with` lasts. It uses a processor all the time only
    if it is busy."""

    def __init__(self, seconds=60, threads=4, path=CAPTURE, wait=0.002, spans=False, busy=False):
        self.command = [LIVE, path, str(seconds), str(threads), "0", str(wait)]
        self.command += ["spans"] * spans + ["calm"] * (not busy)
        self.path = path
        self.threads = threads
        self.spans = spans

    def __enter__(self):
        if os.path.exists(self.path):
            os.remove(self.path)
        self.process = subprocess.Popen(self.command)
        end = time.time() + PATIENCE
        while not self.has_recorded():
            if time.time() > end:
                self.__exit__()
                raise AssertionError("it records nothing")
            time.sleep(0.05)
        return self.process

    def has_recorded(self):
        """Returns true if the capture shows calls by each thread, wall time, which it is sampled for later,
        and with `spans` one that has ended."""
        shown = self.table("self")
        return (re.search(r"\b%d lanes " % self.threads, shown) and "Parser::" in shown
                and "wall since the start" in shown
                and (not self.spans or "wait_for_input" in self.table("spans")))

    def table(self, view):
        return subprocess.run([CAIRN, "top", "--once", "-b", "--view", view, self.path],
                              capture_output=True, text=True, check=False).stdout

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Terminal:
    """cairn top on a terminal of its own."""

    def __init__(self, *arguments, columns=80, rows=24, **environment):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        master, slave = pty.openpty()
        self.file, self.slave = master, slave
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        setting = {**os.environ, "TERM": "linux", "LC_ALL": "C.UTF-8", **environment}
        if "NO_COLOR" not in environment:
            setting.pop("NO_COLOR", None)
        self.process = subprocess.Popen([CAIRN, "top", *arguments], stdin=slave, stdout=slave,
                                        stderr=slave, env=setting, start_new_session=True)

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def read(self, seconds):
        """Takes what comes in this time; false once nothing more will."""
        end = time.time() + seconds
        while True:
            left = end - time.time()
            ready, _, _ = select.select([self.file], [], [], max(0, left))
            if ready:
                data = os.read(self.file, 65536)
                self.raw += data
                self.stream.feed(data)
            elif left <= 0:
                return

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def colours(self):
        return {cell.fg for line in self.screen.buffer.values() for cell in line.values()}

    def press(self, keys, seconds=0.05):
        os.write(self.file, keys.encode())
        self.read(seconds)
        self.alive()

    def alive(self):
        if self.process.poll() is not None:
            raise AssertionError("cairn top ended with %s:\n%s"
                                 % (self.process.returncode, self.text()))

    def wait_for(self, pattern):
        """Until the screen shows it."""
        end = time.time() + PATIENCE
        while not re.search(pattern, self.text()):
            if time.time() > end:
                raise AssertionError("%r is not shown:\n%s" % (pattern, self.text()))
            self.read(0.02)
            self.alive()

    def wait_until_drawn(self):
        """Until cairn top waits, and all that it wrote is on the screen."""
        end, waits = time.time() + PATIENCE, 0
        while waits < 3:
            assert time.time() < end, "it goes on to draw:\n%s" % self.text()
            before = len(self.raw)
            with open("/proc/%d/stat" % self.process.pid, encoding="utf-8") as file:
                sleeps = file.read().rpartition(") ")[2][0] == "S"
            self.read(0.02)
            self.alive()
            waits = waits + 1 if sleeps and len(self.raw) == before else 0

    def quit(self):
        os.write(self.file, b"q")
        self.end()

    def end(self, status=0):
        """It ends by itself, and leaves the terminal as it was."""
        end = time.time() + PATIENCE
        while self.process.poll() is None and time.time() < end:
            self.read(0.02)
        self.read(0.05)
        found = self.process.poll()
        if found is None:
            self.process.kill()
        after = termios.tcgetattr(self.slave)
        os.close(self.file)
        os.close(self.slave)
        assert found == status, "ended with %s, not %s:\n%s" % (found, status, self.text())
        assert after == self.before, "the terminal's modes are not as they were"
        # (linux, which the emulator knows best, has no other screen.)
        entered, left = self.raw.count(b"\x1b[?1049h"), self.raw.count(b"\x1b[?1049l")
        assert left >= min(entered, 1), "the terminal was left in its other screen"
        assert self.raw.rfind(b"\x1b[?1049h") <= self.raw.rfind(b"\x1b[?1049l")
        assert b"\x1b[?25l" not in self.raw or b"\x1b[?25h" in self.raw or \
            b"\x1b[?12l\x1b[?25h" in self.raw, "the cursor stays hidden"


KEYS = ["\x1b[A", "\x1b[B", "\x1bOA", "\x1bOB", "\x1b[C", "\x1b[D", "\x1bOC", "\x1bOD", "\x1b[5~",
        "\x1b[6~", "\x1b[H", "\x1b[F", "\x1bOH", "\x1bOF", "\r", "m", "M", "v", "1", "2", "3", "4",
        "5", "s", "r", "/to\x7fken\r", "/x\x1b", " ", " ", "+", "-", "h", "?", "g", "G", "j", "k",
        "\x0c", "z", "\x01", "\xff", "\x1b[15~", "\x1b[<0;1;1M"]


@case("every key at every size")
def every_key():
    with Program():
        for columns, rows in [(80, 24), (200, 60), (40, 10), (12, 3), (1, 1)]:
            terminal = Terminal("-d", "0.1", CAPTURE, columns=columns, rows=rows)
            terminal.read(0.4)
            for view in "1234567":
                terminal.press(view, 0.02)
                for key in KEYS:
                    terminal.press(key, 0.005)
                terminal.press("\x1b", 0.06)
            terminal.press("\x1b", 0.06)
            terminal.quit()


@case("a running program, its views and figures")
def views():
    with Program(busy=True) as program:
        terminal = Terminal("-d", "0.2", CAPTURE, columns=120, rows=40)
        terminal.wait_for(r"of the last \d\.\d\d s: [2-5]\.\d\d threads.*\n\n.*function\n"
                          r" +\d\d\.\d +\d\d\.\d +\d\.\d\d .* Parser::next_token +src/parser")
        terminal.wait_for(r"\A\./live --stages many +running +pid %d " % program.pid)
        terminal.wait_for(r"4 lanes  4 strands  \d+ contexts  [\d.]+[kM]? calls/s")
        terminal.wait_for(r"wait_for_input.* src/queue\.cpp:31")
        terminal.press("3")
        # All stages cost the same: stage_0 can be the last.
        terminal.wait_for(r"(├─ stage_0.*\n.*│|└─ stage_0.*\n.* )  ├─ Parser::parse ↺")
        terminal.wait_for(r"\ncpu \[█+ *\] \d\.\d\d of \d+ cores +[ ▁▂▃▄▅▆▇█]{2,}\nwall of .* threads +[ ▁▂▃▄▅▆▇█]{2,}  view")
        terminal.press("5")
        terminal.wait_for(r"\na lane \(thread or interpreter\) runs one strand")
        terminal.wait_for(r"[01]\.\d\d +\d+ +1 .*█+ +\d worker 3 +wait_for_input")
        terminal.press("1")
        terminal.press("/WAIT")
        terminal.wait_for(r"filter: WAIT_")
        terminal.press("\r")
        terminal.wait_for(r"function\n[^\n]*wait_for_input[^\n]*\n\n")
        terminal.press("\r")
        terminal.wait_for(r"view: focus wait_for_input  filter: WAIT")
        terminal.press("\x1b", 0.1)
        terminal.wait_for(r"callers\n.* stage_3.*\nthe function\n.*wait_for_input")
        terminal.press("\x1b", 0.1)
        terminal.wait_for(r"view: self")
        terminal.press("m")
        terminal.wait_for(r"calls of the last")
        terminal.press("h")
        terminal.wait_for(r"Enter +callers and callees of a function")
        terminal.quit()


@case("the cursor's row is in reverse, and paused means that nothing changes")
def paused():
    with Program():
        terminal = Terminal("-d", "0.1", CAPTURE)
        terminal.wait_for(r"of the last")
        end, lines = time.time() + PATIENCE, []
        while lines[:1] <= [5] and time.time() < end:  # with its row it may have come to the top
            terminal.press("j", 0.2)
            terminal.wait_until_drawn()
            lines = [y for y in range(24) if terminal.screen.buffer[y][30].reverse]
        assert len(lines) == 1 and lines[0] >= 6, lines
        terminal.press(" ", 0.3)
        terminal.wait_for(r"paused")
        terminal.wait_until_drawn()
        text = terminal.text()
        terminal.read(0.5)
        assert terminal.text() == text
        terminal.press(" ", 0)
        terminal.wait_for(r"view: self\n")
        terminal.quit()


@case("a program that ends, and one that is killed")
def ends():
    with Program() as program:
        terminal = Terminal("-d", "0.1", CAPTURE)
        terminal.wait_for(r" running ")
        program.terminate()
        terminal.wait_for(r" ended .*\n.*\nwall since the start(.*\n)+.*Parser::next_token")
        terminal.quit()
    with Program() as program:
        terminal = Terminal("-d", "0.1", CAPTURE)
        terminal.wait_for(r" running ")
        os.kill(program.pid, signal.SIGSTOP)
        terminal.wait_for(r" suspended by a signal ")
        os.kill(program.pid, signal.SIGCONT)
        terminal.wait_for(r" running ")
        program.kill()
        terminal.wait_for(r" killed: last change .* ago ")
        terminal.wait_for(r"since the start")
        terminal.quit()


@case("a capture that is not there yet, and another run in its place")
def waiting():
    if os.path.exists(CAPTURE):
        os.remove(CAPTURE)
    terminal = Terminal("-d", "0.1", CAPTURE)
    terminal.wait_for(r"waiting for it")
    with Program(seconds=0.5, threads=2):
        terminal.wait_for(r"2 lanes")
        terminal.wait_for(r" ended ")
    with Program(threads=3):
        terminal.wait_for(r" running (.*\n)+3 lanes")
    os.remove(CAPTURE)
    terminal.wait_for(r"waiting for it(.*\n)+.*Parser::next_token")
    terminal.quit()


@case("a capture that is cut, overwritten and made whole while it is watched")
def hostile():
    with Program(seconds=0.5) as program:
        program.wait()
    with open(CAPTURE, "rb") as file:
        whole = file.read()
    terminal = Terminal("-d", "0.05", CAPTURE)
    terminal.wait_for(r" ended ")
    state = 1
    for i in range(60):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        place, kind = (state >> 20) % len(whole), i % 5
        if kind == 0:
            data = whole[:place]
        elif kind == 1:
            data = whole[:place] + os.urandom(64) + whole[place + 64:]
        elif kind == 2:
            data = whole[:4096] + os.urandom(len(whole) - 4096)
        elif kind == 3:
            data = whole[:8] + os.urandom(4096)
        else:
            data = b"" if i % 2 else os.urandom(300)
        with open(CAPTURE, "r+b") as file:
            file.truncate(len(data))
            file.write(data)
        terminal.press("123456"[i % 6], 0.06)
    terminal.wait_for(r"unreadable")
    with open(CAPTURE, "wb") as file:
        file.write(whole)
    terminal.press("1")
    terminal.wait_for(r" ended (.*\n)+.*Parser::next_token")
    terminal.quit()


@case("names never reach the terminal as more than text")
def names():
    with Program():
        terminal = Terminal("-d", "0.1", CAPTURE, columns=150)
        terminal.wait_for(r"naïve 漢 *字 *\?\[2J\? name +src/\?\]0;x\?\.c")
        terminal.quit()
        assert b"\x07" not in terminal.raw and b"]0;" in terminal.raw
        assert b"\x1b]0;" not in terminal.raw
        assert b"[2J? name" in terminal.raw


@case("another size")
def resized():
    with Program():
        terminal = Terminal("-d", "0.1", CAPTURE)
        terminal.wait_for(r"q quit")
        for columns, rows in [(200, 60), (30, 5), (5, 2), (100, 30)]:
            terminal.resize(columns, rows)
            os.kill(terminal.process.pid, signal.SIGWINCH)
            terminal.read(0.3)
            terminal.alive()
        terminal.wait_for(r"\./live .* running (.*\n)+.*src/parser/token")
        terminal.wait_for(r"\A(.*\n){29} *1-7 view")
        terminal.quit()


@case("signals end it, and the terminal is as before")
def signals():
    with Program():
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]:
            terminal = Terminal("-d", "0.1", CAPTURE, TERM="xterm-256color")
            terminal.wait_for(r" running ")
            os.kill(terminal.process.pid, number)
            terminal.end()


@case("colour, unless NO_COLOR")
def colour():
    with Program():
        terminal = Terminal("-d", "0.1", CAPTURE)
        end = time.time() + PATIENCE  # longest wait for a block with a large share
        while "red" not in terminal.colours() and time.time() < end:
            terminal.read(0.1)
        assert "red" in terminal.colours(), terminal.colours()
        terminal.quit()
        terminal = Terminal("-d", "0.1", CAPTURE, NO_COLOR="1")
        terminal.wait_for(r"Parser::next_token")
        terminal.read(1)
        assert terminal.colours() == {"default"}, terminal.colours()
        terminal.quit()


@case("a terminal that can do nothing gets text, and so does one that nobody knows")
def dumb():
    with Program(seconds=1):
        terminal = Terminal("-n", "2", "-d", "0.2", CAPTURE, TERM="dumb", columns=100)
        terminal.end()
        assert b"\x1b" not in terminal.raw
        assert terminal.raw.count(b"./live --stages many") == 2
        terminal = Terminal("-n", "2", "-d", "0.2", CAPTURE, TERM="of-no-make", columns=100)
        terminal.end()
        assert terminal.raw.count(b"./live --stages many") == 2


def shares(text):
    """The figures of a table's blocks: share, rate, calls."""
    found = {}
    for line in text.split("\n"):
        match = re.match(r" +([\d.-]+) +[\d.-]+ +([\d.-]+) .*  (Parser::\w+|\w+)  +src/", line)
        if match:
            found[match[3]] = tuple(float(n) if n != "-" else 0 for n in match.group(1, 2))
    return found


def batch_tables(good, *options):
    """Returns three tables of cairn top as text, the first of which is since the start. On a busy machine the
    program's threads may rest from one refresh to the next, so cairn top runs until the others are `good`."""
    end = time.time() + PATIENCE
    while True:
        text = run(CAIRN, "top", "-b", "-n", "3", "-d", "0.5", *options, CAPTURE)
        tables = text.split("./live --stages many")[1:]
        assert len(tables) == 3, text
        if all(map(good, tables[1:])):
            return tables
        assert time.time() < end, text


def has_live_shares(table):
    """One of four threads waits for input; the others parse."""
    found = shares(table)
    nothing = 0, 0
    share, threads = found.get("wait_for_input", nothing)
    return (re.search(r"wall of the last \d\.\d\d s: [2-5]\.\d\d threads", table)
            and 10 < share < 40 and 0.4 < threads < 1.6
            and found.get("Parser::next_token", nothing)[0] > found.get("stage_0", nothing)[0])


@case("as text: first since the start, then since the last refresh")
def batch():
    with Program(seconds=PATIENCE) as program:
        tables = batch_tables(has_live_shares)
        assert "wall since the start" in tables[0], tables[0]
        assert all(" running  pid %d " % program.pid in table for table in tables), tables
        by_pid = run(CAIRN, "top", "--once", "--pid", program.pid)
        assert " running  pid %d " % program.pid in by_pid, by_pid


@case("spans: percentiles of those that ended since the last refresh, and missed deadlines")
def spans():
    with Program(seconds=PATIENCE, spans=True):
        tables = batch_tables(lambda table: "wait_for_input" in table, "--view", "spans",
                              "--deadline", "wait_for_input=2ms")
        assert "spans that ended since the start" in tables[0], tables
        for table in tables:
            row = re.search(r"\n +(\S+) +([\d.]+) ms +([\d.]+) ([mµ]?s) +([\d.]+) ([mµ]?s) +(\S+) +(\S+ \S+) +wait_for_input", table)
            assert row and row[1] == row[7] if "since the start" in table else row, table  # no sleep is shorter than 2 ms
            scale = {"ms": 1, "s": 1000, "µs": 0.001}
            p99, longest = float(row[3]) * scale[row[4]], float(row[5]) * scale[row[6]]
            assert 2 <= float(row[2]) <= p99 <= longest, table
        for table in tables[1:]:
            assert re.search(r"spans that ended in the last \d\.\d\d s: ", table), table
            assert "spans/s" in table and "missed" in table, table
        terminal = Terminal("-d", "0.2", "--deadline", "wait_for_input=10s", CAPTURE, columns=120, rows=40)
        terminal.wait_for(r"view: self")
        terminal.press("7")
        terminal.wait_for(r"spans that ended in the last .*view: spans\n\n +spans/s +median +p99 +longest +missed +total/s +span name\n"
                          r" +\d+(\.\d+)? .* - .*wait_for_input")
        terminal.press("r")
        terminal.wait_for(r"spans that ended since the start")
        terminal.quit()


@case("a thread that waits is seen to wait, while it does")
def waits():
    with Program(wait=600):
        terminal = Terminal("-d", "0.3", CAPTURE, columns=120)
        for view in "13":
            terminal.press(view)
            terminal.wait_for(r"of the last(.*\n)+ +2\d\.\d +2\d\.\d +\d\.\d\d .*[ ─]wait_for_input")
        terminal.press("5")
        terminal.wait_for(r"of the last(.*\n)+ +2\d\.\d +\d\.\d\d .* \d worker 3 +wait_for_input")
        terminal.quit()


@case("a program of machine code: its functions have names, while it runs")
def functions():
    if not os.path.exists(os.path.join(os.path.dirname(CAIRN), "hosts/alloc/libcairn-alloc.so")):
        return  # not in this build
    capture = os.path.join(WORK, "alloc.cairn")
    program = subprocess.Popen([CAIRN, "run", "--quiet", "--alloc=exact", "-o", capture,
                                ALLOCATING, "120"], start_new_session=True)
    try:
        terminal = Terminal("-d", "0.2", capture, columns=120)
        terminal.wait_for(r"alloc bytes of the last(.*\n)+.* fill +.*allocating\.c:\d+")
        terminal.wait_for(r" begin_late +.*allocating\.c:\d+")  # which is new
        assert not re.search(r"\b0x[0-9a-f]|\bmalloc\b|\bcalloc\b", terminal.text())
        terminal.press("3")
        terminal.wait_for(r"─ begin_late.*\n.*work.*\n(.*\n)?.*make_kept .*\n.*fill ")
        assert not re.search(r"\b0x[0-9a-f]", terminal.text())
        terminal.press("1")
        terminal.press("/fill\r")
        terminal.wait_for(r"function\n[^\n]* fill +")
        terminal.press("\x1b6")  # its source: the line that allocates has the cost
        terminal.wait_for(r"view: source fill\n(.*\n)+ +[\d.]+ +- +- .* INSIDE void \*fill\(void\)\n"
                          r".*\{\n +- +\d\d\.\d +[\d.]+ .* void \*memory = malloc\(100000\);\n +- +- +- .*KEEP")
        terminal.press("\x1b", 0.1)
        terminal.wait_for(r"view: self")
        terminal.quit()
        text = run(CAIRN, "top", "-b", "-n", "3", "-d", "0.2", "--metric", "alloc objects",
                   capture)
        tables = text.split("\nalloc objects ")[1:]
        assert len(tables) == 3, text
        for table in tables:
            share = {name: float(figure) for figure, name in re.findall(
                r"^ +([\d.]+) +[\d.]+ .*  (fill|make_brief) ", table, re.M)}
            # All that comes is of one or the other; in all, one in eleven is kept.
            nothing = "nothing ran" in table and not share
            assert nothing or 99.8 < sum(share.values()) < 100.2, table
            assert "since the start" not in table or 8.5 < share["fill"] < 9.7, table
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()


@case("a reader that goes away ends it")
def reader():
    with Program():
        tool = subprocess.Popen([CAIRN, "top", "-b", "-d", "0.05", CAPTURE],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        tool.stdout.readline()
        tool.stdout.close()
        words = tool.stderr.read()
        assert tool.wait(PATIENCE) in (0, -signal.SIGPIPE) and not words, words


try:
    main()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
