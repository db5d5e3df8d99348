play a.cairn <"$DATA/compiler.events"
cairn report --json a.cairn --top 2 | without_times
cairn report --json a.cairn --tree --threshold 10 | without_times
cairn report --json a.cairn --focus expr,term --metric calls | without_times
cairn report --json a.cairn | python3 -m json.tool >parsed && echo parsed
cairn report --json --tree a.cairn | python3 -m json.tool >parsed && echo parsed
