# Several clocks that were sampled: what waits, and between what figures of few samples lie.
play a.cairn <"$DATA/server.events"
cairn report a.cairn | without_times
cairn report --no-summary a.cairn --metric cpu
cairn report --no-summary a.cairn --tree
cairn report --no-summary a.cairn --tree --callers layout
cairn report --no-summary a.cairn --focus serve,render --metric cpu
cairn report --no-summary a.cairn --callers '<gc>'
LC_ALL=C cairn report --no-summary a.cairn --top 3 --metric wall
cairn report --json a.cairn --top 3 | without_times
cairn report --json a.cairn --tree --threshold 3 | tail -n +11
cairn report --json a.cairn --callees render | tail -n +11
# Ticks that were sampled; all of them of one block.
printf 'note tick_period 1000\nnote tick_samples 8\nnote seed 7\n>f +7000 >g +1000\n' | play t.cairn
cairn report t.cairn | without_times
# At the kernel's ticks: no interval is known.
printf 'note cpu sampled\nnote sampler timer\nnote cpu_samples 9\nnote sample_period_ns 1000000\n' >timer.events
printf '>f %%7000 >g %%1000\n' >>timer.events
play c.cairn <timer.events
cairn report c.cairn | without_times
