# Names that act on a terminal, or show as another name: overrides of direction, zero-width
# characters, C1 controls, escapes. No view prints them; folded stacks give them back.
play unsafe.cairn <<'END'
block rlo\xe2\x80\xaetxt.c a.c 1
block isolate\xe2\x81\xa6x a.c 2
block zero\xe2\x80\x8bwidth a.c 3
block csi\xc2\x9b31mred a.c 4
block esc\x1b]0;title\x07 a.c 5
block =cmd()%3Bx a.c 6
>rlo\xe2\x80\xaetxt.c +6 >isolate\xe2\x81\xa6x +5 >zero\xe2\x80\x8bwidth +4 >csi\xc2\x9b31mred +3 >esc\x1b]0;title\x07 +2 >=cmd()%3Bx +1
< < < < < <
END
cairn report unsafe.cairn --no-summary
cairn report unsafe.cairn --no-summary --tree
cairn report unsafe.cairn --dot | grep -c '?'
cairn report unsafe.cairn --focus "$(printf 'csi\302\23331mred')" --no-summary
cairn report unsafe.cairn --focus "$(printf 'none\342\200\256')"
cairn query unsafe.cairn --csv "select name from contexts where name like '=%' or name = '[root]'"
cairn export unsafe.cairn --to folded -o unsafe.folded
cat unsafe.folded
cairn import unsafe.folded -o again.cairn
cairn export again.cairn --to folded -o again.folded
cmp unsafe.folded again.folded && echo equal
# No byte of any output but tabs and line ends acts.
for view in --flat --tree --stack --dot; do
    cairn report unsafe.cairn $view
done >all.txt 2>&1
cairn query unsafe.cairn "select name from contexts" >>all.txt
cat unsafe.folded >>all.txt
LC_ALL=C grep -cP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]' all.txt
