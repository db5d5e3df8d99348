/* SPDX-License-Identifier: MIT
 *
 * Call patterns that the inline cache predicts badly: callers of equal depth in turn and at
 * random, recursion of any depth, tail calls.
 */
#include <stdio.h>

#include "noipa.h"

static unsigned state = 1;

static unsigned next(unsigned end)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % end;
}

KEPT unsigned leaf(unsigned n)
{
    return n * 3 + 1;
}

KEPT unsigned looping(unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n % 5; i++)
        sum += i * n;
    return sum;
}

/* With --inlined its calls are counted in the caller's tree. */
static unsigned mixed(unsigned n)
{
    return n * 7 + 3;
}

KEPT unsigned both(unsigned n)
{
    return mixed(leaf(n)) + looping(n + 1);
}

#define WAY(number)                                                                                \
    KEPT unsigned way_##number(unsigned n)                                                         \
    {                                                                                              \
        unsigned sum = both(n) + mixed(leaf(number));                                              \
        return n % 3 ? sum : sum + both(n + number);                                               \
    }
WAY(0)
WAY(1)
WAY(2)
WAY(3)
WAY(4)
WAY(5)
WAY(6)
WAY(7)
WAY(8)
WAY(9)
WAY(10)
WAY(11)

static unsigned (*const ways[])(unsigned) = {way_0, way_1, way_2, way_3, way_4,  way_5,
                                             way_6, way_7, way_8, way_9, way_10, way_11};
enum { WAYS = sizeof ways / sizeof *ways };

KEPT unsigned deep(unsigned depth, unsigned n);

KEPT unsigned deeper(unsigned depth, unsigned n)
{
    unsigned sum = ways[n % WAYS](n);
    return depth ? sum + deep(depth - 1, n + sum) : sum;
}

KEPT unsigned deep(unsigned depth, unsigned n)
{
    if (depth % 2)
        return deeper(depth - 1, n); /* tail call */
    unsigned sum = both(n);
    return depth ? sum ^ deeper(depth - 1, mixed(n)) : sum;
}

/* A frame of another size each time, so that the same functions run at many stack heights. */
KEPT unsigned wide(unsigned size, unsigned n)
{
    volatile char room[size * 16 + 16];
    room[n % 16] = (char)n;
    return ways[n % WAYS](n) + (unsigned char)room[n % 16];
}

KEPT unsigned after_all(unsigned n)
{
    return n;
}

int main(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 4000; i++) {
        sum += ways[i % WAYS](i);
        sum += ways[next(WAYS)](i);
        sum ^= deep(next(20), i);
        sum += wide(next(40), i);
    }
    printf("%u\n", after_all(sum));
    return 0;
}
