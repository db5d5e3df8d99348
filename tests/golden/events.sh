# SPDX-License-Identifier: MIT
# Events, log lines, and times without a core, of spans whose times are known: in SQL, explained, merged
# and redacted.
[ -n "${CAIRN_RECORDED-}" ] || { echo "no programs of tests in this build"; exit 77; }
{
    echo "lane worker"
    for i in 0 1 2 3 4 5 6 7; do
        # 100 us of work, 20 of waiting, and 10 * i of being ready
        b=$((i * 1000))
        echo "span w$i $b $((b + 120 + 10 * i)) work #$i"
        [ $((i % 2)) = 1 ] || echo "span in$i $((b + 10)) $((b + 15)) inner <w$i"
    done
    echo "lane feeder"
    echo "span f 0 8000 feed"
    echo "event w1 0 1050 loop closed"
    echo "event w1 3 1060.5 a line that is longer than sixteen bytes, and has: \"odd\" bytes"
    echo "event f 4 7999 secret"
    echo "off 0 0 0 0 0"
    for i in 0 1 2 3 4 5 6 7; do
        b=$((i * 1000))
        echo "off 0 $((b + 50)) 20 $((10 * i)) $((b + 70 + 10 * i)) 1"
    done
    # between spans, and an estimate: 300 of 500 us somewhere in there
    echo "off 0 7200 100 200 7700"
    echo "off 1 1000 500 500 2000"
} >lines
"$CAIRN_RECORDED" one.cairn <lines
cairn query one.cairn "select * from events order by at"
cairn query one.cairn "select begin, end, waiting, ready, l.name as lane, w.name as woken_by from off_core o join lanes l on l.id = o.lane left join lanes w on w.id = o.woken_by order by lane, begin"
cairn query one.cairn "select name, iteration, duration, cpu, ready, duration - cpu - ready as waiting from spans order by id"
cairn explain one.cairn work
cairn explain --json one.cairn work | tr ',{' '\n\n' | grep -A2 '"part": *"\(self\|waiting\|ready\)"' | sort
cairn merge -o both.cairn one.cairn one.cairn
cairn query both.cairn "select level, text, count(*) from events group by 1, 2 order by 1, 2"
cairn query both.cairn "select name, count(*), sum(cpu), sum(ready) from spans group by 1"
cairn query both.cairn "select count(*), sum(waiting), sum(ready), count(distinct lane), count(distinct woken_by) from off_core"
cairn redact -o redacted.cairn one.cairn >map
cairn query redacted.cairn "select count(*), sum(at), sum(text like '%secret%' or text like '%line%') from events"
cairn query redacted.cairn "select count(*), sum(waiting), sum(ready) from off_core"
