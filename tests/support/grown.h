/* SPDX-License-Identifier: MIT
 *
 * grown.h - checks from another process that no sum of a running program decreases.
 */
#ifndef TESTS_SUPPORT_GROWN_H
#define TESTS_SUPPORT_GROWN_H

#include "profile/profile.h"
#include "support/difference.h"

/* Returns true if no counter of a context of `before` is missing or smaller. Contexts are matched
 * by path, because their numbers change between loads. */
bool profile_has_grown(const crn_profile *before, const crn_profile *after, difference *found);

#endif
