printf '>a +1 <\n' | play a.cairn
try() {
    echo "# $*"
    cairn "$@"
}
try
try frobnicate
try --frobnicate
try help frobnicate
mkdir empty
(cd empty && try report)
try report b.cairn
try run ./b
try report a.cairn --top many
try report a.cairn --threshold 101
try report a.cairn --sort size
try report a.cairn --metric wall,size
try report a.cairn --flat --tree
try report a.cairn --focus a --callers a
try report a.cairn --focus ''
try report a.cairn --drop b
try diff a.cairn
try diff a.cairn a.cairn a.cairn
try diff a.cairn a.cairn --metric size
try diff a.cairn a.cairn --sort size
try diff a.cairn a.cairn --fail-above lots
try merge a.cairn
try merge -o out.cairn
try assert a.cairn
try assert
try redact a.cairn
try report --html -o x.html a.cairn
try report --html a.cairn
try query a.cairn ''
