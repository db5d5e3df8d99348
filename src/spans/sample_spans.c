/* SPDX-License-Identifier: MIT */
#include "spans/sample_spans.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "spans/trace_process.h"

/* The spans of a trace or a store. */
typedef struct spans {
    const crn_samples *samples;
    const uint32_t *threads, *lane_first; /* by lane; lane_first has one entry more */
    uint32_t lane_count;
    const crn_trace *about;      /* has the processes; NULL: they are not known */
    const crn_trace *trace;      /* or else: */
    const crn_span_store *store;
} spans;

/* A lane with spans. */
typedef struct place {
    uint32_t thread, lane;
} place;

typedef struct placing {
    spans spans;
    place *places; /* sorted by thread */
    uint32_t place_count;
    uint32_t *found; /* by sample */
    uint32_t *open;  /* spans that have begun, the innermost last */
    uint32_t open_count, open_room;
} placing;

static uint64_t start_of(const spans *spans, uint32_t span)
{
    if (spans->trace)
        return spans->trace->spans[span].start;
    const crn_span_piece *piece = crn_store_piece(spans->store, span);
    return crn_store_start(spans->store, &piece->spans[span - piece->first]);
}

static bool has_ended(const spans *spans, uint32_t span, uint64_t at)
{
    if (spans->trace)
        return !spans->trace->spans[span].open && spans->trace->spans[span].end <= at;
    const crn_span_piece *piece = crn_store_piece(spans->store, span);
    const cairn_priv_span *its = &piece->spans[span - piece->first];
    return its->end && crn_store_end(spans->store, its) <= at;
}

static int compare_places(const void *left, const void *right)
{
    const place *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->lane > b->lane) - (a->lane < b->lane);
}

static void find_places(placing *placing)
{
    const spans *spans = &placing->spans;
    placing->places = crn_calloc(spans->lane_count + (size_t)1, sizeof *placing->places);
    for (uint32_t lane = 0; lane < spans->lane_count; lane++)
        if (spans->threads[lane] && spans->lane_first[lane] < spans->lane_first[lane + 1])
            placing->places[placing->place_count++] = (place){spans->threads[lane], lane};
    if (placing->place_count)
        qsort(placing->places, placing->place_count, sizeof *placing->places, compare_places);
}

/* Returns true if the lanes may be of one machine: thread ids are unique within it. */
static bool is_same_machine(const crn_trace *about, uint32_t a, uint32_t b)
{
    if (!about || !about->process_count)
        return true;
    const crn_trace_process *first = &about->processes[crn_trace_process_of(about, a)];
    const crn_trace_process *second = &about->processes[crn_trace_process_of(about, b)];
    return memcmp(first->boot, second->boot, sizeof first->boot) == 0;
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
static void sweep(placing *placing, uint32_t lane, uint32_t sample, uint32_t end)
{
    const spans *spans = &placing->spans;
    uint32_t next = spans->lane_first[lane], last = spans->lane_first[lane + 1];
    placing->open_count = 0;
    for (; sample < end; sample++) {
        uint64_t at = spans->samples->list[sample].at;
        for (; next < last && start_of(spans, next) <= at; next++)
            if (!has_ended(spans, next, at))
                push(placing, next);
        while (placing->open_count && has_ended(spans, placing->open[placing->open_count - 1], at))
            placing->open_count--;
        if (!placing->open_count)
            continue;
        uint32_t span = placing->open[placing->open_count - 1], *found = &placing->found[sample];
        if (*found == CRN_SPAN_NONE || start_of(spans, span) > start_of(spans, *found))
            *found = span;
    }
}

static uint32_t *place_samples(const spans *spans)
{
    placing placing = {.spans = *spans};
    uint32_t count = spans->samples->count;
    placing.found = crn_calloc(count + (size_t)1, sizeof *placing.found);
    memset(placing.found, 0xff, count * sizeof *placing.found); /* CRN_SPAN_NONE */
    if (!spans->threads || !count)
        return placing.found;
    find_places(&placing);
    for (uint32_t s = 0; s < count;) {
        uint32_t lane = spans->samples->list[s].lane, thread = spans->threads[lane], first = s;
        while (s < count && spans->samples->list[s].lane == lane)
            s++;
        size_t p = CRN_BELOW(placing.places, placing.place_count, thread, thread);
        for (; thread && p < placing.place_count && placing.places[p].thread == thread; p++)
            if (is_same_machine(spans->about, lane, placing.places[p].lane))
                sweep(&placing, placing.places[p].lane, first, s);
    }
    crn_free(placing.places);
    crn_free(placing.open);
    return placing.found;
}

uint32_t *crn_samples_spans(const crn_trace *trace)
{
    uint32_t *lane_first = crn_calloc(trace->lane_count + (size_t)1, sizeof *lane_first);
    for (uint32_t lane = 0, span = 0; lane < trace->lane_count; lane++) {
        while (span < trace->span_count && trace->spans[span].lane <= lane)
            span++;
        lane_first[lane + 1] = span;
    }
    uint32_t *found = place_samples(&(spans){&trace->samples, trace->threads, lane_first,
                                             trace->lane_count, trace, trace, NULL});
    crn_free(lane_first);
    return found;
}

uint32_t *crn_store_samples_spans(const crn_span_store *store)
{
    const crn_trace *about = store->more ? store->more : store->trace;
    return place_samples(&(spans){&store->samples, store->threads, store->lane_first,
                                  store->lane_count, about, NULL, store});
}
