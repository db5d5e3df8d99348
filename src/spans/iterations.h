/* SPDX-License-Identifier: MIT
 *
 * iterations.h - a block's spans as points of a plot, duration over iteration number; and a trace
 * of the spans that a user chose in the plot.
 */
#ifndef CRN_SPANS_ITERATIONS_H
#define CRN_SPANS_ITERATIONS_H

#include "spans/span_figures.h"

/* A span, or all spans in one cell of the plot, shown as the longest of them. */
typedef struct crn_iteration_point {
    int64_t iteration; /* the span's iteration number; its index among the block's spans if none of
                          them has a number */
    uint64_t duration; /* ns */
    uint32_t span, count;
} crn_iteration_point;

typedef struct crn_iterations {
    bool numbered; /* some spans have iteration numbers; those without are left out */
    uint32_t span_count;
    uint32_t count;
    crn_iteration_point *points; /* by span, ascending */
} crn_iterations;

/* Makes the points of the block's ended spans. More than `most` spans are reduced to the longest in
 * each cell of a grid of about `most` cells, with a logarithmic scale of durations. `kept` is by
 * span; NULL: all. */
crn_iterations crn_iterations_make(const crn_spans *spans, uint32_t block, const uint8_t *kept,
                                   uint32_t most);
void crn_iterations_free(crn_iterations *iterations);

/* Returns the block to show first: the one with most total time among blocks with three or more
 * numbered spans; else with three or more spans; else of all. */
uint32_t crn_iterations_block(const crn_spans *spans);

/* The block's spans within a range of iteration numbers and of durations, both inclusive. */
typedef struct crn_iteration_choice {
    uint32_t block;
    int64_t first, last;
    uint64_t shortest, longest; /* ns */
} crn_iteration_choice;

/* Returns, by span, 1 for each chosen span and each of its descendants on any lane. Free it with
 * crn_free. */
uint8_t *crn_iterations_choose(const crn_spans *spans, const crn_iteration_choice *choice);

/* Makes a trace of the kept spans with their attributes and edges. `*origins` is, by span, its
 * number in `trace`; free it with crn_free. `trace` owns the strings and must outlive the new one.
 */
crn_trace *crn_trace_keep(const crn_trace *trace, const uint8_t *kept, uint32_t **origins);

#endif
