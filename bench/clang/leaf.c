/* SPDX-License-Identifier: MIT
 *
 * leaf.c - cost of calling a function that does next to nothing: prints nanoseconds of processor
 * time a call. With -DEMPTY_XRAY an XRay handler that does nothing is installed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef EMPTY_XRAY
#include "../peers/xray.h"

__attribute__((xray_never_instrument)) static void handle(int32_t function, int kind)
{
    (void)function;
    (void)kind;
}
#endif

#ifdef EMPTY_FUNCTIONS
#define HOOK __attribute__((no_instrument_function, noinline))
HOOK void __cyg_profile_func_enter(void *function, void *from)
{
    (void)function;
    (void)from;
    __asm__ volatile(""); /* keeps the function from being removed */
}

HOOK void __cyg_profile_func_exit(void *function, void *from)
{
    (void)function;
    (void)from;
    __asm__ volatile(""); /* keeps the call from being removed */
}
#endif

__attribute__((noinline)) static long leaf(long n)
{
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int count, char **words)
{
    long calls = count > 1 ? atol(words[1]) : 20000000, sum = 0;
#ifdef EMPTY_XRAY
    if (!__xray_set_handler(handle) || __xray_patch() != XRAY_PATCHED)
        return 1;
#endif
    double begin = now();
    for (long i = 0; i < calls; i++)
        sum += leaf(i);
    printf("%.3f\n", (now() - begin) / (double)calls);
    return sum == 0;
}
