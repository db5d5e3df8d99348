#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes for CAIRN_FUZZ_SECONDS (5), from captures made just now: run.sh MAKE_SEEDS FUZZER [CAIRN].
# With CAIRN the seeds are the captures with spans, and each merged with itself. The fuzzer's seed is
# CAIRN_FUZZ_SEED (2026), so that a run can be repeated.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/corpus" "$folder/seeds"
"$1" "$folder/seeds"
for seed in "$folder/seeds/"*; do
    if [ $# -gt 2 ]; then
        "$3" export --to chrome "$seed" -o "$folder/none.json" 2>/dev/null || continue # without spans
        "$3" merge -o "$folder/corpus/merged_$(basename "$seed")" "$seed" "$seed" >/dev/null
    fi
    cp "$seed" "$folder/corpus"
done
seconds=${CAIRN_FUZZ_SECONDS:-5}
echo "1..1"
if "$2" -seed="${CAIRN_FUZZ_SEED:-2026}" -max_total_time="$seconds" -max_len=400000 -timeout=20 -rss_limit_mb=2048 \
    -malloc_limit_mb=1024 -artifact_prefix="${CAIRN_FUZZ_KEEP:-$folder}/" -print_final_stats=1 \
    "$folder/corpus" >"$folder/log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/log")
    echo "ok 1 - $runs inputs in $seconds seconds"
else
    sed 's/^/# /' "$folder/log" | tail -60
    echo "not ok 1 - $(basename "$2") fails"
    exit 1
fi
