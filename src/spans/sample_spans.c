/* SPDX-License-Identifier: MIT */
#include "spans/sample_spans.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "spans/trace_process.h"

/* The spans of a trace or a store. */
typedef struct spans {
    const crn_samples *samples;
    const uint32_t *threads, *lane_first; /* by lane; lane_first has one entry more */
    uint32_t lane_count;
    const crn_trace *about; /* has the processes; NULL: processes unknown */
    const crn_trace *trace; /* NULL: use `store` */
    const crn_span_store *store;
} spans;

/* Consecutive samples of a lane that belonged to one thread. */
typedef struct run {
    uint32_t thread, lane;
    uint32_t first, end; /* samples */
} run;

/* A walk over the spans of a lane in the order of their starts. */
typedef struct walk {
    const spans *spans;
    uint32_t lane, next;
    uint64_t at;    /* moment of the last sample */
    uint32_t *open; /* open spans, the innermost last */
    uint32_t open_count, open_room;
} walk;

/* ---- spans ---- */

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

static void push(walk *walk, uint32_t span)
{
    CRN_GROW(walk->open, walk->open_count, walk->open_room);
    walk->open[walk->open_count++] = span;
}

/* Returns the innermost span at `at`, CRN_SPAN_NONE outside of spans. If `at` is earlier than in
 * the last call, restarts the walk. */
static uint32_t innermost(walk *walk, uint64_t at)
{
    const spans *spans = walk->spans;
    if (at < walk->at) {
        walk->next = spans->lane_first[walk->lane];
        walk->open_count = 0;
    }
    walk->at = at;
    for (; walk->next < spans->lane_first[walk->lane + 1] && start_of(spans, walk->next) <= at;
         walk->next++)
        if (!has_ended(spans, walk->next, at))
            push(walk, walk->next);
    while (walk->open_count && has_ended(spans, walk->open[walk->open_count - 1], at))
        walk->open_count--;
    return walk->open_count ? walk->open[walk->open_count - 1] : CRN_SPAN_NONE;
}

/* ---- samples by thread ---- */

static int compare_runs(const void *left, const void *right)
{
    const run *a = left, *b = right;
    return CRN_ORDER(a->thread, b->thread) ?: CRN_ORDER(a->first, b->first);
}

/* Returns the runs of samples, sorted by thread. */
static run *find_runs(const spans *spans, uint32_t *count)
{
    const crn_samples *samples = spans->samples;
    const crn_thread_change *changes = samples->changes;
    uint32_t change = 0, last = samples->change_count;
    run *runs = crn_calloc(spans->lane_count + (size_t)last, sizeof *runs);
    *count = 0;
    for (uint32_t s = 0; s < samples->count;) {
        uint32_t lane = samples->list[s].lane, thread = spans->threads[lane];
        while (change < last && changes[change].lane < lane)
            change++;
        while (s < samples->count && samples->list[s].lane == lane) {
            for (; change < last && changes[change].lane == lane &&
                   changes[change].at <= samples->list[s].at;
                 change++)
                thread = changes[change].thread;
            bool more = change < last && changes[change].lane == lane;
            uint64_t until = more ? changes[change].at : UINT64_MAX;
            uint32_t first = s;
            while (s < samples->count && samples->list[s].lane == lane &&
                   samples->list[s].at < until)
                s++;
            runs[(*count)++] = (run){thread, lane, first, s};
        }
    }
    qsort(runs, *count, sizeof *runs, compare_runs);
    return runs;
}

/* Returns true if two lanes may be of one machine: only there are thread ids unique. */
static bool is_same_machine(const crn_trace *about, uint32_t a, uint32_t b)
{
    if (!about || !about->process_count)
        return true;
    const crn_trace_process *first = &about->processes[crn_trace_process_of(about, a)];
    const crn_trace_process *second = &about->processes[crn_trace_process_of(about, b)];
    return memcmp(first->boot, second->boot, sizeof first->boot) == 0;
}

/* ---- entry ---- */

typedef struct placing {
    spans spans;
    run *runs;
    uint32_t run_count;
    uint32_t *found; /* by sample */
} placing;

/* Finds the spans of a thread's samples in a period in which the thread owned the walk's lane. */
static void place_thread(placing *placing, walk *walk, uint32_t thread, uint64_t from,
                         uint64_t until)
{
    const crn_sample *list = placing->spans.samples->list;
    size_t r = CRN_BELOW(placing->runs, placing->run_count, thread, thread);
    for (; thread && r < placing->run_count && placing->runs[r].thread == thread; r++) {
        const run *run = &placing->runs[r];
        if (!is_same_machine(placing->spans.about, run->lane, walk->lane))
            continue;
        uint32_t s =
            run->first + (uint32_t)CRN_BELOW(list + run->first, run->end - run->first, at, from);
        for (; s < run->end && list[s].at < until; s++) {
            uint32_t span = innermost(walk, list[s].at), *found = &placing->found[s];
            if (span != CRN_SPAN_NONE &&
                (*found == CRN_SPAN_NONE ||
                 start_of(&placing->spans, span) > start_of(&placing->spans, *found)))
                *found = span;
        }
    }
}

static uint32_t *place_samples(const spans *spans)
{
    const crn_samples *samples = spans->samples;
    placing placing = {.spans = *spans};
    walk walk = {.spans = spans};
    placing.found = crn_calloc(samples->count + (size_t)1, sizeof *placing.found);
    memset(placing.found, 0xff, samples->count * sizeof *placing.found); /* CRN_SPAN_NONE */
    if (!spans->threads || !samples->count)
        return placing.found;
    placing.runs = find_runs(spans, &placing.run_count);
    for (uint32_t lane = 0, change = 0; lane < spans->lane_count; lane++) {
        uint32_t thread = spans->threads[lane];
        uint64_t from = 0;
        walk.lane = lane;
        walk.next = spans->lane_first[lane];
        walk.at = walk.open_count = 0;
        for (; change < samples->change_count && samples->changes[change].lane == lane; change++) {
            place_thread(&placing, &walk, thread, from, samples->changes[change].at);
            thread = samples->changes[change].thread;
            from = samples->changes[change].at;
        }
        place_thread(&placing, &walk, thread, from, UINT64_MAX);
    }
    crn_free(placing.runs);
    crn_free(walk.open);
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
