/* SPDX-License-Identifier: MIT
 *
 * counter_tracks.h - counters over time, reduced to the pixels of a screen.
 *
 * A track has the values of one counter in one process by time, whichever threads set it.
 */
#ifndef CRN_SPANS_COUNTER_TRACKS_H
#define CRN_SPANS_COUNTER_TRACKS_H

#include "spans/trace.h"

typedef struct crn_counter_track {
    uint32_t process;
    uint16_t key;          /* index of the trace's keys */
    uint32_t first, count; /* in crn_counter_tracks.values */
} crn_counter_track;

typedef struct crn_counter_tracks {
    crn_counter *values; /* by track, then by time */
    crn_counter_track *tracks;
    uint32_t count;
} crn_counter_tracks;

/* Never returns NULL. */
crn_counter_tracks *crn_counter_tracks_make(const crn_trace *trace);
void crn_counter_tracks_free(crn_counter_tracks *tracks);

/* The values of a counter in one pixel. `low` and `high` ignore NaN unless all values are NaN. */
typedef struct crn_counter_point {
    uint64_t at; /* ns, time of the first value */
    double low, high, last;
} crn_counter_point;

/* Divides the time from `from` to before `to` into `pixels` parts and writes a point for each part
 * in which the counter was set. If it was set before `from`, a point with the last value of then
 * comes first. Returns the number of points, at most pixels + 1. Needs to > from, pixels > 0. */
uint32_t crn_counter_draw(const crn_counter_tracks *tracks, uint32_t track, uint64_t from,
                          uint64_t to, uint32_t pixels, crn_counter_point *points);

#endif
