// SPDX-License-Identifier: MIT
//
// Prints a lower bound of each function's self time: before and after its calls, and after an
// exception or a jump.
#include <csetjmp>
#include <cstdio>
#include <ctime>

#include "noipa.h"

static std::jmp_buf place;

enum { CATCHES, LANDS, OUTER, MIDDLE, INNER, TAILS, LAST, ALL };
static const char *const names[] = {"catches", "lands", "outer", "middle",
                                    "inner",   "tails", "last"};
static volatile long spent[ALL];

#define NOW()                                                                                      \
    ({                                                                                             \
        std::timespec at;                                                                          \
        clock_gettime(CLOCK_MONOTONIC, &at);                                                       \
        at.tv_sec * 1000000000 + at.tv_nsec;                                                       \
    })

#define SPEND(who)                                                                                 \
    do {                                                                                           \
        long begin = NOW(), end = begin;                                                           \
        while (end < begin + 500000)                                                               \
            end = NOW();                                                                           \
        spent[who] = spent[who] + end - begin;                                                     \
    } while (0)

enum { RETURNS, THROWS, JUMPS };

KEPT int inner(int way)
{
    SPEND(INNER);
    if (way == THROWS)
        throw way;
    if (way == JUMPS)
        std::longjmp(place, 1);
    return way;
}

KEPT int middle(int way)
{
    SPEND(MIDDLE);
    int sum = inner(way);
    SPEND(MIDDLE);
    return sum + inner(way);
}

KEPT int outer(int way)
{
    SPEND(OUTER);
    int sum = middle(way);
    SPEND(OUTER);
    return sum;
}

KEPT int last(int way)
{
    int sum = inner(way);
    SPEND(LAST);
    return sum;
}

KEPT int tails(int way)
{
    inner(way);
    SPEND(TAILS);
    return last(way);
}

KEPT int catches(int way)
{
    int sum = 0;
    try {
        sum = outer(way);
    } catch (int thrown) {
        sum = thrown;
        SPEND(CATCHES);
    }
    SPEND(CATCHES);
    return sum + tails(RETURNS);
}

KEPT int lands(int way)
{
    int sum = 0;
    if (setjmp(place) == 0)
        sum = outer(way);
    SPEND(LANDS);
    return sum + inner(RETURNS);
}

int main()
{
    int sum = 0;
    for (int i = 0; i < 2; i++)
        sum += catches(RETURNS) + catches(THROWS) + lands(RETURNS) + lands(JUMPS);
    for (int i = 0; i < ALL; i++)
        std::printf("%s %ld\n", names[i], spent[i]);
    return sum == 0;
}
