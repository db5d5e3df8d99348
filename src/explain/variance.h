/* SPDX-License-Identifier: MIT
 *
 * variance.h - why the spans of a block do not all take as long: is it the block itself, how
 * often it calls others, or how long those take? docs/EXPLAIN.md derives what is computed.
 *
 * A span's duration is its self time and the time of its children: of each moment at which k
 * of them run, each has 1/k. By block of the children that time is the product of their
 * *number*, their mean *duration* (as far as it lies within the span) and their *overlap*: which
 * part of their duration counts, 1 where none runs beside another.
 *
 * The variance of the duration is the sum of its covariances with these parts (Shorrocks 1982);
 * a change of a product is shared among its factors by their Shapley values, which for two
 * factors are Kitagawa's (1955) components of a difference. So the parts add up to the variance,
 * and where calls are independent of their number they are what the variance of a random sum
 * is known to consist of.
 *
 * n log n in the number of spans and attributes; nothing recurses. Besides what crn_spans has, half
 * a byte a span is kept while it runs, and 4 bytes of those that are explained, or 8 of those that
 * have an attribute: more is found again each time that it is used.
 */
#ifndef CRN_EXPLAIN_VARIANCE_H
#define CRN_EXPLAIN_VARIANCE_H

#include "explain/bits.h"
#include "spans/spans.h"

typedef enum crn_explain_kind {
    CRN_EXPLAIN_SELF,
    CRN_EXPLAIN_NUMBER,
    CRN_EXPLAIN_DURATION,
    CRN_EXPLAIN_OVERLAP,
    CRN_EXPLAIN_WAITING, /* own time without a processor: where that is known, SELF is the rest */
    CRN_EXPLAIN_KINDS
} crn_explain_kind;

/* A figure of a part: ns of self time and durations, calls a span, and for overlap the part of
 * the duration that counts (0 to 1). NaN where there is none, as of children never called. */
typedef struct crn_explain_part {
    crn_explain_kind kind;
    uint32_t block;         /* of the children; of self time the root's, 0 */
    double share;           /* of the variance; below 0 where it evens others out */
    double mean, deviation; /* over spans, of children's figures over those that have any */
    double slow, typical;   /* the same in slow and in typical spans */
    double extra;           /* ns that slow spans have of it more than typical ones */
} crn_explain_part;

typedef enum crn_factor_kind {
    CRN_FACTOR_ATTRIBUTE,        /* an attribute */
    CRN_FACTOR_PARENT_ATTRIBUTE, /* an attribute of the parent */
    CRN_FACTOR_ITERATION,
    CRN_FACTOR_PARENT_ITERATION,
    CRN_FACTOR_PARENT_BLOCK,
    CRN_FACTOR_LANE
} crn_factor_kind;

typedef enum crn_factor_verdict {
    CRN_VERDICT_EXPLAINS,
    CRN_VERDICT_CHANCE,   /* chance alone may explain as much */
    CRN_VERDICT_CONSTANT, /* one value only */
    CRN_VERDICT_FEW       /* too few spans for as many values */
} crn_factor_verdict;

/* A value, or a range of them, and the spans that have it. */
typedef struct crn_factor_group {
    const char *text; /* NULL: from `low` to `high`, or the lane, or the parent's block, `low` */
    double low, high;
    uint32_t count;
    double mean; /* ns */
} crn_factor_group;

/* What may explain durations: an attribute, the iteration number, who called, which lane. */
typedef struct crn_explain_factor {
    crn_factor_kind kind;
    const char *name; /* of the attribute; else "" */
    bool number;
    bool ranges;     /* a number: its ranges explain more than a line does */
    uint32_t count;  /* spans that have it */
    uint32_t values; /* that differ */
    crn_factor_verdict verdict;
    double explained; /* of their variance, without what chance is expected to explain */
    double chance;    /* that there is nothing in it: p of the F-test */
    double slope;     /* ns for each 1 more; of a line */
    crn_factor_group slowest, fastest; /* by mean; unless it is a line */
    /* In slow and in typical spans: the mean of a number; else the commonest value of the slow
     * ones, and which part of either has it. */
    const char *common; /* NULL: `common_number` */
    double common_number;
    double slow, typical;
} crn_explain_factor;

typedef struct crn_explain {
    uint32_t count;        /* spans that are explained */
    uint32_t open, nested; /* left out: not ended; within another one that is explained */
    uint32_t longer;       /* left out: took more than the limit */
    uint64_t outside;      /* children that did not run within their span */
    double mean, variance, deviation;    /* ns; of all that there are, not estimates */
    uint64_t min, median, p95, p99, max; /* ns, nearest rank */
    uint32_t half; /* so few spans, those farthest from the mean, make up half of the variance */

    bool has_cpu; /* the processor time of all spans is known: own time has two parts */
    uint32_t part_count;
    crn_explain_part *parts; /* the largest share first; nothing constant is left out */
    uint32_t factor_count;
    crn_explain_factor *factors; /* what explains most first */

    /* The spans from the 99th percentile on against those between the quartiles. None where
     * spans are too few or alike: then slow_count is 0. */
    uint32_t slow_count, typical_count;
    uint64_t slow_from, typical_from, typical_to; /* ns */
    double slow_mean, typical_mean;
} crn_explain;

/* `chosen`: a bit by span, whose duration is to be explained; of those that took more than `limit`
 * ns nothing counts. Never NULL. */
crn_explain *crn_explain_make(const crn_spans *spans, const uint64_t *chosen, uint64_t limit);
void crn_explain_free(crn_explain *explain);

/* Internal: the factors, and the spans that are explained. */
typedef struct crn_explained {
    const crn_spans *spans;
    uint32_t count;
    const uint64_t *list, *slow, *typical; /* a bit by span */
} crn_explained;

/* The first that is explained from that one on; the number of all spans if none is. */
static inline uint32_t crn_explained_next(const crn_explained *explained, uint32_t from)
{
    return crn_bits_next(explained->list, from, explained->spans->trace->span_count);
}

#define CRN_EACH_EXPLAINED(span, explained)                                                        \
    for (uint32_t span = crn_explained_next(explained, 0);                                         \
         (span) < (explained)->spans->trace->span_count;                                           \
         (span) = crn_explained_next(explained, (span) + 1))

void crn_explain_factors(crn_explain *explain, const crn_explained *explained);

/* Internal: by nearest rank, the durations that these shares of all that are explained are no more
 * than, each in [0, 1]; and how many of those farthest from the mean make up half of `sum`, which
 * is that of the squares of all deviations. */
void crn_explain_ranks(const crn_explained *explained, const double *shares, uint64_t *ranks,
                       int rank_count);
uint32_t crn_explain_half(const crn_explained *explained, double mean, double sum);

#endif
