# Formats that write each path out are refused before they fill the disk; speedscope's does
# not, and one line of folded stacks may be as long as it takes.
deep a.cairn 1000000
ulimit -s 256
cairn export a.cairn -o a.pb.gz
cairn export a.cairn -o a.folded
cairn export a.cairn -o a.speedscope.json
head -c 60000000 a.speedscope.json | grep -c '"type":"O"'
ls
deep b.cairn 900
cairn export b.cairn
cairn export b.cairn --to folded --metric calls
cairn import b.pb.gz -o b2.cairn
cairn import b.folded -o b3.cairn --metric calls
for file in b.cairn b2.cairn b3.cairn; do
    cairn assert $file 'calls("b5" -> "b6") == 1' 'contexts() == 901'
done
