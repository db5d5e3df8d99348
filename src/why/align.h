/* SPDX-License-Identifier: MIT
 *
 * align.h - functions and contexts of both sides, aligned in pairs.
 *
 * Contexts are aligned by path. Where one side has no such path, its functions may have moved: for
 * each function, all such contexts of one side are a group, and the groups of both sides a pair
 * whose contexts below are aligned in turn.
 */
#ifndef CRN_WHY_ALIGN_H
#define CRN_WHY_ALIGN_H

#include "why/why.h"

/* Contexts of all runs together, by path of block numbers. */
typedef struct crn_why_contexts {
    uint32_t count;
    uint32_t *parent, *block;
    uint8_t *present;       /* bit `side`: a run of that side has cost or calls there or below */
    size_t runs;            /* of both sides, those before first */
    double **calls, **self; /* by run and context */
} crn_why_contexts;

/* `numbers` is by run and block of its profile. */
crn_why_contexts crn_why_contexts_make(const crn_why_input *input, uint32_t *const *numbers);
void crn_why_contexts_free(crn_why_contexts *contexts);

/* An aligned context: groups of contexts before and after. */
typedef struct crn_why_pair {
    crn_why_kind kind; /* CRN_WHY_COST: in both; CRN_WHY_MOVED: in both, the first of a group */
    uint32_t parent;   /* another pair; CRN_WHY_NONE for the root and for groups */
    uint32_t caller, block;
    uint32_t context; /* one of its contexts */
    bool whole;       /* its cost is the inclusive one, all below is in it */
    uint32_t first[CRN_SIDES], count[CRN_SIDES]; /* of `members` */
} crn_why_pair;

typedef struct crn_why_pairs {
    uint32_t count, capacity;
    crn_why_pair *list; /* parents first */
    uint32_t member_count, member_capacity;
    uint32_t *members; /* contexts */
} crn_why_pairs;

/* `there` is by block number: bit `side` if the block is on that side. */
crn_why_pairs crn_why_pairs_make(const crn_why_contexts *contexts, const uint8_t *there);
void crn_why_pairs_free(crn_why_pairs *pairs);

/* ---- functions that are on one side only, but call the same and cost alike ---- */

/* Finds functions that were renamed or moved: mutually most alike among those of one side only, by
 * what they call, who calls them and where they are. Gives both the same number in the join, and
 * lists them in `why->matches`. */
void crn_why_find_renamed(crn_why *why, crn_block_join *join, const char *metric);

#endif
