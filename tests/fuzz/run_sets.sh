#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes expressions over sets of blocks for CAIRN_FUZZ_SECONDS (2): run_sets.sh FUZZER. The seed is
# CAIRN_FUZZ_SEED (2026), so that a run can be repeated.
set -eu
fuzzer=$1
seconds=${CAIRN_FUZZ_SECONDS:-2}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/corpus"
number=0
while read -r line; do
    number=$((number + 1))
    printf '%s' "$line" >"$folder/corpus/$number"
done <<'END'
from("expr") and not "term" or file('a[.]c')
(and (to "main") (or (not "p") (thresh 12.5%)) (thresh-stack 3) all)
pred(succ(is("parse@b.c:2"))) and (thresh-gc(1) or "expr.<gc>")
END
echo "1..1"
if "$fuzzer" -seed="${CAIRN_FUZZ_SEED:-2026}" -max_total_time="$seconds" -max_len=400 -timeout=20 -rss_limit_mb=2048 \
    -artifact_prefix="${CAIRN_FUZZ_KEEP:-$folder}/" -print_final_stats=1 "$folder/corpus" \
    >"$folder/log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/log")
    echo "ok 1 - $runs expressions in $seconds seconds"
else
    sed 's/^/# /' "$folder/log" | tail -60
    echo "not ok 1 - an expression breaks what reads it"
    exit 1
fi
