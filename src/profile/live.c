/* SPDX-License-Identifier: MIT */
#include "profile/live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/figures.h"
#include "profile/freeze.h"

/* Adds the metric `live`. Returns the number of contexts that freed more than they allocated. */
static uint32_t derive(crn_profile *profile, const char *alloc, const char *freed, const char *live,
                       const char *unit)
{
    int from = crn_profile_metric(profile, alloc), less = crn_profile_metric(profile, freed);
    if (from < 0 || less < 0)
        return 0; /* imported profiles may have `live` already */
    uint32_t metric = crn_profile_put_metric(profile, live, unit), wrong = 0;
    if (metric == CRN_METRIC_MAX)
        return 0;
    uint64_t *values = crn_calloc(profile->context_count, sizeof *values);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint64_t came = crn_self(profile, (uint32_t)from, c);
        uint64_t went = crn_self(profile, (uint32_t)less, c);
        values[c] = came > went ? came - went : 0;
        wrong += went > came;
    }
    crn_profile_put_column(profile, metric, values);
    return wrong;
}

void crn_live_derive(crn_profile *profile)
{
    uint32_t bytes =
        derive(profile, CRN_ALLOC_BYTES, CRN_FREED_BYTES, CRN_LIVE_BYTES, CRN_UNIT_BYTES);
    uint32_t objects =
        derive(profile, CRN_ALLOC_OBJECTS, CRN_FREED_OBJECTS, CRN_LIVE_OBJECTS, "count");
    uint32_t wrong = bytes > objects ? bytes : objects;
    if (!wrong)
        return;
    crn_warn(profile,
             "%" PRIu32 " context%s freed more than they allocated, which is impossible: live "
             "memory is shown as 0 there",
             wrong, wrong == 1 ? "" : "s");
}

/* Parses a note such as "524288" or "exact" or, after a merge, "524288 | exact". */
double crn_alloc_mean(const crn_profile *profile)
{
    const char *at = crn_profile_note(profile, "alloc", "");
    double largest = 0;
    while (at) {
        double mean = strtod(at, NULL);
        if (mean > largest && mean < 0x1p63)
            largest = mean;
        at = strstr(at, " | ");
        at = at ? at + strlen(" | ") : NULL;
    }
    return largest;
}

/* An allocation of s bytes is sampled with probability p = 1 - exp(-s / mean) and then counts 1 / p
 * times. The variance of its bytes, s² (1 - p) / p, is below s times the mean. The variance of its
 * object, (1 - p) / p, is about mean / s for small s; s is taken as the mean size. */
double crn_alloc_unit(const crn_profile *profile, uint32_t metric)
{
    const crn_metric_info *info = &profile->metrics[metric];
    double mean = info->is_memory ? crn_alloc_mean(profile) : 0;
    if (!(mean > 0) || strcmp(info->unit, CRN_UNIT_BYTES) == 0)
        return mean;
    int bytes = crn_profile_metric(profile, CRN_ALLOC_BYTES);
    int objects = crn_profile_metric(profile, CRN_ALLOC_OBJECTS);
    double sum = bytes < 0 ? 0 : (double)crn_metric_total(profile, (uint32_t)bytes);
    double count = objects < 0 ? 0 : (double)crn_metric_total(profile, (uint32_t)objects);
    return sum > 0 ? mean * count / sum : 0;
}

const char *crn_alloc_lost(const crn_profile *profile)
{
    return crn_profile_note(profile, "alloc_lost", NULL);
}

bool crn_alloc_recorded(const crn_profile *profile)
{
    int metric = crn_profile_metric(profile, CRN_ALLOC_BYTES);
    return metric >= 0 && !crn_metric_empty(profile, (uint32_t)metric);
}
