# Names of C++: templates, methods, constructors, operators, lambdas, what no other file sees.
# operator new is no part of who called it.
c++ --version >/dev/null 2>&1 || {
    echo "no C++ compiler"
    exit 77
}
cc -g -O2 -c "$DATA/trace.c"
report() {
    "./$1" >trace
    "$FROM_TRACE" raw.cairn <trace
    cairn report raw.cairn --no-summary --metric 'alloc bytes' --sort name |
        grep templates.cpp | sed "s|$DATA/||"
}
c++ -g -O2 -o program "$DATA/templates.cpp" trace.o
report program >names
cat names

# The same with the language codes of C++17 and C++20, which not every compiler writes.
c++ -g -O2 -S -dA -o templates.s "$DATA/templates.cpp"
for language in 0x2b 0x2c; do
    sed "s/0x[0-9a-f]*\([[:space:]]*# DW_AT_language\)/$language\1/" templates.s >coded.s
    c++ -o coded coded.s trace.o
    report coded | diff names -
done
