/* SPDX-License-Identifier: MIT
 *
 * --small: a function that calls the C library is not small; and after a tail call of a small
 * function the next function still has the right caller.
 */
#include <stdio.h>

#define OWN __attribute__((noinline, noclone))

OWN int small(int x);

OWN int ends_in_small(int x)
{
    if (x > 100)
        puts("large");
    return small(x + 1);
}

OWN void prints(int x)
{
    printf("%d\n", x);
}

OWN int both(int x)
{
    int result = ends_in_small(x);
    prints(result);
    return result;
}

OWN int small(int x)
{
    return x * 3;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 3; i++)
        sum += both(i);
    return sum != 18;
}
