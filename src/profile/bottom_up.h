/* SPDX-License-Identifier: MIT
 *
 * bottom_up.h - bottom-up trees, from functions to their callers, and the union of two profiles for
 * comparison.
 */
#ifndef CRN_PROFILE_BOTTOM_UP_H
#define CRN_PROFILE_BOTTOM_UP_H

#include "profile/diff.h"

/* Limits: on the depth of callers; on the number of contexts, unless a tenth of the profile's
 * contexts is more. The most expensive contexts get their callers first. */
enum { CRN_BOTTOM_UP_MAX = 256, CRN_BOTTOM_UP_ROOM = 200000 };

/* Returns a profile whose root has the blocks with self cost as children; a context's children are
 * its callers. `kept`, by context: 1 if its self cost counts; NULL: all count. Only totals in
 * `metric` are meaningful: self cost is that of paths that begin there or are cut by a limit.
 * Contexts with a cost below `least` get no children. Blocks have new numbers; metrics keep
 * theirs. */
crn_profile *crn_bottom_up(const crn_profile *profile, uint32_t metric, const uint8_t *kept,
                           uint64_t least);

/* The metrics of crn_diff_union. */
#define CRN_UNION_BEFORE "before"
#define CRN_UNION_AFTER "after"

/* Returns the union of both profiles: a context for each path of either, with the input's metric
 * before and after. Matching blocks (diff.h) become one, named as in the later profile. Drops
 * calls. */
crn_profile *crn_diff_union(const crn_diff_input *input);

#endif
