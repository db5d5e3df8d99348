#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long clicks take on the page of cairn view with 2 million contexts, with 2 million spans, and
in a single-file page of 2 million contexts: of each kind of click the median of five rounds, each
with a page that is opened anew; and that an explanation that the server computed in advance is that
of the command. Run it alone.

clicks.py CAIRN MAKE_CAPTURE MAKE_SPANS DRIVE FOLDER
playwright-core is installed in FOLDER, as by page.py.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

CAIRN, MAKE_CAPTURE, MAKE_SPANS, DRIVE, KEPT = map(os.path.abspath, sys.argv[1:6])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
import npm_packages  # pylint: disable=wrong-import-position

COUNT = 2000000
ROUNDS = 5
MEDIAN, WORST = 200, 500  # ms, over the kinds of clicks
DRAW = 4  # the block of make_spans.c with most spans
failed = 0


def fetch():
    if not shutil.which("npm") or not os.path.exists("/usr/bin/chromium"):
        print("1..0 # SKIP npm and chromium are needed")
        sys.exit(0)
    if npm_packages.install(HERE, KEPT):
        print("1..0 # SKIP npm cannot fetch playwright-core")
        sys.exit(0)


def report(number, good, text, remark=""):
    global failed
    failed += not good
    print("%s %d - %s%s" % ("ok" if good else "not ok", number, text, remark and "\n# " + remark), flush=True)


def one_round(kind, path):
    done = subprocess.run(["node", DRIVE, KEPT, CAIRN, kind, path], check=True,
                          stdout=subprocess.PIPE, text=True)
    answer = json.loads(done.stdout)
    times = dict(answer["clicks"])
    times.update((name, ms) for name, ms in answer.get("causes", {}).items() if name.startswith("explain"))
    return times


def clicks(number, kind, path, text, median=MEDIAN):
    rounds = [one_round(kind, path) for _ in range(ROUNDS)]
    times = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    slow = ", ".join("%s %d" % (name, ms) for name, ms in sorted(times.items(), key=lambda one: -one[1])[:4])
    middle = statistics.median(times.values())
    report(number, middle <= median and max(times.values()) <= WORST, text,
           "median %d ms; slowest: %s" % (middle, slow))


def explained(number, path):
    server = subprocess.Popen([CAIRN, "view", path], stdout=subprocess.PIPE, text=True)
    try:
        base = server.stdout.readline().strip()
        took = 1e9
        for _ in range(50):  # until it was computed in advance
            begin = time.time()
            with urllib.request.urlopen("%sapi/explain?block=%d&ignored=%f" % (base, DRAW, begin)) as answer:
                found = json.loads(answer.read())
            took = min(took, 1000 * (time.time() - begin))
            if took < 20:
                break
            time.sleep(0.2)
        wanted = json.loads(subprocess.run([CAIRN, "explain", "--json", "--top", "12", path, "draw"], check=True,
                                           stdout=subprocess.PIPE).stdout)
        report(number, found == wanted and took < 20, "an explanation computed in advance is the command's",
               "%d ms" % took)
    finally:
        server.terminate()
        server.wait()


def main():
    fetch()
    print("1..4")
    with tempfile.TemporaryDirectory() as folder:
        contexts, spans, page = (os.path.join(folder, name) for name in ("c.cairn", "s.cairn", "c.html"))
        subprocess.run([MAKE_CAPTURE, contexts, str(COUNT)], check=True)
        clicks(1, "contexts", contexts, "clicks with 2 million contexts")
        subprocess.run([CAIRN, "report", contexts, "--html", page], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        clicks(2, "html", page, "clicks in a page of 2 million contexts", WORST)
        subprocess.run([MAKE_SPANS, spans, str(COUNT)], check=True)
        clicks(3, "spans", spans, "clicks with 2 million spans")
        explained(4, spans)
    return failed > 0


sys.exit(main())
