# Captures of two kinds: sampled stacks know no lexical parents and no calls, and other builds leave
# functions out or know files by a longer path. None of that is new or gone.
play exact.cairn <<'END'
block outer a.lua 1
block inner a.lua 3 outer
block leaf a.lua 5 inner
block twin a.lua 7 outer
block twin a.lua 9 inner
>outer @4000 >inner @5000 >leaf @30000 < >twin @100 < <
END
play stacks.cairn <<'END'
note mode sample 1000 Hz
block outer a.lua 1
block inner a.lua 3
block leaf a.lua 5
>outer @4100 >inner @5200 >leaf @29000
END
cairn diff exact.cairn stacks.cairn --top 0 | without_times
printf 'inner 5200000\ninner;leaf 29000000\n' >stacks.folded
cairn import stacks.folded -m wall -o imported.cairn | cut -c1-5
cairn diff exact.cairn imported.cairn | without_times
cairn diff imported.cairn exact.cairn --contexts | without_times
cairn diff imported.cairn exact.cairn --json | grep -c '"apart":"not sampled"'

# Options of cairn cc.
printf 'block f /src/x/s.c 3\nblock g /src/x/s.c 5\nblock h t.c 1\n>g @5 >f @7 < >h @2\n' | play all.cairn
while read -r note; do
    printf 'note left_out %s\nblock g x/s.c 5\n>g @12\n' "$note" | play some.cairn
    echo "# $note"
    cairn diff all.cairn some.cairn --metric wall --fail-above-block 1 | grep ' [fgh] '
    cairn diff some.cairn all.cairn --metric wall --fail-above-block 1 | grep ' [fgh] '
done <<'END'
functions that call nothing and have fewer than 20 statements
functions named like ^f; files named like t.c
all but functions named like g|f
all but files named like s.c | functions named like (f; f)
END

# Without a common metric nothing compares.
printf 'note mode samples\n>f $100\n' | play bytes.cairn
cairn diff imported.cairn bytes.cairn

# The end of a sampled clock is known to a gap, its total to no more; ticks are exact.
for total in 7000 7420 17000; do
    printf 'note wall sampled\nnote sample_period_ns 1000000\nnote samples 7\n>f @%s +%s\n' \
        $total $total | play $total.cairn
done
cairn diff 7000.cairn 7420.cairn --metric wall --fail-above 5% | tail -n +3
cairn diff 7000.cairn 17000.cairn --metric wall --fail-above 5% | tail -n +3
cairn diff 7000.cairn 7420.cairn --metric ticks --fail-above 5% | tail -n +3
cairn diff 7000.cairn 7420.cairn --metric wall --json | grep chance
