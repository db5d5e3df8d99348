# A capture that is still being written, and one whose program was killed, are said to be.
mkfifo events
play a.cairn <events &
program=$!
exec 3>events
echo '>main +5 >work +7' >&3
i=0
until cairn report --json a.cairn 2>/dev/null | grep -q '"ticks","unit":"instructions","total":12'; do
    i=$((i + 1))
    [ "$i" -lt 1000 ] || { echo "the program does not run"; break; }
    sleep 0.01
done
cairn report a.cairn | without_times
cairn report --json a.cairn | grep -E '^"(state|unaccounted_ns)"'
kill -9 "$program"
wait "$program" 2>/dev/null
exec 3>&-
cairn report a.cairn | without_times
cairn report --json a.cairn | grep -E '^"(state|unaccounted_ns)"'
# When the program ended is not known, but that it ran up to the last moment in the capture.
cairn report a.cairn | sed -n -E 's/^ran .*for at least [0-9].*/ran for at least TIME/p'
# No warning for a closed capture; added captures warn if one of them was not closed.
echo '>main +5' | play b.cairn
cairn report b.cairn --json | grep -E '^"(state|unaccounted_ns)"'
cairn merge -o c.cairn a.cairn b.cairn >merged
cairn report c.cairn | grep ^warning
cairn report c.cairn --json | grep -E '^"(state|unaccounted_ns)"'
