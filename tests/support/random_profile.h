/* SPDX-License-Identifier: MIT
 *
 * random_profile.h - profiles of random streams, and their paths written out: what the
 * analysis is held against.
 */
#ifndef TESTS_SUPPORT_RANDOM_PROFILE_H
#define TESTS_SUPPORT_RANDOM_PROFILE_H

#include "profile/profile.h"
#include "support/random.h"

/* How a random profile's blocks are written in its source; the same blocks in the same
 * order for each. */
typedef struct profile_source {
    const char *directory; /* of the blocks' files */
    uint32_t line_shift;   /* what was put in before the first line */
} profile_source;

/* Random enters, replaces, leaves and ticks over `block_count` blocks named "b1" and on,
 * some of which are lexically inside others. */
crn_profile *random_profile(random_source *random, uint32_t block_count, uint32_t events,
                            const profile_source *source);

/* The blocks of a context's path, root first, into `path` (of at least `context_count`).
 * Returns its length. */
uint32_t profile_path(const crn_profile *profile, uint32_t context, uint32_t *path);

/* A context that is nothing but a chain: `length` contexts below the root, of blocks that
 * take turns. Made by hand, as a hostile capture could be: it is not canonical. */
crn_profile *profile_chain(uint32_t length, uint32_t block_count);

#endif
