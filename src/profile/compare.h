/* SPDX-License-Identifier: MIT
 *
 * compare.h - where two clocks of one run disagree: a block with much wall time and little CPU
 * time waits.
 */
#ifndef CRN_PROFILE_COMPARE_H
#define CRN_PROFILE_COMPARE_H

#include "profile/sampling.h"

typedef struct crn_compare_row {
    uint32_t block;
    uint64_t values[2]; /* in each metric */
    double apart;       /* share of the first metric less share of the second, -1 to 1 */
    crn_interval interval;
    double sure; /* as much of `apart` as is beyond chance; 0 where chance can make it */
} crn_compare_row;

typedef struct crn_compare {
    crn_sampling sampling[2];
    uint64_t totals[2]; /* of what is kept */
    uint32_t count;
    crn_compare_row *rows; /* blocks that cost something, by size of `sure`, then of `apart` */
} crn_compare;

/* Compares what blocks cost themselves, or with `inclusive` what they cost with all that they
 * call. Shares are of what is kept; `kept` is by context, NULL is everything. */
crn_compare crn_compare_make(const crn_profile *profile, const uint32_t metrics[2], bool inclusive,
                             const uint8_t *kept);
void crn_compare_free(crn_compare *compare);

/* The difference is one, but not beyond chance. */
static inline bool crn_compare_is_chance(const crn_compare_row *row)
{
    return row->sure == 0 && row->apart != 0;
}

/* Wall time that was not spent on a processor, in nanoseconds. */
static inline uint64_t crn_compare_waited(uint64_t wall, uint64_t cpu)
{
    return wall > cpu ? wall - cpu : 0;
}

/* Both wall and CPU time were recorded, so that waiting can be told. */
bool crn_compare_has_waiting(const crn_profile *profile);

#endif
