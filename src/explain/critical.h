/* SPDX-License-Identifier: MIT
 *
 * critical.h - the critical path through the spans, and the slack of each: how much longer it
 * could take without delaying the end. docs/EXPLAIN.md defines both. The method is CPM (Kelley and
 * Walker 1959); the path is found backwards from the end, as for recorded programs by Yang and
 * Miller (1988).
 *
 * Time is linear in the number of spans, except for sorting. Nothing recurses.
 */
#ifndef CRN_EXPLAIN_CRITICAL_H
#define CRN_EXPLAIN_CRITICAL_H

#include "spans/spans.h"

/* How the path enters a step. */
typedef enum crn_path_via {
    CRN_VIA_BEGIN,   /* first step */
    CRN_VIA_LANE,    /* along the lane: a call, a return, the next job */
    CRN_VIA_HANDOFF, /* the previous step handed off the work */
    CRN_VIA_WAIT,    /* it waited for the end of the previous step's span */
    CRN_VIA_FOLLOWS, /* it continues the previous step's work */
    CRN_VIA_KINDS
} crn_path_via;

typedef struct crn_path_step {
    uint64_t start, end; /* ns */
    uint32_t span;       /* span whose self time this is; CRN_SPAN_NONE: no recorded span ran */
    crn_path_via via;
} crn_path_step;

typedef struct crn_critical_row {
    uint32_t block, count; /* count: spans of the block */
    uint32_t on_path;      /* number of these with time on the path */
    uint64_t time, self;   /* ns: time on the path; self time of all its spans */
    uint64_t slack; /* minimum over its spans; CRN_SLACK_ANY: the end does not depend on them */
} crn_critical_row;

#define CRN_SLACK_ANY ((uint64_t)UINT64_MAX)

typedef struct crn_critical {
    uint64_t start, end; /* the analysed interval; the steps cover it without gaps */
    uint64_t idle;       /* ns of the path in which no recorded span ran */
    uint32_t step_count;
    crn_path_step *steps; /* from start to end */
    uint32_t row_count;
    crn_critical_row *rows; /* most time on the path first; only blocks that have spans */
    uint64_t *slack;        /* by span, ns by which its self time can grow without delaying the
                               end; CRN_SLACK_ANY: the end does not depend on it */
    uint64_t ignored;       /* edges that lead back in time and were ignored */
} crn_critical;

/* Computes the critical path to the end of `span` from its begin; CRN_SPAN_NONE: of the whole
 * recording. Never NULL. */
crn_critical *crn_critical_make(const crn_spans *spans, uint32_t span);
void crn_critical_free(crn_critical *critical);

#endif
