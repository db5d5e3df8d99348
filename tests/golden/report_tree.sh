play a.cairn <"$DATA/compiler.events"
cairn report --no-summary --tree a.cairn
cairn report --no-summary --tree a.cairn --threshold 5%
cairn report --no-summary --tree a.cairn --top 4
cairn report --no-summary --tree a.cairn --drop parse
cairn report --no-summary --tree a.cairn --focus term
LC_ALL=C cairn report --no-summary --tree a.cairn --focus term,factor
