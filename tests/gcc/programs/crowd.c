/* SPDX-License-Identifier: MIT
 *
 * Functions that call many others in turn: leaves, functions that call, and functions that make
 * tail calls. A context caches few callees, so each way to find a callee is taken: the cached
 * callees, the edge cache, the graph.
 */
#include <stdint.h>
#include <stdio.h>

#include "noipa.h"

#define TWICE(make, n) make(n##0) make(n##1)
#define FOUR(make, n) TWICE(make, n##0) TWICE(make, n##1)
#define EIGHT(make, n) FOUR(make, n##0) FOUR(make, n##1)
#define SIXTEEN(make, n) EIGHT(make, n##0) EIGHT(make, n##1)

/* A function's site is made by its first Enter, in an order that no cache predicts. */
#define LEAF(n)                                                                                    \
    KEPT static uint32_t leaf_##n(uint32_t a)                                                      \
    {                                                                                              \
        return a * 3 + __LINE__;                                                                   \
    }
#define CALLER(n)                                                                                  \
    KEPT static uint32_t caller_##n(uint32_t a)                                                    \
    {                                                                                              \
        uint32_t b = leaf_##n(a) ^ leaf_00000(a);                                                  \
        OPAQUE(b);                                                                                 \
        return b;                                                                                  \
    }
#define JUMPER(n)                                                                                  \
    KEPT static uint32_t jumper_##n(uint32_t a)                                                    \
    {                                                                                              \
        return a & 4 ? leaf_##n(a + 1) : caller_##n(a + 2);                                        \
    }

SIXTEEN(LEAF, 0)
SIXTEEN(CALLER, 0)
SIXTEEN(JUMPER, 0)

typedef uint32_t function(uint32_t a);

#define LEAF_OF(n) leaf_##n,
#define CALLER_OF(n) caller_##n,
#define JUMPER_OF(n) jumper_##n,
static function *const all[] = {SIXTEEN(LEAF_OF, 0) SIXTEEN(CALLER_OF, 0) SIXTEEN(JUMPER_OF, 0)};

enum { ALL = sizeof all / sizeof *all, ROUNDS = 3000 };

/* Calls one of `among` functions, in bursts of `burst` calls, or in random order if that is 0. */
KEPT static uint32_t spread(uint32_t random, unsigned first, unsigned among, unsigned burst)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        random = random * 1664525 + 1013904223;
        unsigned which = burst ? i / burst : random >> 16;
        sum += all[(first + which % among) % ALL](random);
    }
    return sum;
}

/* Each depth is a context of its own, and calls the same functions as the others. */
KEPT static uint32_t deep(uint32_t random, unsigned depth)
{
    uint32_t sum = spread(random, depth * 7, 2 + depth, depth % 4);
    if (depth) {
        sum ^= depth % 2 ? deep(random + 1, depth - 1) : spread(random, depth, ALL, 0);
        OPAQUE(sum);
        sum += deep(random * 5, depth - 1);
    }
    OPAQUE(sum);
    return sum;
}

KEPT void after_all(void)
{
    __asm__ volatile("");
}

int main(void)
{
    uint32_t sum = deep(1, 8);
    for (unsigned among = 1; among <= 6; among++)
        for (unsigned first = 0; first < ALL; first += 5)
            sum = sum * 31 + spread(among, first, among, 1);
    after_all();
    printf("%u\n", sum);
    return 0;
}
