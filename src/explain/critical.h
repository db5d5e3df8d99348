/* SPDX-License-Identifier: MIT
 *
 * critical.h - the critical path through the spans, and each span's slack: how much longer it could
 * take without delaying the end. docs/EXPLAIN.md defines both. The method is CPM (Kelley and Walker
 * 1959). The search for the path goes back from the end, as in Yang and Miller (1988).
 *
 * Time is linear in the number of spans, except for sorting. Nothing recurses.
 */
#ifndef CRN_EXPLAIN_CRITICAL_H
#define CRN_EXPLAIN_CRITICAL_H

#include "spans/spans.h"

/* The link by which the path enters a step. */
typedef enum crn_path_via {
    CRN_VIA_BEGIN,   /* first step */
    CRN_VIA_LANE,    /* along the lane: a call, a return, the next job */
    CRN_VIA_HANDOFF, /* the previous step handed off the work */
    CRN_VIA_WAIT,    /* the step waited for the end of the previous step's span */
    CRN_VIA_FOLLOWS, /* the step continues the previous step's work */
    CRN_VIA_KINDS
} crn_path_via;

typedef struct crn_path_step {
    uint64_t start, end; /* ns */
    uint32_t span;       /* the span whose self time it is; CRN_SPAN_NONE: no recorded span ran */
    crn_path_via via;
} crn_path_step;

typedef struct crn_critical_row {
    uint32_t block, count; /* count: spans of the block */
    uint32_t on_path;      /* number of its spans with time on the path */
    uint64_t time, self;   /* ns on the path; ns of self time of all its spans */
    uint64_t slack;        /* ns, minimum over its spans; CRN_SLACK_ANY: the end depends on none */
} crn_critical_row;

#define CRN_SLACK_ANY ((uint64_t)UINT64_MAX)

typedef struct crn_critical {
    uint64_t start, end; /* the analysed interval; the steps cover it without gaps */
    uint64_t idle;       /* ns of the path in which no recorded span ran */
    uint32_t step_count;
    crn_path_step *steps; /* from start to end */
    uint32_t row_count;
    crn_critical_row *rows; /* most time on the path first; only blocks that have spans */
    uint64_t *slack;        /* by span, ns by which its self time can grow without delaying the end;
                               CRN_SLACK_ANY: the end does not depend on the span */
    uint64_t ignored;       /* number of edges back in time and of moments in cycles: all ignored */
} crn_critical;

/* Computes the critical path of `span`, from its begin to its end; CRN_SPAN_NONE: of the whole
 * recording. Never NULL. */
crn_critical *crn_critical_make(const crn_spans *spans, uint32_t span);
void crn_critical_free(crn_critical *critical);

#endif
