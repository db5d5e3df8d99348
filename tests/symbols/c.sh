# Functions of a program in C and of a library of its own: static ones, inlined ones, recursion
# from two places. malloc is no part of who called it.
cc -g -O2 -fPIC -shared -o libshape.so "$DATA/library.c" "$DATA/trace.c"
cc -g -O2 -o program "$DATA/program.c" -L. -lshape -Wl,-rpath,"$PWD"
./program >trace
"$FROM_TRACE" raw.cairn <trace
cairn report raw.cairn --no-summary --metric 'alloc bytes' --callees main --tree --threshold 0 |
    grep -v ' qsort_r\| msort_with_tmp' | sed "s|$DATA/||"
# Live memory at the end, by allocating context.
cairn report raw.cairn --no-summary --metric 'live bytes' | grep -E 'allocate|recurse|compare' |
    sed "s|$DATA/||"
cairn assert raw.cairn '"alloc bytes"() == 111208' && echo conserved
