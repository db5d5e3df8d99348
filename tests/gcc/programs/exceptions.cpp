// SPDX-License-Identifier: MIT
//
// Exceptions through profiled frames: caught, rethrown, through frames with destructors, through
// noexcept to terminate; and C++ names.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <typeinfo>

#include "noipa.h"

static int noted;

KEPT void note(int n)
{
    noted += n;
}

struct guard {
    int n;
    KEPT explicit guard(int n) : n(n)
    {
    }
    KEPT ~guard()
    {
        note(n);
    }
};

KEPT int thrower(int n)
{
    if (n == 0)
        throw std::bad_cast();
    int below = thrower(n - 1);
    OPAQUE(below);
    return below * 2 + 1;
}

KEPT int through(int n)
{
    guard here(1);
    return thrower(n) + 1;
}

KEPT int passed_on(int n)
{
    try {
        return through(n);
    } catch (const std::bad_alloc &) {
        return -1000;
    } catch (...) {
        note(2);
        throw;
    }
}

KEPT int caught(int n)
{
    try {
        return passed_on(n);
    } catch (const std::bad_cast &) {
        note(3);
        return 5;
    }
}

// The exception passes through frames of the standard library.
KEPT int by_function(const std::function<int(int)> &call, int n)
{
    try {
        return call(n);
    } catch (int value) {
        return value;
    }
}

namespace shapes {
template <class T> struct box {
    T value;
    KEPT T twice() const
    {
        return value + value;
    }
};
} // namespace shapes

KEPT int after_exception(int n)
{
    return n;
}

KEPT int after_function(int n)
{
    return n;
}

[[noreturn]] KEPT void ended()
{
    std::printf("ended %d\n", noted);
    std::fflush(stdout);
    std::_Exit(0);
}

KEPT void never_throws() noexcept
{
    thrower(3);
}

int main()
{
    int sum = 0;
    for (int i = 0; i < 10; i++) {
        sum += caught(i);
        sum += after_exception(i);
        sum += by_function(
            [](int n) -> int {
                guard here(n);
                if (n % 2)
                    throw n;
                return n;
            },
            i);
        sum += after_function(i);
    }
    sum += shapes::box<int>{4}.twice();
    sum += (int)shapes::box<double>{2.5}.twice();
    std::printf("%d %d\n", sum, noted);
    std::set_terminate(ended);
    never_throws();
}
