/* SPDX-License-Identifier: MIT
 *
 * bottom_up.h - bottom-up trees (from costs to callers), and the union of two profiles for
 * comparison.
 */
#ifndef CRN_PROFILE_BOTTOM_UP_H
#define CRN_PROFILE_BOTTOM_UP_H

#include "profile/diff.h"

/* Limit on the depth of callers; and on the number of contexts, if that is more than a tenth of the
 * profile's: beyond it only the most expensive are followed. */
enum { CRN_BOTTOM_UP_MAX = 256, CRN_BOTTOM_UP_ROOM = 200000 };

/* Returns a profile whose root leads to the blocks with self cost, those to their callers, and so
 * on. Totals in `metric` are meaningful; self cost is what came from the begin of a path, or from
 * beyond the limits. Contexts below `least` are not followed. Blocks have new numbers, metrics the
 * same. */
crn_profile *crn_bottom_up(const crn_profile *profile, uint32_t metric, const uint8_t *kept,
                           uint64_t least);

/* Names of the two metrics of crn_diff_union. */
#define CRN_UNION_BEFORE "before"
#define CRN_UNION_AFTER "after"

/* Returns the union of both profiles: a context for each path of either, with the input's metric
 * before and after. Matching blocks (diff.h) are one, with the later names. Calls are left out. */
crn_profile *crn_diff_union(const crn_diff_input *input);

#endif
