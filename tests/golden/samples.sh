# The samples in docs/SPANS.md and the manual equal the output, except for figures.
[ -n "${CAIRN_JOBS-}" ] || { echo "no example program in this build"; exit 77; }
mask() { sed -E -e 's/[0-9][0-9,.]*( (s|ms|µs|us|ns))?/N/g' -e 's/  +/  /g' -e 's/ (s|ms|µs|ns)( |$)/ unit\2/g' -e 's/^ +//' | LC_ALL=C sort; }
# The lines behind $1 in a page, up to the end of the sample.
sample() { awk -v command="$1" 'inside && /^(```|\.fi)/ {exit} inside {print} index($0, command) == 1 {inside = 1}' "$2"; }
docs=$DATA/../../docs
man=$DATA/../../man

CAIRN_OUT=jobs.cairn "$CAIRN_JOBS"
cairn spans --slowest --block convert_image jobs.cairn | mask >found
sample '$ cairn spans --slowest --block convert_image jobs.cairn' "$docs/SPANS.md" | mask | diff - found && echo "the slowest"
sed -e 's/\\(->/→/g' -e 's/\\-/-/g' "$man/cairn-spans.1" >page
sample '$ cairn spans --slowest --block convert_image jobs.cairn' page | mask | diff - found && echo "the slowest, in the manual"

# f calls g six times, and g takes 1 to 12 microseconds, in no order.
awk 'BEGIN {
    print "lane main"
    for (i = 0; i < 60; i++) {
        random = (random * 16807 + 11) % 2147483647
        length_of_g = int(random / 65536) % 12 + 1
        print "span f" i, i * 100, i * 100 + 6 * length_of_g, "f #" i
        for (j = 0; j < 6; j++)
            print "span g" i "." j, i * 100 + j * length_of_g, i * 100 + (j + 1) * length_of_g, "g #" j " <f" i
    }
}' | "$CAIRN_RECORDED" loops.cairn
cairn explain loops.cairn f | head -n 1 >found
sample '$ cairn explain loops.cairn f' "$docs/SPANS.md" | diff - found && echo "explain"

# A thread that runs jobs while it waits for them: docs/SPANS.md says what self is then.
"$CAIRN_RECORDED" helps.cairn <<'END'
lane main
span main 0 60000 main
span wait 0 60000 wait <main
span j0 0 20000 job #0 <main @0
span j1 20000 40000 job #1 <main @0
span j2 40000 60000 job #2 <main @0
END
cairn query helps.cairn 'select name, ms(sum(self)) from spans group by name; select ms(busy) from threads'
cairn critical helps.cairn | head -n 1

# The service of OTLP: the program, or a label.
cairn export jobs.cairn --to otlp -o - | grep -o '"service.name","value":{[^}]*}'
CAIRN_LABELS='service=front "end"' CAIRN_OUT=labelled.cairn "$CAIRN_JOBS"
cairn export labelled.cairn --to otlp -o - | grep -o '"service.name","value":{[^}]*}'
