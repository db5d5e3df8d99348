# A file that is missing, was rebuilt, or is not ELF: addresses stay, with a warning.
cc -O2 -fPIC -shared -o libshape.so "$DATA/library.c" "$DATA/trace.c"
cc -O2 -o program "$DATA/program.c" -L. -lshape -Wl,-rpath,"$PWD"
./program >trace
"$FROM_TRACE" raw.cairn <trace
warnings() {
    cairn report raw.cairn | grep -E '^warning' | sed "s|$PWD/||"
}
named() {
    cairn report raw.cairn --no-summary --top 0 | grep -c ' hidden\| library_call'
}
named
mv program elsewhere
warnings
named
cc -O2 -o program "$DATA/program.c" -L. -lshape -Wl,-rpath,"$PWD" -Wl,--defsym,another=1
warnings
echo 'int main;' >program
warnings
rm program
mkfifo program
warnings
rm program
ln -s /dev/zero program
warnings
rm program
mkdir program
warnings
rmdir program
head -c 3000 elsewhere >program
warnings
rm program
mv elsewhere program
warnings
named
cairn merge -o named.cairn raw.cairn
rm program libshape.so
cairn report named.cairn --no-summary --top 0 | grep -c ' hidden\| library_call'
# A file without a build ID can only be believed.
cc -O2 -fPIC -shared -o libshape.so "$DATA/library.c" "$DATA/trace.c"
cc -O2 -o program "$DATA/program.c" -L. -lshape -Wl,-rpath,"$PWD" -Wl,--build-id=none
./program >trace
echo "module $PWD/program" >>trace
"$FROM_TRACE" raw.cairn <trace
warnings
named
