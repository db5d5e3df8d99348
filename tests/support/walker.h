/* SPDX-License-Identifier: MIT
 *
 * walker.h - a random walk for a strand, for the reference, or for both, so that the recording of
 * a thread or process can be computed again afterwards.
 */
#ifndef TESTS_SUPPORT_WALKER_H
#define TESTS_SUPPORT_WALKER_H

#include <cairn/cairn.h>

#include <unistd.h>

#include "support/profiles.h"
#include "support/random.h"
#include "support/reference.h"

typedef struct walker {
    cairn_strand *strand;        /* may be NULL */
    reference_strand *reference; /* may be NULL */
    random_source random;
    uint32_t blocks;
    uint64_t calls, ticks; /* made so far */
} walker;

static inline void walker_step(walker *w)
{
    uint32_t pick = random_below(&w->random, 16);
    uint32_t value = random_below(&w->random, w->blocks);
    if (pick < 5) {
        cairn_enter(w->strand, 1 + value);
        if (w->reference)
            reference_enter(w->reference, 1 + value, true);
        w->calls++;
    } else if (pick < 6) {
        cairn_replace(w->strand, 1 + value);
        if (w->reference)
            reference_replace(w->reference, 1 + value, true);
        w->calls++;
    } else if (pick < 12) {
        cairn_leave(w->strand);
        if (w->reference)
            reference_leave(w->reference);
    } else {
        cairn_tick(w->strand, value);
        if (w->reference)
            reference_tick(w->reference, value, true);
        w->ticks += value;
    }
}

static inline void walker_walk(walker *w, uint64_t steps)
{
    while (steps-- > 0)
        walker_step(w);
}

/* Begins a walk in a child process, in a profile of its own; the process ends after five minutes,
 * or on an error at once. */
static inline walker walker_in_child(const cairn_options *options, uint32_t blocks, uint64_t seed,
                                     cairn_profile **profile)
{
    alarm(300);
    if (cairn_profile_open(profile, options))
        _exit(1);
    setup_blocks(*profile, 1, blocks);
    cairn_lane *lane = cairn_lane_open(*profile, "main");
    return (walker){.strand = cairn_strand_open(lane), .random = {seed}, .blocks = blocks};
}

#endif
