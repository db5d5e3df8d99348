# Invalid input is refused with one line that says what to do.
FORMATS=$DATA/../formats/data
printf '>a +1 <\n' | play a.cairn
cairn export a.cairn
cairn import
cairn import missing.pb.gz
cairn import . -o out.cairn
cairn import a.pb.gz
cairn import a.cairn -o out.cairn
cairn import - <a.pb.gz
cairn import a.pb.gz -o a.pb.gz
cairn import a.pb.gz --from gif
cairn import a.pb.gz --from folded -o out.cairn
cp "$FORMATS"/chains.perf .
cairn import chains.perf --from pprof -o out.cairn
: >empty
cairn import empty -o out.cairn
printf 'PERFILE2\0\0' >perf.data
cairn import perf.data -o out.cairn
printf '\373)\003\372\010<string>' >a.pstats
cairn import a.pstats -o out.cairn
printf '{"flamegraph": true}\n' >a.json
cairn import a.json -o out.cairn
head -c 100 a.pb.gz >short.pb.gz
cairn import short.pb.gz -o out.cairn
gzip -dc a.pb.gz | head -c 100 >short.pb
cairn import short.pb -o out.cairn
# A position in a packed file is one in what gunzip makes of it.
gzip <short.pb >packed.pb.gz
cairn import packed.pb.gz -o out.cairn
printf '\010\001\022' | gzip >wrong.pb.gz
cairn import wrong.pb.gz --from pprof -o out.cairn
rm packed.pb.gz wrong.pb.gz
printf 'main;f 1\nmain;g\n' >bad.folded
cairn import bad.folded -o out.cairn
printf 'main;f 4611686018427387904\n' >much.folded
cairn import much.folded -o out.cairn
cairn import a.pb.gz -o nowhere/out.cairn
if [ "$(id -u)" != 0 ]; then
    chmod a-r a.pb.gz
    cairn import a.pb.gz -o out.cairn
else
    echo 'cairn import: a.pb.gz: Permission denied; ask its owner for read permission'
    echo 'status 2'
fi
ls
