#!/bin/sh
# SPDX-License-Identifier: MIT
# A capture with a path a million blocks long goes through every command: deep.sh CAIRN
# MAKE_DEEP. Whoever recursed on the C stack or took quadratic time would not come back.
set -u
cairn=$1
make_deep=$2
depth=1000000
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
case=0
failed=0

# try NAME EXPECTED COMMAND...: the output must hold the expected text.
try() {
    case=$((case + 1))
    name=$1
    expected=$2
    shift 2
    timeout 60 "$@" >"$folder/out" 2>"$folder/err"
    if [ $? -eq "${status:-0}" ] && { [ -z "$expected" ] || grep -q -e "$expected" "$folder/out"; }; then
        echo "ok $case - $name"
    else
        echo "not ok $case - $name"
        head -c 2000 "$folder/err" "$folder/out" | sed 's/^/# /'
        failed=1
    fi
}

echo "1..15"
try "make" "" "$make_deep" "$folder/deep.cairn" "$depth"
try "report" "1,000,001" "$cairn" report "$folder/deep.cairn"
try "flat" "b337" "$cairn" report --flat -n 5 -m ticks "$folder/deep.cairn"
try "tree" "b" "$cairn" report --tree -n 50 "$folder/deep.cairn"
try "callers" "b" "$cairn" report --callers b7 "$folder/deep.cairn"
try "focus" "b" "$cairn" report --focus b7 "$folder/deep.cairn"
try "json" "b7" "$cairn" report --json --flat -n 0 "$folder/deep.cairn"
try "merge" "" "$cairn" merge -o "$folder/twice.cairn" "$folder/deep.cairn" "$folder/deep.cairn"
try "the merged has it twice" "2,000,000" "$cairn" report -m ticks "$folder/twice.cairn"
try "diff" "" "$cairn" diff "$folder/deep.cairn" "$folder/twice.cairn"
try "redact" "" "$cairn" redact -o "$folder/red.cairn" "$folder/deep.cairn"
try "export" "" "$cairn" export --to speedscope -o "$folder/deep.json" "$folder/deep.cairn"
# pprof and folded stacks write each path out: that would be terabytes.
status=2 try "no export that grows with the square" "" \
    "$cairn" export --to pprof -o "$folder/deep.pb.gz" "$folder/deep.cairn"
status=2 try "nor this one" "" \
    "$cairn" export --to folded -o "$folder/deep.folded" "$folder/deep.cairn"
try "assert" "" "$cairn" assert "$folder/deep.cairn" "ticks(\"b7\") < 1e6"
exit $failed
