/* SPDX-License-Identifier: MIT
 *
 * latency_parts.h - divides end-to-end latencies (spans/latency.h) among stages, and each stage's
 * time into queueing, work and waiting.
 *
 * A stage begins when the previous stage hands over: when the hand-off token for its span was
 * taken, if that time is known; for a call, when it begins; otherwise when the previous stage's
 * span ends. The stage queues until its span begins. Then its lane works, or waits as in the
 * critical path (moments.h), until the stage hands over or the result ends. So the stages of a
 * result add up to its latency.
 */
#ifndef CRN_EXPLAIN_LATENCY_PARTS_H
#define CRN_EXPLAIN_LATENCY_PARTS_H

#include "explain/variance.h"

typedef struct crn_latency_share {
    uint32_t span;
    uint64_t queue, work, wait; /* ns */
} crn_latency_share;

/* The times in which lanes wait: computed once, for all latencies of the spans. */
typedef struct crn_lane_waits crn_lane_waits;
crn_lane_waits *crn_lane_waits_make(const crn_spans *spans);
void crn_lane_waits_free(crn_lane_waits *waits);

/* Returns the stages of a row, the input first, and sets `*count`; free it with crn_free. */
crn_latency_share *crn_latency_divide(const crn_lane_waits *waits, const crn_latencies *latencies,
                                      const crn_latency_row *row, uint32_t *count);

/* Explains why the latencies vary, as crn_explain_make explains durations: by stage and kind of
 * time, and by the attributes of the results. `limit` and `slow`, ns, are those of
 * crn_explain_make, for latencies. Never NULL. */
crn_explain *crn_explain_latency_make(const crn_spans *spans, const crn_latencies *latencies,
                                      uint64_t limit, uint64_t slow);

#endif
