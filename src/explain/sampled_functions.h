/* SPDX-License-Identifier: MIT
 *
 * sampled_functions.h - finds the functions in which slow spans spend more processor time than
 * typical ones, by samples taken in the spans.
 */
#ifndef CRN_EXPLAIN_SAMPLED_FUNCTIONS_H
#define CRN_EXPLAIN_SAMPLED_FUNCTIONS_H

#include "spans/spans.h"

/* A function, as called on one path, with its callees. */
typedef struct crn_sampled_function {
    uint32_t block;       /* less than the profile's number of blocks */
    uint32_t depth;       /* 0, or one more than its caller's */
    bool only;            /* its caller calls no other function in the list */
    double slow, typical; /* ns of processor time a span */
    double error;         /* standard error of slow - typical, ns */
} crn_sampled_function;

typedef struct crn_sampled_functions {
    uint32_t slow_samples, typical_samples; /* both 0: nothing to compare */
    double slow, typical, error;            /* as below, for all functions together */
    uint32_t count;
    crn_sampled_function *list; /* callers before callees, the largest difference first; without
                                   callers common to all samples, small and chance differences */
} crn_sampled_functions;

/* Compares two sets of spans (bitmaps with slow_count and typical_count bits set). A sample counts
 * for the innermost of these spans that is the sample's span or its ancestor, also by hand-off. */
crn_sampled_functions crn_sampled_functions_make(const crn_spans *spans, const uint64_t *slow,
                                                 uint32_t slow_count, const uint64_t *typical,
                                                 uint32_t typical_count);
void crn_sampled_functions_free(crn_sampled_functions *functions);

#endif
