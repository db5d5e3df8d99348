# Functions and files that are merged into their callers, collapsed, or focused.
play a.cairn <<'END'
block main a.c 1
block parse parser.c 1
block token parser.c 9
block malloc lib/alloc.c 3
block grow lib/alloc.c 8
>main +1 >parse +10 >token +20 >malloc +30 >grow +40 < < < >malloc +5 < < >malloc +50 >grow +60 < < <
END
cairn report --no-summary a.cairn --tree
cairn report --no-summary a.cairn --tree --transform merge:malloc
cairn report --no-summary a.cairn --tree --transform collapse:parse
cairn report --no-summary a.cairn --tree --transform merge-file:alloc.c
cairn report --no-summary a.cairn --tree --transform collapse-file:alloc.c --transform merge:token
cairn report --no-summary a.cairn --tree --transform focus-file:parser.c
cairn report a.cairn --transform merge:mallock
cairn report a.cairn --transform merge-file:other.c
cairn report a.cairn --transform malloc
