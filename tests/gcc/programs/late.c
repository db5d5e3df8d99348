/* SPDX-License-Identifier: MIT
 *
 * Functions that call on some paths only, chosen at random: before, in and after loops, by tail
 * call, by recursion, through pointers, in child processes, and left by longjmp.
 */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noipa.h"

static uint32_t state = 12345;
static jmp_buf back;

static inline uint32_t draw(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (state >> 16) % below;
}

KEPT uint32_t short_one(uint32_t n)
{
    return n * 3 + 1;
}

KEPT uint32_t one_way(uint32_t n)
{
    if (n & 7)
        return n ^ 5;
    return short_one(n) + 1;
}

KEPT uint32_t jumps_or_not(uint32_t n)
{
    if (n % 3 == 0)
        return n;
    if (n % 3 == 1)
        return one_way(n + 1);
    if (n % 16 == 2)
        n += short_one(n);
    return one_way(n);
}

KEPT uint32_t in_a_loop(uint32_t n)
{
    uint32_t sum = 0;
    if (n & 3)
        return sum;
    for (uint32_t i = 0; i < n % 6; i++)
        if (i & 1)
            sum += one_way(i);
    return sum;
}

/* Loops before the first call. */
KEPT uint32_t behind_a_loop(const char *text)
{
    uint32_t sum = 0;
    while (*text && *text != '7')
        sum += (uint32_t)*text++;
    if (*text)
        sum += jumps_or_not(sum);
    return sum;
}

KEPT uint32_t of_memory(uint32_t n)
{
    char one[64], other[64];
    memset(one, (int)n, sizeof one);
    memcpy(other, one, n % 63 + 1);
    if (n % 5 == 0)
        one[0] = (char)in_a_loop(n);
    return (uint32_t)memcmp(one, other, 1) & 1;
}

KEPT uint32_t deeper(uint32_t n, uint32_t depth)
{
    if (depth == 0 || n % 4 == 0)
        return n;
    uint32_t sum = deeper(n / 2, depth - 1);
    if (sum & 1) {
        sum += deeper(n / 3, depth - 1);
        OPAQUE(sum); /* prevents a tail call, which would become a loop */
        return sum;
    }
    return jumps_or_not(sum);
}

static uint32_t (*volatile chosen[])(uint32_t) = {one_way, jumps_or_not, in_a_loop, of_memory};

KEPT uint32_t by_pointer(uint32_t n)
{
    if (n % 9 < 4)
        return chosen[n % 4](n);
    return n;
}

KEPT uint32_t may_leave(uint32_t n)
{
    if (n % 32 == 31)
        longjmp(back, 1);
    return n;
}

KEPT uint32_t on_the_way(uint32_t n)
{
    if (n & 1)
        return may_leave(n) + 1;
    return n;
}

KEPT uint32_t comes_back(uint32_t n)
{
    if (setjmp(back))
        return 7;
    return on_the_way(n);
}

KEPT uint32_t in_a_child(uint32_t n)
{
    if (n % 128)
        return n;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit((int)(n >> 7 & 1));
    int status = 0;
    waitpid(child, &status, 0);
    return (uint32_t)WEXITSTATUS(status) + short_one(n);
}

KEPT void after_all(void)
{
    OPAQUE(state);
}

int main(void)
{
    char text[32];
    uint32_t sum = 0;
    for (int i = 0; i < 20000; i++) {
        uint32_t n = draw(1 << 12);
        snprintf(text, sizeof text, "%x", n);
        sum += jumps_or_not(n) + in_a_loop(n) + behind_a_loop(text) + of_memory(n);
        sum += deeper(n, 8) + by_pointer(n) + comes_back(n);
        if (i % 64 == 0)
            sum += in_a_child(n);
    }
    after_all();
    printf("%u\n", sum);
    return 0;
}
