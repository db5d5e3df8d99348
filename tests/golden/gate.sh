# A baseline is written, holds, fails with the reason, keeps tolerances, and refuses what it is not.
events() { # EVENTS WITH n calls of lex, of t ticks each
    printf '>main +10 >load +200 < >parse +100\n%s * >lex +%s <\n< >small +1 < <\n' "$1" "$2"
}
events 10 7 | play a.cairn
events 10 7 | play same.cairn
events 30 7 | play more.cairn
events 10 21 | play dearer.cairn
events 10 6 | play better.cairn
cairn gate a.cairn
cairn gate --baseline base a.cairn
cairn gate --baseline base --update a.cairn
cat base
for capture in same more dearer better; do
    cairn gate --baseline base $capture.cairn
done
cairn gate --baseline base more.cairn --tolerance 300
cairn gate --baseline base more.cairn --markdown
cairn gate --baseline base dearer.cairn --json
# A tolerance of one context is kept by --update.
sed -i 's/^10	70	-/10	70	400 %/' base
cairn gate --baseline base --update --tolerance 50 a.cairn
grep lex base
cairn gate --baseline base more.cairn
# callgrind's output, by calls, and files that are no baseline.
cairn gate --baseline calls --metric calls --update a.cairn
cairn gate --baseline calls more.cairn
cairn gate --baseline instructions --update "$DATA/../formats/data/known.callgrind.out"
cairn gate --baseline instructions "$DATA/../formats/data/known.callgrind.out"
sed 's/^calls=3 50/calls=9 50/; s/^51 600/51 1800/' \
    "$DATA/../formats/data/known.callgrind.out" >callgrind.out
cairn gate --baseline instructions --markdown callgrind.out
cairn gate --baseline instructions a.cairn
cairn gate --baseline a.cairn a.cairn
printf '%s\nmetric\tticks\nunit\tcount\n1\tx\t-\tmain\n' "$(head -1 base)" >bad
cairn gate --baseline bad a.cairn
printf '%s\nmetric\tticks\n' "$(head -1 base)" >bad
cairn gate --baseline bad a.cairn
cairn gate --baseline base --update --json a.cairn
