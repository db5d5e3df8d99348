/* SPDX-License-Identifier: MIT
 *
 * span_figures.h - what single executions tell: how long each block's took, which were the slowest,
 * and what time nobody accounts for.
 *
 * A span is accounted for while at least one of its children runs, on whatever lane: its
 * *covered* time is the union of its children, clipped to itself. What is left is its own
 * (*self*) time; where everything should be in some child, it is *missing*.
 *
 * Linear in the number of spans, but for sorting; nothing recurses. Besides the trace 10 bytes
 * a span are kept, and 4 more while they are made.
 */
#ifndef CRN_SPANS_SPAN_FIGURES_H
#define CRN_SPANS_SPAN_FIGURES_H

#include "spans/trace.h"

enum { CRN_CHILDREN_MANY = 255, CRN_CHILDREN_GROUP = 16 };
#define CRN_COVERED_LONG ((uint32_t)0x80000000u)

typedef struct crn_spans {
    const crn_trace *trace; /* not owned */
    uint32_t block_count;   /* spans of other blocks count as the root's, block 0 */
    uint32_t *children;     /* spans, by parent, and of one by their start */
    /* Where a span's begin: 10 bits each, where a number would be 32. */
    uint8_t *child_counts; /* by span; CRN_CHILDREN_MANY where they are as many or more */
    uint32_t *group_first; /* by CRN_CHILDREN_GROUP spans: where their children begin */
    struct crn_children_many {
        uint32_t span, count;
    } * many; /* by span */
    uint32_t many_count;
    uint32_t *covered;      /* by span, ns; from CRN_COVERED_LONG on which of these: */
    uint64_t *covered_long; /* those that are longer */
    const uint8_t *chosen;  /* by span, which the figures below are of; NULL: all; not owned.
                               Children count for what they cover, chosen or not */
} crn_spans;

static inline bool crn_span_is_chosen(const crn_spans *spans, uint32_t span)
{
    return !spans->chosen || spans->chosen[span];
}

/* How many children a span has; `children`, which may be NULL, is led to them. */
uint32_t crn_span_children(const crn_spans *spans, uint32_t span, const uint32_t **children);

/* Never NULL. */
crn_spans *crn_spans_make(const crn_trace *trace, uint32_t block_count);
void crn_spans_free(crn_spans *spans);

uint32_t crn_span_block(const crn_spans *spans, uint32_t span);
/* In ns; of one that has not ended up to the last moment that the capture knows of. */
static inline uint64_t crn_span_duration(const crn_spans *spans, uint32_t span)
{
    const crn_span *its = &spans->trace->spans[span];
    return its->end - its->start;
}
uint64_t crn_span_self(const crn_spans *spans, uint32_t span);

/* ---- by block ---------------------------------------------------------------------- */

enum { CRN_SPAN_BINS = 16 };

/* Times in ns. Spans that have not ended count in `count`, `total` and `self` only. */
typedef struct crn_span_row {
    uint32_t block;
    uint32_t count, open;
    uint64_t total, self;
    uint64_t min, median, p99, max; /* nearest rank; 0 where none has ended */
    uint32_t bins[CRN_SPAN_BINS];   /* how many took between edges[i] and edges[i + 1] */
    uint64_t cpu, cpu_wall; /* processor time, of those for which it is known; their total */
    double weight;          /* for how many all of them stand */
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
    crn_span_row *rows;                /* the largest first; blocks without spans have none */
    uint64_t self;                     /* sum of all rows' */
    uint64_t edges[CRN_SPAN_BINS + 1]; /* one scale for all rows, each edge the same multiple
                                          of the one before; a bin has its lower edge */
} crn_span_table;

/* `kept`: by block, which to show; NULL is all. To be freed with crn_span_table_free. */
crn_span_table crn_span_table_make(const crn_spans *spans, const uint8_t *kept, crn_span_sort sort);
/* The same table in another order; likewise. */
crn_span_table crn_span_table_sorted(const crn_span_table *table, crn_span_sort sort);
void crn_span_table_free(crn_span_table *table);

/* ---- the longest ------------------------------------------------------------------- */

/* A span, or a gap in one. */
typedef struct crn_span_part {
    uint64_t length, start; /* ns */
    uint32_t span;
    uint32_t before, after; /* of a gap: the child that ended last before it, and the one that
                               begins after it; CRN_SPAN_NONE at the span's own ends */
} crn_span_part;

typedef struct crn_span_parts {
    uint32_t count;
    crn_span_part *parts; /* the longest first; of equal ones that of the first span */
} crn_span_parts;

/* The `most` slowest spans of the blocks in `kept` (NULL: of all). */
crn_span_parts crn_spans_slowest(const crn_spans *spans, const uint8_t *kept, uint32_t most);
void crn_span_parts_free(crn_span_parts *parts);

/* ---- missing time ------------------------------------------------------------------ */

typedef struct crn_missing_row {
    uint32_t block, count;
    uint64_t total, missing; /* ns */
} crn_missing_row;

typedef struct crn_missing {
    uint32_t count;
    crn_missing_row *rows; /* the most missing first */
    uint64_t total, missing;
    uint64_t gap_count;  /* all of them */
    crn_span_parts gaps; /* the largest */
} crn_missing;

/* Of the spans of the blocks in `kept`, or for NULL of all without a parent, unless some are
 * chosen; with the `most` largest gaps. */
crn_missing crn_missing_make(const crn_spans *spans, const uint8_t *kept, uint32_t most);
void crn_missing_free(crn_missing *missing);

/* `missing` of `total`, between 0 and 1. */
double crn_missing_share(uint64_t missing, uint64_t total);

#endif
