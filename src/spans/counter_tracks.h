/* SPDX-License-Identifier: MIT
 *
 * counter_tracks.h - the counters of a trace over time, reduced to the pixels of a screen.
 *
 * A track has the values of one name in one process, in the order of time: several threads can set
 * the same counter.
 */
#ifndef CRN_SPANS_COUNTER_TRACKS_H
#define CRN_SPANS_COUNTER_TRACKS_H

#include "spans/trace.h"

typedef struct crn_counter_track {
    uint32_t process;
    uint16_t key;          /* index of the trace's keys */
    uint32_t first, count; /* its values */
} crn_counter_track;

typedef struct crn_counter_tracks {
    crn_counter *values; /* by track, then by time */
    crn_counter_track *tracks;
    uint32_t count;
} crn_counter_tracks;

/* Never NULL. */
crn_counter_tracks *crn_counter_tracks_make(const crn_trace *trace);
void crn_counter_tracks_free(crn_counter_tracks *tracks);

/* The values of a counter within one pixel. `low` and `high` ignore NaN, unless all are NaN. */
typedef struct crn_counter_point {
    uint64_t at; /* ns, of the first value in the pixel */
    double low, high, last;
} crn_counter_point;

/* Writes the points of a track from `from` on and before `to`, one for each of `pixels` equal parts
 * of that window in which the counter was set, and before them one with the value from before the
 * window, if there is such. Returns their number, at most pixels + 1. to > from; pixels > 0. */
uint32_t crn_counter_draw(const crn_counter_tracks *tracks, uint32_t track, uint64_t from,
                          uint64_t to, uint32_t pixels, crn_counter_point *points);

#endif
