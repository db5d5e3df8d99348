/* SPDX-License-Identifier: MIT
 *
 * occurrence.h - where a sequence of blocks occurs: in each context whose path ends with it.
 *
 * That is looked for upwards from the contexts of its last block, which are few. A path in
 * canonical form holds no run of blocks twice in a row, so that little of it is compared in vain.
 */
#ifndef CRN_PROFILE_OCCURRENCE_H
#define CRN_PROFILE_OCCURRENCE_H

#include "profile/sequence.h"

/* Whether the context's path ends with the first `length` blocks of the sequence. */
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

/* Whether the path that the call took ends with it: its caller's, and then its block. */
static inline bool crn_sequence_edge_ends(const crn_profile *profile, const crn_sequence *sequence,
                                          const crn_profile_edge *edge)
{
    return profile->block[edge->target] == sequence->blocks[sequence->length - 1] &&
           crn_path_ends(profile, sequence, sequence->length - 1, edge->from);
}

#endif
