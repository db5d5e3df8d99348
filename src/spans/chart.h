/* SPDX-License-Identifier: MIT
 *
 * chart.h - spans as a timeline: bars in the rows of each lane, reduced to the pixels of a screen.
 *
 * A span is in the row below its parent's, or in the next row that is free when it begins, so bars
 * of a row do not overlap. Neighbouring spans narrower than a pixel share one bar, which has their
 * number, their total time and the block with most of it.
 *
 * Memory: one byte a span besides the trace. Drawing reads the spans of the shown lanes; it skips
 * stretches of 1,024 spans outside of the window.
 */
#ifndef CRN_SPANS_CHART_H
#define CRN_SPANS_CHART_H

#include "spans/trace.h"

/* Deeper spans share the last row, where bars may overlap. */
enum { CRN_CHART_ROWS = 64 };

typedef struct crn_chart {
    const crn_trace *trace; /* not owned */
    uint32_t *first;        /* by lane: its first span; one entry more than lanes */
    uint8_t *rows;          /* by span */
    uint8_t *row_counts;    /* by lane */
    uint64_t *stretches;    /* two words for each stretch of 1,024 spans: first start, last end */
} crn_chart;

/* Makes the chart of a trace, which must outlive it. Never NULL. */
crn_chart *crn_chart_make(const crn_trace *trace);
void crn_chart_free(crn_chart *chart);

typedef struct crn_chart_window {
    uint64_t from, to; /* the window in ns; to > from */
    uint32_t pixels;   /* width of the drawing; 0 counts as 1 */
    uint32_t first_lane, lane_count;
    const uint8_t *kept; /* by span: 1 to draw it; NULL: draw all */
    uint32_t most_arrows;
} crn_chart_window;

typedef struct crn_chart_bar {
    uint64_t start, end;
    uint64_t busy;  /* ns, sum over the bar's spans */
    uint32_t span;  /* the longest span of the bar */
    uint32_t block; /* block of the span; of merged spans the one that has more than half of `busy`,
                       if one has */
    uint32_t lane, row, count;
} crn_chart_bar;

/* An arrow from span `from` at time `left` to span `to` at time `arrives` (ns). */
typedef struct crn_chart_arrow {
    uint32_t from, to; /* spans */
    uint64_t left, arrives;
    crn_arrow_kind kind;
} crn_chart_arrow;

typedef struct crn_chart_drawing {
    uint32_t bar_count, arrow_count;
    crn_chart_bar *bars;
    crn_chart_arrow *arrows;
    uint32_t arrows_left_out;
} crn_chart_drawing;

/* Numbers of the spans in a window and of their relations, drawn or not. */
typedef struct crn_chart_counts {
    uint64_t spans;
    uint64_t handoffs;       /* handed-off spans that begin in the window */
    uint64_t waits, follows; /* of spans in the window */
} crn_chart_counts;

/* Counts over all lanes; ignores the window's lanes and pixels. */
crn_chart_counts crn_chart_count(const crn_chart *chart, const crn_chart_window *window);

crn_chart_drawing crn_chart_draw(const crn_chart *chart, const crn_chart_window *window);
void crn_chart_drawing_free(crn_chart_drawing *look);

#endif
