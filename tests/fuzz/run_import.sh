#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes an importer for CAIRN_FUZZ_SECONDS (5): run_import.sh FUZZER FORMAT CAIRN DATA. The
# seed is CAIRN_FUZZ_SEED (2026), so that a run can be repeated.
set -eu
fuzzer=$1 format=$2 cairn=$3 data=$4
seconds=${CAIRN_FUZZ_SECONDS:-5}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/corpus"
echo "1..1"
if [ "$format" = pprof ]; then
    for file in "$data"/*.folded "$data"/*.perf; do
        "$cairn" import "$file" -o "$folder/seed.cairn"
        "$cairn" export "$folder/seed.cairn" -o "$folder/corpus/$(basename "$file").pb.gz"
        gzip -dc "$folder/corpus/$(basename "$file").pb.gz" >"$folder/corpus/$(basename "$file").pb"
    done
else
    cp "$data"/*."$format"* "$folder/corpus"
    [ "$format" != mlmon ] || cp "$data"/*.show-sources.txt "$folder/corpus"
fi
if "$fuzzer" -seed="${CAIRN_FUZZ_SEED:-2026}" -max_total_time="$seconds" -max_len=65536 -timeout=20 \
    -rss_limit_mb=2048 -malloc_limit_mb=1024 -artifact_prefix="${CAIRN_FUZZ_KEEP:-$folder}/" \
    -print_final_stats=1 "$folder/corpus" >"$folder/log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/log")
    echo "ok 1 - $runs inputs in $seconds seconds"
else
    sed 's/^/# /' "$folder/log" | tail -60
    echo "not ok 1 - the reader of $format fails"
    exit 1
fi
