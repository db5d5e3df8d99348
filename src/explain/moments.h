/* SPDX-License-Identifier: MIT
 *
 * moments.h - the DAG of what happened: for each lane its moments, at which a span begins or ends,
 * hands something off, or has waited for something; and what leads from one lane to another.
 */
#ifndef CRN_EXPLAIN_MOMENTS_H
#define CRN_EXPLAIN_MOMENTS_H

#include "explain/critical.h"

typedef enum crn_moment_kind {
    CRN_MOMENT_BEGIN,
    CRN_MOMENT_END,
    CRN_MOMENT_HANDOFF, /* something is handed off */
    CRN_MOMENT_ARRIVAL  /* something has ended that was waited for */
} crn_moment_kind;

/* Moments of a lane stand in order. Between one and the next the lane does one thing. */
typedef struct crn_moment {
    uint64_t time;
    uint32_t span; /* innermost from here on: the one that began last; CRN_SPAN_NONE: none */
    uint8_t kind;  /* crn_moment_kind */
    bool first;    /* of its lane */
    bool waits;    /* from here to the next: nothing is done, the lane or its span waits */
} crn_moment;

/* From a moment of one lane to one that could not come before it. */
typedef struct crn_link_to {
    uint32_t from, to; /* moments */
    crn_path_via via;
} crn_link_to;

typedef struct crn_moments {
    uint32_t count;
    crn_moment *moments; /* lane by lane */
    uint32_t link_count;
    crn_link_to *links; /* by `to` */
    uint32_t *first;    /* by moment, and one more: its first link */
    uint32_t *ends;     /* by span: the moment at which it ended */
    uint64_t ignored;
} crn_moments;

crn_moments crn_moments_make(const crn_spans *spans);
void crn_moments_free(crn_moments *moments);

#endif
