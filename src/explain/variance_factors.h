/* SPDX-License-Identifier: MIT
 *
 * variance_factors.h - a factor that may explain durations, and its tests.
 */
#ifndef CRN_EXPLAIN_VARIANCE_FACTORS_H
#define CRN_EXPLAIN_VARIANCE_FACTORS_H

#include "explain/variance.h"

/* A factor and the spans that have it. Values are looked up when needed. */
typedef struct crn_factor {
    crn_explain_factor shown;
    const crn_explained *explained;
    uint32_t *spans;
    uint32_t *attributes; /* by the same index: the span's attribute in the trace; NULL if the
                             factor is no attribute */
    uint32_t count;
    uint64_t *begins; /* bitmap, once sorted: set where the value differs from the previous one */
} crn_factor;

/* Return the number, the text (NULL for a number) and the duration (ns) at index `at`. */
double crn_factor_number(const crn_factor *factor, uint32_t at);
const char *crn_factor_text(const crn_factor *factor, uint32_t at);
double crn_factor_duration(const crn_factor *factor, uint32_t at);
/* Sorts the spans by value, stably. */
void crn_factor_sort(crn_factor *factor);

/* Returns the end of the run of equal values that begins at `at`. The factor must be sorted. */
static inline uint32_t crn_factor_run_end(const crn_factor *factor, uint32_t at)
{
    return crn_bits_next(factor->begins, at + 1, factor->count);
}

/* Chooses the model that explains most after correction for chance: a line or ranges for a number,
 * groups for other values. The factor must be sorted. */
void crn_factor_judge(crn_factor *factor);

/* Finds the value that most slow spans have, and its share among slow and typical ones. The factor
 * must be sorted. */
void crn_factor_compare_slow(crn_factor *factor);

#endif
