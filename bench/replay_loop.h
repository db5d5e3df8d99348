/* SPDX-License-Identifier: MIT
 *
 * replay_loop.h - the loop over a stream's events, written once for all that replay it.
 */
#ifndef BENCH_REPLAY_LOOP_H
#define BENCH_REPLAY_LOOP_H

#include <cairn/cairn.h>

#include "stream.h"

/* Runs events `from` to `to` of `stream_`. The given statements may use `value`: the block, or the
 * number of ticks. */
#define REPLAY(stream_, from, to, ENTER, REPLACE, LEAVE, TICK, RESTART)                            \
    for (const uint32_t *at = (stream_)->words + (from), *end = (stream_)->words + (to); at < end; \
         at++) {                                                                                   \
        uint32_t value = *at & STREAM_VALUE;                                                       \
        switch (*at >> 30) {                                                                       \
        case STREAM_ENTER:                                                                         \
            ENTER;                                                                                 \
            break;                                                                                 \
        case STREAM_REPLACE:                                                                       \
            REPLACE;                                                                               \
            break;                                                                                 \
        case STREAM_LEAVE:                                                                         \
            LEAVE;                                                                                 \
            break;                                                                                 \
        default:                                                                                   \
            if (value < STREAM_STRAND_END)                                                         \
                TICK;                                                                              \
            else if (value == STREAM_STRAND_START)                                                 \
                RESTART;                                                                           \
        }                                                                                          \
    }

static inline cairn_strand *replay_restart(cairn_strand *strand, cairn_lane *lane)
{
    cairn_strand_close(strand);
    return cairn_strand_open(lane);
}

/* Replays into `lane`, going on with `strand`, which may be NULL at the start. Returns the
 * strand that the events end on. */
static inline cairn_strand *replay_cairn(const stream *s, size_t from, size_t to, cairn_lane *lane,
                                         cairn_strand *strand)
{
    REPLAY(s, from, to, cairn_enter(strand, value), cairn_replace(strand, value),
           cairn_leave(strand), cairn_tick(strand, value), strand = replay_restart(strand, lane))
    return strand;
}

/* Adds the stream's blocks to the profile. Ends the process when numbers do not agree. */
void replay_add_blocks(cairn_profile *profile, const stream *s);

#endif
