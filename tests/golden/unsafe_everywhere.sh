# Names, files, notes, metrics, threads and attributes that contain escape sequences, C1 controls,
# directions of text, characters without a glyph and invalid UTF-8: no view passes these on.
bad='X\033[2J\177\302\233\330\234\342\200\213\342\200\256\342\201\240\342\201\247\357\273\277\201\355\240\200Y'
hostile=$(printf "$bad") # one word, for metrics and arguments
escaped=$(printf '%s' "$bad" | sed -E 's/\\033/\\x1b/; s/\\177/\\x7f/' |
    sed -e 's/\\302\\233/\\xc2\\x9b/' -e 's/\\330\\234/\\xd8\\x9c/' -e 's/\\342\\200\\213/\\xe2\\x80\\x8b/' \
        -e 's/\\342\\200\\256/\\xe2\\x80\\xae/' -e 's/\\342\\201\\240/\\xe2\\x81\\xa0/' \
        -e 's/\\342\\201\\247/\\xe2\\x81\\xa7/' -e 's/\\357\\273\\277/\\xef\\xbb\\xbf/' \
        -e 's/\\201\\355\\240\\200/\\x81\\xed\\xa0\\x80/')
# Bytes that no output may contain.
unsafe='\x1b|\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf'
checked=0
check() { # command; its output must show a part of the name, and nothing unsafe
    check_any "$@"
    LC_ALL=C grep -aq 'X' out || echo "no name: $*"
}
check_any() { # command, which may print no name
    "$@" >out 2>&1
    checked=$((checked + 1))
    [ -s out ] || echo "nothing: $*"
    ! LC_ALL=C grep -aqP "$unsafe" out || echo "unsafe: $*"
    iconv -f UTF-8 -t UTF-8 out >/dev/null 2>&1 || echo "no UTF-8: $*"
}

{
    echo "block $escaped dir/$escaped.c 12"
    echo "block outer$escaped dir/$escaped.c 10"
    echo "block inner$escaped dir/$escaped.c 11 outer$escaped"
    printf 'note command %s\nnote left_out %s\nnote warning %s\n' "$hostile" "$hostile" "$hostile"
    printf 'note language %s\nnote build %s\nnote threads_%s 1\n' "$hostile" "$hostile" "$hostile"
    echo ">outer$escaped +5 @5000 %1000 >inner$escaped +7 >$escaped +9 @70 >$escaped +3 < < < >inner$escaped +1"
} | play a.cairn
printf '>other%s +5 >%s +50 @9 <\n' "$escaped" "$escaped" | play b.cairn
printf "outer$bad;inner$bad;$bad 700\nouter$bad 30\n" >a.folded
cairn import a.folded -m "$hostile" -o metric.cairn >out 2>&1
cairn import a.folded -m "b$hostile" -o metric2.cairn >out 2>&1

for options in --flat --tree --zero --stack '--stack --gc outer' '-f #1' '--callers #1' '--callees #1' \
    '--compare wall,ticks' --dot --json '--top 1' '-t --top 1' '-m all' '-t --callers #1' "--drop #2"; do
    check cairn report a.cairn $options
    check cairn report b.cairn a.cairn $options
done
for options in '' -t --dot --json '-n 1' '-t -n 1' "-m $hostile"; do
    check cairn report metric.cairn metric2.cairn $options
done
check cairn report a.cairn -f "$hostile$hostile"
check cairn report a.cairn -m "$hostile"
check cairn report "$hostile.cairn"
check_any cairn report a.cairn --keep "$hostile("
check cairn diff a.cairn b.cairn
check cairn diff a.cairn b.cairn -c
check cairn diff a.cairn b.cairn --json
check cairn diff metric.cairn metric.cairn -m "$hostile"
check cairn diff a.cairn b.cairn --fail-above-block 1%
check cairn assert a.cairn "calls($hostile) > 2"
check cairn top --batch --count 1 a.cairn
check cairn top --batch --count 1 metric.cairn
check cairn query a.cairn 'select name, file from blocks'
check cairn query a.cairn 'select * from notes'
check cairn query a.cairn 'select name from blocks' --json
check cairn query metric.cairn 'select * from metrics'
check_any cairn query a.cairn "select $hostile"
check cairn query a.cairn "select 1 as \"$hostile\""

{
    printf "lane lane$bad\nspan a 0 100 $bad #1 key$bad=v$bad\n"
    printf "span b 10 40 inner$bad #1 <a key$bad=w$bad size=3\nspan c 50 60 inner$bad #2 <a size=7\n"
    printf "lane other$bad\nspan d 20 90 job$bad <b @15 key$bad=u$bad\nwaits a d 95\n"
} | "$CAIRN_RECORDED" s.cairn
for options in '' '--by iteration' '--by parent' '--by path' '--by lane' "--by key$hostile" --missing \
    --slowest --json '--slowest --json' "--by nokey$hostile"; do
    check cairn spans s.cairn $options
done
check_any cairn spans s.cairn --where "$hostile > 1"
check cairn critical s.cairn
check cairn critical s.cairn --path
check cairn critical s.cairn --json
check cairn whatif s.cairn
check cairn whatif s.cairn --speedup "inner$hostile=2" --block "inner$hostile"
check cairn whatif s.cairn --json
check cairn explain s.cairn "inner$hostile"
check cairn explain s.cairn "inner$hostile" --json
check cairn explain s.cairn "none$hostile"
check cairn query s.cairn 'select * from spans'
check cairn export a.cairn --to speedscope -o -
check cairn export s.cairn --to chrome -o -
check cairn export s.cairn --to otlp -o -

# To a terminal, formats that keep all bytes elsewhere.
if script -qec true /dev/null >/dev/null 2>&1; then
    check script -qec "TERM=dumb cairn export a.cairn --to folded -o -" /dev/null
    export TERM=dumb LC_ALL=C # not even the bytes of UTF-8 pass in other locales
    check script -qec "cairn report a.cairn" /dev/null
    ! LC_ALL=C grep -aq '[^ -~[:cntrl:]]' out || echo 'not ASCII'
    unset LC_ALL
    check script -qec "TERM=dumb cairn query a.cairn 'select name from blocks' --csv" /dev/null
fi
echo "$checked commands"

# Each kind of character as tables and Graphviz show it.
cairn report a.cairn --no-summary -n 1 -s name
cairn report a.cairn --dot | grep -a -m 1 label=.outer
printf '>a"b\\\\c&lt; +1\n' | play c.cairn
cairn report c.cairn --dot | grep -a -m 1 'b1 '

# JSON keeps all of it but what is no UTF-8.
cairn export a.cairn --to speedscope -o - | grep -a -m 1 inner

# Spreadsheets compute text that begins like a formula.
printf '>=1+1 >+2 >-3 >@4 >plain >a=b +1\n' | play f.cairn
cairn query f.cairn 'select name, length(name) - 9 as n from blocks where id > 0 order by id' --csv
