# SPDX-License-Identifier: MIT
"""How Debian's source packages are built and tested, as programs.py and fetch.sh have them.

Commands run in a copy of the package's sources with CC, CXX, CFLAGS and CXXFLAGS in their
environment. Of what the tests print only lines that `summary` matches are compared.
"""

CONFIGURE = "./configure --disable-dependency-tracking --disable-nls"

# name: (source, build, tests, summary, what it is an example of)
RECIPES = {
    "sqlite3": ("sqlite3",
                "./configure --disable-tcl --disable-readline && make -j2 fuzzcheck && "
                "$CC $CFLAGS -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -I. "
                "test/speedtest1.c sqlite3.c -o speedtest1 -lm",
                "./fuzzcheck test/fuzzdata1.db test/fuzzdata2.db test/fuzzdata3.db "
                "test/fuzzdata7.db && ./speedtest1 --size 5 --verify | sed 's/ *[0-9.]*s$//'",
                r"fuzzdata|hash|^[ 0-9]* - |TOTAL", "an interpreter of byte code, one large file"),
    "lua5.4": ("lua5.4", "cd src && rm luac.c && $CC $CFLAGS -std=gnu99 -DLUA_USE_LINUX -Wl,-E "
               "*.c -o lua -ldl -lm && cd ../../lpeg && $CC $CFLAGS -shared -fPIC -I../tree/src "
               "*.c -o lpeg.so", "src/lua $HERE/work.lua && cd ../lpeg && ../tree/src/lua test.lua",
               r".", "longjmp, a module"),
    "zstd": ("libzstd", "make -j2 -C programs zstd && make -j2 -C tests fuzzer zstreamtest "
             "datagen poolTests decodecorpus longmatch legacy",
             "make -C tests test-legacy test-pool && "
             "tests/fuzzer -s1 -i20 --no-big-tests && tests/zstreamtest -s1 -i10",
             r"tests? (completed|OK)|: OK|passed", "threads"),
    "jq": ("jq", "autoreconf -fi && ./configure --with-oniguruma=yes --disable-maintainer-mode "
           "--disable-valgrind --disable-docs && make -j2", "make check", r"^(PASS|FAIL|# )|tests passed",
           "libtool, a shared library"),
    "lz4": ("lz4", "make -j2 all", "make -C tests test-lz4-basic test-lz4-multiple test-fullbench "
            "test-frametest FUZZER_TIME=-T5s", r"PASS|tests? completed|OK", "make, shared library"),
    "bzip2": ("bzip2", "make -j2 bzip2 bzip2recover CC=\"$CC\" CFLAGS=\"$CFLAGS\" && "
              "make -f Makefile-libbz2_so CC=\"$CC\" CFLAGS=\"$CFLAGS -fpic\"",
              "make -s test CC=\"$CC\" CFLAGS=\"$CFLAGS\"", r"^(?!.*bzip2\.o)", "make"),
    "zlib": ("zlib", "./configure && make -j2", "make test", r"OK", "static and shared"),
    "bc": ("bc", "autoreconf -fi; " + CONFIGURE + " && make -j2", "for t in Test/*.b; do echo $t; "
           "timeout 60 bc/bc -l $t </dev/null | md5sum; done", r".", "a generated parser"),
    "dash": ("dash", "autoreconf -fi; " + CONFIGURE + " && make -j2",
             "for f in config.status libtool configure; do [ -f $f ] && src/dash -n $f; done; "
             "src/dash configure --version; src/dash -c 'f() { [ $1 = 0 ] || f $(($1-1)); }; f 300; "
             "trap \"echo trapped\" USR1; kill -USR1 $$; (echo sub); x=`echo y`; echo $x'",
             r".", "fork, vfork, longjmp, signals"),
    "ninja": ("ninja-build", "python3 configure.py --bootstrap --verbose && ./ninja ninja_test",
              "./ninja_test", r"passed|failed", "C++, posix_spawn"),
    "re2": ("re2", "export REBUILD_TABLES=1 && make -j2 obj/libre2.a && "
            "make -j2 $(sed -n '/^TESTS=/,/^$/s/^[[:space:]]*\\(obj[^\\\\]*\\).*/\\1/p' Makefile)",
            "make REBUILD_TABLES=1 static-test", r"PASS|FAIL|TESTS",
            "C++, a static library; its tables need unicode-data"),
    "tinyxml2": ("tinyxml2", "cmake -S . -B o -DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=ON && "
                 "make -C o -j2", "cd o && ctest -V", r"pass|fail", "CMake, C++"),
    "expat": ("expat", "cd expat && ./buildconf.sh && ./configure --without-docbook "
              "--disable-dependency-tracking && make -j2", "cd expat && make check && cat tests/*.log",
              r"^(PASS|FAIL|# )|checks", "a parser with callbacks"),
    "mimalloc": ("mimalloc", "cmake -S . -B o -DCMAKE_BUILD_TYPE=None -DMI_BUILD_TESTS=ON && "
                 "make -C o -j2", "cd o && ctest", r"tests passed", "a malloc in place of libc's"),
    "libgc": ("libgc", "export CFLAGS=-O2; autoreconf -fi && ./configure --enable-cplusplus && "
              "make -j2 && make -j2 check TESTS=", "make check", r"^(PASS|FAIL|# )",
              "a collector that reads stacks and registers"),
    "jansson": ("jansson", "autoreconf -fi; " + CONFIGURE + " && make -j2",
                "make check", r"^(PASS|FAIL|# )", "C"),
    "libpng": ("libpng1.6", "autoreconf -fi; " + CONFIGURE + " && make -j2 && make -j2 check TESTS=",
               "chmod +x tests/pnggetset; make check", r"^(PASS|FAIL|# )",
               "setjmp, SSE2"),
    "pcre2": ("pcre2", "autoreconf -fi; " + CONFIGURE + " --enable-pcre2-16 --enable-pcre2-32 "
              "--enable-jit && make -j2 && make -j2 check TESTS=",
              "make check && cat *.log", r"^(PASS|FAIL|# )|OK|tests? (are )?(ok|passed)|differ",
              "code made at run time, deep recursion"),
    "leveldb": ("leveldb", "cmake -S . -B o -DCMAKE_BUILD_TYPE=None && make -C o -j2",
                "cd o && ctest -V | sed 's/([0-9]* ms[^)]*)//'",
                r"\[ +(OK|FAILED|PASSED) +\]|tests passed", "C++, threads, CMake"),
}
