# SPDX-License-Identifier: MIT
# Samples of processor time in spans whose times are known: explained, in SQL, merged and redacted.
[ -n "${CAIRN_RECORDED-}" ] || { echo "no programs of tests in this build"; exit 77; }
# 100 frames decode for 1 ms; one in ten also draws for 2 ms: half a millisecond of it in memcpy, which
# draw calls, the rest in blend.
i=0
while [ $i -lt 100 ]; do
    b=$((i * 10000))
    slow=$((i % 10 == 3))
    echo "span f$i $b $((b + 1000 + 2000 * slow + i)) frame #$i" >>spans
    echo "sample $((b + 300)) 500 start main decode" >>samples
    echo "sample $((b + 800)) 500 start main decode" >>samples
    [ $slow = 0 ] || for at in 1300 1800 2300 2800; do
        function="draw blend"
        [ $at != 1800 ] || function="draw memcpy"
        echo "sample $((b + at)) 500 start main $function" >>samples
    done
    echo "sample $((b + 5000)) 100 start main idle" >>samples
    i=$((i + 1))
done
{ echo "lane main"; echo "thread 7"; cat spans; } | "$CAIRN_RECORDED" frames.cairn
{ echo "lane program"; echo "thread 7"; cat samples; } | "$CAIRN_RECORDED" frames.sampled.cairn
cairn explain frames.cairn frame --slow '> 2ms'
cairn merge -o both.cairn frames.cairn frames.sampled.cairn
cairn explain both.cairn frame --slow '> 2ms' | tail -4
cairn explain both.cairn frame --slow '> 2ms' --top 1 | tail -2
cairn explain --json both.cairn frame --slow '> 2ms' | tr '{' '\n' | grep 'depth\|slow_samples'
cairn query both.cairn "select name, path, span is null as outside, count(*), sum(cpu) from samples group by 1, 2, 3 order by 5"
cairn query both.cairn "select s.name, count(*), sum(x.cpu), min(x.at - s.start), max(x.at - s.start) from samples x join spans s on s.id = x.span group by 1"
cairn query both.cairn "select m.total, (select sum(cpu) from samples) as sampled from metrics m where name = 'cpu'"
cairn query both.cairn "select name, spans, thread from lanes"
cairn redact -o hidden.cairn both.cairn >map
cairn explain hidden.cairn f1 --slow '> 2ms' | tail -4
cairn query hidden.cairn "select name, spans, thread from lanes"
# Another thread, and no thread at all
{ echo "lane program"; echo "thread 8"; cat samples; } | "$CAIRN_RECORDED" frames.sampled.cairn
cairn explain frames.cairn frame --slow '> 2ms' | grep -c functions
{ echo "lane program"; cat samples; } | "$CAIRN_RECORDED" frames.sampled.cairn
cairn explain frames.cairn frame --slow '> 2ms' | grep -c functions
