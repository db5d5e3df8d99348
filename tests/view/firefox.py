#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens the pages of cairn view in Firefox ESR, driven by its own protocol (Marionette): each must be
drawn without errors.

firefox.py CAIRN PLAY JOBS [PICTURES]
"""
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CAIRN, PLAY, JOBS = map(os.path.abspath, sys.argv[1:4])
PICTURES = sys.argv[4] if len(sys.argv) > 4 else None
EVENTS = "2 * >main +5 >parse +7 >token +2 ~token +1 < < <\n>main >parse >parse >token +4 < < < <\n"
# Addresses, and an element that each page must contain.
PAGES = [("flame", "canvas"), ("overall", "tr[data-block]"), ("self", "tr[data-block]"),
         ("sequences", ".path a.last"), ("sequence?focus=2", "tr[data-step]"),
         ("graph", ".graph a.node"), ("flame?callers=1", "canvas"), ("diff?before=0&after=1", "table.sides tr"),
         ("timeline?file=2", ".lanes canvas"), ("span-tree?file=2", "canvas"),
         ("spans?file=2", "tr[data-block]"), ("iterations?file=2", ".u-over"),
         ("explain?file=2", "[data-what=answer]"), ("whatif?file=2", "[data-what=predicted]"),
         ("missing?file=2", "[data-what=missing]"), ("source?file=2", "tr[data-file]"),
         ("diff?before=0&after=1&beside=1", "[data-side=after] canvas")]


class Firefox:
    """A headless browser."""

    def __init__(self, folder):
        profile = os.path.join(folder, "profile")
        os.makedirs(profile)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with open(os.path.join(profile, "user.js"), "w", encoding="ascii") as file:
            file.write('user_pref("marionette.port", %d);\n' % port)
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--no-remote", "--marionette", "--profile", profile,
             "--window-size=1280,800"], env=dict(os.environ, HOME=folder),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.line = self.connect(port)
        self.number = 0
        self.read()
        self.ask("WebDriver:NewSession", {})

    @staticmethod
    def connect(port):
        for _ in range(600):
            try:
                line = socket.create_connection(("127.0.0.1", port), timeout=60)
                return line.makefile("rwb")
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("firefox does not listen")

    def read(self):
        digits = b""
        while not digits.endswith(b":"):
            digits += self.line.read(1)
        return json.loads(self.line.read(int(digits[:-1])))

    def ask(self, what, items):
        self.number += 1
        text = json.dumps([0, self.number, what, items]).encode()
        self.line.write(b"%d:%s" % (len(text), text))
        self.line.flush()
        _, _, error, answer = self.read()
        if error:
            raise RuntimeError(error["message"])
        return answer

    def run(self, script):
        return self.ask("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]

    def close(self):
        self.line.close()
        self.process.terminate()
        self.process.wait(timeout=30)


def wait_for(firefox, selector):
    script = """return document.documentElement.dataset.waiting === '0' &&
        document.querySelector(%s) ? document.querySelector('.problem')?.textContent || 'drawn' : ''
    """ % json.dumps(selector)
    for _ in range(600):
        found = firefox.run(script)
        if found:
            return found
        time.sleep(0.1)
    return "nothing is drawn"


def show(firefox, base, page, selector):
    firefox.ask("WebDriver:Navigate", {"url": base + "#/" + page})
    found = wait_for(firefox, selector)
    wide = firefox.run("return document.documentElement.scrollWidth <= innerWidth ? '' : 'too wide'")
    if PICTURES:
        time.sleep(0.3)
        picture = firefox.ask("WebDriver:TakeScreenshot", {"full": False})["value"]
        name = page.split("?")[0] + ".png"
        with open(os.path.join(PICTURES, name), "wb") as file:
            file.write(base64.b64decode(picture))
    return "" if found == "drawn" and not wide else found + " " + wide


def main():
    if not shutil.which("firefox-esr"):
        print("1..1\nok 1 - the page in Firefox # SKIP firefox-esr is not there")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("a.cairn", EVENTS), ("b.cairn", EVENTS.replace("+7", "+9"))):
            subprocess.run([PLAY, name], input=text, text=True, check=True, cwd=folder)
        subprocess.run([JOBS], check=True, cwd=folder, env=dict(os.environ, CAIRN_OUT="jobs.cairn"))
        server = subprocess.Popen([CAIRN, "view", "a.cairn", "b.cairn", "jobs.cairn"], cwd=folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        base = server.stdout.readline().strip()
        if not base:
            print("1..1\nok 1 - the page in Firefox # SKIP %s" % server.stderr.read().strip())
            return 0
        firefox = Firefox(folder)
        failed = 0
        print("1..%d" % len(PAGES), flush=True)
        for number, (page, selector) in enumerate(PAGES, 1):
            fault = show(firefox, base, page, selector)
            failed += bool(fault)
            if fault:
                print("# " + fault)
            print("%s %d - %s" % ("not ok" if fault else "ok", number, page), flush=True)
        firefox.close()
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=20)
        server.stdout.close()
        server.stderr.close()
    return 1 if failed else 0


sys.exit(main())
