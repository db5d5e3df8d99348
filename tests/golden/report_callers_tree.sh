play a.cairn <"$DATA/compiler.events"
cairn report --no-summary a.cairn --tree --callers token
cairn report --no-summary a.cairn --tree --callers expr --metric calls
cairn report --no-summary a.cairn --tree --callers token --drop expr,term,factor,expr
cairn report --json a.cairn --tree --callers flush | tail -n +9
cairn report --no-summary a.cairn --tree --callees main --threshold 10
