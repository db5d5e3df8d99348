#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what the compiler does not: the arrows between folders, and a few house rules.

Prints TAP: first the checker is shown cases that it must refuse or allow, so that a rule
that has stopped biting is noticed; then each rule is held against the whole tree.
"""
import json
import os
import re
import sys

# The folders of src that the tool may include.
TOOL = ["src/base", "src/profile", "src/spans", "src/explain", "src/replay", "src/formats",
        "src/symbols", "src/query", "src/late", "src/fleet", "src/why", "include/cairn"]

# Folders that each folder may include, besides itself.
ARROWS = {
    "include/cairn": [],
    "src/base": [],
    "src/plat": ["src/base"],
    "src/graph": ["src/base", "include/cairn"],
    "src/capture": ["src/base", "src/plat", "include/cairn"],
    "src/snapshot": ["src/base", "src/graph", "src/capture", "include/cairn"],
    "src/runtime": ["src/base", "src/plat", "src/graph", "src/capture", "src/snapshot",
                    "include/cairn"],
    "src/profile": ["src/base", "src/graph", "src/capture", "src/snapshot", "include/cairn"],
    "src/spans": ["src/base", "src/graph", "src/capture", "src/snapshot", "src/profile",
                  "include/cairn"],
    "src/explain": ["src/base", "src/profile", "src/spans", "include/cairn"],
    "src/why": ["src/base", "src/profile", "src/spans", "src/explain"],
    "src/replay": ["src/base", "src/profile", "src/spans", "src/explain"],
    "src/formats": ["src/base", "src/graph", "src/profile", "src/spans", "include/cairn"],
    "src/symbols": ["src/base", "src/profile"],
    "src/query": ["src/base", "src/capture", "src/profile", "src/spans", "include/cairn"],
    "src/late": [],
    "src/fleet": ["src/base", "src/capture", "src/late", "src/profile", "src/spans",
                  "src/explain", "include/cairn"],
    "src/unwind": ["src/plat"],
    "hosts": ["include/cairn"],
    # Native stacks are used by alloc, and by hosts that sample time.
    "hosts/native": ["include/cairn", "src/plat", "src/unwind"],
    "hosts/alloc": ["include/cairn", "src/unwind", "hosts/native"],
    "hosts/lua": ["include/cairn", "hosts/native"],
    "hosts/sample": ["include/cairn", "src/plat", "src/unwind", "hosts/native"],
    # Linked into the tool, in place of the profiled program.
    "hosts/outside": ["include/cairn", "src/base", "src/unwind", "hosts/native"],
    "hosts/gcc": ["include/cairn", "src/base", "src/plat", "src/unwind"],
    "hosts/clang": ["include/cairn", "src/unwind", "hosts/gcc"],
    "cli": ["src/base", "include/cairn", "cli/commands", "cli/common"],
    "cli/commands": TOOL + ["cli/*"],
    "cli/common": TOOL,
    "cli/cc": TOOL + ["cli/common"],
    "cli/convert": TOOL + ["cli/common"],
    "cli/diff": TOOL + ["cli/common"],
    "cli/explain": TOOL + ["cli/common", "cli/spans"],
    "cli/fleet": TOOL + ["cli/common", "cli/explain", "cli/spans"],
    "cli/gate": TOOL + ["cli/common", "cli/diff"],
    "cli/query": TOOL + ["cli/common"],
    "cli/report": TOOL + ["cli/common"],
    "cli/run": TOOL + ["cli/common", "hosts/outside"],
    "cli/spans": TOOL + ["cli/common"],
    "cli/top": TOOL + ["cli/common"],
    "cli/view": TOOL + ["cli/common", "cli/convert", "cli/diff", "cli/explain", "cli/fleet",
                        "cli/query", "cli/report", "cli/spans"],
    "bench": ["src/*", "include/cairn", "tests", "hosts/outside"],
    "tests": ["src/*", "include/cairn", "cli", "cli/*"],
    "examples": ["include/cairn"],
}

# The graph and the capture share record layouts with the inline path, and nothing more
# of the public interface.
HEADERS = {
    ("src/graph", "include/cairn"): ["include/cairn/hot.h", "include/cairn/host.h",
                                    "include/cairn/cairn.h"],
    ("src/capture", "include/cairn"): ["include/cairn/hot.h", "include/cairn/cairn.h",
                                      "include/cairn/span.h"],
}

# Rooms with one header for all others. Tests and benchmarks may look inside.
FACES = {
    "src/profile": "src/profile/profile.h",
    "src/spans": "src/spans/spans.h",
    "src/explain": "src/explain/explain.h",
    "src/fleet": "src/fleet/fleet.h",
    "src/why": "src/why/why.h",
}

# Shared by all formats: their list, and readers of text and stacks.
FORMAT_HELPERS = ["attributes", "formats", "names", "source", "stacks", "timeline"]

# Headers of libraries beyond libc, by the folders that may use them. What is not listed
# here and is not found in the tree is libc's, or the kernel's.
LIBRARIES = [
    (r"(lua|lauxlib|lualib|luaconf)\.h(pp)?$", ["hosts/lua", "tests", "bench"]),
    (r"jansson\.h$", ["cli", "src/formats", "tests"]),
    (r"(zlib|zstd)\.h$", ["cli", "src/fleet", "src/formats", "tests", "bench", "examples"]),
    (r"(protobuf-c/.*|.*\.pb-c\.h)$", ["src/formats", "tests"]),
    (r"(elfutils/.*|dwarf\.h|gelf\.h|libelf\.h|libiberty/demangle\.h)$",
     ["src/symbols", "hosts/gcc", "bench"]),
    (r"(gcc-plugin|plugin-version|tree-pass)\.h$", ["hosts/gcc", "bench"]),
    (r"(curses|term)\.h$", ["cli"]),
    (r"microhttpd\.h$", ["cli"]),
    (r"(curl/curl|xxhash)\.h$", ["src/fleet"]),
    (r"sqlite3\.h$", ["src/query", "tests"]),
    (r"cmocka\.h$", ["tests"]),
]

SOURCE = re.compile(r"\.(c|h|hpp|cc|cpp)$")
LICENSED = re.compile(r"(\.(c|h|hpp|cc|cpp|py|sh|lua|proto|in)|meson\.build|meson_options\.txt)$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK|phase" + r" 2)\b")
LINES_MAX = 700
DEBIAN_NODE = 18  # major version of Debian 12's nodejs
TOP_FOLDERS = ["include", "src", "hosts", "cli", "bench", "tests", "examples", "scripts",
               "man", "completions", "viewer", "docs", "debian", ".ci"]
# Data, not source: test inputs and exact outputs may hold anything, and what a case of two
# files expects may name its lines.
DATA = re.compile(r"(^|/)(data|expected|corpus)/|\.(expected|exact|out|golden)$"
                  r"|^tests/(cli|golden|lua|symbols)/(modules/)?(?!run\.)[^/]*\.(sh|lua)$")


def folder_of(path):
    """The folder with rules that a file is in, or None."""
    parts = path.split("/")
    for length in (2, 1):
        folder = "/".join(parts[:length])
        if folder in ARROWS and len(parts) > length:
            return folder
    return None


def resolve(root, path, name, quoted):
    """Returns the path in the tree of an include of `name` in `path`, None if it is outside."""
    tries = ["include/" + name, "src/" + name, name]
    if quoted:
        tries.insert(0, os.path.normpath(os.path.join(os.path.dirname(path), name)))
    for candidate in tries:
        if os.path.isfile(os.path.join(root, candidate)):
            return candidate
    return None


def allowed(folder, target):
    target_folder = folder_of(target)
    if target_folder is None:
        return False
    if target_folder == folder:
        return True
    if folder == "hosts":
        return target_folder == "include/cairn"
    for arrow in ARROWS[folder]:
        if arrow == target_folder or (arrow[-1] == "*" and target_folder.startswith(arrow[:-1])):
            headers = HEADERS.get((folder, target_folder))
            return headers is None or target in headers
    return False


def other_format(path, target):
    """A format that includes another one, or a helper that includes a format."""
    if folder_of(path) != "src/formats" or folder_of(target) != "src/formats":
        return False
    own = os.path.basename(path).split(".")[0].split("_")[0]
    its = os.path.basename(target).split(".")[0].split("_")[0]
    return its != own and its not in FORMAT_HELPERS


def other_host(path, target):
    """hosts/lua and hosts/gcc are strangers; what clang compiles links what gcc's does. Several
    walk native stacks."""
    if not path.startswith("hosts/") or not target.startswith("hosts/"):
        return False
    if path.startswith("hosts/clang/") and target.startswith("hosts/gcc/"):
        return False
    if target.startswith("hosts/native/"):
        return False
    return path.split("/")[1] != target.split("/")[1]


def include_fault(path, name, target):
    """Why `path` may not include `name`, which leads to `target` (None: out of the tree)."""
    folder = folder_of(path)
    if folder is None:
        return "its folder has no arrows in scripts/layers.py"
    if target is None:
        for pattern, users in LIBRARIES:
            if re.match(pattern, name) and not any(path.startswith(user + "/") for user in users):
                return "may not use the library of <%s>" % name
        return None
    if not allowed(folder, target):
        return "%s may not include %s" % (folder, target)
    face = FACES.get(folder_of(target))
    if face not in (None, target) and folder not in (folder_of(target), "tests", "bench"):
        return "include %s in place of %s" % (face, target)
    if other_format(path, target):
        return "a format may not include another format's %s" % target
    if other_host(path, target):
        return "a host may not include another host's %s" % target
    return None


def files_of(root):
    found = []
    for name in os.listdir(root):
        if os.path.isfile(os.path.join(root, name)):
            found.append(name)
    for top in TOP_FOLDERS:
        for base, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f not in ("__pycache__", "node_modules"))
            for name in sorted(names):
                found.append(os.path.relpath(os.path.join(base, name), root))
    return found


def text_of(root, path):
    try:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()
    except (UnicodeDecodeError, OSError):
        return None


def arrow_faults(root, files):
    for path in files:
        if not SOURCE.search(path):
            continue
        text = text_of(root, path) or ""
        for match in INCLUDE.finditer(text):
            target = resolve(root, path, match.group(2), match.group(1) == '"')
            fault = include_fault(path, match.group(2), target)
            if fault:
                yield "%s:%d: %s" % (path, text.count("\n", 0, match.start()) + 1, fault)


# A function or variable of a source that other sources may name, and names of such.
DEFINED = re.compile(
    r"^(?!static\b|extern\b|typedef\b)[a-z_][^\n;{}()=]*?\b((?:crn|cairn)_\w+)(?=\(|\[| =|;)", re.M)
NAMED = re.compile(r"\b(?:crn|cairn)_\w+")
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def circles_of(sources):
    """The circles among sources of a folder, {path: text}, that use one another."""
    code = {path: NOT_CODE.sub("", text) for path, text in sources.items()}
    home = {}
    for path, text in code.items():
        for name in DEFINED.findall(text):
            home.setdefault(name, path)
    uses = {path: {home[name] for name in NAMED.findall(text)
                   if name in home and home[name] != path} for path, text in code.items()}
    reached = {path: set(uses[path]) for path in uses}
    for middle in uses:
        for path in uses:
            if middle in reached[path]:
                reached[path] |= reached[middle]
    found = []
    for path in sorted(uses):
        circle = sorted(other for other in reached[path] if path in reached[other])
        if circle and circle not in found:
            found.append(circle)
    return found


def circle_faults(root, files):
    folders = {}
    for path in files:
        folder = os.path.dirname(path)
        if path.endswith(".c") and folder_of(path) and path.startswith(("cli/", "hosts/", "src/")):
            folders.setdefault(folder, {})[path] = text_of(root, path) or ""
    for sources in folders.values():
        for circle in circles_of(sources):
            yield "these use one another: " + ", ".join(circle)


def length_faults(root, files):
    for path in files:
        if SOURCE.search(path):
            lines = (text_of(root, path) or "").count("\n")
            if lines > LINES_MAX:
                yield "%s: %d lines; more than %d hold two things" % (path, lines, LINES_MAX)


def licence_faults(root, files):
    for path in files:
        if LICENSED.search(path) and not DATA.search(path):
            head = (text_of(root, path) or "").split("\n")[:3]
            if not any("SPDX-License-Identifier: MIT" in line for line in head):
                yield "%s: no SPDX-License-Identifier: MIT in its first lines" % path


def unfinished_faults(root, files):
    for path in files:
        if DATA.search(path):
            continue
        for number, line in enumerate((text_of(root, path) or "").split("\n"), 1):
            if UNFINISHED.search(line):
                yield "%s:%d: %s" % (path, number, line.strip()[:100])


def blank_faults(root, files):
    for path in files:
        if not (SOURCE.search(path) or LICENSED.search(path)) or DATA.search(path):
            continue
        text = text_of(root, path)
        if text and not text.endswith("\n"):
            yield "%s: its last line does not end" % path
        for number, line in enumerate((text or "").split("\n"), 1):
            if line != line.rstrip() or (SOURCE.search(path) and "\t" in line):
                yield "%s:%d: a tab, or blanks at the end of the line" % (path, number)


def npm_faults(root, files):
    """npm packages that need a newer node than Debian 12 has."""
    for path in files:
        if os.path.basename(path) != "package-lock.json":
            continue
        packages = json.loads(text_of(root, path))["packages"]
        for name, package in packages.items():
            wanted = package.get("engines", {}).get("node", "")
            if not node_may_do(wanted):
                yield "%s: %s wants node %s, Debian 12 has %d" % (path, name, wanted, DEBIAN_NODE)


def node_may_do(wanted):
    """False if no alternative of a range like "^16.1 || >=18" admits Debian 12's node."""
    ranges = [re.findall(r"(>=|\^|~|)\s*(\d+)", part) for part in wanted.split("||")]
    return not wanted or wanted == "*" or any(
        all(int(major) <= DEBIAN_NODE if sign == ">=" else int(major) == DEBIAN_NODE
            for sign, major in parts[:1]) for parts in ranges)


def version_faults(root, files):
    """meson.build has the version number; changelogs follow it."""
    version = re.search(r"version: '([^']+)'", text_of(root, "meson.build")).group(1)
    for path, pattern in (("CHANGELOG.md", r"^## (\S+?),? "), ("debian/changelog", r"^cairn \((\S+)\)"),
                          ("include/cairn/cairn.h", r"CAIRN_VERSION \"([^\"]+)\"")):
        found = re.search(pattern, text_of(root, path) or "", re.M)
        if not found or found.group(1).rstrip(",") != version:
            yield "%s: its newest version is not %s, as meson.build has it" % (path, version)


# (engines.node of an npm package, whether Debian 12's node will do)
NODE_CASES = [("", True), (">=18", True), (">=20", False), ("^16.13 || >=18.2", True),
              ("^20.9.0 || >=22", False), (">=12.0.0", True)]


# Code that runs in users' processes, some of which are set-uid: there the environment is untrusted.
LINKED = re.compile(r"^(include|hosts|src/(base|plat|graph|capture|snapshot|runtime|unwind))/")
GETENV = re.compile(r"(?<!\w)getenv\b")


def reads_environment(path, line):
    return bool(SOURCE.search(path) and LINKED.match(path) and GETENV.search(line))


def environment_faults(root, files):
    for path in files:
        if not LINKED.match(path):
            continue
        for number, line in enumerate((text_of(root, path) or "").split("\n"), 1):
            if reads_environment(path, line):
                yield "%s:%d: getenv in place of secure_getenv" % (path, number)


# (file, a line of it, whether it reads the environment of a set-uid program)
ENVIRONMENT_CASES = [
    ("src/runtime/environment.c", 'out = getenv("CAIRN_OUT");', True),
    ("hosts/gcc/time.c", "char *(*read)(const char *) = getenv;", True),
    ("src/runtime/environment.c", 'out = secure_getenv("CAIRN_OUT");', False),
    ("cli/run/native.c", 'out = getenv("CAIRN_OUT");', False),
]

# (file, included name, path in the tree, allowed)
CASES = [
    ("src/graph/graph.c", "runtime/strand.h", "src/runtime/strand.h", False),
    ("src/graph/graph.c", "capture/reader.h", "src/capture/reader.h", False),
    ("src/graph/graph.c", "cairn/hot.h", "include/cairn/hot.h", True),
    ("src/graph/graph.c", "cairn/span.h", "include/cairn/span.h", False),
    ("src/base/memory.c", "plat/map.h", "src/plat/map.h", False),
    ("src/profile/load.c", "runtime/strand.h", "src/runtime/strand.h", False),
    ("src/profile/load.c", "capture/reader.h", "src/capture/reader.h", True),
    ("src/formats/pprof.c", "formats/folded.h", "src/formats/folded.h", False),
    ("src/formats/source.c", "formats/pprof.h", "src/formats/pprof.h", False),
    ("src/formats/pprof_read.c", "formats/pprof.h", "src/formats/pprof.h", True),
    ("src/formats/pprof.c", "profile/profile.h", "src/profile/profile.h", True),
    ("src/formats/pprof.c", "profile/model.h", "src/profile/model.h", False),
    ("src/profile/load.c", "profile/model.h", "src/profile/model.h", True),
    ("src/profile/load.c", "spans/spans.h", "src/spans/spans.h", False),
    ("cli/report/tree.c", "cli/common/table.h", "cli/common/table.h", True),
    ("cli/report/tree.c", "cli/view/view.h", "cli/view/view.h", False),
    ("cli/common/cli.c", "cli/report/report.h", "cli/report/report.h", False),
    ("cli/commands/report.c", "cli/view/view.h", "cli/view/view.h", True),
    ("hosts/lua/main.c", "cairn/cairn.h", "include/cairn/cairn.h", True),
    ("hosts/lua/main.c", "base/memory.h", "src/base/memory.h", False),
    ("hosts/lua/main.c", "hosts/gcc/hook.h", "hosts/gcc/hook.h", False),
    ("hosts/lua/main.c", "unwind/unwind.h", "src/unwind/unwind.h", False),
    ("hosts/clang/patch.c", "../gcc/site.h", "hosts/gcc/site.h", True),
    ("hosts/gcc/sites.c", "../clang/sled.h", "hosts/clang/sled.h", False),
    ("hosts/alloc/stack.c", "unwind/unwind.h", "src/unwind/unwind.h", True),
    ("hosts/alloc/stack.c", "base/memory.h", "src/base/memory.h", False),
    ("src/unwind/tables.c", "base/memory.h", "src/base/memory.h", False),
    ("src/runtime/lane.c", "cli/common/cli.h", "cli/common/cli.h", False),
    ("src/nowhere/new.c", "stdio.h", None, False),
    ("src/runtime/lane.c", "lua.h", None, False),
    ("src/capture/writer.c", "zlib.h", None, False),
    ("src/runtime/lane.c", "pthread.h", None, True),
    ("src/symbols/worker.c", "graph/graph.h", "src/graph/graph.h", False),
    ("src/profile/load.c", "elfutils/libdw.h", None, False),
    ("cli/commands/report.c", "runtime/lane.h", "src/runtime/lane.h", False),
    ("cli/commands/report.c", "jansson.h", None, True),
]

# (sources of a folder, circles among them)
CIRCLE_CASES = [
    ({"a.c": "void crn_a(void)\n{\n    crn_b();\n}\n", "b.c": "int crn_b(void)\n{\n}\n"}, []),
    ({"a.c": "void crn_a(void)\n{\n    crn_b();\n}\n", "b.c": "int crn_b(void)\n{\n    crn_c();\n}\n",
      "c.c": "int crn_c(void)\n{\n    crn_a();\n}\n", "d.c": "int crn_d(void)\n{\n    crn_a();\n}\n"},
     [["a.c", "b.c", "c.c"]]),
    ({"a.c": "int crn_one;\nint crn_a(int crn_x)\n{\n    return crn_two[0];\n}\n",
      "b.c": "const int crn_two[] = {1};\nint crn_b(void)\n{\n    return crn_one;\n}\n"},
     [["a.c", "b.c"]]),
    ({"a.c": "__thread int cairn_a;\nint crn_a(void)\n{\n    return cairn_b();\n}\n",
      "b.c": "int cairn_b(void)\n{\n    return cairn_a;\n}\n"}, [["a.c", "b.c"]]),
    ({"a.c": "int crn_a(void)\n{\n    /* crn_b */ puts(\"crn_b\");\n}\n",
      "b.c": "int crn_b(void)\n{\n    return crn_a();\n}\n"}, []),
]

RULES = [
    ("includes follow the arrows between folders", arrow_faults),
    ("sources of a folder do not use one another in circles", circle_faults),
    ("no source is longer than %d lines" % LINES_MAX, length_faults),
    ("sources name their licence", licence_faults),
    ("nothing is marked as unfinished", unfinished_faults),
    ("no tabs and no blanks at line ends", blank_faults),
    ("changelogs have the version of meson.build", version_faults),
    ("npm packages run on Debian 12's node", npm_faults),
    ("code in users' programs reads the environment with secure_getenv", environment_faults),
]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    files = files_of(root)
    sources = [path for path in files if SOURCE.search(path)]
    print("1..%d" % (len(CASES) + len(NODE_CASES) + len(ENVIRONMENT_CASES) + len(CIRCLE_CASES) +
                     len(RULES) + 1))
    number = failed = 0

    def report(good, name, faults=()):
        nonlocal number, failed
        number += 1
        failed += not good
        print("%s %d - %s" % ("ok" if good else "not ok", number, name))
        for fault in faults:
            print("#   " + fault)

    for path, name, target, right in CASES:
        verdict = "may" if right else "may not"
        report((include_fault(path, name, target) is None) == right,
               "%s %s include %s" % (path, verdict, name))
    for wanted, right in NODE_CASES:
        report(node_may_do(wanted) == right, "node of Debian 12 %s do for \"%s\"" %
               ("will" if right else "will not", wanted))
    for path, line, reads in ENVIRONMENT_CASES:
        report(reads_environment(path, line) == reads,
               "%s %s: %s" % (path, "may not" if reads else "may", line))
    for number_of_case, (texts, circles) in enumerate(CIRCLE_CASES, 1):
        report(circles_of(texts) == circles, "circles of sources, case %d" % number_of_case)
    report(len(sources) >= 20, "the tree was found (%d sources)" % len(sources))
    for name, rule in RULES:
        faults = list(rule(root, files))
        report(not faults, name, faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
