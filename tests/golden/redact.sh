play a.cairn <"$DATA/compiler.events"
cairn redact a.cairn -o r.cairn --map secret --keep 'par*'
cairn report r.cairn --tree | without_times
cat secret
strings -a r.cairn | grep -c -e token -e emit -e src/ -e compile -e example
sed -e 's/+40/+60/' -e 's/token/lexeme/g' "$DATA/compiler.events" >b.events
play b.cairn <b.events
cairn redact b.cairn -o s.cairn --map secret --keep 'par*'
cairn diff r.cairn s.cairn | tail -n +4
cairn redact a.cairn -o s.cairn --map a.cairn
