/* SPDX-License-Identifier: MIT
 *
 * sampled_functions.h - in which functions slow spans spend more processor time than typical ones,
 * by the samples taken in them.
 */
#ifndef CRN_EXPLAIN_SAMPLED_FUNCTIONS_H
#define CRN_EXPLAIN_SAMPLED_FUNCTIONS_H

#include "spans/spans.h"

/* A function where it was called from the one above it, with what it called. */
typedef struct crn_sampled_function {
    uint32_t block;       /* less than the profile's number of blocks */
    uint32_t depth;       /* 0, or one more than its caller's */
    bool only;            /* the only one in the list that its caller calls */
    double slow, typical; /* ns of processor time a span */
    double error;         /* standard error of slow - typical, ns */
} crn_sampled_function;

typedef struct crn_sampled_functions {
    uint32_t slow_samples, typical_samples; /* 0 and 0: there is nothing to compare */
    double slow, typical, error;            /* of all functions together */
    uint32_t count;
    crn_sampled_function *list; /* callers before callees, the largest difference first; without
                                   what all samples have above them, small differences, and those
                                   within chance */
} crn_sampled_functions;

/* Compares two sets of spans (bitmaps with slow_count and typical_count bits set). A sample counts
 * for the innermost of these spans that it was taken in, or that had handed off the work in which
 * it was. */
crn_sampled_functions crn_sampled_functions_make(const crn_spans *spans, const uint64_t *slow,
                                                 uint32_t slow_count, const uint64_t *typical,
                                                 uint32_t typical_count);
void crn_sampled_functions_free(crn_sampled_functions *functions);

#endif
