// SPDX-License-Identifier: MIT
//
// Exceptions through many frames without cleanup. Functions are called where they land: in
// handlers, also in loops, in destructors, in handlers that rethrow, and after the handlers.
#include <cstdio>
#include <cstdlib>

#ifdef SPANS
#include <cairn/scope.h>
#else
#define CAIRN_SCOPE(name)
#endif

#include "noipa.h"

static volatile int seen;

STEP(goes_down)
STEP(never_comes_back)
STEP(in_catch)
STEP(in_loop)
STEP(in_destructor)
STEP(in_scope)
STEP(goes_on)
STEP(after_landing)

struct thrown {
    int n;
};

KEPT int throws(int n)
{
    if (n % 2)
        throw thrown{n};
    return goes_down(n);
}

/* Calls before and after `next`, and has no landing pad. */
#define FRAME(name, next)                                                                          \
    KEPT int name(int n)                                                                           \
    {                                                                                              \
        int sum = goes_down(n);                                                                    \
        sum += next(n);                                                                            \
        return sum + never_comes_back(sum);                                                        \
    }

FRAME(third, throws)
FRAME(second, third)
FRAME(first, second)

/* Recursion, folded into one context, and below it the functions above. */
KEPT int deeper(int depth, int n)
{
    int sum = goes_down(n);
    sum += depth == 0 ? first(n) : deeper(depth - 1, n);
    return sum + never_comes_back(sum);
}

struct cleaned {
    int n;
    KEPT ~cleaned()
    {
        in_destructor(n);
    }
};

struct catches_itself {
    int n;
    KEPT ~catches_itself()
    {
        try {
            first(n);
        } catch (const thrown &what) {
            in_catch(what.n);
        }
        in_destructor(n);
    }
};

KEPT int catches(int n)
{
    int sum = 0;
    try {
        sum = deeper(3, n);
    } catch (const thrown &what) {
        sum = in_catch(what.n);
    }
    return sum + goes_on(sum);
}

KEPT int loops(int times)
{
    int sum = 0;
    for (int i = 0; i < times; i++) {
        try {
            sum += second(i);
            continue;
        } catch (const thrown &what) {
            sum += in_catch(what.n);
        }
        sum += in_loop(i);
    }
    return sum + goes_on(sum);
}

KEPT int cleans(int n)
{
    cleaned here{n};
    int sum = first(n);
    return sum + never_comes_back(sum);
}

KEPT int cleans_by_catching(int n)
{
    catches_itself here{n};
    cleaned too{n};
    int sum = first(n);
    return sum + never_comes_back(sum);
}

KEPT int throws_again(int n)
{
    try {
        return cleans(n);
    } catch (const thrown &) {
        in_catch(n);
        throw;
    }
}

KEPT int throws_other(int n)
{
    int sum = goes_down(n);
    try {
        sum += throws_again(n);
    } catch (const thrown &what) {
        in_catch(what.n);
        throw what.n;
    }
    return sum + never_comes_back(sum);
}

KEPT int catches_all(int n)
{
    int sum = 0;
    try {
        try {
            sum = throws_other(n);
        } catch (int number) {
            sum = in_catch(number);
            throw thrown{number};
        }
    } catch (...) {
        sum += in_catch(1);
    }
    try {
        sum += cleans_by_catching(n);
    } catch (...) {
        sum += in_catch(2);
    }
    return sum + goes_on(sum);
}

KEPT int by_tail(int n)
{
    try {
        return second(n);
    } catch (const thrown &) {
        seen = seen + 1;
    }
    return goes_on(n);
}

KEPT int compare(const void *left, const void *right)
{
    first(1);
    return left < right;
}

/* libc calls back: its frames know nothing of exceptions. */
KEPT int over_libc()
{
    int numbers[] = {3, 1, 2};
    try {
        std::qsort(numbers, 3, sizeof *numbers, compare);
    } catch (const thrown &what) {
        return in_catch(what.n) + goes_on(1);
    }
    return 0;
}

KEPT int in_spans(int n)
{
    CAIRN_SCOPE("outside");
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        CAIRN_SCOPE("each");
        try {
            CAIRN_SCOPE("inside");
            sum += in_scope(n);
            sum += first(n + i);
        } catch (const thrown &what) {
            sum += in_catch(what.n);
            CAIRN_SCOPE("catching");
            sum += in_scope(n);
        }
        sum += in_scope(n);
    }
    return sum + goes_on(sum);
}

/* The span belongs to a frame without a handler; the frames below it go on. */
KEPT int span_is_left(int n)
{
    CAIRN_SCOPE("left");
    int sum = in_spans(n) + first(n);
    return sum + never_comes_back(sum);
}

KEPT int catches_over_spans(int n)
{
    CAIRN_SCOPE("kept");
    int sum = 0;
    try {
        sum = span_is_left(n);
    } catch (const thrown &) {
        sum = in_catch(n);
    }
    return sum + goes_on(sum);
}

int main()
{
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        int (*const ways[])(int) = {catches, catches_all, by_tail, catches_over_spans};
        for (auto way : ways) {
            sum += way(i);
            sum += after_landing(i);
        }
        sum += loops(6);
        sum += after_landing(i);
        sum += over_libc();
        sum += after_landing(i);
    }
    std::printf("%d %d\n", sum, seen);
}
