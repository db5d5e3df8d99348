/* SPDX-License-Identifier: MIT
 *
 * Calls of every kind, for C.
 */
#include <stdlib.h>

#include "trace.h"

void library_call(int depth);

INSIDE void innermost(unsigned long bytes)
{
    trace(bytes, 0, NULL);
    KEEP();
}

INSIDE void inner(unsigned long bytes)
{
    innermost(bytes);
    innermost(bytes + 1);
}

static APART void hidden(void)
{
    inner(100);
    KEEP();
}

/* Called from two places. */
static APART void recurse(int depth)
{
    if (depth % 2)
        recurse(depth - 1);
    else if (depth)
        recurse(depth - 1);
    else
        trace(1000, 10, NULL);
    KEEP();
}

static APART int compare(const void *left, const void *right)
{
    (void)left;
    (void)right;
    trace(10000, 10000, NULL);
    return 0;
}

static APART void allocate(void)
{
    /* A stack whose innermost frame is malloc. */
    trace(100000, 0, (const char *)(size_t)malloc + 4);
    KEEP();
}

int main(void)
{
    int pair[2] = {0, 0};
    trace_modules();
    hidden();
    recurse(7);
    qsort(pair, 2, sizeof *pair, compare);
    allocate();
    library_call(2);
    return 0;
}
