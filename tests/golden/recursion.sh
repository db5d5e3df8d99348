# fib, its calls counted on the cycle; mutual recursion; a tail-recursive loop.
play a.cairn <<'END'
>main
1000 * >fib +1
!1
500 * >even +1 >odd +1
!1
>loop
1000 * ~loop +1
<
END
cairn report --no-summary a.cairn
cairn report --no-summary a.cairn --tree
cairn report --no-summary a.cairn --focus fib
cairn report --no-summary a.cairn --focus odd,even
cairn assert a.cairn 'calls("fib") == 1000' 'calls("fib" -> "fib") == 999' \
    'calls("odd" -> "even") == 499' 'ticks("even") == 1000' 'calls("loop" -> "loop") == 1000'
