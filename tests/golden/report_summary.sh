play a.cairn <"$DATA/compiler.events"
cairn report a.cairn --top 1 | without_times
# Calls that folded at limits are reported.
play b.cairn <<'END'
limits 4 0
note branch main
>a +1 >b +1 >c +1 >d +1 >e +1 < < < < <
<
END
cairn report b.cairn --tree | without_times
# The cost is a lower bound. More than the run, summed over threads, is no share of it.
play cost.cairn <<'END'
note cost_ns 2000000000
>a +1 <
END
cairn report cost.cairn | grep ^cost
# With --strict, warnings fail the command, and nothing else does.
cairn report a.cairn --strict --no-summary --flat --top 1 >/dev/null
cairn report b.cairn --strict --no-summary --flat --top 1 >/dev/null
