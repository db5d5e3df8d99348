#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every kind of click on the page of cairn view works with 2 million contexts, with 2 million spans,
and in a single-file page of 2 million contexts; and an explanation by the server is that
of the command. The times of the clicks are printed, but not judged: bench/run view
does that.

clicks.py CAIRN MAKE_CAPTURE MAKE_SPANS DRIVE FOLDER
playwright-core is installed in FOLDER, as by page.py.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request

CAIRN, MAKE_CAPTURE, MAKE_SPANS, DRIVE, KEPT = map(os.path.abspath, sys.argv[1:6])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
import npm_packages  # pylint: disable=wrong-import-position

COUNT = 2000000
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


def clicks(number, kind, path, text):
    done = subprocess.run(["node", DRIVE, KEPT, CAIRN, kind, path], check=False, capture_output=True, text=True)
    times = json.loads(done.stdout)["clicks"] if done.returncode == 0 else {}
    slow = ", ".join("%s %d ms" % one for one in sorted(times.items(), key=lambda one: -one[1])[:4])
    report(number, len(times) > 1, text, "%d kinds; slowest: %s" % (len(times), slow) if times else
           done.stderr[-500:].replace("\n", "\n# "))


def explained(number, path):
    server = subprocess.Popen([CAIRN, "view", path], stdout=subprocess.PIPE, text=True)
    try:
        base = server.stdout.readline().strip()
        found = []
        for _ in range(2):  # the second answer at the latest was kept
            with urllib.request.urlopen("%sapi/explain?block=%d" % (base, DRAW)) as answer:
                found.append(json.loads(answer.read()))
        wanted = json.loads(subprocess.run([CAIRN, "explain", "--json", "--top", "12", path, "draw"], check=True,
                                           stdout=subprocess.PIPE).stdout)
        report(number, found == [wanted, wanted], "an explanation by the server is the command's, at first and again")
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
        clicks(2, "html", page, "clicks in a page of 2 million contexts")
        subprocess.run([MAKE_SPANS, spans, str(COUNT)], check=True)
        clicks(3, "spans", spans, "clicks with 2 million spans")
        explained(4, spans)
    return failed > 0


sys.exit(main())
