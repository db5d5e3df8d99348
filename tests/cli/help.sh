# Every command has help that begins with how it is used, and `help COMMAND` is the same.
cairn --version
cairn --help | head -n 2
cairn --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v '^cairn$' | while read -r command; do
    "$CAIRN_TOOL" "$command" --help >a 2>err || echo "$command --help failed"
    "$CAIRN_TOOL" help "$command" >b 2>>err || echo "help $command failed"
    cmp a b
    cat err
    head -n 1 a
done
