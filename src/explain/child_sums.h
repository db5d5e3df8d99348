/* SPDX-License-Identifier: MIT
 *
 * child_sums.h - what the children of one span add up to, by block: as a product of their
 * number, their duration and their overlap, and what the change of each factor does to it.
 */
#ifndef CRN_EXPLAIN_CHILD_SUMS_H
#define CRN_EXPLAIN_CHILD_SUMS_H

#include "explain/variance.h"

/* One span's children of one block, or those of several spans. */
typedef struct crn_child_sum {
    double number;
    double duration; /* ns, as far as they lie within their span */
    double time;     /* ns: of each moment at which k children run each has 1/k */
} crn_child_sum;

/* One span after the other. To be zeroed, but for `spans`, and freed with crn_child_sums_end. */
typedef struct crn_child_sums {
    const crn_spans *spans;
    uint32_t count, *blocks; /* that the span has children of */
    crn_child_sum *sums;     /* by block */
    uint32_t outside;        /* children that did not run within the span */
    struct crn_child_run *runs;
    uint32_t room;
} crn_child_sums;

/* Looks at a span, and forgets the one before. The times of all blocks are what crn_spans has
 * as covered. */
void crn_child_sums_of(crn_child_sums *sums, uint32_t span);
void crn_child_sums_end(crn_child_sums *sums);

void crn_child_sum_add(crn_child_sum *to, const crn_child_sum *sum);

/* A mean over spans: number times duration times overlap is the mean time. */
typedef struct crn_product {
    double number;   /* a span */
    double duration; /* ns, of each */
    double overlap;  /* which part of the duration counts: 1 where none runs beside another */
} crn_product;

/* The sum of `count` spans. A factor that it says nothing of, as it is of none, is as in
 * `otherwise`. */
crn_product crn_product_of(const crn_child_sum *sum, double count, const crn_product *otherwise);

/* By crn_explain_kind, what each factor contributes to the change of the product: its Shapley
 * value. The sum of all is what the product changes by. */
void crn_product_effects(const crn_product *from, const crn_product *to,
                         double by[CRN_EXPLAIN_KINDS]);

#endif
