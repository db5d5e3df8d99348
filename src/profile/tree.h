/* SPDX-License-Identifier: MIT
 *
 * tree.h - the contexts worth showing, in the order in which a tree of them is drawn.
 */
#ifndef CRN_PROFILE_TREE_H
#define CRN_PROFILE_TREE_H

#include "profile/model.h"

typedef struct crn_tree_row {
    uint32_t context;
    uint32_t level; /* how many of the contexts above have several children that are shown */
    bool last;      /* of its siblings */
    bool only;      /* has no siblings: drawn below its parent, at the same level */
} crn_tree_row;

typedef struct crn_tree {
    uint32_t count;
    crn_tree_row *rows; /* the root first; siblings by total, falling */
    uint64_t *totals;   /* by context */
    uint64_t shown;     /* self cost of the rows */
    uint32_t hidden;    /* contexts that could be shown, but for the limits */
    uint32_t levels;    /* 1 + the highest level */
} crn_tree;

typedef struct crn_tree_options {
    uint32_t metric;
    const uint8_t *kept; /* by context: what counts; NULL is everything */
    double threshold;    /* smallest share of the whole, 0 to 1 */
    uint32_t top;        /* most rows; 0 is any number */
} crn_tree_options;

crn_tree crn_tree_make(const crn_profile *profile, const crn_tree_options *options);
void crn_tree_free(crn_tree *tree);

#endif
