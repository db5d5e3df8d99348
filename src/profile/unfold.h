/* SPDX-License-Identifier: MIT
 *
 * unfold.h - call paths, estimated from a call graph.
 *
 * Some tools record the cost of each function and the number of calls by caller and callee, but no
 * call paths (CRN_NOTE_STATIC_CALLS). Their call graph is unfolded into paths as gprof does
 * (Graham, Kessler, McKusick, 1982): each caller of a function is taken to cause a share of its
 * cost and calls that is proportional to the caller's number of calls. This is exact for functions
 * with one caller.
 */
#ifndef CRN_PROFILE_UNFOLD_H
#define CRN_PROFILE_UNFOLD_H

#include "profile/model.h"

/* Returns a profile with the calls and one other metric of `profile` by estimated path; the sums by
 * function are those of `profile`. Calls that close a cycle are not followed. Paths are cut where
 * their inclusive cost is below a millionth of the total, or when there are 100,000; what
 * is cut stays with the largest path of its function. Returns NULL if `profile` has call paths, or
 * no numbers of calls by caller. Free it with crn_profile_free. */
crn_profile *crn_profile_unfold(const crn_profile *profile, const char *metric);

#endif
