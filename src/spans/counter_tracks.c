/* SPDX-License-Identifier: MIT */
#include "spans/counter_tracks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "spans/trace_process.h"

/* A value with its sort keys. */
typedef struct sortable {
    crn_counter counter;
    uint32_t process, order;
} sortable;

static int compare_values(const void *left, const void *right)
{
    const sortable *a = left, *b = right;
    return CRN_ORDER(a->process, b->process)
               ?: CRN_ORDER(a->counter.key, b->counter.key)
               ?: CRN_ORDER(a->counter.at, b->counter.at)
               ?: CRN_ORDER(a->order, b->order);
}

static sortable *sorted_values(const crn_trace *trace)
{
    sortable *all = crn_calloc(trace->counter_count + (size_t)1, sizeof *all);
    for (uint32_t i = 0; i < trace->counter_count; i++) {
        const crn_counter *counter = &trace->counters[i];
        uint32_t lane = trace->spans[counter->span].lane;
        all[i] = (sortable){*counter, crn_trace_process_of(trace, lane), i};
    }
    qsort(all, trace->counter_count, sizeof *all, compare_values);
    return all;
}

crn_counter_tracks *crn_counter_tracks_make(const crn_trace *trace)
{
    uint32_t room = 0;
    crn_counter_tracks *tracks = crn_calloc(1, sizeof *tracks);
    sortable *all = sorted_values(trace);
    tracks->values = crn_calloc(trace->counter_count + (size_t)1, sizeof *tracks->values);
    for (uint32_t i = 0; i < trace->counter_count; i++) {
        const sortable *its = &all[i];
        tracks->values[i] = its->counter;
        crn_counter_track *last = tracks->count ? &tracks->tracks[tracks->count - 1] : NULL;
        if (!last || last->process != its->process || last->key != its->counter.key) {
            if (tracks->count == room) {
                room = room ? 2 * room : 8;
                tracks->tracks = crn_realloc(tracks->tracks, room, sizeof *tracks->tracks);
            }
            last = &tracks->tracks[tracks->count++];
            *last = (crn_counter_track){its->process, its->counter.key, i, 0};
        }
        last->count++;
    }
    crn_free(all);
    return tracks;
}

void crn_counter_tracks_free(crn_counter_tracks *tracks)
{
    if (!tracks)
        return;
    crn_free(tracks->values);
    crn_free(tracks->tracks);
    crn_free(tracks);
}

static uint32_t pixel_of(uint64_t at, uint64_t from, uint64_t to, uint32_t pixels)
{
    /* Shift for a long window, so that the product below fits in 64 bits. */
    enum { COARSE = 16 };
    uint64_t since = at - from, length = to - from;
    if (length > UINT64_MAX / pixels) {
        since >>= COARSE;
        length >>= COARSE;
    }
    uint64_t pixel = since * pixels / length;
    return pixel < pixels ? (uint32_t)pixel : pixels - 1;
}

uint32_t crn_counter_draw(const crn_counter_tracks *tracks, uint32_t track, uint64_t from,
                          uint64_t to, uint32_t pixels, crn_counter_point *points)
{
    const crn_counter_track *its = &tracks->tracks[track];
    const crn_counter *values = tracks->values + its->first;
    uint32_t begin = CRN_BELOW(values, its->count, at, from), count = 0, pixel = UINT32_MAX;
    if (begin) {
        double value = values[begin - 1].value;
        points[count++] = (crn_counter_point){values[begin - 1].at, value, value, value};
    }
    for (uint32_t i = begin; i < its->count && values[i].at < to; i++) {
        double value = values[i].value;
        uint32_t now = pixel_of(values[i].at, from, to, pixels);
        if (now != pixel)
            points[count++] = (crn_counter_point){values[i].at, value, value, value};
        pixel = now;
        crn_counter_point *point = &points[count - 1];
        point->low = fmin(point->low, value);
        point->high = fmax(point->high, value);
        point->last = value;
    }
    return count;
}
