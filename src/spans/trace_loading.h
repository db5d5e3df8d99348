/* SPDX-License-Identifier: MIT
 *
 * trace_loading.h - what the parts that load a trace share: one reads lanes and spans, one what
 * else is known of those.
 */
#ifndef CRN_SPANS_TRACE_LOADING_H
#define CRN_SPANS_TRACE_LOADING_H

#include "base/memory.h"
#include "capture/reader.h"
#include "capture/ring.h"
#include "spans/trace.h"

typedef struct crn_trace_loading {
    crn_trace *trace;
    const crn_reader *reader;
    double scale;      /* nanoseconds per unit of the clock */
    uint32_t *numbers; /* of lanes, by index */
    uint32_t *first;   /* span of each lane, by index; one more at the end */
    crn_ring *rings;   /* by lane; without parts where it keeps its first */
    uint32_t span_room, attribute_room, edge_room, handoff_room, remote_room, weight_room;
    crn_bytes strings;
    uint64_t left;         /* bytes that lanes can still have: no two of them have the same */
    uint32_t detail_count; /* of all lanes so far: not more than numbers reach */
    crn_error *error;
} crn_trace_loading;

static inline uint64_t crn_loading_moment(const crn_trace_loading *loading, uint64_t clock)
{
    uint64_t first = loading->reader->header.first.clock, since = clock > first ? clock - first : 0;
    if (loading->scale == 1) /* to the nanosecond, whatever was merged over how many years */
        return since < (uint64_t)CRN_TRACE_LATEST ? since : (uint64_t)CRN_TRACE_LATEST;
    double time = (double)since * loading->scale;
    return time < CRN_TRACE_LATEST ? (uint64_t)time : (uint64_t)CRN_TRACE_LATEST;
}

/* The array with room for one more than `count`, which is less than 2^32 - 1. */
static inline void *crn_loading_grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return array;
    *room = *room > UINT32_MAX / 2 ? UINT32_MAX : *room ? *room * 2 : 1024;
    return crn_realloc(array, *room, size);
}

/* Takes `size` bytes of the file for a lane. */
static inline bool crn_loading_claim(crn_trace_loading *loading, uint64_t size)
{
    if (size > loading->left)
        return crn_error_set(loading->error, CAIRN_E_FORMAT, "damaged: its lanes overlap");
    loading->left -= size;
    return true;
}

/* Adds what is known of a lane's spans; those of all lanes are there. */
bool crn_trace_load_details(crn_trace_loading *loading, uint32_t lane);

#endif
