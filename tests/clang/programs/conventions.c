/* SPDX-License-Identifier: MIT
 *
 * Functions whose callers keep values in registers that others may change.
 */
#include <stdio.h>

#define OWN __attribute__((noinline))
#ifdef __clang__
#define PRESERVE(which) __attribute__((preserve_##which))
#else
#define PRESERVE(which)
#endif

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

/* They keep what others may change, but for what returns the result. */
OWN PRESERVE(most)
int most(int a)
{
    seen += a;
    return a + 1;
}

OWN PRESERVE(all)
int all(int a)
{
    seen += a;
    return most(a) + 1;
}

OWN double kept(int a, int b, int c, int d, int e, int f)
{
    double x = a * 0.5, y = b * 0.25, z = c * 0.125;
    int sum = most(a) + all(b) * 3 + most(c) * 5;
    return x + y * 2 + z * 3 + sum + a + b * 7 + c * 11 + d * 13 + e * 17 + f * 19;
}

OWN int caller(int a, int b)
{
    int first = foreign(a, b, 3), second = branching(b, first);
    return first + second + a * 1000 + b * 100 + (int)kept(a, b, first, second, 5, 6);
}

int main(void)
{
    unsigned sum = 0;
    for (int i = 0; i < 100; i++)
        sum = sum * 31 + (unsigned)caller(i, i + 2);
    printf("%u\n", sum);
    return 0;
}
