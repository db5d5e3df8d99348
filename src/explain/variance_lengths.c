/* SPDX-License-Identifier: MIT
 *
 * Figures of the explained lengths: mean, variance, percentiles; finds slow and typical spans.
 */
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "explain/variance.h"

static void find_quantiles(crn_explain *explain, const crn_explained *explained)
{
    static const double shares[] = {0, 0.25, 0.5, 0.75, 0.95, 0.99, 1};
    uint64_t ranks[sizeof shares / sizeof *shares] = {0};
    crn_explain_ranks(explained, shares, ranks, (int)(sizeof shares / sizeof *shares));
    explain->min = ranks[0];
    explain->typical_from = ranks[1];
    explain->median = ranks[2];
    explain->typical_to = ranks[3];
    explain->p95 = ranks[4];
    explain->p99 = ranks[5];
    explain->max = ranks[6];
}

static void find_variance(crn_explain *explain, const crn_explained *explained)
{
    double sum = 0;
    uint32_t seen = 0;
    CRN_EACH_EXPLAINED(s, explained)
    explain->above_min +=
        crn_explain_deviation(explain, crn_explained_length(explained, s)) / ++seen;
    explain->mean = (double)explain->min + explain->above_min;
    CRN_EACH_EXPLAINED(s, explained)
    {
        double deviation = crn_explain_deviation(explain, crn_explained_length(explained, s));
        sum += deviation * deviation;
    }
    explain->variance = explained->count ? sum / explained->count : 0;
    explain->deviation = sqrt(explain->variance);
    explain->half = crn_explain_half(explained, explain->mean, sum);
}

/* Returns the mean length of the spans in a bitmap. */
static double mean_where(const crn_explained *explained, const uint64_t *marked, uint32_t *count)
{
    double mean = 0;
    *count = 0;
    CRN_EACH_EXPLAINED(s, explained)
    if (crn_bits_has(marked, s))
        mean += ((double)crn_explained_length(explained, s) - mean) / ++*count;
    return mean;
}

/* Chooses the lengths of slow spans, and of typical ones, which are shorter. Returns false if the
 * lengths are too similar for that. */
static bool choose_slow(crn_explain *explain, uint64_t slow)
{
    explain->slow_from = slow ? slow : explain->p99;
    if (slow && slow <= explain->typical_to) {
        explain->typical_to = slow - 1;
        if (explain->typical_from > explain->typical_to)
            explain->typical_from = explain->min;
    }
    return explain->slow_from > explain->typical_to && explain->typical_from <= explain->typical_to;
}

static void find_slow(crn_explain *explain, const crn_explained *explained, uint64_t slow)
{
    if (!choose_slow(explain, slow))
        return;
    CRN_EACH_EXPLAINED(s, explained)
    {
        uint64_t took = crn_explained_length(explained, s);
        if (took >= explain->slow_from)
            crn_bits_set(explained->slow, s);
        if (took >= explain->typical_from && took <= explain->typical_to)
            crn_bits_set(explained->typical, s);
    }
    explain->slow_mean = mean_where(explained, explained->slow, &explain->slow_count);
    explain->typical_mean = mean_where(explained, explained->typical, &explain->typical_count);
}

void crn_explain_lengths(crn_explain *explain, const crn_explained *explained, uint64_t slow)
{
    find_quantiles(explain, explained);
    find_variance(explain, explained);
    find_slow(explain, explained, slow);
}

static int compare_parts(const void *left, const void *right)
{
    const crn_explain_part *a = left, *b = right;
    return CRN_ORDER(b->share, a->share)
               ?: CRN_ORDER(a->block, b->block)
               ?: CRN_ORDER(a->kind, b->kind);
}

void crn_explain_sort_parts(crn_explain *explain)
{
    qsort(explain->parts, explain->part_count, sizeof *explain->parts, compare_parts);
}
