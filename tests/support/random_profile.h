/* SPDX-License-Identifier: MIT
 *
 * random_profile.h - profiles of random event streams with their explicit paths, as references for
 * the analysis.
 */
#ifndef TESTS_SUPPORT_RANDOM_PROFILE_H
#define TESTS_SUPPORT_RANDOM_PROFILE_H

#include "profile/profile.h"
#include "support/random.h"

/* The sources of a random profile's blocks, which are the same blocks in the same order. */
typedef struct profile_source {
    const char *directory; /* of the blocks' files */
    uint32_t line_shift;   /* lines inserted before the first */
} profile_source;

/* Makes a profile of random enters, replaces, leaves and ticks over `block_count` blocks named "b1"
 * and on, some of which are nested. */
crn_profile *random_profile(random_source *random, uint32_t block_count, uint32_t events,
                            const profile_source *source);

/* Writes the blocks of a context's path, root first, to `path` (of at least `context_count`).
 * Returns its length. */
uint32_t profile_path(const crn_profile *profile, uint32_t context, uint32_t *path);

/* Makes a chain of `length` contexts below the root, with alternating blocks. It is not canonical,
 * like a hostile capture. */
crn_profile *profile_chain(uint32_t length, uint32_t block_count);

/* Returns flags by context that choose about two of three. Free it with crn_free. */
uint8_t *random_contexts(random_source *random, const crn_profile *profile);

#endif
