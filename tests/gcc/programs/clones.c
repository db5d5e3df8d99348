/* SPDX-License-Identifier: MIT
 *
 * Functions that GCC clones: for a constant argument, and for several processors (target_clones).
 * And a nested function.
 */
#include <stdio.h>

#define KEPT __attribute__((noinline))

static volatile int sink;

KEPT static int work(int n, int mode, const int *add)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += mode == 7 ? i * mode + *add : i - mode;
        sink = sum;
    }
    return sum;
}

KEPT int other(int n, int mode, const int *add)
{
    return work(n, mode, add) + work(n, 7, add);
}

KEPT int outer(int n)
{
    int total = 0;
    KEPT int inner(int k)
    {
        total += k;
        return total > 5 ? k : 1;
    }
    for (int i = 0; i < n; i++)
        total += inner(i);
    return total;
}

__attribute__((target_clones("avx2", "default"), noinline)) int versions(int n)
{
    for (int i = 0; i < n; i++)
        sink = i;
    return n;
}

int main(int count, char **words)
{
    int add = 3, sum = work(count + 3, 7, &add) + work(count + 4, 7, &add);
    (void)words;
    sum += other(count, count, &add) + other(count, 2, &add) + outer(count + 9);
    sum += versions(count) + versions(sum);
    printf("%d\n", sum);
    return 0;
}
