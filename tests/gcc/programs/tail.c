/* SPDX-License-Identifier: MIT
 *
 * Tail calls: direct, through pointers, into libc and back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "noipa.h"

typedef long step(long n, long sum);

KEPT long odd(long n, long sum);

KEPT long even(long n, long sum)
{
    return n == 0 ? sum : odd(n - 1, sum + 1);
}

KEPT long odd(long n, long sum)
{
    return n == 0 ? -sum : even(n - 1, sum + 2);
}

KEPT long leaf(long n, long sum)
{
    return n + sum;
}

/* Some paths return, others end by a tail call. */
KEPT long mixed(long n, long sum)
{
    if (n % 3 == 0)
        return sum;
    if (n % 3 == 1)
        return leaf(n, sum);
    sum += leaf(n, 1);
    return sum * 2;
}

KEPT __attribute__((pure)) long looked_up(long n, long sum)
{
    return n ^ sum;
}

/* GCC knows that the callee has no side effects; it is profiled nevertheless. */
KEPT long look(long n, long sum)
{
    return looked_up(n, sum);
}

step *volatile chosen = leaf;

KEPT long by_pointer(long n, long sum)
{
    return chosen(n, sum);
}

KEPT int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The tail call goes to libc, which calls back. */
KEPT void sort(int *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, compare);
}

KEPT int absolute(int n)
{
    return abs(n);
}

KEPT int after_all(int n)
{
    return n + 1;
}

int main(int argc, char **argv)
{
    long steps = argc > 1 ? atol(argv[1]) : 100000;
    int numbers[] = {5, 3, 9, 1, 7, 2, 8, 6, 4, 0};
    printf("%ld\n", even(steps, 0));
    int after = after_all(0);
    long sum = 0;
    for (long i = 0; i < 1000; i++)
        sum += mixed(i, sum & 15) + by_pointer(i, 2) + absolute((int)-i) + look(i, sum & 3);
    chosen = even;
    for (long i = 0; i < 10; i++)
        sum += by_pointer(i, 2);
    after += after_all(1);
    sort(numbers, 10);
    after += after_all(2);
    printf("%ld %d %d %d\n", sum, numbers[0], numbers[9], after);
    return 0;
}
