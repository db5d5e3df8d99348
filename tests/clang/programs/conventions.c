/* SPDX-License-Identifier: MIT
 *
 * Functions whose callers keep values in registers that others may change.
 */
#include <stdio.h>

#define OWN __attribute__((noinline))

static volatile int seen;

OWN __attribute__((ms_abi)) int foreign(int a, int b, int c)
{
    seen += a;
    return a * b + c;
}

OWN __attribute__((ms_abi)) int branching(int a, int b)
{
    seen += b;
    return a > 50 ? a : b;
}

OWN int caller(int a, int b)
{
    int first = foreign(a, b, 3), second = branching(b, first);
    return first + second + a * 1000 + b * 100;
}

int main(void)
{
    unsigned sum = 0;
    for (int i = 0; i < 100; i++)
        sum = sum * 31 + (unsigned)caller(i, i + 2);
    printf("%u\n", sum);
    return 0;
}
