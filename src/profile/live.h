/* SPDX-License-Identifier: MIT
 *
 * live.h - figures of memory: what was allocated, and what of it is still there.
 *
 * Hosts record what came ("alloc bytes", "alloc objects") and what of it went ("freed
 * bytes", "freed objects"), both in the context that allocated. What lives is the
 * difference, which is not recorded.
 */
#ifndef CRN_PROFILE_LIVE_H
#define CRN_PROFILE_LIVE_H

#include "profile/model.h"

#define CRN_ALLOC_BYTES "alloc bytes"
#define CRN_ALLOC_OBJECTS "alloc objects"
#define CRN_FREED_BYTES "freed bytes"
#define CRN_FREED_OBJECTS "freed objects"
#define CRN_LIVE_BYTES "live bytes"
#define CRN_LIVE_OBJECTS "live objects"
#define CRN_PEAK_BYTES "peak bytes" /* what was there when most was, by context */

/* Adds the metrics "live bytes" and "live objects" to a profile of allocations; does
 * nothing to any other. Nothing is below 0: where more was freed than allocated a warning
 * says so. */
void crn_live_derive(crn_profile *profile);

/* Whether it is one of the metrics above. */
bool crn_alloc_is_metric(const char *name);

/* The mean number of bytes between samples of allocations, as the host has noted; 0 if each
 * was counted. Where merged captures differ it is the largest. */
double crn_alloc_mean(const crn_profile *profile);

/* What a sampled figure of this metric is worth as one of independent draws: a figure of V has
 * a variance of at most V times this (docs/ALLOC.md). 0 if it is exact, or no such metric. */
double crn_alloc_unit(const crn_profile *profile, uint32_t metric);

/* Whether allocations are what the profile is about: there are some. */
bool crn_alloc_recorded(const crn_profile *profile);

#endif
