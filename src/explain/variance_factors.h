/* SPDX-License-Identifier: MIT
 *
 * variance_factors.h - what may go with durations, and how it is judged.
 */
#ifndef CRN_EXPLAIN_VARIANCE_FACTORS_H
#define CRN_EXPLAIN_VARIANCE_FACTORS_H

#include "explain/variance.h"

/* The spans that have a value of it; the value is looked up. */
typedef struct crn_factor {
    crn_explain_factor shown;
    const crn_explained *explained;
    uint32_t *spans;
    uint32_t *attributes; /* likewise, of the trace; NULL where it is none */
    uint32_t count;
    uint64_t *begins; /* when they are in order, a bit by place: it has another value than the one
                         before */
} crn_factor;

/* A value: of an attribute that is a text the text, else a number. */
double crn_factor_number(const crn_factor *factor, uint32_t at);
const char *crn_factor_text(const crn_factor *factor, uint32_t at);
double crn_factor_duration(const crn_factor *factor, uint32_t at);
/* Puts them in the order of their values; those of one value stay in that of spans. */
void crn_factor_sort(crn_factor *factor);

/* Where those that have the same value as the one at `at` end. Of one that is in order. */
static inline uint32_t crn_factor_run_end(const crn_factor *factor, uint32_t at)
{
    return crn_bits_next(factor->begins, at + 1, factor->count);
}

/* Of one that is in order: finds what explains most after what chance explains, of a number a line
 * or ranges. */
void crn_factor_judge(crn_factor *factor);

/* What slow spans have in common, and how often typical ones have it. Of one that is in order. */
void crn_factor_compare_slow(crn_factor *factor);

#endif
