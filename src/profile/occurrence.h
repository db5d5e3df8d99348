/* SPDX-License-Identifier: MIT
 *
 * occurrence.h - finds the contexts whose paths end with a sequence of blocks.
 *
 * The search goes upwards from the contexts of the last block, which are few. A canonical path has
 * no run of blocks twice in a row, so few comparisons are wasted.
 */
#ifndef CRN_PROFILE_OCCURRENCE_H
#define CRN_PROFILE_OCCURRENCE_H

#include "profile/sequence.h"

/* Returns true if the context's path ends with the first `length` blocks of the sequence. */
static inline bool crn_path_ends(const crn_profile *profile, const crn_sequence *sequence,
                                 uint32_t length, uint32_t context)
{
    for (; length; length--) {
        if (profile->block[context] != sequence->blocks[length - 1])
            return false;
        if (context == 0)
            return length == 1;
        context = profile->parent[context];
    }
    return true;
}

static inline bool crn_sequence_ends(const crn_profile *profile, const crn_sequence *sequence,
                                     uint32_t context)
{
    return crn_path_ends(profile, sequence, sequence->length, context);
}

/* Returns true if the path of a call over an edge (the caller's path, then the callee's block) ends
 * with the sequence. */
static inline bool crn_sequence_edge_ends(const crn_profile *profile, const crn_sequence *sequence,
                                          const crn_profile_edge *edge)
{
    return profile->block[edge->target] == sequence->blocks[sequence->length - 1] &&
           crn_path_ends(profile, sequence, sequence->length - 1, edge->from);
}

#endif
