/* SPDX-License-Identifier: MIT
 *
 * unfold.h - estimates call paths from a call graph.
 *
 * Some tools record each function's cost and the number of calls by caller and callee, but no call
 * paths (CRN_NOTE_STATIC_CALLS). This file unfolds their call graph into paths as gprof does
 * (Graham, Kessler, McKusick, 1982): it divides a function's cost and calls among its callers in
 * proportion to their calls. The estimate is exact for functions with one caller.
 */
#ifndef CRN_PROFILE_UNFOLD_H
#define CRN_PROFILE_UNFOLD_H

#include "profile/model.h"

/* Returns a profile with calls and `metric` by estimated path; sums by function are those of
 * `profile`. Does not follow calls that close a cycle. Cuts paths with inclusive cost below a
 * millionth of the total, and all beyond 100,000; charges the rest to the largest path of the
 * function. Returns NULL if `profile` has call paths, lacks `metric`, or has no calls by caller.
 * Free it with crn_profile_free. */
crn_profile *crn_profile_unfold(const crn_profile *profile, const char *metric);

#endif
