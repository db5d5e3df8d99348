/* SPDX-License-Identifier: MIT */
#include "sample.h"

int crn_sample_signal;

uint64_t crn_sample_clock(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        return 0;
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
