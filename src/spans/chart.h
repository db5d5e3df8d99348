/* SPDX-License-Identifier: MIT
 *
 * chart.h - spans as they are drawn: bars on lanes, no more than a screen has room for.
 *
 * A lane has *rows*: a span lies below its parent, and below whatever else still runs when it
 * begins, so no two bars of a row overlap. What is narrower than a pixel becomes one bar with its
 * neighbours, which says how many there are, how long they ran and of which block most of that
 * is.
 *
 * Besides the trace a byte a span is kept. A look reads all spans of the lanes that it shows but
 * those of stretches that lie beside it.
 */
#ifndef CRN_SPANS_CHART_H
#define CRN_SPANS_CHART_H

#include "spans/trace.h"

/* What is nested deeper shares the last row, where bars may overlap. */
enum { CRN_CHART_ROWS = 64 };

typedef struct crn_chart {
    const crn_trace *trace; /* not owned */
    uint32_t *first;        /* by lane, and one more: its spans */
    uint8_t *rows;          /* by span */
    uint8_t *row_counts;    /* by lane */
    uint64_t *stretches;    /* by stretch of spans: the first start, and the last end */
} crn_chart;

/* Never NULL. */
crn_chart *crn_chart_make(const crn_trace *trace);
void crn_chart_free(crn_chart *chart);

typedef struct crn_chart_window {
    uint64_t from, to; /* ns, to > from */
    uint32_t pixels;   /* that it is drawn on; 0 is 1 */
    uint32_t first_lane, lane_count;
    const uint8_t *kept; /* by span; NULL is all */
    uint32_t most_arrows;
} crn_chart_window;

typedef struct crn_chart_bar {
    uint64_t start, end;
    uint64_t busy;  /* of them all */
    uint32_t span;  /* the one, or the longest */
    uint32_t block; /* as in the trace; of several that with most of the time, or nearly so */
    uint32_t lane, row, count;
} crn_chart_bar;

/* From a moment of one span to a moment of another. */
typedef struct crn_chart_arrow {
    uint32_t from, to; /* spans */
    uint64_t left, arrives;
    crn_arrow_kind kind;
} crn_chart_arrow;

typedef struct crn_chart_look {
    uint32_t bar_count, arrow_count;
    crn_chart_bar *bars;
    crn_chart_arrow *arrows;
    uint32_t arrows_left_out;
} crn_chart_look;

crn_chart_look crn_chart_look_at(const crn_chart *chart, const crn_chart_window *window);
void crn_chart_look_free(crn_chart_look *look);

#endif
