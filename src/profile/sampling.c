/* SPDX-License-Identifier: MIT */
#include "profile/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/figures.h"
#include "profile/live.h"

/* Mean square of the gaps between samples divided by the square of their mean: gaps are uniform in
 * P/2..3P/2. */
#define GAP_SPREAD (13.0 / 12.0)

/* ns² per µs² */
#define MICROSECONDS_SQUARED 1e6

/* Returns the largest number in a note such as "1000000" or, after a merge, "1000000 | 4000000". */
static double note_largest(const crn_profile *profile, const char *key)
{
    const char *at = crn_profile_note(profile, key, "");
    double largest = 0;
    while (*at) {
        double number = strtod(at, NULL);
        if (number > largest && number < 0x1p63)
            largest = number;
        at = strstr(at, " | ");
        if (!at)
            break;
        at += 3;
    }
    return largest;
}

/* Returns true if a clock was sampled, as its note says; without a note, if the profile has
 * samples. */
static bool was_sampled(const crn_profile *profile, const char *key)
{
    const char *how = crn_profile_note(profile, key, NULL);
    return how ? strstr(how, "sampled") != NULL : note_largest(profile, "samples") > 0;
}

static crn_sampling sampling_of_ticks(const crn_profile *profile, crn_sampling sampling)
{
    double period = note_largest(profile, "tick_period");
    if (period <= 1)
        return sampling;
    sampling.asked = sampling.unit = period;
    sampling.samples = (uint64_t)note_largest(profile, "tick_samples");
    if (sampling.samples)
        sampling.reached = sampling.total / (double)sampling.samples;
    return sampling;
}

/* Returns the mean gap between samples, from the sampler's notes if there are any. Otherwise
 * divides the elapsed time by the number of samples, which counts a late sample as several. */
static double mean_gap(const crn_profile *profile, double elapsed, double samples)
{
    double rounds = note_largest(profile, "sample_rounds");
    if (rounds > 0)
        return note_largest(profile, "sample_rounds_ns") / rounds;
    return samples > 0 ? elapsed / samples : 0;
}

/* Returns the amount that counts as one independent draw: the mean square of the gaps divided by
 * the mean gap; or divided by the mean amount of a sample, if that is less, as with the CPU time of
 * a thread that sleeps. Without recorded squares, assumes gaps uniform in P/2..3P/2. */
static double clock_unit(const crn_sampling *sampling, double samples, double squares)
{
    double gap = sampling->reached;
    if (!(samples > 0))
        gap = sampling->total;
    if (!(squares > 0 && samples > 0 && gap > 0))
        return GAP_SPREAD * (gap > sampling->asked ? gap : sampling->asked);
    double mean = sampling->total / samples;
    return squares / samples / (gap < mean ? gap : mean);
}

static crn_sampling sampling_of_clock(const crn_profile *profile, uint32_t metric,
                                      crn_sampling sampling)
{
    bool own = metric == CRN_METRIC_CPU && crn_profile_note(profile, "cpu_samples", NULL);
    double samples = note_largest(profile, own ? "cpu_samples" : "samples");
    double squares =
        note_largest(profile, metric == CRN_METRIC_CPU ? "cpu_squares" : "wall_squares");
    double elapsed = own ? 0 : (double)crn_metric_total(profile, CRN_METRIC_WALL);
    sampling.clock = true;
    sampling.asked = note_largest(profile, "sample_period_ns");
    sampling.in_ticks =
        metric == CRN_METRIC_CPU && strstr(crn_profile_note(profile, "sampler", ""), "timer");
    sampling.samples = (uint64_t)samples;
    sampling.reached = mean_gap(profile, elapsed > 0 ? elapsed : sampling.total, samples);
    squares *= MICROSECONDS_SQUARED;
    sampling.unit = clock_unit(&sampling, samples, squares);
    /* A context that ran for the share p of a gap G is charged all of G or nothing. That adds
     * G² p (1 - p) to the variance of its cost, at most G² / 4. `squares` is the sum of G² over all
     * gaps but the last one, which follows the last sample; the mean gap stands for that one. */
    if (squares > 0)
        sampling.error = sqrt(squares + sampling.reached * sampling.reached) / 2;
    return sampling;
}

/* Returns how memory was sampled: each byte with equal probability, so the number of samples is
 * random, too. */
static crn_sampling sampling_of_alloc(const crn_profile *profile, uint32_t metric,
                                      crn_sampling sampling)
{
    sampling.unit = crn_alloc_unit(profile, metric);
    sampling.asked = sampling.reached = crn_alloc_mean(profile);
    sampling.samples = (uint64_t)note_largest(profile, "alloc_samples");
    sampling.open = true;
    return sampling;
}

crn_sampling crn_sampling_of(const crn_profile *profile, uint32_t metric)
{
    crn_sampling sampling = {.total = (double)crn_metric_total(profile, metric)};
    if (!(sampling.total > 0))
        return sampling;
    if (metric == CRN_METRIC_TICKS)
        return sampling_of_ticks(profile, sampling);
    if ((metric == CRN_METRIC_WALL && was_sampled(profile, "wall")) ||
        (metric == CRN_METRIC_CPU && was_sampled(profile, "cpu")))
        return sampling_of_clock(profile, metric, sampling);
    if (profile->metrics[metric].is_memory && crn_alloc_mean(profile) > 0)
        return sampling_of_alloc(profile, metric, sampling);
    return sampling;
}

double crn_sampling_hits(const crn_sampling *sampling, uint64_t value)
{
    if (!(sampling->unit > 0))
        return 0;
    double hits = (double)value / sampling->unit;
    double by_error = sampling->error > 0 ? (double)value / sampling->error : 0;
    return hits > by_error * by_error ? hits : by_error * by_error;
}

bool crn_sampling_is_sure(const crn_sampling *sampling, uint64_t value)
{
    return !(sampling->unit > 0) || sampling->in_ticks || !value ||
           crn_sampling_hits(sampling, value) >= CRN_SAMPLING_SURE;
}

/* Each end of the interval has two bounds: Wilson's, and the share plus or minus a multiple of
 * `error`. Returns the tighter one. */
crn_interval crn_sampling_share(const crn_sampling *sampling, uint64_t value, double whole)
{
    double share = whole > 0 ? (double)value / whole : 0;
    if (!(sampling->unit > 0) || !(whole > 0))
        return (crn_interval){share, share};
    crn_interval interval =
        crn_interval_share((double)value / sampling->unit, whole / sampling->unit);
    double reach = CRN_INTERVAL_Z * sampling->error / whole;
    if (sampling->error > 0 && interval.low < share - reach)
        interval.low = share - reach;
    if (sampling->error > 0 && interval.high > share + reach)
        interval.high = share + reach;
    return interval;
}

crn_interval crn_sampling_interval(const crn_sampling *sampling, uint64_t value)
{
    if (!(sampling->unit > 0))
        return (crn_interval){(double)value, (double)value};
    if (sampling->open)
        return crn_interval_count((double)value, sampling->unit);
    crn_interval share = crn_sampling_share(sampling, value, sampling->total);
    return (crn_interval){share.low * sampling->total, share.high * sampling->total};
}

/* If both runs cost the same m, x has the variance u m (1 - p) and y has v m (1 - p), with units u
 * and v. Weighted by samples, both estimate m = (x v + y u) / (u + v). So the variance of y - x is
 * (x v + y u) (1 - p); with u = v it is N (x + y) in docs/SAMPLING.md. An exact run adds no
 * variance. */
bool crn_sampling_within_chance(const crn_sampling sampling[2], const uint64_t values[2], double z)
{
    double x = (double)values[0], y = (double)values[1];
    double whole = sampling[0].total + sampling[1].total;
    if (!(sampling[0].unit > 0 || sampling[1].unit > 0) || !(whole > 0))
        return false;
    double others = sampling[0].open || sampling[1].open ? 1 : 1 - (x + y) / whole;
    double variance = (x * sampling[1].unit + y * sampling[0].unit) * (others > 0 ? others : 0);
    double most = sampling[0].error * sampling[0].error + sampling[1].error * sampling[1].error;
    for (int run = 0; run < 2; run++)
        if (sampling[run].unit > 0 && !(sampling[run].error > 0))
            most = variance; /* the bound by `error` is unknown */
    if (variance > most)
        variance = most;
    return fabs(y - x) <= z * sqrt(variance);
}

/* The total of a sampled clock is known to one gap between samples: the time after a run's last
 * sample may be missing. */
bool crn_sampling_totals_within_chance(const crn_sampling sampling[2], const uint64_t totals[2],
                                       double z)
{
    if (sampling[0].open || sampling[1].open)
        return crn_sampling_within_chance(sampling, totals, z);
    double variance = 0;
    for (int run = 0; run < 2; run++) {
        double gap = sampling[run].reached;
        if (sampling[run].clock)
            variance +=
                gap > sampling[run].asked ? gap * gap : sampling[run].asked * sampling[run].asked;
    }
    return variance > 0 && fabs((double)totals[1] - (double)totals[0]) <= z * sqrt(variance);
}
