# A path a million long: everything goes through it, within memory and without a deep stack.
deep a.cairn 1000000
ulimit -s 256
cairn report --no-summary a.cairn --top 2
cairn report --no-summary a.cairn --tree --top 3
cairn report --no-summary a.cairn --tree --threshold 0 | tail -n 1
cairn report --no-summary a.cairn --tree --json --threshold 0 | wc -l
cairn report --no-summary a.cairn --focus b5,b6 --top 1
cairn diff a.cairn a.cairn --contexts | tail -n 1
cairn assert a.cairn 'calls("b5" -> "b6") == 1000' 'contexts() == 1000001'
