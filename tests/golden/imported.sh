# Files of other tools may have no calls; then there is no such column.
printf '%s\n' 'main;work;sort 70' 'main;work 20' 'main;print 10' >a.folded
cairn import a.folded
cairn report a.cairn
cairn report --no-summary a.cairn --tree
cairn report --no-summary a.cairn --focus work
cairn assert a.cairn 'samples("work") == 90' 'calls() == 0'
# A function that one caller has called does not hide another that only calls it.
printf '%s\n' 'a;b 3' 'c;b 2' >b.folded
cairn import b.folded
cairn report --no-summary b.cairn --zero
