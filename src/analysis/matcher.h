/* SPDX-License-Identifier: MIT
 *
 * matcher.h - where a sequence of blocks occurs.
 *
 * Knuth, Morris and Pratt's automaton over paths: how much of the sequence a path ends
 * with follows from the parent's state and the block alone, so one pass over the contexts
 * does.
 */
#ifndef CRN_ANALYSIS_MATCHER_H
#define CRN_ANALYSIS_MATCHER_H

#include "analysis/sequence.h"

typedef struct crn_matcher {
    const crn_profile *profile;
    uint32_t length, symbol_count;
    uint32_t *symbols; /* by block: 0 for those that are not in the sequence */
    uint16_t *next;    /* [state][symbol] */
    uint16_t *states;  /* by context */
} crn_matcher;

crn_matcher crn_matcher_make(const crn_profile *profile, const crn_sequence *sequence);
void crn_matcher_free(crn_matcher *matcher);

static inline uint16_t crn_matcher_step(const crn_matcher *matcher, uint16_t state, uint32_t block)
{
    return matcher->next[state * (size_t)matcher->symbol_count + matcher->symbols[block]];
}

/* Whether the context's path ends with the sequence. */
static inline bool crn_matcher_ends(const crn_matcher *matcher, uint32_t context)
{
    return matcher->states[context] == matcher->length;
}

/* Whether the path that the call took does: its caller's, and then its block. */
static inline bool crn_matcher_edge_ends(const crn_matcher *matcher, const crn_profile_edge *edge)
{
    uint32_t block = matcher->profile->block[edge->target];
    return crn_matcher_step(matcher, matcher->states[edge->from], block) == matcher->length;
}

#endif
