/* SPDX-License-Identifier: MIT
 *
 * sampling.h - how each metric was sampled, and the uncertainty of figures that follows.
 */
#ifndef CRN_PROFILE_SAMPLING_H
#define CRN_PROFILE_SAMPLING_H

#include <stdbool.h>

#include "profile/interval.h"
#include "profile/model.h"

/* From this number of samples on a figure is accurate to a fifth, and is shown without an
 * interval. */
enum { CRN_SAMPLING_SURE = 100 };

/* Amounts are in the metric's unit. For an exact metric all except the total are 0. */
typedef struct crn_sampling {
    double unit;      /* the value of one independent draw; 0 if exact */
    double error;     /* upper bound on any figure's standard error; 0 if not known */
    double total;     /* of the profile */
    double asked;     /* requested period */
    double reached;   /* mean period of the samples; 0 if there are none */
    uint64_t samples; /* number of samples */
    bool in_ticks;    /* sampled at the kernel's ticks, which can be in step with the program: no
                         intervals */
    bool clock;       /* a clock: the total is known but for the gaps at its ends */
    bool open;        /* the total is an estimate as well (bytes); the total of a clock is known */
} crn_sampling;

/* Reads the notes of the profile. Of merged captures that differ, the coarsest. */
crn_sampling crn_sampling_of(const crn_profile *profile, uint32_t metric);

/* Returns the number of samples that a figure is based on. A context that lasts for many periods is
 * as certain as if it had more samples, since only its ends are uncertain. */
double crn_sampling_hits(const crn_sampling *sampling, uint64_t value);

/* Returns true if no interval is to be shown: the figure is exact or 0, has enough samples, or
 * nothing is known about its uncertainty. */
bool crn_sampling_is_sure(const crn_sampling *sampling, uint64_t value);

/* Returns the 95 % interval of a figure; [value, value] if exact. */
crn_interval crn_sampling_interval(const crn_sampling *sampling, uint64_t value);
/* Returns the 95 % interval of the figure's share, 0 to 1, of a part of the profile that costs
 * `whole`. */
crn_interval crn_sampling_share(const crn_sampling *sampling, uint64_t value, double whole);

/* Returns true if sampling alone can explain the difference of two runs with equal cost. `z` is the
 * deviate: CRN_INTERVAL_Z, or more for multiple comparisons. Exact figures never differ by
 * chance. */
bool crn_sampling_within_chance(const crn_sampling sampling[2], const uint64_t values[2], double z);

/* The same of the totals of two runs. That of ticks is exact. */
bool crn_sampling_totals_within_chance(const crn_sampling sampling[2], const uint64_t totals[2],
                                       double z);

#endif
