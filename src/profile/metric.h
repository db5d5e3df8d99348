/* SPDX-License-Identifier: MIT
 *
 * metric.h - the metrics that Cairn knows, and their units. A host may add others.
 */
#ifndef CRN_PROFILE_METRIC_H
#define CRN_PROFILE_METRIC_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CRN_METRIC_CALLS = 0,
    CRN_METRIC_TICKS = 1,
    CRN_METRIC_WALL = 2,
    CRN_METRIC_CPU = 3,
    CRN_METRIC_FIXED, /* number of metrics that every profile has */
    CRN_METRIC_MAX = 32
};

/* Units that reports scale; other units are plain counts. */
#define CRN_UNIT_TIME "nanoseconds"
#define CRN_UNIT_BYTES "bytes"

/* Metric: time in which a thread could run but had no core, as measured by the kernel. Waiting is
 * wall minus cpu minus ready. */
#define CRN_READY "ready"

/* Memory metrics. Hosts charge allocations and frees to the context that allocated; live is their
 * difference (live.h). */
#define CRN_ALLOC_BYTES "alloc bytes"
#define CRN_ALLOC_OBJECTS "alloc objects"
#define CRN_FREED_BYTES "freed bytes"
#define CRN_FREED_OBJECTS "freed objects"
#define CRN_LIVE_BYTES "live bytes"
#define CRN_LIVE_OBJECTS "live objects"
#define CRN_PEAK_BYTES "peak bytes" /* live bytes by context when most memory was live */

typedef struct crn_metric_info {
    const char *name;
    const char *unit;
    const char *rate; /* name of its amount per second: "threads"; NULL: unnamed */
    bool is_clock;    /* advances while the program runs; views show all clocks together */
    bool is_level;    /* an amount at one moment, which may fall; false: a sum */
    bool is_memory;   /* one of the memory metrics above */
} crn_metric_info;

/* Begins with the CRN_METRIC_FIXED metrics of every profile, by number; ends with a NULL name. */
extern const crn_metric_info crn_metrics_known[];

/* The numbers of the fixed metrics in the order in which reports show them. */
extern const uint32_t crn_metric_order[CRN_METRIC_FIXED];

/* Returns what Cairn knows of a metric, with `name` and `unit` as given. */
crn_metric_info crn_metric_about(const char *name, const char *unit);

/* Returns true if the metric measures time, which differs from run to run. */
bool crn_metric_is_time(const crn_metric_info *metric);

#endif
