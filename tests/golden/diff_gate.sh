play a.cairn <"$DATA/compiler.events"
sed -e 's/+40/+60/' "$DATA/compiler.events" >slower.events
play b.cairn <slower.events
gate() {
    echo "# $*"
    cairn diff "$@" >/dev/null
}
gate a.cairn b.cairn
gate a.cairn b.cairn --fail-above 2%
gate a.cairn b.cairn --fail-above 1.5
gate b.cairn a.cairn --fail-above 0 --fail-above-block 0
gate a.cairn b.cairn --fail-above-block 49
gate a.cairn b.cairn --fail-above-block 49 --share 10
gate a.cairn b.cairn --fail-above-block 51
gate a.cairn b.cairn --metric calls --fail-above 0 --fail-above-block 0
