#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs a build into a folder of its own and uses it from there as others would: headers
# by other compilers and standards, pkg-config, CMake, the tool. Prints TAP.
#
#   consumers.sh BUILD_DIR SOURCE_DIR PREFIX LIBDIR [tool] [lua]
# The last two say that the tool and the Lua host were built.
set -u
build=$1
here=$2/tests/compile
. "$2/tests/support/tap.sh"
prefix=$3
libdir=$4
shift 4
built=" $* "

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

skip() {
    cases=$((cases + 1))
    echo "ok $cases - $1 # SKIP $2"
}

root=$work/root
installed=$root$prefix
library=$installed/$libdir
expected="1 100 300 100"
strict="-Wall -Wextra -Wpedantic -Werror"

check "meson install" \
    "DESTDIR='$root' meson install -C '$build' --no-rebuild --quiet"

# ---- the headers, by themselves and together

for compiler in gcc clang; do
    for standard in c17; do
        name="headers as $standard by $compiler"
        if command -v $compiler >/dev/null; then
            check "$name" "$compiler -std=$standard $strict -Wmissing-prototypes -I'$installed/include' \
                -c '$here/consumer.c' -o consumer.o"
        else
            skip "$name" "no $compiler"
        fi
    done
done
for compiler in g++ clang++; do
    for standard in c++17 c++20; do
        name="headers as $standard by $compiler"
        if command -v $compiler >/dev/null; then
            check "$name" "$compiler -std=$standard $strict -I'$installed/include' \
                -x c++ -c '$here/consumer.c' -o consumer.o"
        else
            skip "$name" "no $compiler"
        fi
    done
done
for compiler in gcc clang; do
    for standard in c11 c17; do
        name="spans as $standard by $compiler"
        if command -v $compiler >/dev/null; then
            check "$name" "$compiler -std=$standard $strict -Wshadow -Wmissing-prototypes \
                -I'$installed/include' -c '$here/spans.c' -o spans.o"
        else
            skip "$name" "no $compiler"
        fi
    done
done
for compiler in g++ clang++; do
    for standard in c++11 c++14 c++17 c++20; do
        name="spans as $standard by $compiler"
        if command -v $compiler >/dev/null; then
            check "$name" "$compiler -std=$standard $strict -I'$installed/include' \
                -fsyntax-only '$here/spans.cpp'"
        else
            skip "$name" "no $compiler"
        fi
    done
done
for compiler in g++ clang++; do
    for standard in c++11 gnu++11 c++14 c++17 c++20 gnu++20; do
        name="C's scopes as $standard by $compiler"
        if command -v $compiler >/dev/null; then
            check "$name" "$compiler -std=$standard $strict -Wshadow -I'$installed/include' \
                -x c++ -fsyntax-only '$here/spans.c'"
        else
            skip "$name" "no $compiler"
        fi
    done
done
for header in "$installed"/include/cairn/*; do
    name=$(basename "$header")
    echo "#include <cairn/$name>" >alone.c
    case $name in
    *.hpp) check "$name stands alone" "g++ -std=c++17 $strict -I'$installed/include' -x c++ -c alone.c" ;;
    *) check "$name stands alone" "gcc -std=c17 $strict -I'$installed/include' -c alone.c" ;;
    esac
done

# ---- pkg-config

export PKG_CONFIG_SYSROOT_DIR="$root"
export PKG_CONFIG_PATH="$library/pkgconfig"
check "pkg-config, shared" '
    gcc -std=c17 "$here/consumer.c" $(pkg-config --cflags --libs cairn) -o shared &&
    test "$(LD_LIBRARY_PATH="$library" ./shared)" = "$expected" &&
    readelf -d shared | grep -q "NEEDED.*libcairn\.so\.0\]"'
check "pkg-config, static" '
    gcc -static -std=c17 "$here/consumer.c" $(pkg-config --static --cflags --libs cairn) \
        -o static &&
    test "$(./static)" = "$expected"'
check "pkg-config, not installed" '
    flags=$(PKG_CONFIG_SYSROOT_DIR= PKG_CONFIG_PATH="$build/meson-uninstalled" pkg-config --cflags --libs cairn) &&
    gcc -std=c17 "$here/consumer.c" $flags -o uninstalled &&
    test "$(LD_LIBRARY_PATH="$build/src" ./uninstalled)" = "$expected"'
check "C++ links it" '
    g++ -std=c++17 -x c++ "$here/consumer.c" $(pkg-config --cflags --libs cairn) -o plusplus &&
    test "$(LD_LIBRARY_PATH="$library" ./plusplus)" = "$expected"'
check "C++ scopes under exceptions and threads" '
    g++ -std=c++17 $strict "$here/scope.cpp" $(pkg-config --cflags --libs cairn) -pthread -o scope &&
    test "$(LD_LIBRARY_PATH="$library" ./scope)" = "1 1 1 4200"'
spans="3 0 0"
profiled="3 1 1"
check "spans: a program is the same with a profile and without" '
    gcc -std=c11 $strict "$here/spans.c" $(pkg-config --cflags --libs cairn) -pthread -o spans &&
    export LD_LIBRARY_PATH="$library" &&
    test "$(./spans)" = "$spans" && test "$(CAIRN_OUT=spans.cairn ./spans)" = "$profiled" &&
    test -s spans.cairn'
for standard in c++11 c++20; do
    check "spans: C's scopes are the same in $standard" '
        g++ -std=$standard $strict -x c++ "$here/spans.c" $(pkg-config --cflags --libs cairn) \
            -pthread -o spans_plus &&
        export LD_LIBRARY_PATH="$library" &&
        test "$(./spans_plus)" = "$spans" && test "$(CAIRN_OUT=plus.cairn ./spans_plus)" = "$profiled"'
done
check "spans: in a static program" '
    gcc -static -std=c17 "$here/spans.c" $(pkg-config --static --cflags --libs cairn) -o spans_static &&
    test "$(./spans_static)" = "$spans" && test "$(CAIRN_OUT=static.cairn ./spans_static)" = "$profiled" &&
    test -s static.cairn'
check "spans: C++ under exceptions, threads and futures" '
    g++ -std=c++11 $strict "$here/spans.cpp" $(pkg-config --cflags --libs cairn) -pthread -o spans_cpp &&
    export LD_LIBRARY_PATH="$library" &&
    test "$(./spans_cpp)" = "22143 0" && test "$(CAIRN_OUT=cpp.cairn ./spans_cpp)" = "22143 0" &&
    test -s cpp.cairn'
check "spans: a mutex of C++ notes its name and records who has it" '
    g++ -std=c++11 $strict "$here/locks.cpp" $(pkg-config --cflags --libs cairn) -pthread -o locks_cpp &&
    export LD_LIBRARY_PATH="$library" && ./locks_cpp 300 300 &&
    CAIRN_OUT=locks.cairn ./locks_cpp 300 300 && test -s locks.cairn &&
    grep -qa "lock.scene" locks.cairn && grep -qa "scene.wait" locks.cairn'
check "spans: coroutines of C++20 have asynchronous spans" '
    g++ -std=c++20 $strict "$here/tasks.cpp" $(pkg-config --cflags --libs cairn) -pthread -o tasks_cpp &&
    export LD_LIBRARY_PATH="$library" && ./tasks_cpp &&
    CAIRN_OUT=tasks.cairn ./tasks_cpp && test -s tasks.cairn && grep -qa "async.request" tasks.cairn &&
    case $built in
    *" tool "*)
        "$installed/bin/cairn" spans --slowest tasks.cairn >tasks.txt && cat tasks.txt &&
        grep -q "main → begin →\* request #0  status=200" tasks.txt &&
        grep -q "main → begin →\* request #1  status=201" tasks.txt &&
        grep -q "request #1 →\* answer" tasks.txt &&
        grep -q "main → begin  tasks=2  again=3" tasks.txt ;;
    esac'
check "pkg-config, header and package agree on the version" '
    version=$(pkg-config --modversion cairn) &&
    grep -q "define CAIRN_VERSION \"$version\"" "$installed/include/cairn/cairn.h"'

# ---- Meson

check "the toy machine of examples/ builds by itself and is profiled" '
    meson setup toy "$here/../../examples/toy" --pkg-config-path "$PKG_CONFIG_PATH" &&
    ninja -C toy &&
    LD_LIBRARY_PATH="$library" ./toy/toy toy.cairn &&
    test -s toy.cairn'

# ---- CMake

if command -v cmake >/dev/null; then
    check "find_package" '
        cmake -G Ninja -S "$here" -B cmake -DCMAKE_PREFIX_PATH="$installed" &&
        cmake --build cmake &&
        test "$(./cmake/consumer-shared)" = "$expected" &&
        test "$(./cmake/consumer-static)" = "$expected"'
    check "find_package refuses a version that does not exist yet" '
        mkdir future &&
        sed "s/cairn 0\.1 REQUIRED/cairn 0.99 REQUIRED/" "$here/CMakeLists.txt" \
            >future/CMakeLists.txt &&
        cp "$here/consumer.c" future &&
        ! cmake -G Ninja -S future -B future/build -DCMAKE_PREFIX_PATH="$installed" 2>future.log &&
        grep -q "0\.99" future.log'
else
    skip "find_package" "no cmake"
    skip "find_package refuses a version that does not exist yet" "no cmake"
fi

# ---- the library's own surface

check "the shared library exports cairn_ names only" '
    nm -D --defined-only "$library/libcairn.so" | awk "{print \$3}" >exported &&
    grep -q "^cairn_profile_open$" exported &&
    ! grep -v "^cairn_" exported'
check "each declared function is exported" '
    cat "$installed"/include/cairn/*.h | tr "\n" " " | tr ";{}" "\n\n\n" |
        sed -n "s/.*CAIRN_API [^(]*[ *]\(cairn_[a-z_]*\)(.*/\1/p" | sort -u >declared &&
    test "$(wc -l <declared)" -ge 30 &&
    for each in "$library"/libcairn*.so; do nm -D --defined-only "$each"; done |
        awk "{print \$3}" | sort -u >exported &&
    test -z "$(comm -23 declared exported | tee /dev/stderr)"'
check "the static library defines cairn_ and crn_ names only" '
    nm -g --defined-only "$library/libcairn.a" | awk "NF == 3 {print \$3}" >defined &&
    grep -q "^cairn_profile_open$" defined &&
    ! grep -vE "^(cairn|crn)_" defined'
check "the shared library needs libc alone" '
    readelf -d "$library/libcairn.so" | sed -n "s/.*NEEDED.*\[\(.*\)\]/\1/p" >needed &&
    grep -q "^libc\.so" needed &&
    ! grep -vE "^(libc\.so|ld-linux)" needed'

# ---- the tool, where it was installed to

case $built in
*" tool "*)
    check "the installed tool knows its version" '
        test "$("$installed/bin/cairn" --version)" = "cairn $(pkg-config --modversion cairn)"'
    check "what C++ asked for, whoever does it, is its work" '
        "$installed/bin/cairn" query --csv cpp.cairn "select max(large) > 18e18 from spans" |
            grep -qx 1 &&
        "$installed/bin/cairn" assert cpp.cairn "calls(\"job\") == 7" "calls(\"asks\" -> \"job\") == 3" \
            "calls(\"threads\" -> \"worker\") == 1" "calls(\"futures\" -> \"fails\") == 1"'
    check "the toy machine made the calls that it says" '
        "$installed/bin/cairn" assert toy.cairn "calls(\"count\") == 1" \
            "calls(\"count\" -> \"even\") == 1000" "calls(\"even\" -> \"odd\") == 250500" \
            "calls(\"odd\" -> \"even\") == 250000"'
    case $built in
    *" lua "*)
        echo 'local function f() return 1 end for i = 1, 7 do f() end print(...)' >seven.lua
        check "the installed tool finds its Lua host" '
            test "$("$installed/bin/cairn" run -o seven.cairn seven.lua a b)" = "a	b" &&
            "$installed/bin/cairn" assert seven.cairn "calls(\"f\") == 7"'
        ;;
    esac
    "$installed/bin/cairn" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | grep -vx cairn >commands
    check "each command has its manual page and its completions" '
        test "$(wc -l <commands)" -ge 5 &&
        test -s "$installed/share/man/man1/cairn.1" &&
        while read -r command; do
            test -s "$installed/share/man/man1/cairn-$command.1" || { echo "no cairn-$command.1"; exit 1; }
            for shell in bash-completion/completions/cairn zsh/site-functions/_cairn; do
                grep -qw "$command" "$installed/share/$shell" || { echo "$shell: $command"; exit 1; }
            done
        done <commands'
    ;;
esac

tap_end
