/* SPDX-License-Identifier: MIT
 *
 * diff.h - compares two profiles.
 *
 * Blocks match if their names, files and lexical parents match; numbers and lines may differ. If
 * several blocks have all three alike, those at the same line and column match, the others in the
 * order of lines. Some profiles lack lexical parents (sampled stacks) or have other paths for
 * files: a block still unmatched matches by name and line, if only one block has these. Contexts
 * match if their paths do.
 */
#ifndef CRN_PROFILE_DIFF_H
#define CRN_PROFILE_DIFF_H

#include "profile/left_out.h"
#include "profile/sampling.h"

enum { CRN_BEFORE = 0, CRN_AFTER = 1, CRN_SIDES = 2 };
#define CRN_DIFF_NONE ((uint32_t)UINT32_MAX)

typedef enum crn_diff_sort { CRN_DIFF_SELF, CRN_DIFF_INCLUSIVE, CRN_DIFF_CALLS } crn_diff_sort;

/* A block or a context, with its cost before and after. */
typedef struct crn_diff_row {
    uint32_t id[CRN_SIDES]; /* CRN_DIFF_NONE: not in that profile */
    crn_absence absence;    /* for a row in one profile only: why the other lacks it */
    uint64_t calls[CRN_SIDES], self[CRN_SIDES], inclusive[CRN_SIDES];
} crn_diff_row;

typedef struct crn_diff {
    uint64_t total[CRN_SIDES];        /* of the metric */
    crn_sampling sampling[CRN_SIDES]; /* how the metric was sampled */
    bool calls; /* both profiles count calls; false: all calls in rows are 0 */
    uint32_t count;
    crn_diff_row *rows; /* largest change first; without rows of zeros */
} crn_diff;

/* The two profiles, the metric's number in each, and the order of rows. */
typedef struct crn_diff_input {
    const crn_profile *profile[CRN_SIDES];
    uint32_t metric[CRN_SIDES];
    crn_diff_sort sort;
} crn_diff_input;

/* Compare the blocks, or the contexts, of two profiles. Free the result with crn_diff_free. */
crn_diff crn_diff_blocks(const crn_diff_input *input);
crn_diff crn_diff_contexts(const crn_diff_input *input);
void crn_diff_free(crn_diff *diff);

/* Returns true if only one profile has the row because the other did not profile or sample it. Its
 * figures do not compare. */
bool crn_diff_row_is_apart(const crn_diff_row *row);

/* A number for each block: equal for blocks that match. */
typedef struct crn_block_join {
    uint32_t count;               /* greater than every number; some numbers are unused */
    uint32_t *numbers[CRN_SIDES]; /* by block */
} crn_block_join;

crn_block_join crn_block_join_make(const crn_profile *before, const crn_profile *after);
void crn_block_join_free(crn_block_join *join);

#endif
