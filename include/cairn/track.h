/* SPDX-License-Identifier: MIT
 *
 * track.h - spans with given time stamps: what a GPU, DSP or camera did, on a track of its own.
 *
 *     cairn_track *queue = cairn_track_open("gpu queue", 1);         the device counts nanoseconds
 *     uint64_t before = cairn_track_clock();
 *     cairn_track_sync(queue, device_clock(), before);                now and then
 *     ...
 *     kernel->asked = cairn_handoff_take(cairn_thread_strand());      where it is submitted
 *     ...
 *     CAIRN_TRACK_SPAN(queue, kernel->asked, "blur", kernel->begin, kernel->end);   when it is done
 *
 * The device's clock is related to the profile's by pairs of readings. One pair gives the offset;
 * from the second on, the first and the last pair give the rate as well. A note "track.NAME" in the
 * profile has the number of pairs and the largest error of a pair: half of the time that its
 * readings took, plus its distance from the time that the pairs before predict.
 *
 * Tracks are of the process's own profile (process.h). Without one, cairn_track_open returns NULL,
 * and all other functions do nothing for NULL. Thread: any, but calls for the same track must not
 * overlap in time. Not signal safe. A child of fork must open tracks of its own.
 */
#ifndef CAIRN_TRACK_H
#define CAIRN_TRACK_H

#include "scope.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cairn_track cairn_track;

/* Opens a track. `ns_per_tick` is the nominal length of one unit of the device's clock, above 0.
 * Returns NULL without a profile, without memory, or for a bad argument. */
CAIRN_PRIV_API cairn_track *cairn_track_open(const char *name, double ns_per_tick);

/* Frees the track; its spans stay. */
CAIRN_PRIV_API void cairn_track_close(cairn_track *track);

/* Reads the profile's clock; 0 without a profile. */
CAIRN_PRIV_API uint64_t cairn_track_clock(void);

/* Adds a pair of readings. Read `before` with cairn_track_clock, then `device` from the device's
 * clock, then call this function. A pair whose `device` is not above that of the last pair is
 * ignored. */
CAIRN_PRIV_API void cairn_track_sync(cairn_track *track, uint64_t device, uint64_t before);

/* Returns the largest error of a pair so far, in nanoseconds; -1 before the first pair. */
CAIRN_PRIV_API double cairn_track_error(const cairn_track *track);

/* Records a span of `place` from `begin` to `end` on the device's clock, a child of the token's
 * span. Spans of a track must be given in order and must not overlap: a span that begins before the
 * end of the last, ends before it begins, or is given before the first pair is refused, and counted
 * as misuse. Histograms lack device spans. Returns the span, for cairn_span_waits_for; 0 if it is
 * not recorded. */
CAIRN_PRIV_API cairn_span cairn_track_span(cairn_track *track, cairn_handoff asked,
                                           cairn_place *place, int64_t iteration, uint64_t begin,
                                           uint64_t end);

/* Records a span like cairn_track_span, with its name as a string literal and without an
 * iteration. */
#define CAIRN_TRACK_SPAN(track, asked, name, begin, end)                                           \
    __extension__({                                                                                \
        static cairn_place cairn_priv_place = CAIRN_PLACE_HERE(name);                              \
        cairn_track_span((track), (asked), &cairn_priv_place, CAIRN_ITERATION_NONE, (begin),       \
                         (end));                                                                   \
    })

#ifdef CAIRN_DISABLE
CAIRN_PRIV_INLINE cairn_track *cairn_track_open(const char *name, double ns_per_tick)
{
    (void)name;
    (void)ns_per_tick;
    return NULL;
}

CAIRN_PRIV_INLINE void cairn_track_close(cairn_track *track)
{
    (void)track;
}

CAIRN_PRIV_INLINE uint64_t cairn_track_clock(void)
{
    return 0;
}

CAIRN_PRIV_INLINE void cairn_track_sync(cairn_track *track, uint64_t device, uint64_t before)
{
    (void)track;
    (void)device;
    (void)before;
}

CAIRN_PRIV_INLINE double cairn_track_error(const cairn_track *track)
{
    (void)track;
    return -1;
}

CAIRN_PRIV_INLINE cairn_span cairn_track_span(cairn_track *track, cairn_handoff asked,
                                              cairn_place *place, int64_t iteration, uint64_t begin,
                                              uint64_t end)
{
    (void)track;
    (void)asked;
    (void)place;
    (void)iteration;
    (void)begin;
    (void)end;
    return 0;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
