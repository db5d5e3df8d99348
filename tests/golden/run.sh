#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs every NAME.sh of a folder and holds what it prints, on both outputs, against
# NAME.expected beside it. Prints TAP. Two files add a test.
#
#   run.sh FOLDER CAIRN PLAY DEEP           runs them
#   run.sh --update FOLDER CAIRN PLAY DEEP  writes what they print as what is expected: read
#                                           the difference before it is committed
#
# A test that cannot run here says why and exits with 77: it is skipped.
# A test runs in an empty directory, in UTF-8, and finds there:
#   cairn ...       the tool; its exit status is printed where it is not 0
#   play OUT        makes a capture of the events on its input: see play.c
#   deep OUT LENGTH makes a capture of one path of that length
#   $CAIRN_JOBS, $CAIRN_LOOPS  of examples/, where the build has them in the environment
#   $CAIRN_RECORDED OUT makes a capture of the spans on its input: see recorded.c
#   $CAIRN_PIPELINE  examples/pipeline, likewise
#   without_times   a filter that takes out what differs from run to run
#   $DATA           the folder that the test is in
set -eu
update=
if [ "$1" = --update ]; then
    update=1
    shift
fi
folder=$(cd "$1" && pwd)
CAIRN_TOOL=$(readlink -f "$2")
CAIRN_PLAY=$(readlink -f "$3")
CAIRN_DEEP=$(readlink -f "$4")
DATA=$folder
export CAIRN_TOOL CAIRN_PLAY CAIRN_DEEP DATA
unset LC_ALL LC_CTYPE LANG NO_COLOR || :

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
cat >"$scratch/bin/cairn" <<'END'
#!/bin/sh
status=0
"$CAIRN_TOOL" "$@" || status=$?
[ "$status" -eq 0 ] || echo "status $status" >&2
exit "$status"
END
cat >"$scratch/bin/play" <<'END'
#!/bin/sh
exec "$CAIRN_PLAY" "$@"
END
cat >"$scratch/bin/deep" <<'END'
#!/bin/sh
exec "$CAIRN_DEEP" "$@"
END
cat >"$scratch/bin/without_times" <<'END'
#!/bin/sh
exec sed -E -e 's/^ran .*/ran TIME/' -e 's/^cost .*/cost COST/' \
    -e '/^(before|after) /s/  20[0-9T:-]*Z//' \
    -e 's/"(started|process|library|[a-z]*_ns|cost_method)":"[^"]*"/"\1":""/g'
END
chmod +x "$scratch/bin/"*
PATH=$scratch/bin:$PATH

set -- "$folder"/*.sh
count=0
for script in "$@"; do
    [ "$script" = "$folder/run.sh" ] || count=$((count + 1))
done
echo "1..$count"
number=0
failures=0
for script in "$@"; do
    [ "$script" != "$folder/run.sh" ] || continue
    number=$((number + 1))
    name=$(basename "$script" .sh)
    rm -rf "$scratch/work"
    mkdir "$scratch/work"
    status=0
    (cd "$scratch/work" && sh "$script") >"$scratch/found" 2>&1 </dev/null || status=$?
    if [ "$status" -eq 77 ]; then
        echo "ok $number - $name # SKIP $(tail -n 1 "$scratch/found")"
        continue
    fi
    if [ -n "$update" ]; then
        cp "$scratch/found" "$folder/$name.expected"
    fi
    if diff -u "$folder/$name.expected" "$scratch/found" >"$scratch/difference" 2>&1; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/# /' "$scratch/difference"
        failures=$((failures + 1))
    fi
done
[ "$failures" -eq 0 ]
