/* SPDX-License-Identifier: MIT */
#include "spans/sample_spans.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "spans/trace_process.h"

/* A lane with spans. */
typedef struct place {
    uint32_t thread;
    uint32_t lane;
    uint32_t first, end; /* spans */
} place;

typedef struct placing {
    const crn_trace *trace;
    place *places; /* sorted by thread */
    uint32_t place_count;
    uint32_t *found; /* by sample */
    uint32_t *open;  /* spans that have begun, the innermost last */
    uint32_t open_count, open_room;
} placing;

static int compare_places(const void *left, const void *right)
{
    const place *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->lane > b->lane) - (a->lane < b->lane);
}

static void find_places(placing *placing)
{
    const crn_trace *trace = placing->trace;
    placing->places = crn_calloc(trace->lane_count + (size_t)1, sizeof *placing->places);
    for (uint32_t s = 0; s < trace->span_count;) {
        uint32_t lane = trace->spans[s].lane, first = s;
        while (s < trace->span_count && trace->spans[s].lane == lane)
            s++;
        if (trace->threads[lane])
            placing->places[placing->place_count++] =
                (place){trace->threads[lane], lane, first, s};
    }
    if (placing->place_count)
        qsort(placing->places, placing->place_count, sizeof *placing->places, compare_places);
}

/* Returns true if the lanes may be of one machine: thread ids are unique within it. */
static bool is_same_machine(const crn_trace *trace, uint32_t a, uint32_t b)
{
    if (!trace->process_count)
        return true;
    const crn_trace_process *first = &trace->processes[crn_trace_process_of(trace, a)];
    const crn_trace_process *second = &trace->processes[crn_trace_process_of(trace, b)];
    return memcmp(first->boot, second->boot, sizeof first->boot) == 0;
}

static bool has_ended(const crn_trace *trace, uint32_t span, uint64_t at)
{
    return !trace->spans[span].open && trace->spans[span].end <= at;
}

static void push(placing *placing, uint32_t span)
{
    if (placing->open_count == placing->open_room) {
        placing->open_room = placing->open_room ? placing->open_room * 2 : 64;
        placing->open = crn_realloc(placing->open, placing->open_room, sizeof *placing->open);
    }
    placing->open[placing->open_count++] = span;
}

/* Finds the innermost spans of a lane for samples in the order of their moments. */
static void sweep(placing *placing, const place *place, uint32_t sample, uint32_t end)
{
    const crn_trace *trace = placing->trace;
    uint32_t next = place->first;
    placing->open_count = 0;
    for (; sample < end; sample++) {
        uint64_t at = trace->samples.list[sample].at;
        for (; next < place->end && trace->spans[next].start <= at; next++)
            if (!has_ended(trace, next, at))
                push(placing, next);
        while (placing->open_count && has_ended(trace, placing->open[placing->open_count - 1], at))
            placing->open_count--;
        if (!placing->open_count)
            continue;
        uint32_t span = placing->open[placing->open_count - 1], *found = &placing->found[sample];
        if (*found == CRN_SPAN_NONE || trace->spans[span].start > trace->spans[*found].start)
            *found = span;
    }
}

uint32_t *crn_samples_spans(const crn_trace *trace)
{
    placing placing = {.trace = trace};
    uint32_t count = trace->samples.count;
    placing.found = crn_calloc(count + (size_t)1, sizeof *placing.found);
    memset(placing.found, 0xff, count * sizeof *placing.found); /* CRN_SPAN_NONE */
    if (!trace->threads)
        return placing.found;
    find_places(&placing);
    for (uint32_t s = 0; s < count;) {
        uint32_t lane = trace->samples.list[s].lane, thread = trace->threads[lane], first = s;
        while (s < count && trace->samples.list[s].lane == lane)
            s++;
        size_t p = CRN_BELOW(placing.places, placing.place_count, thread, thread);
        for (; thread && p < placing.place_count && placing.places[p].thread == thread; p++)
            if (is_same_machine(trace, lane, placing.places[p].lane))
                sweep(&placing, &placing.places[p], first, s);
    }
    crn_free(placing.places);
    crn_free(placing.open);
    return placing.found;
}
