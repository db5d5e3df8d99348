/* SPDX-License-Identifier: MIT
 *
 * perfetto.h - packets, interned ids and track ids, shared by the files perfetto*.c.
 */
#ifndef CRN_FORMATS_PERFETTO_H
#define CRN_FORMATS_PERFETTO_H

#include <stdio.h>

#include "formats/timeline.h"
#include "perfetto.pb-c.h"

enum { CRN_PERFETTO_STATE_CLEARED = 1, CRN_PERFETTO_STATE_NEEDED = 2 };

/* Interned ids of the category and of annotation names. A block's id is its number + 1. */
enum {
    CRN_PERFETTO_SPAN = 1,
    CRN_PERFETTO_ITERATION = 1,
    CRN_PERFETTO_OPEN = 2,
    CRN_PERFETTO_CPU = 3,
    CRN_PERFETTO_READY = 4,
    CRN_PERFETTO_LEVEL = 5,
    CRN_PERFETTO_WOKEN_BY = 6,
    CRN_PERFETTO_KEYS = 7
};

typedef struct crn_perfetto {
    const crn_timeline *timeline;
    FILE *out;
    uint64_t base; /* ns, added to all times */
    uint8_t *packed;
    size_t capacity;
} crn_perfetto;

void crn_perfetto_put(crn_perfetto *perfetto, Perfetto__Protos__TracePacket *packet);

/* Writes clocks, names and tracks, which come before events. Sets `base`. */
void crn_perfetto_begin(crn_perfetto *perfetto);

/* Writes an event whose type and track are set. */
void crn_perfetto_put_event(crn_perfetto *perfetto, Perfetto__Protos__TrackEvent *event,
                            uint64_t time);

/* Write events and log lines; off-core times; samples of processor time. */
void crn_perfetto_put_events(crn_perfetto *perfetto);
void crn_perfetto_put_off_core(crn_perfetto *perfetto);
void crn_perfetto_put_samples(crn_perfetto *perfetto);

/* Writes interned names. `first`: viewers forget earlier ones. */
void crn_perfetto_put_interned(crn_perfetto *perfetto, Perfetto__Protos__InternedData *data,
                               bool first);

/* Track ids. */
static inline uint64_t crn_perfetto_process(uint32_t process)
{
    return (uint64_t)(process + 1) << 32;
}

static inline uint64_t crn_perfetto_counter(uint32_t process)
{
    return crn_perfetto_process(process) | 1;
}

/* Returns the track of the program's counter `key`. Id 1 is crn_perfetto_counter's. */
static inline uint64_t crn_perfetto_own_counter(uint32_t process, uint32_t key)
{
    return crn_perfetto_process(process) | (key + (uint64_t)2);
}

static inline uint64_t crn_perfetto_row(uint32_t row)
{
    return row + (uint64_t)1;
}

/* Returns the track of off-core times of a lane's thread. */
static inline uint64_t crn_perfetto_off_core(uint32_t lane)
{
    return UINT64_C(1) << 63 | lane;
}

#endif
