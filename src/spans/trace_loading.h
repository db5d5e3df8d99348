/* SPDX-License-Identifier: MIT
 *
 * trace_loading.h - state shared by the files that load a trace: trace.c reads lanes and spans,
 * trace_details.c attributes and edges.
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
    double scale;      /* ns per unit of the capture's clock */
    uint32_t *numbers; /* by lane: its number in the capture */
    uint32_t *first;   /* by lane: its first span; one entry more than lanes */
    crn_ring *rings;   /* by lane; without parts if the lane keeps its first spans */
    uint32_t span_room, attribute_room, edge_room, handoff_room, remote_room, weight_room;
    crn_bytes strings;
    uint64_t left;         /* bytes of sections that lanes may still claim: no two lanes share
                              bytes */
    uint32_t detail_count; /* of all lanes so far; fits into 32 bits */
    crn_error *error;
} crn_trace_loading;

static inline uint64_t crn_loading_moment(const crn_trace_loading *loading, uint64_t clock)
{
    uint64_t first = loading->reader->header.first.clock, since = clock > first ? clock - first : 0;
    if (loading->scale == 1) /* exact: no rounding by floating point */
        return since < (uint64_t)CRN_TRACE_LATEST ? since : (uint64_t)CRN_TRACE_LATEST;
    double time = (double)since * loading->scale;
    return time < CRN_TRACE_LATEST ? (uint64_t)time : (uint64_t)CRN_TRACE_LATEST;
}

/* Returns the array, grown if needed to hold one item more than `count`, which is less than 2^32 -
 * 1. */
static inline void *crn_loading_grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return array;
    *room = *room > UINT32_MAX / 2 ? UINT32_MAX : *room ? *room * 2 : 1024;
    return crn_realloc(array, *room, size);
}

/* Claims `size` bytes of the file for a lane. Fails if lanes claim more bytes than the file has. */
static inline bool crn_loading_claim(crn_trace_loading *loading, uint64_t size)
{
    if (size > loading->left)
        return crn_error_set(loading->error, CAIRN_E_FORMAT, "damaged: its lanes overlap");
    loading->left -= size;
    return true;
}

/* Loads the attributes and edges of a lane. The spans of all lanes must be loaded before. */
bool crn_trace_load_details(crn_trace_loading *loading, uint32_t lane);

#endif
