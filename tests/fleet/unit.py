#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The systemd unit of the agent: systemd's own check of it, and its command run as the unit says.

usage: unit.py CAIRN MAKE_SPANS UNIT
"""
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import clickhouse  # noqa: E402
from tap import case, main, run, same  # noqa: E402

CAIRN, MAKE_SPANS, UNIT = sys.argv[1:4]
WORK = tempfile.mkdtemp()
USER = "daemon" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
os.chmod(WORK, 0o755)
for tool in ("systemd-analyze", "clickhouse-server"):
    if not shutil.which(tool):
        print("1..0 # SKIP there is no " + tool)
        sys.exit(0)


def path(name):
    return os.path.join(WORK, name)


def settings():
    """The unit's settings as systemd reads them for the user."""
    with open(UNIT, encoding="utf-8") as file:
        lines = [line.strip().split("=", 1) for line in file if "=" in line and line[0] != "#"]
    return {key: value.replace("%i", USER) for key, value in lines}


@case("systemd finds no fault with the unit")
def _():
    # The tool need not be installed yet, nor may its user be.
    with open(UNIT, encoding="utf-8") as file:
        text = file.read().replace("/usr/bin/cairn", "/bin/true")

    def faults(text):
        with open(path("cairn-agent@.service"), "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", path("cairn-agent@daemon.service")],
                              capture_output=True, text=True, check=False)
        return done.stdout + done.stderr
    same(faults(text), "", "what systemd says")
    assert "Protection" in faults(text.replace("PrivateTmp", "Protection")), "a misspelt key is found"


@case("the unit's command, as its user and with its environment alone, sends what is in its folder")
def _():
    unit = settings()
    words = shlex.split(unit["ExecStart"])
    folder = os.path.join("/var/lib", unit["StateDirectory"])
    same(words[:2] + words[-1:], ["/usr/bin/cairn", "agent", folder], "command")
    shutil.copy(CAIRN, path("cairn"))
    os.mkdir(path("state"))
    run(MAKE_SPANS, path("state/a.cairn"))
    if os.getuid() == 0:
        user = pwd.getpwnam(USER)
        for name in (path("state"), path("state/a.cairn")):
            os.chown(name, user.pw_uid, user.pw_gid)
    with clickhouse.Server() as server:
        run(CAIRN, "fleet", "init", env=dict(os.environ, CAIRN_FLEET=server.url()))
        account = {"user": USER, "extra_groups": []} if os.getuid() == 0 else {}
        agent = subprocess.Popen([path("cairn"), *words[1:-1], path("state")], cwd="/", text=True,
                                 env={"CAIRN_FLEET": server.url()}, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, **account)
        line = agent.stdout.readline()
        agent.send_signal(signal.SIGTERM)  # as systemd ends it
        rest = agent.communicate()[0]
        assert agent.returncode in (0, -signal.SIGTERM), (agent.returncode, line + rest)
        same(server.ask("SELECT count() FROM runs FINAL"), [["1"]], "runs, after: " + line + rest)
    same(unit["Restart"], "on-failure", "an end by SIGTERM is none")


try:
    main()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
