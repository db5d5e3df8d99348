/* SPDX-License-Identifier: MIT */
#include "profile/metric.h"

#include <string.h>

const crn_metric_info crn_metrics_known[] = {
    {.name = "calls", .unit = "count"},
    {.name = "ticks", .unit = "instructions", .is_clock = true},
    {.name = "wall", .unit = CRN_UNIT_TIME, .is_clock = true, .rate = "threads"},
    {.name = "cpu", .unit = CRN_UNIT_TIME, .is_clock = true, .rate = "cores"},
    {.name = CRN_READY, .unit = CRN_UNIT_TIME, .is_clock = true, .rate = "threads"},
    {.name = CRN_ALLOC_BYTES, .unit = CRN_UNIT_BYTES, .is_memory = true},
    {.name = CRN_ALLOC_OBJECTS, .unit = "count", .is_memory = true},
    {.name = CRN_FREED_BYTES, .unit = CRN_UNIT_BYTES, .is_memory = true},
    {.name = CRN_FREED_OBJECTS, .unit = "count", .is_memory = true},
    {.name = CRN_LIVE_BYTES, .unit = CRN_UNIT_BYTES, .is_memory = true, .is_level = true},
    {.name = CRN_LIVE_OBJECTS, .unit = "count", .is_memory = true, .is_level = true},
    {.name = CRN_PEAK_BYTES, .unit = CRN_UNIT_BYTES, .is_memory = true, .is_level = true},
    {.name = NULL},
};

const uint32_t crn_metric_order[CRN_METRIC_FIXED] = {CRN_METRIC_WALL, CRN_METRIC_CPU,
                                                     CRN_METRIC_TICKS, CRN_METRIC_CALLS};

crn_metric_info crn_metric_about(const char *name, const char *unit)
{
    crn_metric_info about = {.name = NULL};
    for (const crn_metric_info *known = crn_metrics_known; known->name; known++)
        if (strcmp(known->name, name) == 0)
            about = *known;
    about.name = name;
    about.unit = unit;
    return about;
}

bool crn_metric_is_time(const crn_metric_info *metric)
{
    return metric->is_clock && strcmp(metric->unit, CRN_UNIT_TIME) == 0;
}
