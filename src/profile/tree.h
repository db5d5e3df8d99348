/* SPDX-License-Identifier: MIT
 *
 * tree.h - chooses the contexts of a call tree to show, in the order of drawing.
 */
#ifndef CRN_PROFILE_TREE_H
#define CRN_PROFILE_TREE_H

#include "profile/model.h"

typedef struct crn_tree_row {
    uint32_t context;
    uint32_t level;   /* number of ancestors with several shown children */
    bool last;        /* last of its siblings */
    bool only;        /* has no siblings: drawn at its parent's level */
    uint32_t between; /* contexts of a chain above it that have no rows */
} crn_tree_row;

typedef struct crn_tree {
    uint32_t count;
    crn_tree_row *rows; /* root first; siblings by total, largest first */
    uint64_t *totals;   /* by context */
    uint64_t shown;     /* self cost of the rows */
    uint32_t hidden;    /* contexts that were left out by the limits */
    bool cut;           /* `top` left some of them out */
    uint32_t between;   /* sum over the rows */
    uint32_t levels;    /* 1 + the highest level */
} crn_tree;

typedef struct crn_tree_options {
    uint32_t metric;
    const uint8_t *kept; /* by context: 1 if its cost counts; NULL: all count */
    double threshold;    /* smallest share of the whole to show, 0 to 1 */
    uint32_t top;        /* limit on rows; 0: no limit */
    /* A chain of contexts, each the only one with a row below the one before, of which none but the
     * last has a cost of its own, has rows only for the first and the last, if `chain` or more are
     * between them. 0: each has a row. */
    uint32_t chain;
    const uint64_t *calls;  /* by context: those between have as many as the first; NULL: any */
    const uint64_t *cycles; /* by context: those between have none; NULL: any */
} crn_tree_options;

crn_tree crn_tree_make(const crn_profile *profile, const crn_tree_options *options);
void crn_tree_free(crn_tree *tree);

#endif
