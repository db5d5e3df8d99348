/* SPDX-License-Identifier: MIT
 *
 * child_sums.h - sums over a span's children, by block, as a product number * duration * overlap;
 * and how much a change of each factor changes the product.
 */
#ifndef CRN_EXPLAIN_CHILD_SUMS_H
#define CRN_EXPLAIN_CHILD_SUMS_H

#include "explain/variance.h"

/* Sums over children of one block, in one span or in several. */
typedef struct crn_child_sum {
    double number;
    double duration; /* ns within the parent */
    double time;     /* ns; of k children that run at once, each gets 1/k of the time */
} crn_child_sum;

/* Sums of one span at a time. Zero all but `spans`; free with crn_child_sums_end. */
typedef struct crn_child_sums {
    const crn_spans *spans;
    uint32_t count, *blocks;    /* blocks of its children, and of spans inside it on its lane */
    crn_child_sum *sums;        /* by block */
    uint32_t outside;           /* children that did not run within the span */
    struct crn_child_run *runs; /* intervals of the children; for crn_child_sums_of alone */
    uint32_t room;              /* capacity of `runs` */
} crn_child_sums;

/* Computes the sums of a span, which replace the last span's. `time` over all blocks adds up to the
 * span's covered time in crn_spans. */
void crn_child_sums_of(crn_child_sums *sums, uint32_t span);
void crn_child_sums_end(crn_child_sums *sums);

void crn_child_sum_add(crn_child_sum *to, const crn_child_sum *sum);

/* Means over spans. Their product is the children's mean time in a span. */
typedef struct crn_product {
    double number;   /* children a span */
    double duration; /* ns a child */
    double overlap;  /* share of the duration that counts: 1 if no two children overlap */
} crn_product;

/* Returns the product for sums of `count` spans. Takes factors that are undefined, for lack of
 * children, from `otherwise`. */
crn_product crn_product_of(const crn_child_sum *sum, double count, const crn_product *otherwise);

/* Sets, by crn_explain_kind, the contribution of each factor to the change of the product (Shapley
 * values), and 0 for parts of self time. The contributions add up to the change. Leaves the entries
 * of stages unset. */
void crn_product_effects(const crn_product *from, const crn_product *to,
                         double by[CRN_EXPLAIN_KINDS]);

#endif
