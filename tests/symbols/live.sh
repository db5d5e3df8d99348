# Live memory is allocated minus freed memory in reports, diffs, merges, assertions and heap
# profiles.
"$FROM_TRACE" before.cairn <<EOF
1000 400 a.c+main a.c+parse
24 24 a.c+main a.c+parse
5000000 0 a.c+main a.c+load
EOF
"$FROM_TRACE" after.cairn <<EOF
1000 900 a.c+main a.c+parse
24 24 a.c+main a.c+parse
7000000 0 a.c+main a.c+load
EOF
cairn report before.cairn
cairn report before.cairn --no-summary --metric 'live bytes,live objects'
cairn report before.cairn --json | grep '^,*"memory"'
cairn report before.cairn --metric 'dead bytes'
cairn diff --metric 'live bytes' before.cairn after.cairn | tail -n +3
cairn diff --metric 'live bytes' --fail-above 10% before.cairn after.cairn >/dev/null
cairn merge -o sum.cairn before.cairn after.cairn
cairn assert sum.cairn '"live bytes"() == 12000700' '"live bytes"("parse") == 700' \
    '"live objects"("parse") == 2' '"live objects"("load") == 2' && echo 'sums hold'
cairn redact -o redacted.cairn before.cairn
cairn assert redacted.cairn '"live bytes"() == 5000600' && echo 'redacted, too'

# pprof has had names for these, in an order of their own.
cairn export -o a.pb.gz before.cairn
gzip -dc a.pb.gz | tr -c '[:alnum:]_' '\n' | grep -oE '(alloc|inuse|freed|live)_[a-z]+' | head -n 4
cairn import -o back.cairn a.pb.gz
cairn assert back.cairn '"live bytes"("parse") == 600' '"alloc bytes"("load") == 5000000' \
    '"live objects"() == 2' && echo 'and back'

# A capture that says what cannot be, or that holds nothing.
echo '1000 3000 a.c+main a.c+wrong' | "$FROM_TRACE" wrong.cairn
cairn report wrong.cairn | grep -E '^(memory|warning)'
cairn assert wrong.cairn '"live bytes"() == 0' && echo 'never below 0'
"$FROM_TRACE" nothing.cairn </dev/null
cairn report nothing.cairn | grep '^memory'
