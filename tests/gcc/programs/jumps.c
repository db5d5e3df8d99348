/* SPDX-License-Identifier: MIT
 *
 * Control flow other than call and return: longjmp, also over code that is not profiled; nested
 * functions and gotos out of them; labels as values.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "noipa.h"

static jmp_buf place, inner_place;

KEPT int deep(int n)
{
    if (n == 0)
        longjmp(place, 7);
    int below = deep(n - 1);
    OPAQUE(below);
    return below + 1;
}

KEPT int caught(int n)
{
    volatile int result = 0;
    int value = setjmp(place);
    if (value == 0)
        result = deep(n);
    else
        result = value;
    return result + 1;
}

KEPT int jump_out(const void *a, const void *b)
{
    (void)a;
    (void)b;
    longjmp(inner_place, 1);
}

/* The jump drops frames of libc together with ours. */
KEPT int over_libc(void)
{
    int numbers[] = {3, 1, 2};
    if (setjmp(inner_place) == 0) {
        qsort(numbers, 3, sizeof *numbers, jump_out);
        return -1;
    }
    return 1;
}

#ifndef __clang__ /* clang has no nested functions */
KEPT int with_nested(int n)
{
    __label__ out;
    int sum = 0;
    KEPT void add(int k)
    {
        sum += k;
        if (sum > 20)
            goto out;
        add(k + 1);
    }
    add(n);
    return -1;
out:
    return sum;
}
#endif

KEPT int computed(int n)
{
    static const void *const ways[] = {&&one, &&two, &&end};
    int sum = 0;
    goto *ways[n % 3];
one:
    sum += 1;
    goto *ways[(n + 1) % 3];
two:
    sum += 2;
    if (sum > 10)
        goto *ways[2];
    goto *ways[sum % 2];
end:
    return sum;
}

static void *buffer[5];

KEPT void builtin_jump(void)
{
    __builtin_longjmp(buffer, 1);
}

KEPT int builtin_caught(void)
{
    volatile int times = 0;
    if (__builtin_setjmp(buffer) == 0) {
        times++;
        builtin_jump();
    }
    return times + 1;
}

KEPT int after_longjmp(int n)
{
    return n;
}

KEPT int after_libc(int n)
{
    return n;
}

KEPT int after_goto(int n)
{
    return n;
}

KEPT int after_builtin(int n)
{
    return n;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 20; i++) {
        sum += caught(i);
        sum += after_longjmp(i);
        sum += over_libc();
        sum += after_libc(i);
#ifndef __clang__
        sum += with_nested(i % 5 + 1);
#endif
        sum += computed(i);
        sum += after_goto(i);
        sum += builtin_caught();
        sum += after_builtin(i);
    }
    printf("%d\n", sum);
    return 0;
}
