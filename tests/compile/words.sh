#!/bin/sh
# SPDX-License-Identifier: MIT
# Holds the manual pages and completions against what the tool says of itself: each command is
# in all of them, with each of its options, and with no option that there is not. Prints TAP.
#
#   words.sh CAIRN SOURCE_DIR
set -u
cairn=$1
source=$2
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
    # What stands before the explanations.
    "$cairn" "$command" --help | grep -E '^ {2,6}(-., )?--[a-z]' | sed 's/\([^ ]\)  .*/\1/' |
        long_options >"$work/help"
    # Those of all commands; cc and clang pass what is not its own on.
    grep -x -e --help -e --usage -e --version "$work/help" >"$work/common"
    name=$command
    case $command in
    cc) name='cc *[|] *c[+][+]' ;;
    clang) name='clang *[|] *clang[+][+]' ;;
    esac

    sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' "$source/man/cairn-$command.1" |
        grep -A1 '^\.TP' | sed 's/\\-/-/g; s/\\f.//g' | long_options >"$work/manual"
    same "cairn-$command.1 has each option" "$work/help" "$work/manual"

    # In both completions a command has a branch of its own: from its name to the next.
    branch "^    $name\\) options=" "$source/completions/cairn.bash" | long_options >"$work/own"
    sort -u "$work/own" "$work/common" >"$work/bash"
    same "bash completes $command" "$work/help" "$work/bash"

    branch "^        $name\\)" "$source/completions/_cairn" |
        sed 's/([^)]*)//; s/\[.*//' | long_options >"$work/own"
    sort -u "$work/own" "$work/common" >"$work/zsh"
    same "zsh completes $command" "$work/help" "$work/zsh"
done <"$work/commands"

sed -n 's/^ *"\(run [a-z+ ]*\) help .*/\1/p' "$source/completions/cairn.bash" | tr ' ' '\n' |
    grep -vx -e 'c++' -e 'clang++' | sort >"$work/found"
same "bash knows each command" "$work/commands" "$work/found"
sed -n "/ commands=(/,/ )/s/^ *'\([a-z]*\):.*/\1/p" "$source/completions/_cairn" | grep -v help |
    sort >"$work/found"
same "zsh knows each command" "$work/commands" "$work/found"
sed -n '/^\.SH COMMANDS/,/^\.SH OPTIONS/s/^\.BR* \([a-z]*\)\( .*\)*$/\1/p' "$source/man/cairn.1" |
    sort >"$work/found"
same "cairn.1 knows each command" "$work/commands" "$work/found"

echo "1..$cases"
exit "$status"
