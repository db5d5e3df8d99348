# Each format is recognised by content, packed or not, from a file or a pipe.
FORMATS=$DATA/../formats/data
cp "$FORMATS"/recursion.folded "$FORMATS"/*.perf .
cairn import recursion.folded --metric calls
cairn report recursion.cairn --tree --threshold 0
gzip -c chains.perf >chains.txt.gz
cairn import chains.txt.gz -o chains.cairn
cairn report chains.cairn
cairn import single_lines.perf -o single.cairn
cairn report --no-summary single.cairn
cairn export recursion.cairn -o recursion.pb.gz
cairn import - -o again.cairn <recursion.pb.gz
cairn export again.cairn -o - | cmp - recursion.pb.gz
gzip -dc recursion.pb.gz | cairn import - -o again.cairn
cairn assert again.cairn 'calls("fib") == 52' 'contexts() == 12'
ls
