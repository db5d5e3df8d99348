#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes for CAIRN_FUZZ_SECONDS (5), from captures made just now: run.sh MAKE_SEEDS FUZZER.
# The seed is fixed, so that a run can be repeated.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/corpus"
"$1" "$folder/corpus"
seconds=${CAIRN_FUZZ_SECONDS:-5}
echo "1..1"
if "$2" -seed=2026 -max_total_time="$seconds" -max_len=400000 -timeout=20 -rss_limit_mb=2048 \
    -malloc_limit_mb=1024 -artifact_prefix="${CAIRN_FUZZ_KEEP:-$folder}/" -print_final_stats=1 \
    "$folder/corpus" >"$folder/log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/log")
    echo "ok 1 - $runs inputs in $seconds seconds"
else
    sed 's/^/# /' "$folder/log" | tail -60
    echo "not ok 1 - the reader fails"
    exit 1
fi
