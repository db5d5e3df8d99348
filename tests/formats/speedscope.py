#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What speedscope's own importer, from its npm package, makes of each export.

speedscope.py CAIRN MAKE_CAPTURE FOLDER
The package is fetched into FOLDER, where it stays, in the version of the lock file.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from tap import case, main, run, same

CAIRN, MAKE_CAPTURE, KEPT = sys.argv[1:4]
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "speedscope")
PACKAGE = os.path.join(KEPT, "node_modules", "speedscope")
FOLDER = tempfile.TemporaryDirectory()
CAPTURE = os.path.join(FOLDER.name, "a.cairn")


def skip(reason):
    print("1..1\nok 1 - speedscope reads the exports # SKIP %s" % reason)
    sys.exit(0)


def package_fetch():
    if not shutil.which("node") or not shutil.which("npm"):
        skip("nodejs and npm are not there")
    os.makedirs(KEPT, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(HERE, name), KEPT)
    with open(os.path.join(HERE, "package.json"), encoding="utf-8") as file:
        wanted = json.load(file)["dependencies"]["speedscope"]
    try:
        with open(os.path.join(PACKAGE, "package.json"), encoding="utf-8") as file:
            if json.load(file)["version"] == wanted:
                return
    except OSError:
        pass
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=KEPT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        skip("npm cannot fetch it: " + done.stdout.decode("utf-8", "replace")[-200:].replace("\n", " "))


def report(metric):
    return json.loads(run(CAIRN, "report", CAPTURE, "--json", "--top", "0", "--flat",
                          "--threshold", "0", "--metric", metric))


def read(name, *arguments):
    """The export as speedscope sees it."""
    path = os.path.join(FOLDER.name, name)
    run(CAIRN, "export", CAPTURE, "-o", path, *arguments)
    return json.loads(run("node", os.path.join(HERE, "import.mjs"), PACKAGE, path))


def figures(profile, places):
    """Self and inclusive cost of each block that has any."""
    result = {}
    for frame in profile["frames"]:
        key = (frame["name"], frame["file"] or "", frame["line"] or 0) if places else frame["name"]
        assert key not in result, key
        if frame["total"]:
            result[key] = (frame["self"], frame["total"])
    return result


def expected(metric, places):
    rows = [row for row in report(metric)["flat"] if row["inclusive"][metric]]
    names = [row["block"]["name"] for row in rows]
    result = {}
    for row in rows:
        block = row["block"]
        name = block["name"]
        if names.count(name) > 1:
            name = "%s %s:%d" % (name, block["file"], block["line"])
        key = (name, block["file"], block["line"]) if places else name
        result[key] = (row["self"][metric], row["inclusive"][metric])
    return result


def check(profile, metric, places, with_root):
    found = figures(profile, places)
    wanted = expected(metric, places)
    root = ("[root]", "", 0) if places else "[root]"
    if not with_root:
        # The root shows only its self cost, beside the other contexts.
        found.pop(root, None)
        wanted.pop(root, None)
    elif root not in wanted:
        found.pop(root)
    assert len(wanted) > 30, wanted
    same(found, wanted, metric)
    total = [m["total"] for m in report(metric)["metrics"] if m["name"] == metric][0]
    same(profile["total"], total, "the total of " + metric)


@case("its own format: each metric, self and total of each block with its place")
def check_own():
    group = read("a.speedscope.json")
    units = {"calls": "none", "ticks": "none", "wall": "nanoseconds", "alloc": "bytes"}
    same({p["name"]: p["unit"] for p in group["profiles"]}, units, "the metrics")
    same(group["profiles"][group["active"]]["name"], "wall", "what is shown first")
    same(group["name"], "program.lua --with arguments", "the name")
    for profile in group["profiles"]:
        check(profile, profile["name"], True, False)


@case("its own format agrees with the schema in the package")
def check_schema():
    path = os.path.join(FOLDER.name, "b.speedscope.json")
    run(CAIRN, "export", CAPTURE, "-o", path)
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    with open(os.path.join(PACKAGE, "dist", "release", "file-format-schema.json"),
              encoding="utf-8") as file:
        schema = json.load(file)
    conforms(profile, schema, schema, "file")


def conforms(value, schema, whole, where):
    """The part of JSON Schema that the package's file is written in."""
    known = {"$ref", "$schema", "type", "properties", "required", "items", "enum", "anyOf",
             "title", "description", "default", "definitions", "const"}
    unknown = set(schema) - known
    assert not unknown, "%s: the schema has %s" % (where, unknown)
    if "$ref" in schema:
        target = whole
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        return conforms(value, target, whole, where)
    if "anyOf" in schema:
        faults = []
        for choice in schema["anyOf"]:
            try:
                return conforms(value, choice, whole, where)
            except AssertionError as fault:
                faults.append(str(fault))
        raise AssertionError("%s is none of: %s" % (where, "; ".join(faults)[:500]))
    kinds = {"object": dict, "array": list, "string": str, "number": (int, float)}
    if "type" in schema:
        assert isinstance(value, kinds[schema["type"]]), "%s is no %s" % (where, schema["type"])
    if "enum" in schema:
        assert value in schema["enum"], "%s is %r, not one of %s" % (where, value, schema["enum"])
    if "const" in schema:
        assert value == schema["const"], "%s is %r" % (where, value)
    for name in schema.get("required", []):
        assert name in value, "%s has no %s" % (where, name)
    for name, part in schema.get("properties", {}).items():
        if name in value:
            conforms(value[name], part, whole, "%s.%s" % (where, name))
    if "items" in schema:
        for i, item in enumerate(value):
            conforms(item, schema["items"], whole, "%s[%d]" % (where, i))
    return None


@case("pprof, as speedscope reads it")
def check_pprof():
    # It shows one type; the unit says which.
    group = read("a.pb.gz", "--to", "pprof")
    profile = group["profiles"][0]
    metric = {"nanoseconds": "wall", "bytes": "alloc"}[profile["unit"]]
    check(profile, metric, True, True)


@case("folded stacks, as speedscope reads them")
def check_folded():
    for metric in ("calls", "ticks"):
        group = read(metric + ".collapsedstack.txt", "--to", "folded", "--metric", metric)
        check(group["profiles"][0], metric, False, False)


package_fetch()
run(MAKE_CAPTURE, CAPTURE)
main()
