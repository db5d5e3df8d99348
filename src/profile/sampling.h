/* SPDX-License-Identifier: MIT
 *
 * sampling.h - which metrics of a profile were sampled, how finely, and so how sure each
 * figure is.
 */
#ifndef CRN_PROFILE_SAMPLING_H
#define CRN_PROFILE_SAMPLING_H

#include <stdbool.h>

#include "profile/interval.h"
#include "profile/model.h"

/* From so many samples on a figure is known to a fifth of itself, and stands alone. */
enum { CRN_SAMPLING_SURE = 100 };

/* All amounts in the metric's unit. Of a metric that is exact, all but the total are 0. */
typedef struct crn_sampling {
    double unit;      /* how much a sample stands for: what it is worth as one of K independent
                         draws; 0 of what is exact */
    double error;     /* no figure's standard error is more; 0 if that is not known */
    double total;     /* of the profile */
    double asked;     /* the period that was asked for */
    double reached;   /* the mean period that the samples had; 0 if there were none */
    uint64_t samples; /* taken */
    bool in_ticks;    /* at the kernel's ticks, with which a program may be in step: no interval of
                         a figure is known */
    bool open;        /* the total is an estimate, too: of bytes, where that of a clock is known */
} crn_sampling;

/* From the notes of the profile. Where merged captures differ it is the coarsest. */
crn_sampling crn_sampling_of(const crn_profile *profile, uint32_t metric);

/* How many samples a figure rests on: where a context lasts for many periods it is as sure as
 * more samples would make it, as only its ends are in doubt. */
double crn_sampling_hits(const crn_sampling *sampling, uint64_t value);

/* The figure says all: it is exact, or nothing was seen, or it rests on enough samples; or there
 * is nothing that can be said. */
bool crn_sampling_is_sure(const crn_sampling *sampling, uint64_t value);

/* The figure's 95 % interval. [value, value] of what is exact. */
crn_interval crn_sampling_interval(const crn_sampling *sampling, uint64_t value);
/* The same of its share of a part of the profile that costs `whole`, 0 to 1. */
crn_interval crn_sampling_share(const crn_sampling *sampling, uint64_t value, double whole);

/* Whether two runs that cost the same may differ so much by the dice of their samplers alone.
 * `z` is the deviate: CRN_INTERVAL_Z, or more where many figures are looked at at once. Between
 * figures that are exact nothing is chance. */
bool crn_sampling_within_chance(const crn_sampling sampling[2], const uint64_t values[2], double z);

#endif
