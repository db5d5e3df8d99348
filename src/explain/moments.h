/* SPDX-License-Identifier: MIT
 *
 * moments.h - the event graph behind the critical path: each lane's moments (a span begins, ends,
 * hands work off, or has waited), and the links between lanes.
 */
#ifndef CRN_EXPLAIN_MOMENTS_H
#define CRN_EXPLAIN_MOMENTS_H

#include "explain/critical.h"

typedef enum crn_moment_kind {
    CRN_MOMENT_BEGIN,
    CRN_MOMENT_END,
    CRN_MOMENT_HANDOFF, /* the span hands off work */
    CRN_MOMENT_ARRIVAL  /* work that the span waits for has ended */
} crn_moment_kind;

/* Moments of a lane are consecutive and sorted by time. Between two moments the lane only works, or
 * only waits. */
typedef struct crn_moment {
    uint64_t time;
    uint32_t span; /* innermost open span from `time` on; CRN_SPAN_NONE: no open span */
    uint8_t kind;  /* crn_moment_kind */
    bool first;    /* first of its lane */
    bool waits;    /* idle until the lane's next moment: the lane or its span waits */
} crn_moment;

/* A dependency: `to` cannot come before `from`, which is on another lane. */
typedef struct crn_link_to {
    uint32_t from, to; /* moments */
    crn_path_via via;
} crn_link_to;

typedef struct crn_moments {
    uint32_t count;
    crn_moment *moments; /* grouped by lane */
    uint32_t link_count;
    crn_link_to *links; /* sorted by `to` */
    uint32_t *first;    /* by moment: its first link; one entry more than moments */
    uint32_t *ends;     /* by span: the moment of its end */
    uint64_t ignored;   /* number of edges and hand-offs that lead back in time */
} crn_moments;

crn_moments crn_moments_make(const crn_spans *spans);
void crn_moments_free(crn_moments *moments);

#endif
