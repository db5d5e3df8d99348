/* SPDX-License-Identifier: MIT
 *
 * compare.h - compares two clocks of one run: a block with much wall time but little CPU time
 * waits.
 */
#ifndef CRN_PROFILE_COMPARE_H
#define CRN_PROFILE_COMPARE_H

#include "profile/sampling.h"

typedef struct crn_compare_row {
    uint32_t block;
    uint64_t values[2];    /* cost in each metric */
    double apart;          /* share of the first metric minus share of the second, -1 to 1 */
    crn_interval interval; /* of `apart`: 95 % */
    double sure; /* the part of `apart` that sampling cannot cause; 0 if sampling can cause all of
                    it */
} crn_compare_row;

typedef struct crn_compare {
    crn_sampling sampling[2];
    uint64_t totals[2]; /* of the kept contexts */
    uint32_t count;
    crn_compare_row *rows; /* blocks with cost, by |sure|, then |apart|, largest first */
} crn_compare;

/* Compares the blocks' self or inclusive costs. Shares are of the cost of the kept contexts; `kept`
 * is by context, NULL: all. */
crn_compare crn_compare_make(const crn_profile *profile, const uint32_t metrics[2], bool inclusive,
                             const uint8_t *kept);
void crn_compare_free(crn_compare *compare);

/* Returns true if the two shares differ, but sampling alone can cause it. */
static inline bool crn_compare_is_chance(const crn_compare_row *row)
{
    return row->sure == 0 && row->apart != 0;
}

/* Returns the wall time in which the thread neither ran nor was ready, in ns. */
static inline uint64_t crn_compare_waited(uint64_t wall, uint64_t cpu, uint64_t ready)
{
    uint64_t off = wall > cpu ? wall - cpu : 0;
    return off > ready ? off - ready : 0;
}

/* Returns true if wall and CPU time were both recorded: waiting needs both. */
bool crn_compare_has_waiting(const crn_profile *profile);

/* Returns the number of the metric CRN_READY; 0 if the profile has no such time. */
uint32_t crn_compare_ready(const crn_profile *profile);

#endif
