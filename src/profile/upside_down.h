/* SPDX-License-Identifier: MIT
 *
 * upside_down.h - a profile from where the cost arises to who asked for it; and two profiles
 * laid on each other.
 */
#ifndef CRN_PROFILE_UPSIDE_DOWN_H
#define CRN_PROFILE_UPSIDE_DOWN_H

#include "profile/diff.h"

/* How many callers, one above the other, are looked at; and how many in all, or a tenth as many as
 * there are contexts: then only what costs more is followed any further. */
enum { CRN_UPSIDE_DOWN_MAX = 256, CRN_UPSIDE_DOWN_ROOM = 200000 };

/* A profile whose root leads to the blocks that cost something themselves, those to their
 * callers, and so on. Totals in `metric` mean something there, self cost says what came from
 * the very beginning of a path, or from farther up than was looked: what adds up to less than
 * `least` is not followed any further. Blocks have other numbers, metrics the same. */
crn_profile *crn_upside_down(const crn_profile *profile, uint32_t metric, const uint8_t *kept,
                             uint64_t least);

/* The metrics of crn_diff_union, beside those that every profile has. */
#define CRN_UNION_BEFORE "before"
#define CRN_UNION_AFTER "after"

/* Both profiles as one: a context for each path of either, with what the input's metric was
 * before and after. Blocks that are the same (diff.h) are one, as they are after, or before where
 * there is no after. Calls are left out. */
crn_profile *crn_diff_union(const crn_diff_input *input);

#endif
