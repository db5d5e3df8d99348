/* SPDX-License-Identifier: MIT
 *
 * soundness.h - checks the invariants of a loaded profile, for any input file.
 */
#ifndef TESTS_SUPPORT_SOUNDNESS_H
#define TESTS_SUPPORT_SOUNDNESS_H

#include "profile/profile.h"
#include "support/difference.h"

/* Returns true if all indices are in range, all texts exist, and all sums are right. */
bool profile_is_sound(const crn_profile *profile, difference *found);

/* Returns the sum of a metric over all contexts. */
uint64_t profile_total(const crn_profile *profile, int metric);

#endif
