/* SPDX-License-Identifier: MIT
 *
 * Leaf functions: all argument registers in use, memory below the stack pointer, results of all
 * kinds, more leaves in a context than it has cache entries, tail calls of leaves.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "noipa.h"

typedef struct pair {
    long first, second;
} pair;

typedef struct large {
    long numbers[5];
} large;

KEPT long six(long a, long b, long c, long d, long e, long f)
{
    return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f;
}

KEPT long nine(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
    return (a ^ b) + (c ^ d) + (e ^ f) + (g ^ h) + i * (a - i) + (b - h) * (c - g);
}

KEPT double eight(double a, double b, double c, double d, double e, double f, double g, double h)
{
    return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8;
}

KEPT long double extended(long double a, long double b)
{
    return a * 3 - b;
}

KEPT pair two(long a)
{
    return (pair){a, -a};
}

KEPT large five(long a)
{
    return (large){{a, a + 1, a + 2, a + 3, a + 4}};
}

KEPT __int128 wide(long a, long b)
{
    return (__int128)a * b;
}

/* An array that is indexed has to be in memory, below the stack pointer. */
KEPT int below(int at)
{
    volatile int numbers[24];
    for (int i = 0; i < 24; i++)
        numbers[i] = i * i;
    return numbers[at % 24];
}

KEPT int many(int count, ...)
{
    va_list arguments;
    va_start(arguments, count);
    int sum = 0;
    while (count-- > 0)
        sum += va_arg(arguments, int);
    va_end(arguments);
    return sum;
}

KEPT int early(const char *text)
{
    if (!text)
        return -1;
    int length = 0;
    while (text[length]) {
        if (text[length] == '!')
            return -length;
        length++;
    }
    return length;
}

KEPT long jumped(long a)
{
    return six(a, a, a, a, a, a);
}

KEPT int within(int a)
{
    int outer = a * 2;
    __attribute__((noinline)) int inner(int b)
    {
        return outer += b;
    }
    return inner(1) + inner(2) + outer;
}

KEPT void after_all(void)
{
    puts("done");
}

int main(void)
{
    double sum = 0;
    for (int i = 0; i < 1000; i++) {
        sum += six(i, 1, 2, 3, 4, 5) + nine(i, 1, 2, 3, 4, 5, 6, 7, 8);
        sum += eight(i, 1, 2, 3, 4, 5, 6, 7) + (double)extended(i, 3);
        sum += two(i).second + five(i).numbers[i % 5] + (double)wide(i, 1l << 50);
        sum += below(i) + many(4, i, 2, 3, 4) + early(i % 3 ? "a text" : "stop! it");
        sum += jumped(i) + within(i);
    }
    printf("%.17g\n", sum);
    after_all();
    return 0;
}
