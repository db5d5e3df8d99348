/* SPDX-License-Identifier: MIT
 *
 * span_figures.h - figures of spans: durations by block, the slowest spans, and missing time.
 *
 * The *covered* time of a span is the union of the intervals of its children, on any lane, and of
 * all spans that run inside it on its own lane, clipped to the span. The rest is its *self* time,
 * so no moment of a lane is self time of two spans. Self time of a span whose children should
 * account for all of its time (a root span, a frame) is called *missing*.
 *
 * All functions take time linear in the number of spans, except for sorting, and none recurses.
 * Memory: 10 bytes a span besides the trace, and 4 more during construction.
 */
#ifndef CRN_SPANS_SPAN_FIGURES_H
#define CRN_SPANS_SPAN_FIGURES_H

#include "spans/span_cover.h"
#include "spans/trace.h"

enum { CRN_CHILDREN_MANY = 255, CRN_CHILDREN_GROUP = 16 };
#define CRN_COVERED_LONG ((uint32_t)0x80000000u)

typedef struct crn_spans {
    const crn_trace *trace; /* not owned */
    uint32_t block_count;   /* spans of blocks >= block_count count for block 0, the root */
    uint32_t *children;     /* all children, sorted by parent, then start */
    /* A span's first child has the index group_first of the span's group plus the child counts of
     * the earlier spans in the group. This takes 10 bits a span in place of 32. */
    uint8_t *child_counts; /* by span; CRN_CHILDREN_MANY: the count is in `many` */
    uint32_t *group_first; /* by group of CRN_CHILDREN_GROUP spans: index in `children` of the first
                              child of any */
    struct crn_children_many {
        uint32_t span, count;
    } * many; /* sorted by span */
    uint32_t many_count;
    crn_coverings inner; /* spans inside another span of their lane that are not its children */
    uint32_t *covered;   /* by span, ns; values >= CRN_COVERED_LONG are CRN_COVERED_LONG + index of
                            covered_long */
    uint64_t *covered_long; /* ns, covered times that do not fit into 31 bits */
    const uint8_t *chosen;  /* by span: 1 if it counts in the figures; NULL: all count; not owned.
                               Spans that do not count still cover their parents */
} crn_spans;

static inline bool crn_span_is_chosen(const crn_spans *spans, uint32_t span)
{
    return !spans->chosen || spans->chosen[span];
}

/* Returns a span's number of children. Unless `children` is NULL, sets `*children` to the array of
 * their indices, in the order of their starts. */
uint32_t crn_span_children(const crn_spans *spans, uint32_t span, const uint32_t **children);

/* Iterates by start over the spans that cover a span's time: its children, and those that run
 * inside it on its lane. */
typedef struct crn_cover_walk {
    const crn_spans *spans;
    const uint32_t *children;
    const crn_covering *inner;
    uint32_t child_count, inner_count; /* still to come */
} crn_cover_walk;

crn_cover_walk crn_span_covering(const crn_spans *spans, uint32_t span);
/* Returns the next span, CRN_SPAN_NONE at the end. */
uint32_t crn_cover_walk_next(crn_cover_walk *walk);

/* Computes children and covered times. `trace` must outlive the result. Never NULL. */
crn_spans *crn_spans_make(const crn_trace *trace, uint32_t block_count);
void crn_spans_free(crn_spans *spans);

uint32_t crn_span_block(const crn_spans *spans, uint32_t span);
/* Returns ns. An open span lasts until the last moment in the capture. */
static inline uint64_t crn_span_duration(const crn_spans *spans, uint32_t span)
{
    const crn_span *its = &spans->trace->spans[span];
    return its->end - its->start;
}
uint64_t crn_span_self(const crn_spans *spans, uint32_t span);

/* ---- by block ---------------------------------------------------------------------- */

enum { CRN_SPAN_BINS = 16 };

/* Figures of a block's spans, in ns. Open spans count in `count`, `total` and `self` only. */
typedef struct crn_span_row {
    uint32_t block;
    uint32_t count, open;
    uint64_t total, self;
    uint64_t min, median, p99, max; /* nearest rank; 0 if no span has ended */
    uint32_t bins[CRN_SPAN_BINS]; /* bin i: ended spans with edges[i] <= duration < edges[i + 1] */
    uint64_t cpu, cpu_wall; /* processor time of the spans for which it is known, and the sum of
                               their durations */
    double weight;          /* sum of the spans' weights (--span-rate) */
} crn_span_row;

typedef enum crn_span_sort {
    CRN_SPANS_BY_TOTAL,
    CRN_SPANS_BY_SELF,
    CRN_SPANS_BY_COUNT,
    CRN_SPANS_BY_MEDIAN,
    CRN_SPANS_BY_P99,
    CRN_SPANS_BY_MAX,
    CRN_SPAN_SORTS
} crn_span_sort;

typedef struct crn_span_table {
    uint32_t count;
    crn_span_row *rows;                /* largest first; blocks without spans have no row */
    uint64_t self;                     /* sum over all rows */
    uint64_t edges[CRN_SPAN_BINS + 1]; /* of the bins of all rows: a geometric series */
} crn_span_table;

/* Makes a table of the blocks whose `kept` is not 0 (NULL: of all blocks). Free it with
 * crn_span_table_free. */
crn_span_table crn_span_table_make(const crn_spans *spans, const uint8_t *kept, crn_span_sort sort);
/* Returns a sorted copy. Free it with crn_span_table_free. */
crn_span_table crn_span_table_sorted(const crn_span_table *table, crn_span_sort sort);
void crn_span_table_free(crn_span_table *table);

/* ---- slowest spans ----------------------------------------------------------------- */

/* A span, or a gap between its covering spans. */
typedef struct crn_span_part {
    uint64_t length, start; /* ns */
    uint32_t span;
    uint32_t before, after; /* of a gap: the covering span that ended last before it, and the one
                               that begins after it; CRN_SPAN_NONE at the span's begin and end */
} crn_span_part;

typedef struct crn_span_parts {
    uint32_t count;
    crn_span_part *parts; /* longest first, equally long ones by span */
} crn_span_parts;

/* Returns the `most` slowest spans of the blocks in `kept` (by block; NULL: of all). */
crn_span_parts crn_spans_slowest(const crn_spans *spans, const uint8_t *kept, uint32_t most);
void crn_span_parts_free(crn_span_parts *parts);

/* ---- missing time ------------------------------------------------------------------ */

typedef struct crn_missing_row {
    uint32_t block, count;
    uint64_t total, missing; /* ns */
} crn_missing_row;

typedef struct crn_missing {
    uint32_t count;
    crn_missing_row *rows; /* sorted by missing time, largest first */
    uint64_t total, missing;
    uint64_t gap_count;  /* of all gaps */
    crn_span_parts gaps; /* the longest gaps */
} crn_missing;

/* Computes the missing time of the spans of the blocks in `kept`; if `kept` is NULL, of the chosen
 * spans, or without a choice of all root spans. `gaps` has the `most` longest gaps. */
crn_missing crn_missing_make(const crn_spans *spans, const uint8_t *kept, uint32_t most);
void crn_missing_free(crn_missing *missing);

/* Returns missing / total; 0 if `total` is 0. */
double crn_missing_share(uint64_t missing, uint64_t total);

/* ---- span_ranks.c: exact ranks without a copy of all durations ---- */

/* Sets `median` and `p99` of `rows`, which are by block and have `count`, `open` and `min` already.
 * Rows without ended spans stay as they are. `kept` is by block; NULL: all. Memory: one byte a
 * span, and 8 for each value within 1/64 of a rank. */
void crn_span_ranks(const crn_spans *spans, const uint8_t *kept, crn_span_row *rows,
                    uint32_t blocks);

/* ---- as a profile ---- */

/* Makes a profile of the spans, with a context for each path of blocks from a root span; recursion
 * folds as in any profile. A context's calls are its number of spans, and its wall time is the
 * spans' self time. If children ran in parallel, a context's inclusive time exceeds the duration of
 * its spans. `profile` has the blocks. The metrics keep their numbers (CRN_METRIC_WALL ...). */
crn_profile *crn_span_tree(const crn_spans *spans, const crn_profile *profile);

#endif
