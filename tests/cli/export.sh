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
# --no-times: the same bytes of equal runs with the tick clock.
for run in 1 2; do
    {
        for note in samples cpu_samples cpu_squares sample_rounds trace_id span_key elapsed_ns wall_squares; do
            echo "note $note $run"
        done
        printf '>main +3 >f @%d < <\n' "$run"
    } | play "run$run.cairn"
    for format in pprof folded speedscope; do
        cairn export "run$run.cairn" --no-times --to "$format" -o "$run.$format" >/dev/null
    done
done
for format in pprof folded speedscope; do cmp "1.$format" "2.$format"; done
rm run?.cairn 1.* 2.*
head -c 60 a.speedscope.json
echo
mkdir empty
(cd empty && cairn export)
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
