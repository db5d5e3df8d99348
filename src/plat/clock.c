/* SPDX-License-Identifier: MIT */
#include "plat/clock.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>

bool crn_clock_has_tsc(void)
{
    enum { POWER_MANAGEMENT = 0x80000007, INVARIANT_TSC = 1 << 8 };
    unsigned a, b, c, d;
    return __get_cpuid(POWER_MANAGEMENT, &a, &b, &c, &d) && (d & INVARIANT_TSC);
}
#else
bool crn_clock_has_tsc(void)
{
    return false;
}
#endif

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t crn_clock_monotonic(void)
{
    return nanoseconds(CLOCK_MONOTONIC);
}

uint64_t crn_clock_realtime(void)
{
    return nanoseconds(CLOCK_REALTIME);
}
