/* SPDX-License-Identifier: MIT
 *
 * Chains of tail calls: across two object files, into libc and back, and without end. Also deep
 * recursion with tail calls at many depths.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "chains.h"
#include "noipa.h"

enum { STEPS = 10000000, DEPTH = 200000 };

KEPT int after_chain(int n)
{
    seen += n;
    return n;
}

KEPT int link_first(int n)
{
    step(n);
    return link_second(n + 1);
}

KEPT int link_third(int n)
{
    step(n);
    return link_fourth(n + 1);
}

KEPT int link_back(int n)
{
    return step(n) + step(n);
}

KEPT int begins_chain(int n)
{
    int sum = step(n);
    sum += link_first(n);
    sum += step(n);
    sum += link_third(n);
    return sum + step(n);
}

static int (*volatile says)(const char *text) = puts;

KEPT int says_by_pointer(int n)
{
    step(n);
    return says(n % 2 ? "odd" : "even");
}

KEPT int says_it(int n)
{
    step(n);
    return puts(n % 2 ? "odd" : "even");
}

KEPT int compare(const void *left, const void *right)
{
    int a = step(*(const int *)left), b = step(*(const int *)right);
    return (a > b) - (a < b);
}

static void (*volatile sorts)(void *, size_t, size_t, int (*)(const void *, const void *)) = qsort;

KEPT void sort(int *numbers)
{
    step(0);
    sorts(numbers, 2, sizeof *numbers, compare);
}

KEPT int calls_libc(int n)
{
    int numbers[] = {n + 1, n};
    int sum = step(n);
    sum += says_by_pointer(n) > 0;
    sum += step(n);
    sort(numbers);
    sum += step(numbers[0]);
    sum += says_it(n) > 0;
    return sum + step(n);
}

KEPT int pong(int n, int sum);

KEPT int ping(int n, int sum)
{
    return n == 0 ? sum : pong(n - 1, sum + 1);
}

KEPT int pong(int n, int sum)
{
    return n == 0 ? sum : ping(n - 1, sum);
}

KEPT int endless(int n)
{
    int sum = step(0);
    sum += ping(n, 0);
    return sum + step(0);
}

KEPT int ends_deep(int n)
{
    step(n % 3);
    return link_first(n % 7);
}

KEPT int deep(int n)
{
    if (n == 0)
        return step(1);
    int below = deep(n - 1) % 1000;
    if (n % 20000 == 0)
        below += ends_deep(n);
    if (n % 50000 == 0)
        below += ping(9, 0);
    OPAQUE(below);
    return below + 1;
}

KEPT void *body(void *data)
{
    *(int *)data += deep(DEPTH) + step(2);
    return data;
}

KEPT int has_room(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    int sum = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)256 << 20);
    pthread_create(&thread, &attributes, body, &sum);
    pthread_join(thread, NULL);
    return sum;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += begins_chain(i) + after_chain(i);
        sum += calls_libc(i) + after_chain(i);
    }
    sum += endless(STEPS) + after_chain(0);
    sum += has_room() + after_chain(0);
    printf("%d %d\n", sum, seen);
}
