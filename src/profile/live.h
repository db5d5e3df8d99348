/* SPDX-License-Identifier: MIT
 *
 * live.h - memory metrics: allocated, live, peak.
 *
 * Hosts record "alloc bytes" and "alloc objects", and "freed bytes" and "freed objects", both in
 * the context that allocated. Live memory is the difference; it is derived here.
 */
#ifndef CRN_PROFILE_LIVE_H
#define CRN_PROFILE_LIVE_H

#include "profile/model.h"

/* Adds the metrics "live bytes" and "live objects" to a profile with allocations; does nothing to
 * others. Values are clamped to 0, with a warning if more was freed than allocated. */
void crn_live_derive(crn_profile *profile);

/* Returns the mean number of bytes between sampled allocations, from the notes; 0 if every
 * allocation was counted. Of merged captures that differ, the largest. */
double crn_alloc_mean(const crn_profile *profile);

/* Returns the unit of a sampled memory metric for intervals: a figure V has a variance of at most V
 * times this (docs/ALLOC.md). 0 if it is exact or no memory metric. */
double crn_alloc_unit(const crn_profile *profile, uint32_t metric);

/* Returns true if the profile has allocations. */
bool crn_alloc_recorded(const crn_profile *profile);

#endif
