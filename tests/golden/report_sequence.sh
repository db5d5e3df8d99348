play a.cairn <"$DATA/compiler.events"
cairn report --no-summary a.cairn --focus expr
cairn report --no-summary a.cairn --focus term,factor
cairn report --no-summary a.cairn --callers token
cairn report --no-summary a.cairn --callees main --top 1
cairn report --no-summary a.cairn --focus token --drop expr,term,factor,expr
cairn report --no-summary a.cairn --focus token --flat
cairn report --no-summary a.cairn --focus factor,expr
