play a.cairn <"$DATA/compiler.events"
sed -e 's/+40/+60/' -e 's/^note project .*/note project other/' "$DATA/compiler.events" >b.events
play b.cairn <b.events
cairn merge -o sum.cairn a.cairn b.cairn a.cairn
cairn report sum.cairn | without_times
cairn assert sum.cairn 'calls("emit" -> "flush") == 600' 'ticks("sweep") == 140' \
    'allocated() == 3 * 4096'
cairn merge -o more.cairn sum.cairn b.cairn
cairn assert more.cairn 'ticks("sweep") == 200'
cairn export --to folded -o - --metric calls a.cairn >a.folded
cairn merge -o one.cairn a.cairn
cairn export --to folded -o - --metric calls one.cairn | diff a.folded - && echo the same
sed 's/^note project .*/note command serve --port 80/' "$DATA/compiler.events" | play c.cairn
sed 's/^note project .*/note command load --all/' "$DATA/compiler.events" | play d.cairn
cairn merge -o commands.cairn c.cairn d.cairn
cairn report commands.cairn | head -n 3
ls
note() { sed "s/^note project .*/$1/" "$DATA/compiler.events"; }
note "note incomplete_stacks 1 of 20\nnote samples_lost 3\nnote longest_stop_ns 900" | play e.cairn
note "note incomplete_stacks 2 of 30\nnote samples_lost 3\nnote longest_stop_ns 1000" | play f.cairn
cairn merge -o counts.cairn e.cairn f.cairn e.cairn
cairn report counts.cairn | grep -A 2 '^notes'
