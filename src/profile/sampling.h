/* SPDX-License-Identifier: MIT
 *
 * sampling.h - how each metric was sampled, and how uncertain its figures are.
 */
#ifndef CRN_PROFILE_SAMPLING_H
#define CRN_PROFILE_SAMPLING_H

#include <stdbool.h>

#include "profile/interval.h"
#include "profile/model.h"

/* A figure with at least this many samples is accurate to a fifth; reports show no interval. */
enum { CRN_SAMPLING_SURE = 100 };

/* Amounts are in the metric's unit. For an exact metric all members except `total` are 0. */
typedef struct crn_sampling {
    double unit;      /* value of one independent draw; 0: exact */
    double error;     /* upper bound of each figure's standard error; 0: unknown */
    double total;     /* of the profile */
    double asked;     /* requested period */
    double reached;   /* mean period of the samples; 0 without samples */
    uint64_t samples; /* number of samples */
    bool in_ticks;    /* sampled at the kernel's timer interrupts, which can be in step with the
                         program: intervals would be wrong */
    bool clock;       /* a clock: its total is exact but for the gaps at begin and end */
    bool open;        /* the total is an estimate, too, as for allocated bytes */
} crn_sampling;

/* Returns how a metric was sampled, as noted. For merged captures that differ, returns the
 * coarsest. */
crn_sampling crn_sampling_of(const crn_profile *profile, uint32_t metric);

/* Returns the number of samples that a figure is worth. A context that lasts for many periods is
 * worth more than it has, since only its begin and end are uncertain. */
double crn_sampling_hits(const crn_sampling *sampling, uint64_t value);

/* Returns true if a report should show no interval: the figure is exact or 0, has enough samples,
 * or its uncertainty is unknown. */
bool crn_sampling_is_sure(const crn_sampling *sampling, uint64_t value);

/* Returns the 95 % interval of a figure; [value, value] if it is exact. */
crn_interval crn_sampling_interval(const crn_sampling *sampling, uint64_t value);
/* Returns the 95 % interval of the figure's share (0 to 1) of `whole`, the cost of a part of the
 * profile. */
crn_interval crn_sampling_share(const crn_sampling *sampling, uint64_t value, double whole);

/* Returns true if sampling alone can explain how a figure differs between two runs. `z` is the
 * deviate: CRN_INTERVAL_Z, or more for multiple comparisons. False if both figures are exact. */
bool crn_sampling_within_chance(const crn_sampling sampling[2], const uint64_t values[2], double z);

/* Does the same for the totals of two runs. A total of ticks is exact. */
bool crn_sampling_totals_within_chance(const crn_sampling sampling[2], const uint64_t totals[2],
                                       double z);

#endif
