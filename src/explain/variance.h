/* SPDX-License-Identifier: MIT
 *
 * variance.h - explains why the durations of a block's spans vary: the block itself, how often it
 * calls others, or how long those take. docs/EXPLAIN.md derives the formulas.
 *
 * A span's duration is its self time plus the time of its children; if k children run at the same
 * moment, each gets 1/k of it. By block, the children's time is the product of their *number*,
 * their mean *duration* within the span and their *overlap* (the share of their duration that
 * counts; 1 if none overlap).
 *
 * The variance of the duration is the sum of its covariances with these parts (Shorrocks 1982). A
 * change of a product is divided among its factors by Shapley values, which for two factors are
 * Kitagawa's components (1955). So the parts add up to the variance; if calls are independent of
 * their number they are the known terms of the variance of a random sum.
 *
 * Time: n log n in the number of spans and attributes. Nothing recurses. Memory besides crn_spans:
 * half a byte a span, and 4 bytes an explained span or 8 if it has an attribute.
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
    CRN_EXPLAIN_WAITING, /* self time off the processor; where known, SELF is the rest */
    CRN_EXPLAIN_READY,   /* self time ready to run without a core; where known, not in WAITING */
    /* Parts of an end-to-end latency, by block of the stage: latency_parts.h. */
    CRN_EXPLAIN_STAGE_QUEUE, /* the stage had been asked for and had not begun */
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
 * 0..1 (overlap). NaN: undefined, like the duration of children that never ran. */
typedef struct crn_explain_part {
    crn_explain_kind kind;
    uint32_t block;         /* of the children, or the stage; 0 (the root) for self time */
    double share;           /* of the variance; negative if it evens out other parts */
    double mean, deviation; /* over spans; for figures of children, over spans that have any */
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
    CRN_VERDICT_CONSTANT, /* there is only one value */
    CRN_VERDICT_FEW       /* too few spans for that many values */
} crn_factor_verdict;

/* A value or a range of values, and the spans that have it. */
typedef struct crn_factor_group {
    const char *text; /* NULL: a number, range `low` to `high`, lane, or parent's block `low` */
    double low, high;
    uint32_t count;
    double mean; /* ns */
} crn_factor_group;

/* A possible explanation: an attribute, the iteration number, the parent's block, the lane. */
typedef struct crn_explain_factor {
    crn_factor_kind kind;
    const char *name; /* of the attribute; "" for others */
    bool number;
    bool ranges;     /* a number whose ranges explain more than a line does */
    uint32_t count;  /* spans that have it */
    uint32_t values; /* distinct values */
    crn_factor_verdict verdict;
    double explained; /* share of the variance, minus what chance is expected to explain */
    double chance;    /* p value of the F-test */
    double slope;     /* of the line, ns for each 1 more */
    crn_factor_group slowest, fastest; /* by mean duration; not set for a line */
    /* Comparison of slow and typical spans: the mean of a number; otherwise the most common value
     * among slow spans, and its share in both groups. */
    const char *common; /* NULL: `common_number` */
    double common_number;
    double slow, typical;
} crn_explain_factor;

typedef struct crn_explain {
    uint32_t count;                      /* explained spans */
    uint32_t open, nested;               /* left out: not ended; inside another explained span */
    uint32_t longer;                     /* left out: longer than the limit */
    uint64_t outside;                    /* children that did not run within their parent */
    double mean, variance, deviation;    /* ns; of the whole population, not estimates */
    double above_min;                    /* the mean minus min */
    uint64_t min, median, p95, p99, max; /* ns, nearest rank */
    uint32_t half; /* number of spans, farthest from the mean, that make half of the variance */

    bool has_cpu;   /* processor time is known for all spans: SELF and WAITING are separate */
    bool has_ready; /* likewise the time without a core: READY is separate */
    uint32_t part_count;
    crn_explain_part *parts; /* largest share first; constant parts are left out */
    uint32_t factor_count;
    crn_explain_factor *factors; /* best explanation first */

    /* Slow spans are those from the 99th percentile on, or from a chosen duration on; typical ones
     * those between the quartiles that are not slow. slow_count is 0 if there are too few spans or
     * they are alike. */
    uint32_t slow_count, typical_count;
    uint64_t slow_from, typical_from, typical_to; /* ns */
    double slow_mean, typical_mean;

    crn_sampled_functions functions; /* where slow spans spend more; empty without samples */
} crn_explain;

/* Explains the durations of the spans in the bitmap `chosen`. Spans longer than `limit` ns are left
 * out; those from `slow` ns on are slow (0: from the 99th percentile on). Never NULL. */
crn_explain *crn_explain_make(const crn_spans *spans, const uint64_t *chosen, uint64_t limit,
                              uint64_t slow);
void crn_explain_free(crn_explain *explain);

/* Internal: the explained spans and the factors. */
typedef struct crn_explained {
    const crn_spans *spans;
    uint32_t count;
    uint64_t *list, *slow, *typical; /* bitmaps by span */
    const uint64_t *lengths;         /* by span, ns, explained in place of durations; NULL: none */
} crn_explained;

/* Returns what is explained of a span, in ns: its duration, if no other length is. */
static inline uint64_t crn_explained_length(const crn_explained *explained, uint32_t span)
{
    return explained->lengths ? explained->lengths[span]
                              : crn_span_duration(explained->spans, span);
}

/* Returns the first explained span >= from; the number of all spans if there is none. */
static inline uint32_t crn_explained_next(const crn_explained *explained, uint32_t from)
{
    return crn_bits_next(explained->list, from, explained->spans->trace->span_count);
}

/* Returns the length minus the mean. Its rounding error depends on how far the lengths differ, not
 * on how large they are: parts multiply it by whole lengths. */
static inline double crn_explain_deviation(const crn_explain *explain, uint64_t length)
{
    return (double)(length - explain->min) - explain->above_min;
}

#define CRN_EACH_EXPLAINED(span, explained)                                                        \
    for (uint32_t span = crn_explained_next(explained, 0);                                         \
         (span) < (explained)->spans->trace->span_count;                                           \
         (span) = crn_explained_next(explained, (span) + 1))

void crn_explain_factors(crn_explain *explain, const crn_explained *explained);

/* Internal: sets the figures of the explained lengths, from mean to max and half, and those of slow
 * and typical spans, and marks these in the bitmaps. */
void crn_explain_lengths(crn_explain *explain, const crn_explained *explained, uint64_t slow);
/* Internal: sorts the parts, largest share first. */
void crn_explain_sort_parts(crn_explain *explain);

/* Internal: sets the nearest-rank quantiles of the explained lengths for `shares`, each in 0..1;
 * and the number of spans, farthest from the mean, that make half of `sum`, the sum of all squared
 * deviations. */
void crn_explain_ranks(const crn_explained *explained, const double *shares, uint64_t *ranks,
                       int rank_count);
uint32_t crn_explain_half(const crn_explained *explained, double mean, double sum);

#endif
