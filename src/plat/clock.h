/* SPDX-License-Identifier: MIT
 *
 * clock.h - readings of clocks, as cheap as the machine allows.
 */
#ifndef CRN_PLAT_CLOCK_H
#define CRN_PLAT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Returns true if the time stamp counter is invariant: one rate on all cores, never stopped. */
bool crn_clock_has_tsc(void);

/* Return nanoseconds of CLOCK_MONOTONIC and of CLOCK_REALTIME. */
uint64_t crn_clock_monotonic(void);
uint64_t crn_clock_realtime(void);

/* Sets `boot` to Linux's boot id, or to 0 0 if the id is unknown. Processes with equal boot ids
 * share CLOCK_MONOTONIC. Preserves errno. */
void crn_clock_boot(uint64_t boot[2]);

/* Reads the profile's clock: the time stamp counter if `tsc`, else CLOCK_MONOTONIC in
 * nanoseconds. */
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
