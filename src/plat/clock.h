/* SPDX-License-Identifier: MIT
 *
 * clock.h - the time, as cheaply as the machine gives it.
 */
#ifndef CRN_PLAT_CLOCK_H
#define CRN_PLAT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the time stamp counter runs at one rate on all cores and never stops. */
bool crn_clock_has_tsc(void);

/* Nanoseconds of CLOCK_MONOTONIC, and of CLOCK_REALTIME. */
uint64_t crn_clock_monotonic(void);
uint64_t crn_clock_realtime(void);

/* Names the machine from one start of it to the next: within that, CLOCK_MONOTONIC of two
 * processes is one clock. 0 0 if the system does not say. Leaves errno alone. */
void crn_clock_boot(uint64_t boot[2]);

/* The profile's clock: the time stamp counter if `tsc`, else nanoseconds. */
static inline uint64_t crn_clock_now(bool tsc)
{
#if defined(__x86_64__)
    if (tsc)
        return __builtin_ia32_rdtsc();
#endif
    (void)tsc;
    return crn_clock_monotonic();
}

#endif
