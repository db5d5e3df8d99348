# A change that samples' dice can make is marked, and fails no gate.
play before.cairn <"$DATA/server.events"
sed -e 's/layout @1100/layout @3100/' -e 's/@122000/@132000/' "$DATA/server.events" | play after.cairn
cairn diff before.cairn after.cairn --metric wall --fail-above-block 10 | without_times
cairn diff before.cairn after.cairn --metric wall --fail-above-block 5 >printed
cairn diff before.cairn after.cairn --metric wall --json | tail -n +6
cairn diff before.cairn before.cairn --metric cpu --fail-above-block 0 | without_times
# Without samples nothing is chance.
printf '>f +100 >g +10\n' | play x.cairn
printf '>f +100 >g +11\n' | play y.cairn
cairn diff x.cairn y.cairn --fail-above-block 9 | without_times
# With one in 1,000 ticks sampled, one more sample is chance, four times as many are not.
printf 'note tick_period 1000\nnote tick_samples 90\n>f +80000 >g +10000 >h +2000\n' | play x.cairn
printf 'note tick_period 1000\nnote tick_samples 130\n>f +80000 >g +40000 >h +3000\n' | play y.cairn
cairn diff x.cairn y.cairn --fail-above-block 9 | without_times
