# Blocks by the difference of two clocks, differences within chance last.
play a.cairn <"$DATA/server.events"
cairn report --no-summary a.cairn --compare wall,cpu
cairn report --no-summary a.cairn --compare cpu,wall --top 2
cairn report --no-summary a.cairn --compare wall,cpu --sort total
cairn report --no-summary a.cairn --compare wall,cpu --drop read_file --threshold 2
cairn report --json a.cairn --compare wall,cpu --top 2 | tail -n +11
# Exact figures are never chance.
printf '>f @10 %%10 >g @1 <\n' | play exact.cairn
cairn report --no-summary exact.cairn --compare wall,cpu
cairn report --no-summary a.cairn --compare wall,ticks
cairn report --no-summary a.cairn --compare wall
cairn report --no-summary a.cairn --compare wall,cpu --sort calls
cairn report --no-summary a.cairn --compare wall,cpu --metric wall
