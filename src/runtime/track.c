/* SPDX-License-Identifier: MIT
 *
 * Tracks of devices. Each track has a lane, whose spans have converted time stamps.
 */
#include <cairn/track.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/runtime.h"
#include "runtime/span.h"

/* Readings of both clocks at one moment. */
typedef struct pair {
    uint64_t device, clock;
} pair;

struct cairn_track {
    cairn_profile *profile;
    cairn_strand *strand;
    double clock_per_tick; /* nominal */
    pair first, last;
    unsigned pairs;
    double error;                       /* largest error of a pair so far, clock units */
    uint64_t last_end, last_device_end; /* end of the last span, by the profile's clock and the
                                           device's */
    char name[];
};

static cairn_profile *own_profile(void)
{
    cairn_strand *own = cairn_thread_strand();
    return own && !crn_lane_is_buried(crn_lane_of(own)) ? crn_lane_of(own)->profile : NULL;
}

cairn_track *cairn_track_open(const char *name, double ns_per_tick)
{
    cairn_profile *profile = own_profile();
    if (!profile || !name || !(ns_per_tick > 0 && ns_per_tick < 1e12))
        return NULL;
    int saved = errno;
    cairn_track *track = crn_try_calloc(1, sizeof *track + strlen(name) + 1);
    if (track) {
        strcpy(track->name, name);
        track->profile = profile;
        track->clock_per_tick = ns_per_tick * profile->clock_per_ns;
        cairn_lane *lane = crn_lane_open_new(profile, name);
        cairn_lane_set_thread(lane, 0);
        track->strand = cairn_strand_open(lane);
        cairn_lane_hand_over(lane);
    }
    errno = saved;
    if (track && track->strand)
        return track;
    cairn_track_close(track);
    return NULL;
}

void cairn_track_close(cairn_track *track)
{
    if (!track)
        return;
    int saved = errno;
    crn_free(track);
    errno = saved;
}

uint64_t cairn_track_clock(void)
{
    const cairn_profile *profile = own_profile();
    return profile ? crn_clock_now(profile->tsc) : 0;
}

/* ---- the relation of the clocks ---- */

static double rate_of(const cairn_track *track)
{
    double ticks = (double)(track->last.device - track->first.device);
    return ticks > 0 ? (double)(track->last.clock - track->first.clock) / ticks
                     : track->clock_per_tick;
}

/* Converts a reading of the device's clock to the profile's. Returns 0 if the result would be
 * negative. */
static uint64_t convert(const cairn_track *track, uint64_t device)
{
    double ticks = device >= track->last.device ? (double)(device - track->last.device)
                                                : -(double)(track->last.device - device);
    double clock = ticks * rate_of(track);
    if (clock < 0 && -clock >= (double)track->last.clock)
        return 0;
    return clock < 0 ? track->last.clock - (uint64_t)-clock : track->last.clock + (uint64_t)clock;
}

static void note(const cairn_track *track)
{
    enum { TEXT_MAX = 1024 };
    char key[TEXT_MAX], value[64];
    int length = snprintf(key, sizeof key, "track.%s", track->name);
    snprintf(value, sizeof value, "pairs=%u error=%.0fns", track->pairs, cairn_track_error(track));
    if (length > 0 && (size_t)length < sizeof key)
        cairn_profile_note(track->profile, key, value);
}

void cairn_track_sync(cairn_track *track, uint64_t device, uint64_t before)
{
    if (!track || !own_profile() || (track->pairs && device <= track->last.device))
        return;
    uint64_t after = crn_clock_now(track->profile->tsc);
    uint64_t half = after > before ? (after - before) / 2 : 0;
    pair now = {device, after - half};
    double error = (double)half, before_error = track->error;
    if (track->pairs)
        error += __builtin_fabs((double)convert(track, device) - (double)now.clock);
    else
        track->first = now;
    track->last = now;
    track->pairs++;
    track->error = error > before_error ? error : before_error;
    if (track->pairs == 1 || track->error > before_error || !(track->pairs & (track->pairs - 1)))
        note(track);
}

double cairn_track_error(const cairn_track *track)
{
    return track && track->pairs ? track->error / track->profile->clock_per_ns : -1;
}

/* ---- spans ---- */

cairn_span cairn_track_span(cairn_track *track, cairn_handoff asked, cairn_place *place,
                            int64_t iteration, uint64_t begin, uint64_t end)
{
    if (!track || !own_profile())
        return 0;
    int saved = errno;
    cairn_strand *strand = track->strand;
    cairn_lane *lane = crn_lane_of(strand);
    uint64_t from = track->pairs ? convert(track, begin) : 0;
    uint64_t to = track->pairs ? convert(track, end) : 0;
    if (!from || end < begin || begin < track->last_device_end) {
        CAIRN_PRIV_ADD(lane->disk->misuses, 1);
        return 0;
    }
    /* A new pair of readings can convert a later time to one before the last span's end. */
    from = from < track->last_end ? track->last_end : from;
    to = to < from ? from : to;
    cairn_handoff_adopt(strand, asked);
    cairn_span_begin(strand, cairn_place_block(strand, place), iteration);
    uint32_t number = crn_spans_innermost(strand);
    cairn_span name = cairn_span_current(strand);
    cairn_span_end(strand);
    if (number) {
        cairn_priv_span *span = crn_spans_at(lane, number);
        __atomic_store_n(&span->start, from, __ATOMIC_RELAXED);
        __atomic_store_n(&span->end, to, __ATOMIC_RELAXED);
        track->last_end = to;
        track->last_device_end = end;
    }
    cairn_handoff_leave(strand);
    cairn_lane_hand_over(lane);
    errno = saved;
    return name;
}
