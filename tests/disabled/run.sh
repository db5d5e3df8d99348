#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh INCLUDE CC CXX: compiles programs with CAIRN_DISABLE and without Cairn's lines, and
# compares the objects. They need no libcairn.
set -u
include=$(cd "$1" && pwd) cc=$2 cxx=$3
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
warnings="-Wall -Wextra -Werror"
number=0

# instructions OBJECT: its functions, without the registers that the compiler chose.
instructions()
{
    objdump -dr --no-show-raw-insn "$1" | sed -e 1,3d -e 's/%[a-z0-9]*/%/g'
}

compare_objects()
{
    [ "$1" = symbols ] && return
    nm disabled.o >symbols && nm without.o | diff - symbols || return 1
    [ "$1" = bytes ] && { cmp without.o disabled.o; return; }
    instructions disabled.o >code && instructions without.o | diff - code
}

# compare HOW NAME COMPILER SOURCE FLAGS...: HOW is "bytes", "instructions" or "symbols".
compare()
{
    how=$1 name=$2 compiler=$3 source=$4
    shift 4
    number=$((number + 1))
    if {
        $compiler "$@" $warnings -I"$include" -DCAIRN_DISABLE -c "$here/$source" -o disabled.o &&
            $compiler "$@" -DWITHOUT_LINES -c "$here/$source" -o without.o &&
            ! nm disabled.o | grep "U .*cairn" &&
            compare_objects "$how"
    } >errors 2>&1; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/# /' errors
    fi
}

cd "$folder" || exit 1
echo 1..13
for level in 0 1 2 3; do
    compare bytes "the statement macros of C, -O$level" "$cc" program.c -O$level -DSTATEMENTS_ONLY
done
compare bytes "the statement macros of C++11, -O0" "$cxx" program.c -x c++ -std=c++11 -O0 \
    -DSTATEMENTS_ONLY
compare bytes "the statement macros of C++20, -O0" "$cxx" program.c -x c++ -std=c++20 -O0 \
    -DSTATEMENTS_ONLY
compare bytes "the functions of C, -O1" "$cc" program.c -O1
compare bytes "the functions of C, -O2" "$cc" program.c -O2
compare bytes "the functions of C++11, -O2" "$cxx" program.c -x c++ -std=c++11 -O2
compare instructions "the classes of C++17, -O2" "$cxx" program.cpp -std=c++17 -O2
compare instructions "the classes of C++20, -O2" "$cxx" program.cpp -std=c++20 -O2
compare symbols "the functions of C, -O0, need no libcairn" "$cc" program.c -O0
compare symbols "the classes of C++17, -O0, need no libcairn" "$cxx" program.cpp -std=c++17 -O0
