# Several captures are added up, as by cairn merge: a program's, and those of its children.
play a.cairn <"$DATA/compiler.events"
sed -e 's/+40/+60/' "$DATA/compiler.events" >b.events
play a.77.cairn <b.events
cairn merge -o sum.cairn a.cairn a.*.cairn
cairn report a.cairn a.*.cairn >found
grep ^capture found
cairn report sum.cairn | without_times | grep -v ^capture >expected
without_times <found | grep -v ^capture | diff expected - && echo the same
cairn report a.cairn a.cairn a.cairn --no-summary --top 1
cairn report a.cairn not_there.cairn a.77.cairn | grep -A1 '^total\|^warning\|left out'
cairn report not_there.cairn neither.cairn
cairn report a.cairn a.77.cairn --json --no-summary | grep -o '"capture":"[^"]*"'
head -c 10000 a.cairn >cut.cairn
cairn report a.cairn cut.cairn | grep '^warning\|^capture'
