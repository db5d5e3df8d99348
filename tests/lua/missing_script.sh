#!/bin/sh
# SPDX-License-Identifier: MIT
# A script or a command that is not there leaves a capture from before as it is, and ends as it does
# without a profile. Usage: missing_script.sh CAIRN.
cairn=$(realpath "$1")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
number=0
failed=0
check() { # what holds, and a command that says so
    number=$((number + 1))
    name=$1
    shift
    if "$@"; then echo "ok $number - $name"; else echo "not ok $number - $name"; failed=1; fi
}
echo 'print(1)' >here.lua
"$cairn" run -o good.cairn here.lua >/dev/null || exit 1
cp good.cairn before
mkdir folder.lua
for script in missing.lua folder.lua; do
    "$cairn" run -o good.cairn "$script" >out 2>err
    status=$?
    lua5.4 "$script" >out.plain 2>err.plain
    check "$script ends as it does plainly" test $status = $?
    check "$script leaves the capture as it was" cmp -s good.cairn before
    "$cairn" run -o new.cairn "$script" >out 2>err
    check "$script makes none" test ! -e new.cairn
done
"$cairn" run -o good.cairn no-such-command >out 2>err
check 'a command that is not found is an error' test $? = 2
check 'and leaves the capture as it was' cmp -s good.cairn before
"$cairn" run --alloc -o good.cairn ./no-such-command >out 2>err
check 'the same with --alloc' cmp -s good.cairn before
echo "1..$number"
exit $failed
