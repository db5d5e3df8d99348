/* SPDX-License-Identifier: MIT
 *
 * grown.h - what another process sees of a program that runs: nothing goes back.
 */
#ifndef TESTS_SUPPORT_GROWN_H
#define TESTS_SUPPORT_GROWN_H

#include "profile/profile.h"
#include "support/difference.h"

/* True if no counter of any context that was there `before` is gone or smaller. Contexts are
 * found by their paths: their numbers change from one load to the next. */
bool profile_has_grown(const crn_profile *before, const crn_profile *after, difference *found);

#endif
