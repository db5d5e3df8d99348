#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs all commands on damaged captures (verbs.c): run_verbs.sh MAKE_SEEDS VERBS CAIRN. The captures
# are made just now; those with spans are also merged with themselves.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$folder"
for seed in spans ring 7; do
    "$3" merge -o "$folder/merged_$seed.cairn" "$folder/$seed.cairn" "$folder/$seed.cairn" >"$folder/log" 2>&1
done
"$2" "$3" "$folder"/*.cairn
