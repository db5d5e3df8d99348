/* SPDX-License-Identifier: MIT
 *
 * trace_ids.h - W3C trace context ids: the trace id, shared by all spans of one request, and the
 * span id.
 */
#ifndef CRN_SPANS_TRACE_IDS_H
#define CRN_SPANS_TRACE_IDS_H

#include "spans/trace.h"

typedef struct crn_own_ids {
    uint64_t trace_id[2]; /* trace id of the process's root spans */
    uint64_t span_key;
} crn_own_ids;

typedef struct crn_trace_ids {
    const crn_trace *trace; /* not owned */
    crn_own_ids *own;       /* by process */
    uint32_t *lane_first;   /* by lane: its first span */
    uint32_t *id_source;    /* by span: the span that determines its trace id */
} crn_trace_ids;

/* The trace must outlive `ids`. */
void crn_trace_ids_open(crn_trace_ids *ids, const crn_trace *trace);
void crn_trace_ids_close(crn_trace_ids *ids);

/* Return ids. Only a root span's parent id is 0. */
void crn_trace_id_of(const crn_trace_ids *ids, uint32_t span, uint64_t trace_id[2]);
uint64_t crn_span_id_of(const crn_trace_ids *ids, uint32_t span);
uint64_t crn_parent_id_of(const crn_trace_ids *ids, uint32_t span);

#endif
