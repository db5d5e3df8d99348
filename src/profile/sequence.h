/* SPDX-License-Identifier: MIT
 *
 * sequence.h - costs, callers and callees of a sequence of blocks.
 *
 * A *sequence* is a list of blocks that call each other directly, callers first. It occurs in each
 * context whose path ends with it; a context lies *within* it if its path contains it. Its costs:
 *
 *   calls      calls of the last block from paths that end with the other blocks
 *   self       self cost of the contexts where the sequence occurs
 *   inclusive  self cost of all contexts within the sequence
 */
#ifndef CRN_PROFILE_SEQUENCE_H
#define CRN_PROFILE_SEQUENCE_H

#include "profile/model.h"

enum { CRN_SEQUENCE_MAX = 1024 };

typedef struct crn_sequence {
    uint32_t length; /* 1 to CRN_SEQUENCE_MAX */
    uint32_t *blocks;
} crn_sequence;

void crn_sequence_free(crn_sequence *sequence);

/* Returns, by context, 1 if it lies within the sequence. Free it with crn_free. */
uint8_t *crn_sequence_within(const crn_profile *profile, const crn_sequence *sequence);

/* Returns, by context, 1 if it lies within `focus` (NULL: anywhere) and within none of `drops`.
 * Free it with crn_free. Returns NULL without focus and drops: all contexts. */
uint8_t *crn_sequence_select(const crn_profile *profile, const crn_sequence *focus,
                             const crn_sequence *drops, size_t drop_count);

typedef struct crn_sequence_cost {
    uint64_t calls, self, inclusive;
} crn_sequence_cost;

/* Returns the cost of the sequence in `metric` over the kept contexts (NULL: all). */
crn_sequence_cost crn_sequence_measure(const crn_profile *profile, const crn_sequence *sequence,
                                       uint32_t metric, const uint8_t *kept);

/* Does the same, given `totals`: crn_totals(profile, metric, kept). */
crn_sequence_cost crn_sequence_measure_of(const crn_profile *profile, const crn_sequence *sequence,
                                          uint32_t metric, const uint8_t *kept,
                                          const uint64_t *totals);

/* Returns the number of contexts whose paths end with the sequence. */
uint32_t crn_sequence_count(const crn_profile *profile, const crn_sequence *sequence);

/* The cost of the sequence extended by `block` at its begin or end. */
typedef struct crn_neighbour {
    uint32_t block;
    crn_sequence_cost cost;
} crn_neighbour;

typedef struct crn_neighbourhood {
    crn_sequence_cost cost; /* of the sequence itself */
    uint32_t before_count, after_count;
    crn_neighbour *before, *after; /* most inclusive cost first, then most calls */
} crn_neighbourhood;

crn_neighbourhood crn_neighbourhood_make(const crn_profile *profile, const crn_sequence *sequence,
                                         uint32_t metric, const uint8_t *kept);
/* Does the same, given `totals`: crn_totals(profile, metric, kept). */
crn_neighbourhood crn_neighbourhood_of(const crn_profile *profile, const crn_sequence *sequence,
                                       uint32_t metric, const uint8_t *kept,
                                       const uint64_t *totals);
void crn_neighbourhood_free(crn_neighbourhood *neighbourhood);

/* Returns a profile of the contexts within the sequence: its root calls the sequence, and the
 * subtrees of all outermost occurrences become one, with metrics and calls added. Metrics keep
 * their numbers. */
crn_profile *crn_sequence_below(const crn_profile *profile, const crn_sequence *sequence,
                                const uint8_t *kept);

/* Limit on the depth of callers in crn_sequence_above. */
enum { CRN_ABOVE_MAX = 64 };

/* Returns a bottom-up profile of the callers: the root leads to the sequence's last block, to the
 * block before it, and so on to callers. A context's total in `calls` is the calls from its path,
 * its total in `metric` the inclusive cost of the outermost occurrences below that path. Self costs
 * mean nothing, and other metrics are empty. Metrics keep their numbers. */
crn_profile *crn_sequence_above(const crn_profile *profile, const crn_sequence *sequence,
                                uint32_t metric, const uint8_t *kept);

#endif
