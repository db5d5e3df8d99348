#!/bin/sh
# SPDX-License-Identifier: MIT
# `cairn run --ticks`: shares are right where a loop is as long as the period and where
# coroutines are shorter than it, totals are those of the exact count, and two runs are the
# same byte for byte. Prints TAP.
#
#   ticks.sh CAIRN
set -u
cairn=$(readlink -f "$1")
. "$(dirname "$0")/../support/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

cat >loop.lua <<'LUA'
local function first() local x = 0 for i = 1, 100 do x = x + i end return x end
local function second() local x = 0 for i = 1, 100 do x = x + i end return x end
for _ = 1, 20000 do first() second() end
LUA
cat >coroutines.lua <<'LUA'
local function inside() local x = 0 for i = 1, 100 do x = x + i end return x end
local function outside() local x = 0 for i = 1, 100 do x = x + i end return x end
for _ = 1, 20000 do
    local step = coroutine.wrap(function() inside() coroutine.yield() inside() end)
    step() outside() step() outside()
end
LUA
cat >hooked.lua <<'LUA'
local events = 0
debug.sethook(function() events = events + 1 end, "", 700)
local function work() local x = 0 for i = 1, 200000 do x = x + i end return x end
for _ = 1, 10 do work() end
debug.sethook()
print(events)
LUA

# A turn of the loop is 417 instructions: the sum of two functions of 206, and 5.
for period in 139 417 834; do
    check "a loop that is as long as the period, or a part or a multiple of it: $period" "
        $cairn run --ticks $period -o loop.cairn loop.lua &&
        $cairn assert loop.cairn 'self.ticks(\"first\") / ticks() > 0.46' \
            'self.ticks(\"second\") / ticks() > 0.46'"
done
check "a turn of the loop is as long as that" "
    $cairn run --ticks 1 -o exact.cairn loop.lua &&
    $cairn assert exact.cairn 'ticks() > 417 * 20000' 'ticks() < 417 * 20000 + 100'"
check "coroutines that are shorter than the period" "
    $cairn run --ticks 5000 -o coroutines.cairn coroutines.lua &&
    $cairn assert coroutines.cairn 'self.ticks(\"inside\") / ticks() > 0.45' \
        'self.ticks(\"outside\") / ticks() > 0.45'"
for program in loop coroutines; do
    check "totals are exact: $program" "
        $cairn run --ticks 1 -o exact.cairn $program.lua &&
        $cairn run --ticks 997 -o sampled.cairn $program.lua &&
        for capture in exact sampled; do
            $cairn export --to folded --metric ticks -o - \$capture.cairn |
                awk '{ total += \$NF } END { print total }' >\$capture.total
        done
        cat *.total && cmp exact.total sampled.total"
    check "two runs are the same: $program" "
        $cairn run --ticks 100 -o one.cairn $program.lua &&
        $cairn run --ticks 100 -o two.cairn $program.lua &&
        $cairn export --to folded --metric ticks -o one one.cairn &&
        $cairn export --to folded --metric ticks -o two two.cairn &&
        cmp one two"
done
for period in 1 2 333 1000; do
    check "beside a program that counts instructions itself: $period" "
        lua5.4 hooked.lua >plain && $cairn run --ticks $period -o hooked.cairn hooked.lua >found &&
        cmp plain found &&
        $cairn assert hooked.cairn 'self.ticks(\"work\") > 3.9e6' 'self.ticks(\"work\") < 4.1e6'"
done
tap_end
