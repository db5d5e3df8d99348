#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random Lua programs that keep their own books. Each function is told by its caller who that
is, and counts; calls, tail calls, errors, protected calls, coroutines that end, die, are
closed or collected, variables to be closed and finalizers are mixed at random. The profile
must have the same counts, of each function and of each pair of caller and callee.

Usage: random_calls.py CAIRN [PROGRAMS [SEED]]        prints TAP
"""
import os
import random
import subprocess
import sys
import tempfile

CAIRN = os.path.abspath(sys.argv[1])
PROGRAMS = int(sys.argv[2]) if len(sys.argv) > 2 else 12
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
FUNCTIONS = [f"f{i}" for i in range(1, 7)]
CALLERS = FUNCTIONS + ["pcall", "xpcall", "string.gsub", "closing", "finalizing"]
MODES = [(["--exact"], {}), (["--ticks", "50"], {}), (["--wall", "exact"], {}),
         (["--exact"], {"CAIRN_LUA_LAYOUT": "api"})]

# Statements of a function; `g` is one of the functions, `me` its own name.
STEPS = [
    'g("ME", depth - 1)',
    'g("ME", depth - 1)',
    'if true then return g("ME", depth - 1) end',
    'if true then return g("ME", depth - 1) end',
    'pcall(g, "pcall", depth - 1)',
    'if true then return pcall(g, "pcall", depth - 1) end',
    'xpcall(g, handler, "xpcall", depth - 1)',
    'if chance(3) then error({}) end',
    'if chance(3) then local _ = nil .. "x" end',
    'if coroutine.isyieldable() then coroutine.yield() end',
    'local thread = coroutine.create(g) coroutine.resume(thread, "", depth - 1) keep(thread)',
    'local resume = coroutine.wrap(g) pcall(resume, "", depth - 1) pcall(resume)',
    'local old = kept() if old and coroutine.status(old) == "suspended" then coroutine.resume(old) end',
    'local old = kept() if old and coroutine.status(old) ~= "normal" and coroutine.status(old) ~= "running" '
    'then coroutine.close(old) end',
    'local own <close> = closer g("ME", depth - 1)',
    'for _ = 1, 3 do local own <close> = closer if chance(2) then break end end',
    'string.gsub("xy", ".", function() g("", depth - 1) end)',
    'table.sort({ 3, 1, 2 }, function(a, b) if chance(9) then g("", depth - 1) end return a < b end)',
    'garbage() if chance(20) then collectgarbage() end',
    'pcall(load("return ...") --[[a chunk]], 1)',
]

PREFACE = """
local calls, pairs_of = {}, {}
local function note(caller, callee)
  calls[callee] = (calls[callee] or 0) + 1
  local pair = caller .. "|" .. callee
  pairs_of[pair] = (pairs_of[pair] or 0) + 1
end
local state = SEED
local function chance(n)
  state = (state * 1103515245 + 12345) & 0x7fffffff
  return (state >> 8) % n == 0
end
local function pick(n)
  state = (state * 1103515245 + 12345) & 0x7fffffff
  return (state >> 8) % n + 1
end
local budget = 6000
local threads = {}
local function keep(thread) threads[pick(20)] = thread end
local function kept() return threads[pick(20)] end
local function handler() return "handled" end
local FUNCTIONS
local all
local function closing() all[pick(#all)]("closing", 0) end
local closer = setmetatable({}, { __close = closing })
local function finalizing() all[pick(#all)](FINALIZER, 0) end
local function garbage() setmetatable({}, { __gc = finalizing }) end
"""


def program(source):
    names = ", ".join(FUNCTIONS)
    text = PREFACE.replace("local FUNCTIONS", "local " + names).replace("SEED", str(source.randrange(1 << 30)))
    for name in FUNCTIONS:
        text += f"function {name}(caller, depth)\n  note(caller, '{name}')\n"
        text += "  if depth <= 0 or budget <= 0 then return end\n  budget = budget - 1\n  local g\n"
        for step in source.choices(STEPS, k=source.randrange(2, 7)):
            text += f"  g = all[pick(#all)]\n  do {step.replace('ME', name)} end\n"
        text += "end\n"
    text += f"all = {{ {names} }}\n"
    text += "while budget > 0 do pcall(all[pick(#all)], 'pcall', 30) budget = budget - 1 end\n"
    text += "threads = nil collectgarbage()\n"
    for name in FUNCTIONS:
        text += f"print('{name}', calls['{name}'] or 0)\n"
        for caller in CALLERS:
            text += f"print('{caller}|{name}', pairs_of['{caller}|{name}'] or 0)\n"
    return text


def assertions(output):
    for line in output.splitlines():
        what, count = line.split("\t")
        sequence = " -> ".join(f'"{name}"' for name in what.split("|"))
        yield f"calls({sequence}) == {count}"


def check(directory, source):
    """Returns the differences, one a line."""
    script = os.path.join(directory, "random.lua")
    capture = os.path.join(directory, "random.cairn")
    claims = os.path.join(directory, "claims")
    text = program(source)
    problems = []
    for options, variables in MODES:
        # Without frames, what finalizers call is not seen.
        seen = not variables
        with open(script, "w", encoding="ascii") as file:
            file.write(text.replace("FINALIZER", '"finalizing"'))
        done = subprocess.run([CAIRN, "run", *options, "-o", capture, script], capture_output=True,
                              text=True, env=dict(os.environ, **variables), check=False)
        if done.returncode != 0 or "f1" not in done.stdout:
            problems.append(f"{options}: {done.stderr}")
            continue
        if not seen and "finalizing|f" in done.stdout:
            kept = [line for line in done.stdout.splitlines()
                    if "|" in line and not line.startswith("finalizing")]
            done.stdout = "\n".join(kept)
        with open(claims, "w", encoding="ascii") as file:
            file.write("\n".join(assertions(done.stdout)) + "\n")
        held = subprocess.run([CAIRN, "assert", "--unknown-is-zero", "-f", claims, capture],
                              capture_output=True, text=True, check=False)
        if held.returncode != 0:
            problems += [f"{options}:"] + (held.stdout + held.stderr).splitlines()[:10]
    return problems


def main():
    failed = 0
    for number in range(1, PROGRAMS + 1):
        with tempfile.TemporaryDirectory() as directory:
            problems = check(directory, random.Random(SEED * 1000 + number))
        failed += bool(problems)
        print("not ok" if problems else "ok", number, "- program", number, "of seed", SEED, flush=True)
        for line in problems:
            print("#", line)
    print(f"1..{PROGRAMS}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
