/* SPDX-License-Identifier: MIT
 *
 * tree.h - chooses the contexts of a call tree to show, in the order of drawing.
 */
#ifndef CRN_PROFILE_TREE_H
#define CRN_PROFILE_TREE_H

#include "profile/model.h"

typedef struct crn_tree_row {
    uint32_t context;
    uint32_t level; /* number of ancestors with several shown children */
    bool last;      /* last of its siblings */
    bool only;      /* has no siblings: drawn at its parent's level */
} crn_tree_row;

typedef struct crn_tree {
    uint32_t count;
    crn_tree_row *rows; /* root first; siblings by total, largest first */
    uint64_t *totals;   /* by context */
    uint64_t shown;     /* self cost of the rows */
    uint32_t hidden;    /* contexts that were left out by the limits */
    uint32_t levels;    /* 1 + the highest level */
} crn_tree;

typedef struct crn_tree_options {
    uint32_t metric;
    const uint8_t *kept; /* by context: 1 if its cost counts; NULL: all count */
    double threshold;    /* smallest share of the whole to show, 0 to 1 */
    uint32_t top;        /* limit on rows; 0: no limit */
} crn_tree_options;

crn_tree crn_tree_make(const crn_profile *profile, const crn_tree_options *options);
void crn_tree_free(crn_tree *tree);

#endif
