# Names of exported files, and invalid exports.
printf '%s\n' '>main +3 >f;g >h +4 < < <' '>main >odd +2 ~even +1 <' | play a.cairn
cairn export a.cairn
cairn export a.cairn --to folded
cairn export a.cairn --to=speedscope
cairn export -o b.folded a.cairn
cairn export a.cairn -o - --to folded --metric calls
cairn export a.cairn -o b.pb.gz --metric calls
ls
cmp a.folded b.folded
gzip -t a.pb.gz b.pb.gz
# The same bytes each time, also through a pipe.
cairn export a.cairn -o - | cmp - a.pb.gz
cairn export a.cairn --to speedscope -o - | cmp - a.speedscope.json
head -c 60 a.speedscope.json
echo
cairn export
cairn export missing.cairn
cairn export a.cairn --to gif
cairn export a.cairn --metric wall
cairn export a.cairn -o a.cairn
cairn export a.cairn -o nowhere/a.pb.gz
cairn export a.cairn b.cairn
# A file that cannot be written completely is removed; an existing file stays.
if [ -w /dev/full ]; then
    cairn export a.cairn -o /dev/full
    cairn export a.cairn -o - >/dev/full
    cairn export a.cairn -o - --to speedscope >/dev/full
fi 2>&1 | sort | uniq -c | sed 's/^ *//'
cairn export a.cairn -o /dev/null
(
    trap '' XFSZ
    ulimit -f 0
    cairn export a.cairn -o b.pb.gz 2>&1
) | cat
gzip -t b.pb.gz
ls
