# As in MLton's stack profiles: recursion counts once, the collector's work is separate.
play a.cairn <<'END'
block main main.c 1
block fib fib.c 1
block add fib.c 9
block <gc> gc.c 1
block close gc.c 9
>main +1
>fib +10 >add +100 >fib +1000 ><gc> +20 >close +300 < < < < <
><gc> +4000 <
END
cairn report --no-summary a.cairn --stack
cairn report --no-summary a.cairn --stack --sort total --top 3
cairn report --no-summary a.cairn --stack --metric calls --sort name
cairn report --no-summary a.cairn --stack --gc add
cairn report --no-summary a.cairn --stack --gc sweep --focus add
cairn report --no-summary a.cairn --stack --drop add
cairn report --json a.cairn --stack --top 2 | tail -n +9
cairn report --no-summary a.cairn --gc add
play s.cairn <"$DATA/server.events"
cairn report --no-summary s.cairn --stack
