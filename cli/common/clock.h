/* SPDX-License-Identifier: MIT
 *
 * clock.h - reads a clock of the system.
 */
#ifndef CRN_CLI_COMMON_CLOCK_H
#define CRN_CLI_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t crn_cli_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline double crn_cli_clock_s(clockid_t clock)
{
    return (double)crn_cli_clock_ns(clock) / 1e9;
}

#endif
