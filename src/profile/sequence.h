/* SPDX-License-Identifier: MIT
 *
 * sequence.h - what leads into a run of blocks, and what it leads to.
 *
 * A *sequence* is blocks that call each other directly, callers first. It occurs in every
 * context whose path ends with it; a context lies *within* it when its path contains it.
 *   calls      that end in the sequence: from a path that ends with all but its last
 *   self       of the contexts where it occurs
 *   inclusive  of the contexts that lie within it, each counted once
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

/* By context: 1 when it lies within the sequence. To be freed with crn_free. */
uint8_t *crn_sequence_within(const crn_profile *profile, const crn_sequence *sequence);

/* What is to be looked at: within `focus` (NULL is everywhere) and within none of `drops`.
 * NULL when that is everything. To be freed with crn_free. */
uint8_t *crn_sequence_select(const crn_profile *profile, const crn_sequence *focus,
                             const crn_sequence *drops, size_t drop_count);

typedef struct crn_sequence_cost {
    uint64_t calls, self, inclusive;
} crn_sequence_cost;

/* What the sequence costs in `metric`, in the contexts that are kept (NULL: all). */
crn_sequence_cost crn_sequence_measure(const crn_profile *profile, const crn_sequence *sequence,
                                       uint32_t metric, const uint8_t *kept);

/* The same where the totals of what is kept are known: crn_totals(profile, metric, kept). */
crn_sequence_cost crn_sequence_measure_of(const crn_profile *profile, const crn_sequence *sequence,
                                          uint32_t metric, const uint8_t *kept,
                                          const uint64_t *totals);

/* How many contexts end in the sequence. */
uint32_t crn_sequence_count(const crn_profile *profile, const crn_sequence *sequence);

/* The cost of the sequence with `block` put before it, or behind it. */
typedef struct crn_neighbour {
    uint32_t block;
    crn_sequence_cost cost;
} crn_neighbour;

typedef struct crn_neighbourhood {
    crn_sequence_cost cost; /* of the sequence itself */
    uint32_t before_count, after_count;
    crn_neighbour *before, *after; /* by inclusive cost, then calls, falling */
} crn_neighbourhood;

crn_neighbourhood crn_neighbourhood_make(const crn_profile *profile, const crn_sequence *sequence,
                                         uint32_t metric, const uint8_t *kept);
/* The same where the totals of what is kept are known: crn_totals(profile, metric, kept). */
crn_neighbourhood crn_neighbourhood_of(const crn_profile *profile, const crn_sequence *sequence,
                                       uint32_t metric, const uint8_t *kept,
                                       const uint64_t *totals);
void crn_neighbourhood_free(crn_neighbourhood *neighbourhood);

/* A profile of what lies within the sequence, the paths that lead into it cut off: its
 * root leads to the sequence, and what is below any outermost occurrence is laid on top of
 * each other, metrics and calls added up. Its metrics have the same numbers. */
crn_profile *crn_sequence_below(const crn_profile *profile, const crn_sequence *sequence,
                                const uint8_t *kept);

/* How many callers, one above the other, crn_sequence_above looks at. */
enum { CRN_ABOVE_MAX = 64 };

/* A profile of what leads into the sequence, upside down: its root leads to the last block
 * of the sequence, that to the one before, and so on to their callers. What hangs below a
 * context in it is the calls that came by this way, and in `metric` the inclusive cost of
 * the outermost occurrences that they led to: totals mean something there, self cost does
 * not. Other metrics are left out; metrics have the same numbers. */
crn_profile *crn_sequence_above(const crn_profile *profile, const crn_sequence *sequence,
                                uint32_t metric, const uint8_t *kept);

#endif
