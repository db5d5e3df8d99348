/* SPDX-License-Identifier: MIT
 *
 * align.h - aligns functions and contexts of both sides in pairs.
 *
 * Contexts are aligned by path. The functions of a context whose path the other side lacks may have
 * moved. So all such contexts of one function on one side form a group; the groups of both sides
 * form a pair, and the contexts below are aligned in turn.
 */
#ifndef CRN_WHY_ALIGN_H
#define CRN_WHY_ALIGN_H

#include "why/why.h"

/* The contexts of all runs, merged by path of block numbers. */
typedef struct crn_why_contexts {
    uint32_t count;
    uint32_t *parent, *block; /* by context; blocks have their numbers in the join */
    uint8_t *present; /* by context, bit `side`: a run of that side has cost or calls in or below
                         it */
    size_t runs;      /* number of runs on both sides; those before come first */
    double **calls, **self; /* by run and context */
} crn_why_contexts;

/* Merges the contexts of all runs. `numbers`, by run and block, is the block's number in the
 * join. */
crn_why_contexts crn_why_contexts_make(const crn_why_input *input, uint32_t *const *numbers);
void crn_why_contexts_free(crn_why_contexts *contexts);

/* A pair: the contexts before and after that are aligned, its members. */
typedef struct crn_why_pair {
    crn_why_kind kind; /* CRN_WHY_COST: on both sides; CRN_WHY_MOVED: a pair of groups; else on one
                          side */
    uint32_t parent;   /* the pair above; CRN_WHY_NONE: the root or a pair of groups or of one
                          side */
    uint32_t caller, block; /* numbers in the join; `caller` of the root: CRN_WHY_NONE */
    uint32_t context;       /* one of the members */
    bool whole;             /* its cost is inclusive: contexts below are in no pair */
    uint32_t first[CRN_SIDES], count[CRN_SIDES]; /* the members of each side, in `members` */
} crn_why_pair;

typedef struct crn_why_pairs {
    uint32_t count, capacity;
    crn_why_pair *list; /* parents first */
    uint32_t member_count, member_capacity;
    uint32_t *members; /* contexts */
} crn_why_pairs;

/* Aligns the contexts. `there`, by block number: bit `side` if that side has the block. */
crn_why_pairs crn_why_pairs_make(const crn_why_contexts *contexts, const uint8_t *there);
void crn_why_pairs_free(crn_why_pairs *pairs);

/* ---- functions that were renamed ---- */

/* Finds functions that were renamed or moved to another file: of functions on one side only, pairs
 * that are most alike to each other in callees, callers, size, file and name. Gives both the same
 * number in the join, and lists them in `why->matches`. */
void crn_why_find_renamed(crn_why *why, crn_block_join *join, const char *metric);

#endif
