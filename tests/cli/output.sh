# A reader that goes away is no error; a full disk is. A capture that cannot be written
# leaves what was there.
{
    for i in $(seq 3000); do echo ">function$i +$i <"; done
} | play a.cairn
cairn report a.cairn --top 0 | head -n 1
(
    trap '' PIPE
    cairn report a.cairn --top 0 | head -n 1
)
if [ -w /dev/full ]; then
    cairn report a.cairn >/dev/full
    cairn report a.cairn --json >/dev/full
fi 2>&1 | sort -u
printf '>a +1 <\n' | play b.cairn
cairn merge -o b.cairn a.cairn b.cairn
cairn assert b.cairn 'calls("a") == 1' 'calls("function1") == 1'
cairn merge -o b.cairn b.cairn garbage.cairn
cairn assert b.cairn 'calls("a") == 1'
ls
