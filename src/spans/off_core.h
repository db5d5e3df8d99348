/* SPDX-License-Identifier: MIT
 *
 * off_core.h - how long a lane's thread waited, and how long it was ready, within a period.
 */
#ifndef CRN_SPANS_OFF_CORE_H
#define CRN_SPANS_OFF_CORE_H

#include "spans/trace.h"

/* ns of waiting and of being ready. */
typedef struct crn_off_times {
    uint64_t waiting, ready;
} crn_off_times;

/* The off-core periods of one lane with their running sums. */
typedef struct crn_off_sums {
    const crn_off_core *entries; /* sorted by begin */
    uint32_t count;
    crn_off_times *before; /* by entry: sums over the entries before it */
} crn_off_sums;

/* Makes the sums of one lane. `entries` are sorted by lane. Free `before` with crn_free. */
crn_off_sums crn_off_sums_of(const crn_off_core *entries, uint32_t count, uint32_t lane);

/* Returns the times between two moments (ns). A thread counts as running until its first entry,
 * which is made soon after the thread begins. */
crn_off_times crn_off_times_within(const crn_off_sums *sums, uint64_t from, uint64_t to);

#endif
