# Names of C++: templates, methods, constructors, operators, lambdas, what no other file sees.
# operator new is no part of who called it.
c++ --version >/dev/null 2>&1 || {
    echo "no C++ compiler"
    exit 77
}
c++ -g -O2 -o program "$DATA/templates.cpp" -x c "$DATA/trace.c" 2>/dev/null || {
    cc -g -O2 -c "$DATA/trace.c"
    c++ -g -O2 -o program "$DATA/templates.cpp" trace.o
}
./program >trace
"$FROM_TRACE" raw.cairn <trace
cairn report raw.cairn --no-summary --metric 'alloc bytes' --sort name |
    grep templates.cpp | sed "s|$DATA/||"
