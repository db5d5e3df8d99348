/* SPDX-License-Identifier: MIT
 *
 * latency.h - end-to-end latency: from the begin of an input (a span such as "camera") to the end
 * of a result that was made from it ("display"), along parents, hand-offs and follows edges.
 *
 * The search goes back from the result: from a span to its parent, by nesting or by hand-off, and
 * to the spans that it follows. Of all inputs found, the one that began last counts: it is the
 * newest that the result can show. The search ignores waits: a waiting span has handed off the
 * work.
 */
#ifndef CRN_SPANS_LATENCY_H
#define CRN_SPANS_LATENCY_H

#include "spans/trace.h"

typedef struct crn_latency_row {
    uint32_t from, to; /* spans */
    uint64_t length;   /* ns, from the begin of the input to the end of the result */
    uint64_t age;      /* ns, from the begin of the input to the begin of the result */
} crn_latency_row;

typedef struct crn_latencies {
    crn_latency_row *rows; /* in the order in which the results ended */
    uint32_t count;
    uint32_t unlinked; /* ended results without an input */
    uint32_t open;     /* results that have not ended */
    uint32_t *before;  /* by span: the span before it on the way from its newest input;
                          CRN_SPAN_NONE: no input */
} crn_latencies;

/* Finds the newest input of each result. By span, `from` is 1 for inputs and `to` for results. */
crn_latencies crn_latencies_make(const crn_trace *trace, const uint8_t *from, const uint8_t *to);
void crn_latencies_free(crn_latencies *latencies);

/* A span on the way from input to result, and the time until the next one began, or the result
 * ended. The lengths of all stages add up to the latency. */
typedef struct crn_latency_stage {
    uint32_t span;
    uint64_t length; /* ns */
} crn_latency_stage;

/* Returns the stages of a row, the input first, and sets `*count`; free it with crn_free. */
crn_latency_stage *crn_latency_stages(const crn_trace *trace, const crn_latencies *latencies,
                                      const crn_latency_row *row, uint32_t *count);

/* Returns the mean difference between the latencies of successive results in ns; 0 for fewer than 2
 * results. */
double crn_latency_jitter(const crn_latencies *latencies);

#endif
