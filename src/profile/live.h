/* SPDX-License-Identifier: MIT
 *
 * live.h - memory metrics: allocated, live, peak.
 *
 * Hosts charge "alloc bytes", "alloc objects", "freed bytes" and "freed objects" to the context
 * that allocated. Live memory is allocated minus freed, computed here.
 */
#ifndef CRN_PROFILE_LIVE_H
#define CRN_PROFILE_LIVE_H

#include "profile/model.h"

/* Adds the metrics "live bytes" and "live objects" if the profile has allocations and frees. A
 * context that freed more than it allocated gets 0, and the profile a warning. */
void crn_live_derive(crn_profile *profile);

/* Returns the mean number of bytes between sampled allocations, as noted; 0 if every allocation was
 * counted. For merged captures that differ, returns the largest. */
double crn_alloc_mean(const crn_profile *profile);

/* Returns the unit of a sampled memory metric: the variance of a figure V is at most V times the
 * unit (docs/ALLOC.md). Returns 0 for exact and for other metrics. */
double crn_alloc_unit(const crn_profile *profile, uint32_t metric);

/* Returns why allocations or frees are missing, as the host noted it; NULL if none is known to be.
 */
const char *crn_alloc_lost(const crn_profile *profile);

/* Returns true if any bytes were allocated. */
bool crn_alloc_recorded(const crn_profile *profile);

#endif
