# SPDX-License-Identifier: MIT
"""Packages that npm fetches for the page of `cairn view` and for tests of it."""
import os
import shutil
import subprocess

COPIED = ("package.json", "package-lock.json", ".npmrc", "tsconfig.json")


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def install(source, folder, *options, npm="npm"):
    """Installs the packages of the lock file in `source` to `folder`, where they stay. Runs npm only if
    the lock file has changed. Returns None, or npm's message if that fails."""
    os.makedirs(folder, exist_ok=True)
    for name in COPIED:
        if os.path.exists(os.path.join(source, name)):
            shutil.copy(os.path.join(source, name), folder)
    done, lock = os.path.join(folder, "fetched"), read(os.path.join(source, "package-lock.json"))
    if read(done) == lock:
        return None
    fetched = subprocess.run([npm, "ci", *options, "--ignore-scripts", "--prefer-offline"], cwd=folder,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if fetched.returncode:
        return "npm ci: %s" % fetched.stdout.decode("utf-8", "replace")
    with open(done, "wb") as file:
        file.write(lock)
    return None
