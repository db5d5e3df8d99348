/* SPDX-License-Identifier: MIT
 *
 * player.h - plays an event stream to the library and to the reference, compares them, and shrinks
 * a failing stream.
 */
#ifndef TESTS_SUPPORT_PLAYER_H
#define TESTS_SUPPORT_PLAYER_H

#include "support/compare.h"
#include "support/streams.h"

/* Plays the stream. Returns true if the library agrees with the reference. */
bool player_play(const stream *played, difference *found);

/* Plays the stream of a seed. On failure prints the seed, the difference, and a minimal stream that
 * still fails. */
bool player_try(uint64_t seed, size_t limit);

#endif
