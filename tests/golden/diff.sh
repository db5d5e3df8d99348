play a.cairn <"$DATA/compiler.events"
# Lines moved, the tree is elsewhere, one function went, one came, one got slower.
sed -e 's|src/|/home/someone/src/|' -e 's/ 20 parse/ 25 parse/' -e 's/sweep/collect/g' \
    -e 's/+5 </+9 </' "$DATA/compiler.events" >moved.events
play b.cairn <moved.events
cairn diff a.cairn b.cairn | without_times
cairn diff a.cairn b.cairn --contexts --top 3 --sort total | without_times
cairn diff a.cairn b.cairn --metric calls | without_times
cairn diff a.cairn a.cairn | without_times
cairn diff --json a.cairn b.cairn --top 2
cairn diff --json a.cairn b.cairn --top 1 --contexts
