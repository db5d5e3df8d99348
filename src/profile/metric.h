/* SPDX-License-Identifier: MIT
 *
 * metric.h - the metrics that have a meaning here, and their units. A host may add any other.
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
    CRN_METRIC_FIXED, /* number of those that each profile has */
    CRN_METRIC_MAX = 32
};

/* Units that printers scale; all others are counts. */
#define CRN_UNIT_TIME "nanoseconds"
#define CRN_UNIT_BYTES "bytes"

/* Time in which a thread could run but had no core, as the kernel says: a part of wall without
 * cpu. Waiting is the rest of it. */
#define CRN_READY "ready"

/* Memory metrics. Hosts charge allocations and frees to the context that allocated; live is their
 * difference (live.h). */
#define CRN_ALLOC_BYTES "alloc bytes"
#define CRN_ALLOC_OBJECTS "alloc objects"
#define CRN_FREED_BYTES "freed bytes"
#define CRN_FREED_OBJECTS "freed objects"
#define CRN_LIVE_BYTES "live bytes"
#define CRN_LIVE_OBJECTS "live objects"
#define CRN_PEAK_BYTES "peak bytes" /* by context, at the moment when most memory was live */

typedef struct crn_metric_info {
    const char *name;
    const char *unit;
    const char *rate; /* unit of its amount per second: "threads"; NULL: no name of its own */
    bool is_clock;    /* goes on while the program runs; views show all clocks together */
    bool is_level;    /* an amount at a moment, which may fall; others are sums */
    bool is_memory;   /* one of those above */
} crn_metric_info;

/* The first CRN_METRIC_FIXED are those that each profile has, in their order. The last has no
 * name. */
extern const crn_metric_info crn_metrics_known[];

/* The fixed ones in the order in which users look for them. */
extern const uint32_t crn_metric_order[CRN_METRIC_FIXED];

/* Returns what is known of a metric; its texts are those given. */
crn_metric_info crn_metric_about(const char *name, const char *unit);

/* Returns true for time, which differs from run to run. */
bool crn_metric_is_time(const crn_metric_info *metric);

#endif
