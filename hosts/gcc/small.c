/* SPDX-License-Identifier: MIT
 *
 * Counts calls of functions that --small left out: a counter for each context, which the runtime
 * lends to inlined code (small.cc).
 */

#include "runtime.h"

/* AHEAD: number of counters requested at once. UNITS: words in a record. */
enum { AHEAD = 512, UNITS = sizeof(cairn_priv_record) / 8 };

/* Returns the profile's metric CRN_SMALL_CALLS. A process adds it once, for its children too. */
static cairn_metric metric_of(cairn_profile *profile)
{
    static cairn_profile *whose;
    static cairn_metric metric;
    if (__atomic_load_n(&whose, __ATOMIC_ACQUIRE) != profile) {
        __atomic_store_n(&metric, cairn_metric_add(profile, CRN_SMALL_CALLS, "count"),
                         __ATOMIC_RELAXED);
        __atomic_store_n(&whose, profile, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&metric, __ATOMIC_RELAXED);
}

static void count(cairn_priv_strand *strand)
{
    cairn_lane *lane = cairn_strand_lane((cairn_strand *)strand);
    cairn_metric metric = metric_of(cairn_lane_profile(lane));
    if (!cairn_context_counters(lane, metric,
                                CAIRN_CONTEXT_ROOT)) /* also handles what is pending */
        return;
    uint64_t node_offset = strand->current & ~CRN_REPLACED;
    cairn_context context = strand->current & CRN_REPLACED
                                ? (cairn_context)(node_offset / UNITS)
                                : cairn_strand_context((cairn_strand *)strand);
    cairn_context most = context / AHEAD * AHEAD + AHEAD;
    uint64_t *counters = cairn_context_counters(lane, metric, most - 1);
    if (!counters)
        return;
    counters[context]++;
    if (context != node_offset / UNITS) /* strands with only a stack of blocks have no current
                                           context */
        return;
    strand->lane->host_counters = counters;
    __atomic_store_n(&strand->lane->host_counters_end, (uint64_t)most * UNITS, __ATOMIC_RELEASE);
}

void crn_site_small(void)
{
    cairn_strand *strand = crn_site_hold();
    if (strand) {
        count((cairn_priv_strand *)strand);
        crn_site_release(strand);
    }
}

void cairn_priv_call_small(void)
{
    if (cairn_priv_thread_strand)
        crn_site_small();
}
