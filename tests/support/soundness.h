/* SPDX-License-Identifier: MIT
 *
 * soundness.h - what must be true of any profile that was loaded, whatever the file was.
 */
#ifndef TESTS_SUPPORT_SOUNDNESS_H
#define TESTS_SUPPORT_SOUNDNESS_H

#include "profile/profile.h"
#include "support/difference.h"

/* True if every index in the profile is in range, every text is there and every sum is
 * the sum of its parts. */
bool profile_is_sound(const crn_profile *profile, difference *found);

/* The sum of a metric over all contexts. */
uint64_t profile_total(const crn_profile *profile, int metric);

#endif
