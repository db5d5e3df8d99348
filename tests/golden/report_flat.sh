play a.cairn <"$DATA/compiler.events"
cairn report --no-summary a.cairn
cairn report --no-summary a.cairn --metric all --sort calls --top 3
cairn report --no-summary a.cairn --metric calls --sort name
cairn report --no-summary a.cairn --metric calls,ticks --sort total --threshold 40
