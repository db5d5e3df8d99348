/* SPDX-License-Identifier: MIT
 *
 * pprof's sample types of heap profiles, in the order that gperftools introduced.
 */
#include <string.h>

#include "formats/pprof.h"
#include "profile/profile.h"

static const struct {
    const char *metric, *type, *unit;
} names[] = {
    {CRN_ALLOC_OBJECTS, "alloc_objects", "count"}, {CRN_ALLOC_BYTES, "alloc_space", "bytes"},
    {CRN_LIVE_OBJECTS, "inuse_objects", "count"},  {CRN_LIVE_BYTES, "inuse_space", "bytes"},
    {CRN_PEAK_BYTES, "peak_space", "bytes"},
};
enum { NAMES = sizeof names / sizeof *names };

const char *crn_pprof_type_of(const char *metric)
{
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(metric, names[i].metric) == 0)
            return names[i].type;
    return metric;
}

const char *crn_pprof_metric_of(const char *type, const char *unit)
{
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(type, names[i].type) == 0 && strcmp(unit, names[i].unit) == 0)
            return names[i].metric;
    return type;
}

uint32_t crn_pprof_heap_order(const crn_profile *profile, uint32_t *metrics, uint32_t count)
{
    if (!crn_alloc_recorded(profile))
        return count;
    uint32_t ordered[CRN_METRIC_MAX], used = 0;
    for (size_t i = 0; i < NAMES; i++) {
        int metric = crn_profile_metric(profile, names[i].metric);
        if (metric >= 0 && (i < 4 || profile->values[metric]))
            ordered[used++] = (uint32_t)metric;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!profile->metrics[metrics[i]].is_memory)
            ordered[used++] = metrics[i];
    memcpy(metrics, ordered, used * sizeof *metrics);
    return used;
}
