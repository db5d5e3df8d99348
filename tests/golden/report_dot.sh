# Graphviz reads each node and arrow of --dot, with any characters in names.
command -v dot >/dev/null || { echo 'graphviz is not installed'; exit 77; }
play a.cairn <"$DATA/compiler.events"
{
    printf 'block main a"b.c 1\nblock quo"te a.c 2 main\nblock back\\slash\\ a.c 3 quo"te\n'
    printf 'block {a|b}<c> a.c 4\nblock \377\376 a.c 5\nblock l\\n a.c 6\nblock <true> a.c 7 {a|b}<c>\n'
    printf '>main +1 >quo"te +2 >back\\slash\\ +3 >{a|b}<c> +4 ><true> < < < < >\377\376 +5 >l\\n +6 < < <\n'
} | play odd.cairn
# Names and calls in Graphviz's own words; where things are placed is its affair.
words() {
    dot -Tplain | sed -n -e 's/^node \([^ ]*\) [0-9.]* [0-9.]* [0-9.]* [0-9.]* \(.*\) filled box .*/\1 \2/p' \
        -e 's/^edge \([^ ]* [^ ]*\) .* \([a-z]*\) [a-z]*$/\1 \2/p' | sort
}
for capture in a odd; do
    for keep in all 'not "expr|term"' 'not "slash|[|]"' 'thresh-stack(10)'; do
        echo "# $capture $keep"
        cairn report --dot --threshold 0 --keep "$keep" $capture.cairn >$capture.dot
        grep -c '^  b[0-9]* \[' $capture.dot
        grep -c -- '->' $capture.dot
        words <$capture.dot
    done
done
