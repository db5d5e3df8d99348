/* SPDX-License-Identifier: MIT
 *
 * trace_ids.h - what spans are called outside of their capture, in W3C's trace context: a trace
 * id, which all that one request led to share, and a span id.
 */
#ifndef CRN_SPANS_TRACE_IDS_H
#define CRN_SPANS_TRACE_IDS_H

#include "spans/trace.h"

typedef struct crn_own_ids {
    uint64_t trace_id[2]; /* of traces that begin in the process */
    uint64_t span_key;
} crn_own_ids;

typedef struct crn_trace_ids {
    const crn_trace *trace; /* not owned */
    crn_own_ids *own;       /* by process */
    uint32_t *lane_first;   /* by lane: its first span */
    uint32_t *teller;       /* by span: whose trace id it has */
} crn_trace_ids;

/* To be closed before the trace is freed. */
void crn_trace_ids_open(crn_trace_ids *ids, const crn_trace *trace);
void crn_trace_ids_close(crn_trace_ids *ids);

/* None of these is 0, but for the parent of a span without one. */
void crn_trace_id_of(const crn_trace_ids *ids, uint32_t span, uint64_t trace_id[2]);
uint64_t crn_span_id_of(const crn_trace_ids *ids, uint32_t span);
uint64_t crn_parent_id_of(const crn_trace_ids *ids, uint32_t span);

#endif
