/* SPDX-License-Identifier: MIT
 *
 * iterations.h - how long each iteration of a block took, as points to be drawn; and the spans
 * that a choice among them leaves.
 */
#ifndef CRN_SPANS_ITERATIONS_H
#define CRN_SPANS_ITERATIONS_H

#include "spans/span_figures.h"

/* A span, or several that are drawn at one place: then it is the longest of them. */
typedef struct crn_iteration_point {
    int64_t iteration; /* its number; or, where spans have none, which of the block's it is */
    uint64_t duration; /* ns */
    uint32_t span, count;
} crn_iteration_point;

typedef struct crn_iterations {
    bool numbered; /* spans have iteration numbers; those without are left out */
    uint32_t span_count;
    uint32_t count;
    crn_iteration_point *points; /* by span, rising */
} crn_iterations;

/* Of the ended spans of the block. More than `most` are drawn on a grid of about so many places,
 * with a logarithmic scale of durations. `kept` is by span; NULL is all. */
crn_iterations crn_iterations_make(const crn_spans *spans, uint32_t block, const uint8_t *kept,
                                   uint32_t most);
void crn_iterations_free(crn_iterations *iterations);

/* The block whose iterations are most worth to be seen: of those with several numbered spans that
 * which took most time, else of all with several; the root's if there is none. */
uint32_t crn_iterations_block(const crn_spans *spans);

/* Spans of a block, by number and by duration; both ends belong to it. */
typedef struct crn_iteration_choice {
    uint32_t block;
    int64_t first, last;
    uint64_t shortest, longest; /* ns */
} crn_iteration_choice;

/* By span: whether it is chosen, or below one that is, wherever that ran. To be freed with
 * crn_free. */
uint8_t *crn_iterations_choose(const crn_spans *spans, const crn_iteration_choice *choice);

/* A trace of the spans that are kept, and of what is known of them. `origins`, by span, is its
 * number in the whole trace: to be freed with crn_free. Names are the whole trace's, which must
 * outlive it. */
crn_trace *crn_trace_keep(const crn_trace *trace, const uint8_t *kept, uint32_t **origins);

#endif
