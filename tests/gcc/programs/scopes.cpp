// SPDX-License-Identifier: MIT
//
// Scopes marked by hand, beside functions entered by the compiler: calls belong to a scope until it
// ends, also after an exception was caught in it.
#include <csetjmp>
#include <cstdio>
#include <stdexcept>

#include <cairn/cairn.hpp>
#include <cairn/process.h>

#include "noipa.h"

static std::jmp_buf place;

KEPT int throws(int n)
{
    if (n % 2)
        throw std::runtime_error("odd");
    return n;
}

KEPT int jumps(int n)
{
    if (n % 2)
        std::longjmp(place, 1);
    return n;
}

KEPT int work(int n)
{
    return n + 1;
}

KEPT int catches(int n)
{
    CAIRN_SCOPE("outer", .iteration = n);
    int result = 0;
    try {
        CAIRN_SCOPE("inner");
        result = throws(n);
    } catch (const std::exception &) {
        result = -1;
    }
    return result + work(n);
}

KEPT int catches_object(int n)
{
    int result = 0;
    cairn::span outer(CAIRN_PLACE("object"), n);
    try {
        result = throws(n);
    } catch (const std::exception &) {
        result = -1;
    }
    return result + work(n);
}

KEPT int is_jumped_to(int n)
{
    CAIRN_SCOPE("jumped", .iteration = n);
    volatile int result = 0;
    if (setjmp(place) == 0) {
        CAIRN_SCOPE("left"); // ended by the jump
        result = jumps(n);
    } else {
        result = -1;
    }
    return result + work(n);
}

static inline __attribute__((always_inline)) int half(int n)
{
    return work(n) / 2;
}

// Its scope is open until it returns; its calls belong to the scope.
static inline __attribute__((always_inline)) int is_inlined(int n)
{
    CAIRN_SCOPE("within", .iteration = n);
    return half(n) + work(n);
}

KEPT int inlines(int n)
{
    return is_inlined(n) + work(n);
}

// Its scope ends after its last call.
KEPT void ends_with_scope(int n)
{
    CAIRN_SCOPE("ending", .iteration = n);
    work(n);
}

KEPT int calls_behind(int n)
{
    ends_with_scope(n);
    return work(n);
}

KEPT int after_scopes(int n)
{
    return n;
}

int main()
{
    int sum = 0;
    for (int i = 0; i < 10; i++)
        sum += catches(i) + catches_object(i) + is_jumped_to(i) + inlines(i) + calls_behind(i) +
               after_scopes(i);
    std::printf("%d\n", sum);
    return 0;
}
