/* SPDX-License-Identifier: MIT
 *
 * Functions with machine frames of all shapes: of variable size, aligned, large, with arguments on
 * the stack, with results in memory, with loops around calls, with many returns, with calls on
 * some paths only, with nested functions.
 */
#include <alloca.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "noipa.h"

static volatile int seen;

STEP(before)
STEP(inside)
STEP(behind)
STEP(after_shape)

KEPT void fills(void *memory, size_t size)
{
    memset(memory, inside(1), size);
}

KEPT int variable(int n)
{
    char numbers[before(n) * 16];
    fills(numbers, sizeof numbers);
    return numbers[n] + behind(n);
}

KEPT int allocates(int n)
{
    int sum = before(n);
    for (int i = 0; i < 3; i++) {
        char *memory = alloca((size_t)n * 24 + 8);
        fills(memory, 8);
        sum += memory[i];
    }
    return sum + behind(n);
}

/* Its variable-length memory is freed in each round. */
KEPT int scoped(int n)
{
    int sum = before(n);
    for (int i = 1; i < 4; i++) {
        char numbers[i * 100 + n];
        fills(numbers, sizeof numbers);
        sum += numbers[i];
    }
    return sum + behind(n);
}

KEPT int aligned(int n)
{
    _Alignas(64) char numbers[128];
    before(n);
    fills(numbers, sizeof numbers);
    return numbers[n] + behind(n);
}

KEPT int aligned_variable(int n)
{
    _Alignas(128) char first[128];
    char second[n * 8 + 8];
    fills(first, sizeof first);
    fills(second, sizeof second);
    return first[n] + second[n] + behind(n);
}

KEPT int large(int n)
{
    char numbers[100000];
    before(n);
    fills(numbers, sizeof numbers);
    return numbers[n * 1000] + behind(n);
}

KEPT int on_stack(int a, int b, int c, int d, int e, int f, int g, int h, double i, long j)
{
    int sum = before(a + b) + c + d + e;
    return sum + behind(f + g) + h + (int)i + (int)j;
}

typedef struct wide {
    long numbers[12];
} wide;

KEPT wide in_memory(int n)
{
    wide result = {{before(n)}};
    result.numbers[1] = behind(n);
    return result;
}

KEPT int by_value(wide w, int n)
{
    before(n);
    return (int)w.numbers[1] + behind((int)w.numbers[0]);
}

KEPT int varies(int count, ...)
{
    va_list numbers;
    int sum = before(count);
    va_start(numbers, count);
    for (int i = 0; i < count; i++)
        sum += inside((int)va_arg(numbers, double));
    va_end(numbers);
    return sum + behind(count);
}

KEPT double floats(double a, double b)
{
    a += before((int)b);
    b *= behind((int)a);
    return a * b + inside(1);
}

/* Needs all registers that calls preserve. */
KEPT int presses(int n)
{
    int a = before(n), b = before(a), c = before(b), d = before(c), e = before(d), f = before(e);
    int g = before(f), h = before(g);
    for (int i = 0; i < 2; i++) {
        a += inside(b);
        b += c ^ d;
        c += e ^ f;
        d += g ^ h;
    }
    return a + b + c + d + e + f + g + h + behind(n);
}

/* Some paths call nothing, some once, one by tail call. */
KEPT int ways(int n)
{
    switch (n) {
    case 0:
        return 1;
    case 1:
        return before(n) + 1;
    case 2:
        return behind(n);
    case 3:
        before(n);
        break;
    case 4:
        for (int i = 0; i < n; i++)
            if (inside(i) == 3)
                return behind(i) + 1;
        break;
    default:
        if (n > 6)
            return n;
    }
    return behind(n) + behind(n);
}

/* Jumps back to labels. */
KEPT int threaded(const char *code)
{
    static const void *const labels[] = {&&one, &&two, &&both, &&end};
    int sum = 0;
    goto *labels[*code++ - '0'];
one:
    sum += before(1);
    goto *labels[*code++ - '0'];
two:
    sum += inside(2);
    goto *labels[*code++ - '0'];
both:
    sum += before(1);
    sum += inside(2);
    goto *labels[*code++ - '0'];
end:
    return sum + behind(sum);
}

/* The nested function calls itself, and jumps out of all instances. */
KEPT int nests(int n)
{
    __label__ out;
    int sum = before(n);
    KEPT int nested(int k)
    {
        sum += inside(k);
        if (k == 3)
            goto out;
        int below = k < 5 ? nested(k + 2) : 0;
        return below + behind(k);
    }
    sum += nested(n);
    sum += before(sum);
    sum += nested(n + 1);
out:
    return sum + behind(n);
}

KEPT __attribute__((force_align_arg_pointer)) double vectors(int n)
{
    typedef double two __attribute__((vector_size(16)));
    two a = {n, 1}, b = a;
    before(n);
    OPAQUE(n);
    a = a * b + (double)n;
    behind(n);
    return a[n % 2] + b[0];
}

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        int (*const shapes[])(int) = {variable, allocates, scoped, aligned, aligned_variable,
                                      large,    presses,   ways,   nests};
        for (unsigned k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            sum += shapes[k](i);
            sum += after_shape(i);
        }
        sum += on_stack(1, 2, 3, 4, 5, 6, 7, 8, 9.0, 10) + after_shape(i);
        sum += by_value(in_memory(i), i) + after_shape(i);
        sum += varies(3, 1.0, 2.0, 3.0) + after_shape(i);
        sum += (long)floats(i, 2.5) + after_shape(i);
        sum += ways(i + 4) + after_shape(i);
        sum += threaded("0120213") + after_shape(i);
        sum += (long)vectors(i) + after_shape(i);
    }
    printf("%ld %d\n", sum, seen);
}
