# SPDX-License-Identifier: MIT
"""Cases as TAP; running programs."""
import subprocess
import sys

cases = []


def case(name):
    """A function that tests what `name` says: it raises AssertionError if that does not hold."""
    def add(function):
        cases.append((name, function))
        return function
    return add


def same(found, expected, what="value"):
    """Both are equal; if not, the first difference is shown."""
    if found == expected:
        return
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in sorted(set(found) | set(expected), key=str):
            same(found.get(key), expected.get(key), "%s of %r" % (what, key))
    raise AssertionError("%s is %r, not %r" % (what, found, expected))


def run(*command, status=0, **options):
    """Returns the standard output of the command as text."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **options)
    text = done.stdout.decode("utf-8")
    if done.returncode != status:
        raise AssertionError("%s ended with %d: %s%s" % (
            " ".join(map(str, command)), done.returncode, text[:2000],
            done.stderr.decode("utf-8", "replace")[:2000]))
    return text


def words_of(fault):
    """What a fault says. Of a child that failed or took too long, what it wrote, too."""
    text = str(fault)
    for name in "stdout", "stderr":
        written = getattr(fault, name, None) or ""
        if isinstance(written, bytes):
            written = written.decode("utf-8", "replace")
        text += "\n%s: %s" % (name, written[-2000:]) if written else ""
    return text


def main():
    failed = 0
    print("1..%d" % len(cases), flush=True)
    for number, (name, function) in enumerate(cases, 1):
        try:
            function()
            print("ok %d - %s" % (number, name), flush=True)
        except (AssertionError, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as fault:
            failed += 1
            print("not ok %d - %s" % (number, name))
            print("# %s" % words_of(fault).replace("\n", "\n# "), flush=True)
    sys.exit(1 if failed else 0)
