/* SPDX-License-Identifier: MIT
 *
 * occurrence.h - finds the contexts whose paths end with a sequence of blocks.
 *
 * The search goes upwards from the few contexts of the last block. A canonical path has no two
 * equal consecutive runs of blocks, so most mismatches show early.
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

/* Returns true if the context's path ends with the sequence. */
static inline bool crn_sequence_ends(const crn_profile *profile, const crn_sequence *sequence,
                                     uint32_t context)
{
    return crn_path_ends(profile, sequence, sequence->length, context);
}

/* Returns true if a call over an alias ends with the sequence: the caller's path, then the callee's
 * block. */
static inline bool crn_sequence_edge_ends(const crn_profile *profile, const crn_sequence *sequence,
                                          const crn_profile_edge *edge)
{
    return profile->block[edge->target] == sequence->blocks[sequence->length - 1] &&
           crn_path_ends(profile, sequence, sequence->length - 1, edge->from);
}

#endif
