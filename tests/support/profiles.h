/* SPDX-License-Identifier: MIT
 *
 * profiles.h - opens a profile with common settings, and queries it in one line.
 */
#ifndef TESTS_SUPPORT_PROFILES_H
#define TESTS_SUPPORT_PROFILES_H

#include <cairn/cairn.h>

/* A profile with blocks 1 to `block_count`, named "b1" and on, one lane, one strand. */
typedef struct setup {
    cairn_profile *profile;
    cairn_lane *lane;
    cairn_strand *strand;
} setup;

/* Fails the test if the profile cannot be opened. `options` may be NULL. */
setup setup_open(const cairn_options *options, uint32_t block_count);
void setup_close(setup *opened);

/* Options of a profile at the path; of one that also records spans. */
cairn_options path_options(const char *path);
cairn_options span_options(const char *path);

/* Adds blocks `first` to `last` with their names. */
void setup_blocks(cairn_profile *profile, uint32_t first, uint32_t last);

/* Opens a view; fails the test if that fails. */
cairn_view *view_of(cairn_profile *profile);

/* The cost of the context at a path, written "1 2 3" without the root; zeros if none. */
cairn_cost cost_at(cairn_profile *profile, const char *path);

/* cairn_view_calls of a sequence, written "1 2 3". */
uint64_t calls_ending_in(cairn_profile *profile, const char *sequence);

/* Returns the number of contexts. */
uint32_t contexts_in(cairn_profile *profile);

/* Returns the sums over all contexts. */
cairn_cost total_of(cairn_profile *profile);

/* Returns the number in the note `key` of a capture; fails the test if it cannot be loaded. */
uint64_t note_of(const char *path, const char *key);

#endif
