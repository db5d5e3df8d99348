/* SPDX-License-Identifier: MIT
 *
 * A resolver of an indirect function runs before there are thread-local variables, and calls
 * profiled functions.
 */
#include <stdio.h>

#include "noipa.h"

static int small(void)
{
    return 1;
}

static int large(void)
{
    return 2;
}

static KEPT int measured(int size)
{
    return size * 2;
}

static KEPT int (*choose(int size))(void)
{
    return measured(size) > 3 ? large : small;
}

static int (*resolve(void))(void)
{
    return choose(2);
}

int chosen(void) __attribute__((ifunc("resolve")));

int main(void)
{
    printf("%d %d\n", chosen(), measured(1));
    return 0;
}
