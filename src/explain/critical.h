/* SPDX-License-Identifier: MIT
 *
 * critical.h - what has to be quicker for the end to come earlier: the critical path through the
 * spans, and how much longer each could take without moving the end (its slack).
 * docs/EXPLAIN.md defines both; the method is that of Kelley and Walker (1959), the path found
 * backwards from the end as for recorded programs by Yang and Miller (1988).
 *
 * Linear in the number of spans, but for sorting; nothing recurses.
 */
#ifndef CRN_EXPLAIN_CRITICAL_H
#define CRN_EXPLAIN_CRITICAL_H

#include "spans/spans.h"

/* How the path comes to a step, from the one before. */
typedef enum crn_path_via {
    CRN_VIA_BEGIN,   /* it is the first */
    CRN_VIA_LANE,    /* its lane went on: a call, a return, the next job */
    CRN_VIA_HANDOFF, /* it was asked for there */
    CRN_VIA_WAIT,    /* it waited for the end of that */
    CRN_VIA_FOLLOWS, /* it goes on where that ended */
    CRN_VIA_KINDS
} crn_path_via;

typedef struct crn_path_step {
    uint64_t start, end; /* ns */
    uint32_t span;       /* whose own time it is; CRN_SPAN_NONE: none that is recorded ran */
    crn_path_via via;
} crn_path_step;

typedef struct crn_critical_row {
    uint32_t block, count; /* spans */
    uint32_t on_path;      /* of them, those that have time on the path */
    uint64_t time, self;   /* ns: on the path; of all its spans */
    uint64_t slack; /* the least of its spans'; CRN_SLACK_ANY: the end does not depend on it */
} crn_critical_row;

#define CRN_SLACK_ANY ((uint64_t)UINT64_MAX)

typedef struct crn_critical {
    uint64_t start, end; /* of what was asked for; the steps are between them without a hole */
    uint64_t idle;       /* of that, time in which nothing that is recorded ran on the path */
    uint32_t step_count;
    crn_path_step *steps; /* from the start to the end */
    uint32_t row_count;
    crn_critical_row *rows; /* the most on the path first; blocks that have spans */
    uint64_t *slack;        /* by span, ns: wherever in its own time it takes so much longer, the
                               end stays; CRN_SLACK_ANY: the end does not depend on it */
    uint64_t ignored;       /* edges that cannot be: they lead back in time */
} crn_critical;

/* To the end of `span`, since it began, or for CRN_SPAN_NONE of the whole recording. Never NULL. */
crn_critical *crn_critical_make(const crn_spans *spans, uint32_t span);
void crn_critical_free(crn_critical *critical);

#endif
