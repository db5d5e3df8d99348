/* SPDX-License-Identifier: MIT
 *
 * clock.h - reads clocks, computes and sleeps for a while.
 */
#ifndef TESTS_SUPPORT_CLOCK_H
#define TESTS_SUPPORT_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* Returns the processor time of this thread. */
static inline uint64_t own_cpu(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Computes until the thread has spent so much more processor time. */
static inline void compute(uint64_t ns)
{
    for (uint64_t start = own_cpu(); own_cpu() - start < ns;)
        ;
}

static inline void sleep_ns(uint64_t ns)
{
    nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
}

static inline void sleep_ms(uint64_t ms)
{
    sleep_ns(ms * 1000000);
}

#endif
