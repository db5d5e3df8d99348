# SPDX-License-Identifier: MIT
"""A ClickHouse server of its own for a test: on free loopback ports, in a temporary folder."""
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 60  # seconds, until it answers

CONFIG = """<?xml version="1.0"?>
<yandex>
  <logger><level>error</level><log>{path}/log</log><errorlog>{path}/errors</errorlog></logger>
  <http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
  <path>{path}/data/</path><tmp_path>{path}/tmp/</tmp_path>
  <users_config>{path}/users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
  <mark_cache_size>67108864</mark_cache_size>{more}
</yandex>
"""

USERS = """<?xml version="1.0"?>
<yandex>
  <profiles><default></default><inserts><readonly>0</readonly></inserts></profiles>
  <users>
    <default><password></password><networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile><quota>default</quota></default>
    <writer><password></password><networks><ip>127.0.0.1</ip></networks>
      <profile>inserts</profile><quota>default</quota>
      <allow_databases><database>written</database></allow_databases></writer>
    <guarded><password>open sesame</password><networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile><quota>default</quota></guarded>
  </users>
  <quotas><default></default></quotas>
</yandex>
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def found():
    """Returns true if there is a server to start."""
    return shutil.which("clickhouse-server") is not None


class Server:
    """A server for as long as a `with` lasts. It can be stopped and started again."""

    def __init__(self, more="", folder=None):
        """`more` is XML for the configuration; `folder`, if given, is where all files go."""
        self.path = tempfile.mkdtemp(prefix="cairn-clickhouse-", dir=folder)
        self.http, self.tcp = free_port(), free_port()
        self.process = None
        self.configure(more)

    def configure(self, more):
        config = CONFIG.format(path=self.path, http=self.http, tcp=self.tcp, more=more)
        for name, text in (("config.xml", config), ("users.xml", USERS)):
            with open(os.path.join(self.path, name), "w", encoding="utf-8") as file:
                file.write(text)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self.process:
            self.kill()  # it would take seconds to end, and its files are deleted
        shutil.rmtree(self.path, ignore_errors=True)

    def start(self):
        with open(os.path.join(self.path, "output"), "ab") as output:
            self.process = subprocess.Popen(
                ["clickhouse-server", "--config-file=" + os.path.join(self.path, "config.xml")],
                stdout=output, stderr=output, cwd=self.path)
        end = time.time() + PATIENCE
        while time.time() < end and self.process.poll() is None:
            try:
                if self.ask("SELECT 1", "default") == [["1"]]:
                    return
            except OSError:
                time.sleep(0.1)
        with open(os.path.join(self.path, "output"), encoding="utf-8") as output:
            raise OSError("clickhouse-server does not answer: " + output.read()[-500:])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def url(self, database="cairn", user=None):
        return "clickhouse://%s127.0.0.1:%d/%s" % (user + "@" if user else "", self.http, database)

    def ask(self, sql, database="cairn"):
        """Returns the rows of the answer as lists of text."""
        request = "http://127.0.0.1:%d/?database=%s" % (self.http, database)
        try:
            with urllib.request.urlopen(request, sql.encode("utf-8"), PATIENCE) as answer:
                text = answer.read().decode("utf-8", "backslashreplace")
        except urllib.error.HTTPError as error:
            raise ValueError(error.read().decode("utf-8", "replace")) from error
        return [line.split("\t") for line in text.splitlines()]

    def proxy(self, refuses):
        return Proxy(self, refuses)


class Proxy:
    """Passes on to a server what `refuses` does not refuse: it returns the server's words, or None."""

    def __init__(self, to, refuses):
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
                sql = query.get("query", [body.decode("utf-8", "replace")])[0]
                status, answer = 500, (refuses(sql) or "").encode()
                if not answer:
                    try:
                        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (to.http, self.path),
                                                    body) as reply:
                            status, answer = 200, reply.read()
                    except urllib.error.HTTPError as error:
                        status, answer = error.code, error.read()
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def url(self, name):
        return "clickhouse://127.0.0.1:%d/%s" % (self.server.server_address[1], name)
