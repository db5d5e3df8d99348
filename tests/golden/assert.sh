play a.cairn <"$DATA/compiler.events"
check() {
    echo "# $*"
    cairn assert a.cairn "$@"
}
check 'calls("emit" -> "flush") == 200' "calls('expr'->'term')==6"
check 'calls("main") == 2'
check 'ticks("parse") + ticks("emit") < 1e3 and not self.ticks("main") > 10'
check 'self.ticks("flush") / ticks() >= 50%' 'calls("factor" -> "expr" -> "term") == 3'
check 'cycles() == 0 or folded() > 0' 'contexts() == 12'
check 'allocated() == 4KiB && self.allocated("sweep") == 4096 B'
check 'calls("tokn") == 0'
check -z 'calls("tokn") == 0'
check -z 'calls("t") == 0'
check 'calls("expr"' 
check 'calls("expr) == 1' 
check '1 < 2 < 3'
check "calls('emit', 'flush') = 200 and ticks('main') between 1 and 2000" '(select count(*) from blocks) = 3'
check '7'
check 'not 7'
check 'calls("main") == 1 calls'
check '1/0 == 1'
check 'inclusive.calls("parse") == 27' 'inclusive."allocated"("main") == 4096'
printf '%s\n' '# a comment' '' 'calls("main") == 1' '  calls("main") == 3' >list
cairn assert a.cairn --file list -v
