# Sources of names: debug information in the file, in the file of its debug link, in neither; then
# the symbol table; then nothing. Each source gives the same functions as far as it knows them.
cc -g -O2 -fPIC -shared -o libshape.so "$DATA/library.c" "$DATA/trace.c"
cc -g -O2 -o program "$DATA/program.c" -L. -lshape -Wl,-rpath,"$PWD"
./program >trace
"$FROM_TRACE" raw.cairn <trace
names() {
    cairn report raw.cairn --metric 'alloc bytes' --callees main --tree --threshold 0 \
        --no-summary | grep -v ' qsort_r\| msort_with_tmp' | sed "s|$DATA/||; s|  *$PWD/| |" >"$1"
}
names with
objcopy --only-keep-debug program program.debug
strip program
objcopy --add-gnu-debuglink=program.debug program
names beside
cmp with beside && echo 'the same with the .debug file'
rm program.debug
echo 'without it, six functions whose places are known:'
cairn report raw.cairn --no-summary --metric 'alloc bytes' --sort name |
    grep -o '\[program\]+0x' | sort | uniq -c
cairn report raw.cairn --no-summary --metric 'alloc bytes' --tree --threshold 0 |
    grep '\[program\]' | sed "s/+0x[0-9a-f]*/+.../; s|  *$PWD/| |"
cc -O2 -g -o program "$DATA/program.c" -L. -lshape -Wl,-rpath,"$PWD"
strip --strip-debug program
echo 'with symbols alone:'
names symbols
cut -c 1-80 symbols
