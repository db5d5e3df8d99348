# SPDX-License-Identifier: MIT
"""Cost of each way of profiling for a program that does little but call: the tables of
bench/SWEEP.md from what bench/sweep.c prints, with each compiler that there is."""
import statistics
import subprocess
import sys
from collections import defaultdict

PROGRAMS = {
    "leaf-inside": "a leaf in a loop",
    "fib": "double recursion",
    "sort": "a sort that compares through a pointer",
    "tree": "64 functions that call each other through pointers",
}

STACK_ONLY = [("stack-0", "stack-off"), ("marks-0", "marks-off")]

WAYS = [
    ("off", "off: compiled in, the strand is NULL"),
    ("stack-off", "off: stack only, the strand is NULL"),
    ("disabled", "counts, the profile disabled"),
    ("stack-disabled", "stack only, the profile disabled"),
    ("stack-0", "stack only, no clock"),
    ("stack-1000", "stack only, wall sampled at 1 kHz"),
    ("marks-0", "stack only by marks, no clock"),
    ("marks-1000", "stack only by marks, wall sampled at 1 kHz"),
    ("marks-ticks", "stack only by marks, a tick a call, one in 1,000 sampled"),
    ("counts-0", "counts"),
    ("counts-1000", "counts, wall sampled at 1 kHz"),
    ("cpu-1000", "counts, cpu sampled at 1 kHz"),
    ("both-1000", "counts, wall and cpu sampled at 1 kHz"),
    ("ticks-sampled", "counts, a tick a call, one in 1,000 sampled"),
    ("ticks", "counts, a tick a call, exact"),
    ("exact", "counts, exact wall"),
]

RATES = [0, 1000, 2000, 5000, 10000]
SHOWN = [100, 1000, 10000]
HALF, ONE_KILOHERTZ, TEN_KILOHERTZ = 0.5, 1.01, 1.05


class Turns:
    """The figures of one program, by way: a list with one for each round. A call's is that of
    the slice in the middle, where there are no samples to be counted in."""

    def __init__(self):
        self.thread, self.process, self.call = (defaultdict(list) for _ in range(3))

    def rounds(self):
        return range(len(self.thread["plain"]))

    def more(self, way, base="plain"):
        """Nanoseconds a call more than the base of the same round."""
        return [a - b for a, b in zip(self.call[way], self.call[base])]

    def share(self, way, off):
        """Of what counts cost more than off, how much this way costs more than its off: the same
        program with the same verbs and a NULL strand."""
        return [more / counts
                for more, counts in zip(self.more(way, off), self.more("counts-0", "off"))]

    def against(self, way, base, of="thread"):
        times = getattr(self, of)
        return [a / b for a, b in zip(times[way], times[base])]

    def sample_ns(self, name):
        """What a sample costs, by the slope of a line through the rates: one for each round."""
        slopes = []
        for i in self.rounds():
            points = [(rate, self.thread[f"{name}-{rate}"][i] / self.thread[f"{name}-0"][i])
                      for rate in RATES if f"{name}-{rate}" in self.thread]
            slopes.append(statistics.linear_regression(*zip(*points)).slope * 1e9)
        return slopes


def read(text):
    programs = defaultdict(Turns)
    for line in text.splitlines():
        program, way, _, *figures = line.split("\t")
        thread, middle_slice, process = map(float, figures)
        sampled = way.endswith("00")
        programs[program].thread[way].append(thread)
        programs[program].call[way].append(thread if sampled else middle_slice)
        programs[program].process[way].append(process)
    return programs


def run(place, rounds):
    scratch = place / "bench-scratch"
    scratch.mkdir(exist_ok=True)
    command = [place / "bench" / "bench-sweep", "-r", str(rounds), *PROGRAMS]
    done = subprocess.run(command, cwd=scratch, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("bench/run: bench-sweep failed")
    return read(done.stdout)


def middle(series, form):
    return form.format(statistics.median(series))


def spread(series, form):
    return f"{form.format(min(series))} to {form.format(max(series))}"


def row(*cells):
    return "| " + " | ".join(cells) + " |\n"


def head(*cells):
    return row(*cells) + row("---", *["---:"] * (len(cells) - 1))


def costs(programs):
    text = head("", *PROGRAMS)
    text += row("plain: ns a call", *(middle(programs[p].call["plain"], "{:.2f}")
                                      for p in PROGRAMS))
    for way, says in WAYS:
        text += row(says, *(middle(programs[p].more(way), "{:+.2f}") for p in PROGRAMS))
    return text


class Bars:
    def __init__(self):
        self.held, self.missed = 0, 0

    def verdict(self, value, bar):
        good = value <= bar
        self.held += good
        self.missed += not good
        return "ok" if good else "**misses**"


def shares(programs, bars):
    """Stack only against off, in units of what counts cost against off."""
    text = head("", "left by `cairn_stack_leave`", "spread", "by marks", "spread", "at most 0.5")
    for program, says in PROGRAMS.items():
        turns = programs[program]
        cells, least = [], None
        for way, off in STACK_ONLY:
            series = turns.share(way, off)
            cells += [middle(series, "{:.2f}"), spread(series, "{:.2f}")]
            value = statistics.median(series)
            least = value if least is None else min(least, value)
        text += row(f"{program}: {says}", *cells, bars.verdict(least, HALF))
    return text


def rates(programs, bars):
    text = head("", *(f"{rate:,} Hz" for rate in SHOWN), "ns a sample", "1 kHz by the slope",
                "at most 1.01", "10 kHz: at most 1.05", "10 kHz, against a thread that only wakes",
                "10 kHz with the sampler's own thread")
    for name, says in (("stack", "stack only"), ("counts", "counts")):
        for program in PROGRAMS:
            turns = programs[program]
            cells = [middle(turns.against(f"{name}-{rate}", f"{name}-0"), "{:.4f} ×")
                     for rate in SHOWN]
            sample = statistics.median(turns.sample_ns(name))
            slope = 1 + sample * 1e-6
            cells += [f"{sample:.0f}", f"{slope:.5f} ×", bars.verdict(slope, ONE_KILOHERTZ)]
            most = turns.against(f"{name}-10000", f"{name}-0")
            cells += [bars.verdict(statistics.median(most), TEN_KILOHERTZ)]
            wakes = turns.against("wakes-10000", "counts-0")
            cells.append(middle([a / b for a, b in zip(most, wakes)], "{:.3f} ×"))
            whole = turns.against(f"{name}-10000", f"{name}-0", "process")
            text += row(f"{says}: {program}", *cells, middle(whole, "{:.3f} ×"))
    return text


def answer(measured):
    """The seed's two questions, in words that follow from the figures."""
    def shares_of(way, off):
        return [statistics.median(turns.share(way, off))
                for programs in measured.values() for turns in programs.values()]

    best = [min(pair) for pair in zip(*(shares_of(way, off) for way, off in STACK_ONLY))]
    worst, typical = max(best), statistics.median(best)
    counts = [statistics.median(turns.more("counts-0", "off"))
              for programs in measured.values() for turns in programs.values()]
    sampled = statistics.median(statistics.median(turns.sample_ns("counts"))
                                for programs in measured.values() for turns in programs.values())
    return f"""*Is there any way we can make it much more efficient to enter and exit a profile block?*
Yes. A call and its return with exact counts cost {min(counts):.1f} to {max(counts):.1f} ns more than with profiling
compiled in and off. Where counts are not wanted, a strand that keeps only its stack
(`cairn/stack.h`) costs {100 * typical:.0f} % of that in the median of these programs and compilers, {100 * worst:.0f} % at
the worst: entering stores the block and the height, leaving stores the height again. There are two
ways to leave, and the figures are of the faster one. `cairn_stack_leave` loads the height that entering stored, and
with some compilers the program waits for that load. Going back to the mark that entering returned loads nothing.

*Do we lose accurate information about the number of times a block is called?* Not by sampling.
A sample of wall time costs the program {sampled:,.0f} ns in the median, {sampled / 1e4:.2f} % at 1 kHz, with exact
counts kept all along. It is the stack alone that gives the counts up, and it need not be chosen.
"""


def report(measured):
    """The Markdown of all compilers, and how many bars hold and are missed."""
    bars = Bars()
    text = answer(measured)
    for compiler, programs in measured.items():
        wakes = statistics.median(statistics.median(turns.against("wakes-10000", "counts-0"))
                                  for turns in programs.values())
        text += f"""
## With {compiler}

Processor time of the program's own thread, in ns a call more than plain:

{costs(programs)}
Cost of stack only relative to that of counts (1.00), each less the cost of the same program with the
same verbs and a NULL strand. The bar is for the cheaper of the two ways to leave:

{shares(programs, bars)}
Sampled wall time, against the same without a clock. On a machine whose processors are all taken,
most of it is what the system takes to run another thread: a thread that wakes 10,000 times a
second and does nothing costs the program {wakes:.3f} × here, and the last column but one is what
is left beside that.

{rates(programs, bars)}"""
    return text, bars.held, bars.missed
