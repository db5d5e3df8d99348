#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares the manual pages and completions that the build made with --help: each has all commands
# and all of their options, and no others. Completes lines in the shells that are here. Prints TAP.
#
#   words.sh CAIRN BUILD_DIR
set -u
cairn=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cases=0
status=0
# $1 what holds; $2, $3 files with a word a line, which must be the same
same() {
    cases=$((cases + 1))
    if [ -s "$2" ] && diff "$2" "$3" >"$work/difference" 2>&1; then
        echo "ok $cases - $1"
    else
        echo "not ok $cases - $1"
        sed 's/^/# /' "$work/difference"
        status=1
    fi
}

# The branch of a shell's case that begins with $1.
branch() {
    awk -v begin="$1" '$0 ~ begin { inside = 1 } inside { print } /;;/ { inside = 0 }' "$2"
}

long_options() {
    grep -oE -e '--[a-z][a-z-]*' | sort -u
}

# c++ is cc for another language, as clang++ is clang: they have no words of their own.
"$cairn" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | grep -vx cairn | sort >"$work/commands"

while read -r command; do
    # The options in the help text, before their explanations.
    "$cairn" "$command" --help | grep -E '^ {2,6}(-., )?--[a-z]' | sed 's/\([^ ]\)  .*/\1/' |
        long_options >"$work/help"
    sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' "$build/man/cairn-$command.1" |
        grep -A1 '^\.TP' | sed 's/\\-/-/g; s/\\f.//g' | long_options >"$work/manual"
    same "cairn-$command.1 has each option" "$work/help" "$work/manual"

    # In both completions a command has a branch of its own: from its name to the next.
    branch "^    $command\\) options=" "$build/completions/cairn" | long_options >"$work/bash"
    same "bash completes $command" "$work/help" "$work/bash"

    branch "^        $command\\)" "$build/completions/_cairn" |
        sed 's/([^)]*)//; s/\[.*//' | long_options >"$work/zsh"
    same "zsh completes $command" "$work/help" "$work/zsh"
done <"$work/commands"

sed -n 's/^ *local commands="\(.*\)"$/\1/p' "$build/completions/cairn" | tr ' ' '\n' |
    grep -vx -e 'c++' -e 'clang++' | sort >"$work/found"
same "bash knows each command" "$work/commands" "$work/found"
sed -n "/ commands=(/,/ )/s/^ *'\([a-z]*\):.*/\1/p" "$build/completions/_cairn" | grep -v help |
    sort >"$work/found"
same "zsh knows each command" "$work/commands" "$work/found"
sed -n '/^\.SH COMMANDS/,/^\.SH OPTIONS/s/^\.BR* \([a-z]*\)\( .*\)*$/\1/p' "$build/man/cairn.1" |
    sort >"$work/found"
same "cairn.1 knows each command" "$work/commands" "$work/found"


# The completions that bash offers for a command line.
complete_line() {
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cairn 2>"$0"
        printf "%s\n" "${COMPREPLY[@]}"' "$work/complaints" "$build/completions/cairn" "$@" | sort
    cat "$work/complaints"
}
mkdir "$work/files"
touch "$work/files/a.cairn" "$work/files/b.txt"
cd "$work/files" || exit 1
{
    complete_line cairn run --wa
    complete_line cairn run --wall = ''
    complete_line cairn report --sort n
    complete_line cairn report ''
    complete_line cairn export -o b
} >"$work/found"
printf '%s\n' --wall exact off sampled name a.cairn b.txt >"$work/expected"
same "bash completes options, their values and files" "$work/expected" "$work/found"

for shell in zsh fish; do
    file=$build/completions/cairn.fish
    [ "$shell" = fish ] || file=$build/completions/_cairn
    cases=$((cases + 1))
    if ! command -v "$shell" >"$work/where"; then
        echo "ok $cases - $shell reads its completions # SKIP it is not here"
    elif "$shell" -n "$file" 2>"$work/complaints"; then
        echo "ok $cases - $shell reads its completions"
    else
        echo "not ok $cases - $shell reads its completions"
        sed 's/^/# /' "$work/complaints"
        status=1
    fi
done

echo "1..$cases"
exit "$status"
