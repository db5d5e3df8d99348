/* SPDX-License-Identifier: MIT
 *
 * Functions that GCC, without the plugin, inlines, clones, splits, merges, turns into loops or
 * removes. Every call of the source counts.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "noipa.h"

static inline int square(int n)
{
    return n * n;
}

static inline __attribute__((always_inline)) int always(int n)
{
    return square(n) + 1;
}

static int once(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += always(i) + square(i + 1);
    return sum;
}

/* Functions without side effects: GCC would merge or drop calls. */
static __attribute__((const)) int constant(int n)
{
    return n + 7;
}

__attribute__((pure, noinline)) int pure(const int *n)
{
    return *n + 9;
}

static int repeated(int n)
{
    int a = constant(n) + constant(n), b = pure(&n) + pure(&n);
    int unused = constant(n) + pure(&n);
    (void)unused;
    return a + b;
}

/* Two functions with the same body. */
static __attribute__((noinline)) int alike(int n)
{
    return n * 3 + 1;
}

static __attribute__((noinline)) int alike_too(int n)
{
    return n * 3 + 1;
}

/* Called by split(), whose beginning GCC splits off and inlines. */
static __attribute__((noinline)) int rare(int n)
{
    return printf("rare %d\n", n);
}

int split(int n)
{
    if (n % 8)
        return n;
    int sum = 0;
    for (int i = 0; i < 20; i++)
        sum += rare(i) + square(n) * sum / (i + 1) + alike(sum) % (i + 3);
    return sum;
}

/* Calls itself: in tail position, before an addition, twice. */
static int gcd(int a, int b)
{
    return b ? gcd(b, a % b) : a;
}

static long sum_to(long n)
{
    return n == 0 ? 0 : n + sum_to(n - 1);
}

static int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* They call each other, with a small function in between that is inlined into both. */
static long odd(long n, long sum);

static inline long pass_on(long n, long sum)
{
    return odd(n - 1, sum + 1);
}

static long even(long n, long sum)
{
    return n == 0 ? sum : pass_on(n, sum);
}

static __attribute__((noinline)) long odd(long n, long sum)
{
    return n == 0 ? -sum : even(n - 1, sum + 2);
}

/* The callee is known only after inlining; the argument is constant. */
static int apply(int (*what)(int), int n)
{
    return what(n);
}

static __attribute__((noinline)) int scaled(int n, int by)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += by * square(i) + (by > 3 ? alike(i) : alike_too(i));
    return sum;
}

/* A tail call of a function that ends by a tail call itself, and is inlined. */
KEPT static int ends(int n)
{
    return n + 1;
}

static inline __attribute__((always_inline)) int hands_on(int n)
{
    return ends(n * 2);
}

KEPT static int hands_over(int n)
{
    return n % 2 ? hands_on(n) : n;
}

static jmp_buf back;

static inline void jump_if(int n)
{
    if (n % 3 == 0)
        longjmp(back, n + 1);
}

static inline int deep(int n)
{
    jump_if(n);
    return square(n);
}

static int jumping(int n)
{
    volatile int tries = 0;
    int got = setjmp(back);
    if (got)
        tries += square(got);
    if (tries < 50 && got < 5)
        return deep(n) + tries;
    return tries;
}

static int labels(int n)
{
    static const void *const ways[] = {&&add, &&multiply, &&end};
    int sum = n, step = 0;
    goto *ways[step++ % 3];
add:
    sum += square(n);
    goto *ways[step++ % 3];
multiply:
    sum = alike(sum);
    goto *ways[step++ % 3];
end:
    return sum;
}

static int nested(int n)
{
    __label__ out;
    int count = 0;
    int inner(int m)
    {
        count++;
        if (m > 5)
            goto out;
        return square(m);
    }
    int outer(int m)
    {
        return inner(m) + inner(m + 1);
    }
    return outer(n) + count;
out:
    return -count;
}

static _Noreturn void finish(int n)
{
    exit(n);
}

static inline int cases(int n)
{
    switch (n % 5) {
    case 0:
        return square(n);
    case 1:
        return alike(n);
    case 2:
        return gcd(n, 6);
    case 3:
        return constant(n);
    default:
        return (int)strlen("four") + square(3);
    }
}

KEPT int after_all(int n)
{
    return n + 1;
}

int main(int argc, char **argv)
{
    long steps = argc > 1 ? atol(argv[1]) : 1000;
    long sum = once(10);
    int after = 0;
    for (int i = 0; i < 20; i++) {
        sum += repeated(i) + alike(i) + alike_too(i) + split(i) + cases(i);
        sum += gcd(i, 12) + fibonacci(i % 7) + apply(square, i) + apply(alike, i);
        after += after_all(i);
        sum += scaled(i, 3) + jumping(i) + labels(i) + nested(i) + hands_over(i);
        after += after_all(i);
    }
    sum += sum_to(1000) + even(steps, 0);
    after += after_all(0);
    printf("%ld %d\n", sum, after);
    if (sum)
        finish(0 * after);
    return 0;
}
