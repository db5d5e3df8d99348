# Sets of blocks, what never ran, call graphs for Graphviz, instances that are one.
sed -e '/^block sweep/a block never src/main.c 40\nblock <true> src/parse.c 12 parse' \
    "$DATA/compiler.events" | play a.cairn
show() {
    echo "# $*"
    cairn report --no-summary a.cairn "$@"
}
show --keep 'from("expr") and not "term"'
show --stack --keep 'thresh-stack(20)'
show --zero
show --zero --keep 'file("main")'
show --zero --json | tail -n 8
show --dot --keep 'not "expr|term"'
show --dot --threshold 50
show --tree --keep all
show --compare wall,cpu --keep all
show --keep '(and (from "expr") (not "term"))' --top 1
show --keep 'thresh-gc(3)' --gc sweep
show --keep '"^parse\.expr$"' --json | tail -n 4
show --zero --focus main
show --keep 'pred("x'
play b.cairn <<'END'
block main a.cpp 1
block sort<int> a.cpp 10
block sort<long> a.cpp 10
>main
>sort<int> +1 >sort<long> +2 < <
>sort<long> +4 <
END
cairn report --no-summary --merge b.cairn
cairn report --no-summary --merge --split '"int"' b.cairn
cairn report --no-summary --merge='"long"' b.cairn
cairn report --no-summary --split '"long"' b.cairn
# The rows and the blocks that --keep leaves out add up to the total.
for keep in 'not all' '"e"' 'from("parse") and thresh(1)' 'to("token")' '(or (pred "emit") (succ "expr"))'; do
    for view in --flat --stack; do
        cairn report --json --top 0 $view --keep "$keep" a.cairn
    done
done | python3 -c '
import json, sys
text, decoder, totals = sys.stdin.read(), json.JSONDecoder(), set()
while text.strip():
    report, end = decoder.raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    rows = [row.get("self", row.get("current"))["ticks"] for row in report.get("flat", report.get("stack"))]
    totals.add(sum(rows) + report["unwanted"]["self"]["ticks"])
    assert len(rows) + report["unwanted"]["blocks"] == 10, report
print(totals)'
cairn report --json a.cairn | grep -o '"name":"ticks"[^}]*'
# In the tree the cost of blocks that are not shown is their callers'.
cairn report --no-summary --tree --keep 'file("parse") or is("emit")' a.cairn
cairn report --no-summary --tree --keep 'file("parse")' --callers term a.cairn
cairn report --no-summary --chains a.cairn
cairn report --tree --keep 'file("parse")' --drop token a.cairn
