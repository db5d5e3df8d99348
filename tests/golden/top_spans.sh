# The view of spans of cairn top, of spans whose times are known.
[ -n "${CAIRN_RECORDED-}" ] || { echo "no programs of tests in this build"; exit 77; }
{
    echo "lane frames"
    i=0
    while [ $i -lt 100 ]; do
        echo "span f$i $((i * 100)) $((i * 100 + 10 + i % 50)) frame #$i"
        i=$((i + 1))
    done
    echo "lane other"
    echo "span one 5 25 load"
    echo "span open 9000 - load"
} | "$CAIRN_RECORDED" frames.cairn
top() { cairn top --once frames.cairn --view spans "$@" | sed '1,/^spans that/{/^spans that/!d}'; }
top
top --deadline frame=40us --deadline load=1ms
top --sort self --filter LOAD
top --sort name --top 1
top --filter nobody
cairn spans frames.cairn | head -n 6
cairn top --once frames.cairn --deadline frame
cairn top --once frames.cairn --deadline =5ms
cairn top --once frames.cairn --deadline frame=5
