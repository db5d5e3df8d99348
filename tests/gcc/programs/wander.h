/* SPDX-License-Identifier: MIT
 *
 * wander.h - calls that make new contexts all the time, for programs that are interrupted
 * meanwhile.
 */
#include "noipa.h"

static volatile unsigned progress; /* calls of wander() so far */

KEPT int one(int n)
{
    return n + 1;
}

KEPT int two(int n)
{
    return n + 2;
}

KEPT int three(int n)
{
    return n + 3;
}

/* Each `way` calls in another order, so that new contexts are made all the time. */
KEPT int wander(unsigned way, int depth)
{
    static int (*const steps[])(int) = {one, two, three};
    int sum = steps[way % 3](depth);
    progress = progress + 1;
    if (depth > 0) {
        sum += wander(way / 3 + (unsigned)depth * 7, depth - 1);
        if (way & 1)
            sum += wander(way * 5, depth / 2);
    }
    OPAQUE(sum);
    return sum;
}
