/* SPDX-License-Identifier: MIT
 *
 * variance.h - explains why the durations of a block's spans vary: by self time, by the number of
 * children, or by how long the children take. docs/EXPLAIN.md derives the formulas.
 *
 * A span's duration is its self time plus the time of its children; of k children that run at the
 * same moment, each gets 1/k of it. The time of a block's children is the product of their
 * *number*, their mean *duration* within the span and their *overlap* (the share of their duration
 * that counts; 1 if none overlap).
 *
 * The variance of the duration is the sum of its covariances with these parts (Shorrocks 1982).
 * Shapley values divide a change of a product among its factors; for two factors they are
 * Kitagawa's components (1955). So the parts add up to the variance. If calls are independent of
 * their number, the parts are the known terms of the variance of a random sum.
 *
 * Time: n log n in the number of spans and attributes. Nothing recurses. Memory besides crn_spans:
 * half a byte for each span; 4 bytes for each explained span, 8 if it has an attribute.
 */
#ifndef CRN_EXPLAIN_VARIANCE_H
#define CRN_EXPLAIN_VARIANCE_H

#include "explain/bits.h"
#include "explain/sampled_functions.h"
#include "spans/spans.h"

typedef enum crn_explain_kind {
    CRN_EXPLAIN_SELF,
    CRN_EXPLAIN_NUMBER,
    CRN_EXPLAIN_DURATION,
    CRN_EXPLAIN_OVERLAP,
    CRN_EXPLAIN_WAITING, /* self time off the processor, if known; then not in SELF */
    CRN_EXPLAIN_READY,   /* self time ready without a core, if known; then not in WAITING */
    /* Parts of an end-to-end latency, by block of the stage: latency_parts.h. */
    CRN_EXPLAIN_STAGE_QUEUE, /* from the hand-over to the stage's begin */
    CRN_EXPLAIN_STAGE_WORK,
    CRN_EXPLAIN_STAGE_WAIT, /* its lane waited */
    CRN_EXPLAIN_KINDS
} crn_explain_kind;

/* Returns true for parts of a span's self time. */
static inline bool crn_explain_is_own(crn_explain_kind kind)
{
    return kind == CRN_EXPLAIN_SELF || kind == CRN_EXPLAIN_WAITING || kind == CRN_EXPLAIN_READY;
}

/* A part of the duration. Figures are ns (self time, durations), calls a span (number) or a share
 * 0..1 (overlap); NaN if undefined, like the duration of children that never ran. */
typedef struct crn_explain_part {
    crn_explain_kind kind;
    uint32_t block;         /* of the children, or of the stage; 0 for self time */
    double share;           /* of the variance; negative if it evens out other parts */
    double mean, deviation; /* over spans; for durations, overlap: over spans with children */
    double slow, typical;   /* the mean in slow and in typical spans */
    double extra;           /* ns by which slow spans exceed typical ones in this part */
} crn_explain_part;

typedef enum crn_factor_kind {
    CRN_FACTOR_ATTRIBUTE,        /* an attribute of the span */
    CRN_FACTOR_PARENT_ATTRIBUTE, /* an attribute of the parent */
    CRN_FACTOR_ITERATION,
    CRN_FACTOR_PARENT_ITERATION,
    CRN_FACTOR_PARENT_BLOCK,
    CRN_FACTOR_LANE
} crn_factor_kind;

typedef enum crn_factor_verdict {
    CRN_VERDICT_EXPLAINS,
    CRN_VERDICT_CHANCE,   /* chance alone may explain as much */
    CRN_VERDICT_CONSTANT, /* the factor has only one value */
    CRN_VERDICT_FEW       /* too few spans for so many values */
} crn_factor_verdict;

/* A value or a range of values, and the spans that have it. */
typedef struct crn_factor_group {
    const char *text; /* NULL: a number or range from `low` to `high`; a lane or block `low` */
    double low, high;
    uint32_t count;
    double mean; /* ns */
} crn_factor_group;

/* A possible cause: an attribute, the iteration number, the parent's block, the lane. */
typedef struct crn_explain_factor {
    crn_factor_kind kind;
    const char *name; /* name of the attribute; "" for other kinds */
    bool number;      /* its values are numbers; false: texts, blocks or lanes */
    bool ranges;      /* a number whose ranges explain more than a line */
    uint32_t count;   /* number of spans with the factor */
    uint32_t values;  /* number of distinct values */
    crn_factor_verdict verdict;
    double explained; /* share of the variance, less the share expected by chance */
    double chance;    /* p value of the F-test; of a number twice that, as two models are tried */
    double slope;     /* of the line, ns for each unit of the number */
    crn_factor_group slowest, fastest; /* by mean duration; zero for a line */
    /* Comparison of slow and typical spans: the means of a number; otherwise the most common value
     * among slow spans, and its share among both. */
    const char *common; /* NULL: `common_number` */
    double common_number;
    double slow, typical;
} crn_explain_factor;

typedef struct crn_explain {
    uint32_t count;        /* explained spans */
    uint32_t open, nested; /* left out: open spans; spans inside another chosen span */
    uint32_t longer;       /* left out: longer than the limit */
    uint64_t outside; /* number of children that ended before their span began, or began after it
                         ended */
    double mean, variance, deviation;    /* ns, ns², ns; of the population, not estimates */
    double above_min;                    /* mean - min */
    uint64_t min, median, p95, p99, max; /* ns, nearest rank */
    uint32_t half; /* number of the spans farthest from the mean that make half of the variance */

    bool has_cpu;   /* processor time is known for all spans: SELF and WAITING are separate */
    bool has_ready; /* ready time is known, too: READY is separate */
    uint32_t part_count;
    crn_explain_part *parts; /* largest share first; without the overlap of children that never
                                overlap */
    uint32_t factor_count;
    crn_explain_factor *factors; /* best explanation first */

    /* Slow spans last at least as long as the 99th percentile or a chosen duration; typical ones
     * are between the quartiles and not slow. slow_count is 0 for too few or too similar spans. */
    uint32_t slow_count, typical_count;
    uint64_t slow_from, typical_from, typical_to; /* ns */
    double slow_mean, typical_mean;

    crn_sampled_functions functions; /* where slow spans spend more time; empty without samples */
} crn_explain;

/* Explains the durations of the spans in the bitmap `chosen`. Leaves out spans longer than `limit`
 * ns. Spans of at least `slow` ns are slow; 0: from the 99th percentile on. Never NULL. */
crn_explain *crn_explain_make(const crn_spans *spans, const uint64_t *chosen, uint64_t limit,
                              uint64_t slow);
void crn_explain_free(crn_explain *explain);

/* Internal: the explained spans. */
typedef struct crn_explained {
    const crn_spans *spans;
    uint32_t count;
    uint64_t *list, *slow, *typical; /* bitmaps by span */
    const uint64_t *lengths; /* by span, ns, explained in place of durations; NULL: durations */
} crn_explained;

/* Returns the explained length of a span in ns, by default its duration. */
static inline uint64_t crn_explained_length(const crn_explained *explained, uint32_t span)
{
    return explained->lengths ? explained->lengths[span]
                              : crn_span_duration(explained->spans, span);
}

/* Returns the first explained span >= from; the number of all spans after the last. */
static inline uint32_t crn_explained_next(const crn_explained *explained, uint32_t from)
{
    return crn_bits_next(explained->list, from, explained->spans->trace->span_count);
}

/* Returns the length minus the mean. Its rounding error grows with the differences of lengths, not
 * with the lengths: parts multiply it by whole lengths. */
static inline double crn_explain_deviation(const crn_explain *explain, uint64_t length)
{
    return (double)(length - explain->min) - explain->above_min;
}

/* Internal: runs the statement that follows for each explained span, in ascending order; declares
 * `span`, its number. */
#define CRN_EACH_EXPLAINED(span, explained)                                                        \
    for (uint32_t span = crn_explained_next(explained, 0);                                         \
         (span) < (explained)->spans->trace->span_count;                                           \
         (span) = crn_explained_next(explained, (span) + 1))

/* Internal: sets `factors`. */
void crn_explain_factors(crn_explain *explain, const crn_explained *explained);

/* Internal: sets the figures of the explained lengths, from mean to half, and those of slow and
 * typical spans, which it marks in the bitmaps. */
void crn_explain_lengths(crn_explain *explain, const crn_explained *explained, uint64_t slow);
/* Internal: sorts the parts, largest share first. */
void crn_explain_sort_parts(crn_explain *explain);

/* Internal: sets `ranks` to the nearest-rank quantiles `shares` (0..1) of the explained lengths, at
 * most 8 of them. Leaves `ranks` as it is if no span is explained. */
void crn_explain_ranks(const crn_explained *explained, const double *shares, uint64_t *ranks,
                       int rank_count);
/* Internal: returns how many of the spans farthest from the mean make half of `sum`, the sum of all
 * squared deviations. */
uint32_t crn_explain_half(const crn_explained *explained, double mean, double sum);

#endif
