/* SPDX-License-Identifier: MIT
 *
 * player.h - plays a stream of events to the library and to the reference at once, holds
 * them against each other, and makes a failing stream small enough to read.
 */
#ifndef TESTS_SUPPORT_PLAYER_H
#define TESTS_SUPPORT_PLAYER_H

#include "support/compare.h"
#include "support/streams.h"

/* Plays the stream. True if the library did as the reference. */
bool player_play(const stream *played, difference *found);

/* Plays the stream of a seed; when it fails, prints the seed, what differs and a smallest
 * stream that still fails. */
bool player_try(uint64_t seed, size_t limit);

#endif
