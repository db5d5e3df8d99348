/* SPDX-License-Identifier: MIT
 *
 * Opens a capture as a span store or as a trace, and makes either from the other. A trace copies
 * the spans and finds parents in other processes.
 */
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "spans/store_opening.h"
#include "spans/trace_clock.h"
#include "spans/trace_histograms.h"
#include "spans/trace_process.h"

/* ---- from a trace ---- */

static void take_span(crn_span_store *store, crn_store_opening *opening, uint32_t number)
{
    const crn_span *span = &store->trace->spans[number];
    uint32_t first = store->lane_first[span->lane];
    bool within = span->parent >= first && span->parent < number && !span->handed_off;
    store->made[number] = (cairn_priv_span){.start = span->start + 1,
                                            .end = span->open ? 0 : span->end + 1,
                                            .iteration = span->iteration,
                                            .block = span->block,
                                            .parent = within ? span->parent - first + 1 : 0};
    if (within || (span->parent == CRN_SPAN_NONE && !span->handed_off))
        return;
    CRN_GROW(store->moves, store->move_count, opening->move_room);
    store->moves[store->move_count++] =
        (crn_span_move){.span = number, .parent = span->parent, .handed_off = span->handed_off};
}

/* Copies the ends of all spans if some open span ends before the trace does: the processes of a
 * merged capture end at different times. */
static void take_open_ends(crn_span_store *store)
{
    const crn_trace *trace = store->trace;
    uint32_t first = 0;
    while (first < trace->span_count &&
           (!trace->spans[first].open || trace->spans[first].end == trace->length))
        first++;
    if (first == trace->span_count)
        return;
    store->made_ends = crn_calloc(trace->span_count, sizeof *store->made_ends);
    for (uint32_t s = 0; s < trace->span_count; s++)
        store->made_ends[s] = trace->spans[s].end;
}

static void take_lanes(crn_span_store *store)
{
    const crn_trace *trace = store->trace;
    store->lane_count = trace->lane_count;
    store->lanes = crn_calloc(trace->lane_count, sizeof *store->lanes);
    store->lane_first = crn_calloc(trace->lane_count + (size_t)1, sizeof *store->lane_first);
    for (uint32_t lane = 0, span = 0; lane < trace->lane_count; lane++) {
        store->lanes[lane] = trace->lanes[lane];
        while (span < trace->span_count && trace->spans[span].lane <= lane)
            span++;
        store->lane_first[lane + 1] = span;
    }
}

static void take_pieces(crn_span_store *store, crn_store_opening *opening)
{
    for (uint32_t lane = 0; lane < store->lane_count; lane++)
        while (store->count < store->lane_first[lane + 1]) {
            uint32_t left = store->lane_first[lane + 1] - store->count;
            uint32_t most = left < 1 << CRN_PIECE_BITS ? left : 1 << CRN_PIECE_BITS;
            crn_store_add_piece(opening, store->made + store->count, most, lane);
        }
    crn_store_index_pieces(store);
}

static void take_handoffs(crn_span_store *store)
{
    const crn_trace *trace = store->trace;
    if (store->move_count)
        crn_store_order_moves(store);
    for (uint32_t h = 0, m = 0; h < trace->handoff_count; h++) {
        while (m < store->move_count && store->moves[m].span < trace->handoffs[h].span)
            m++;
        if (m < store->move_count && store->moves[m].span == trace->handoffs[h].span) {
            store->moves[m].taken = trace->handoffs[h].taken;
            store->moves[m].adoption = (uint16_t)trace->handoffs[h].adoption;
        }
    }
}

static void take_tables(crn_span_store *store)
{
    const crn_trace *trace = store->trace;
    store->edge_count = trace->edge_count;
    store->edges = crn_copied(trace->edges, trace->edge_count, sizeof *store->edges);
    store->counter_count = trace->counter_count;
    store->counters = crn_copied(trace->counters, trace->counter_count, sizeof *store->counters);
    store->event_count = trace->event_count;
    store->events = crn_copied(trace->events, trace->event_count, sizeof *store->events);
    store->off_core_count = trace->off_core_count;
    store->off_core = crn_copied(trace->off_core, trace->off_core_count, sizeof *store->off_core);
    store->samples = crn_samples_copy(&trace->samples);
    if (trace->threads)
        store->threads = crn_copied(trace->threads, trace->lane_count, sizeof *store->threads);
    store->key_count = trace->key_count;
    store->keys = crn_copied((const void *)trace->keys, trace->key_count, sizeof *store->keys);
    store->weight_count = trace->weight_count;
    store->weights = crn_copied(trace->weights, trace->weight_count, sizeof *store->weights);
    store->cpu_known = trace->cpu != NULL;
    if (trace->cpu)
        store->cpu = crn_copied(trace->cpu, trace->span_count, sizeof *store->cpu);
    if (trace->ready)
        store->ready = crn_copied(trace->ready, trace->span_count, sizeof *store->ready);
    store->attribute_count = trace->attribute_count;
}

crn_span_store *crn_store_of(const crn_trace *trace)
{
    crn_span_store *store = crn_calloc(1, sizeof *store);
    crn_store_opening opening = {.store = store};
    store->trace = trace;
    store->scale = 1;
    store->clock_first = 1; /* start and end are never 0, which means "unused" and "open" */
    take_lanes(store);
    store->made = crn_calloc(trace->span_count, sizeof *store->made);
    for (uint32_t s = 0; s < trace->span_count; s++)
        take_span(store, &opening, s);
    take_open_ends(store);
    take_pieces(store, &opening);
    take_handoffs(store);
    take_tables(store);
    store->length = trace->length;
    store->dropped = trace->dropped;
    store->details_dropped = trace->details_dropped;
    store->recycled = trace->recycled;
    store->skipped = trace->skipped;
    store->dangling = trace->dangling;
    return store;
}

/* ---- to a trace ---- */

static void copy_spans(crn_trace *trace, const crn_store_opening *opening)
{
    crn_span_store *store = opening->store;
    trace->spans = store->count ? crn_realloc(NULL, store->count, sizeof *trace->spans) : NULL;
    for (uint32_t p = 0; p < store->piece_count; p++) {
        const crn_span_piece *piece = &store->pieces[p];
        for (uint32_t i = 0; i < piece->count; i++)
            trace->spans[piece->first + i] = crn_store_span_in(store, piece, piece->first + i);
        crn_store_touch(store, piece->count * sizeof *piece->spans);
    }
    trace->span_count = store->count;
    for (uint32_t i = 0; i < opening->cut_count; i++) {
        crn_span *span = &trace->spans[opening->cut[i]];
        span->orphaned = !span->handed_off;
    }
}

static void copy_handoffs(crn_trace *trace, const crn_span_store *store)
{
    trace->handoffs = crn_calloc(store->move_count + (size_t)1, sizeof *trace->handoffs);
    for (uint32_t m = 0; m < store->move_count; m++) {
        const crn_span_move *move = &store->moves[m];
        if (move->handed_off)
            trace->handoffs[trace->handoff_count++] =
                (crn_span_handoff){move->span, move->adoption, move->taken};
    }
}

static void copy_attributes(crn_trace *trace, crn_span_store *store)
{
    char text[CAIRN_TEXT_MAX + 1];
    crn_store_attributes(store);
    trace->attribute_count = store->attribute_count;
    trace->attributes = crn_calloc(store->attribute_count + (size_t)1, sizeof *trace->attributes);
    for (uint32_t a = 0; a < store->attribute_count; a++) {
        crn_attribute *attribute = &trace->attributes[a];
        *attribute = crn_store_attribute(store, a, text);
        if (attribute->kind == CRN_ATTRIBUTE_TEXT)
            attribute->value.text = crn_intern_text(store->texts, text);
    }
}

/* Moves tables and counts from the store to the trace. */
static void move_tables(crn_trace *trace, crn_store_opening *opening)
{
    crn_span_store *store = opening->store;
    crn_store_cpu(store);
    trace->texts = store->texts;
    trace->lanes = store->lanes;
    trace->keys = store->keys;
    trace->edges = store->edges;
    trace->counters = store->counters;
    trace->counter_count = store->counter_count;
    store->counters = NULL;
    trace->events = store->events;
    trace->event_count = store->event_count;
    store->events = NULL;
    trace->off_core = store->off_core;
    trace->off_core_count = store->off_core_count;
    store->off_core = NULL;
    trace->samples = store->samples;
    store->samples = (crn_samples){0};
    trace->threads = store->threads;
    store->threads = NULL;
    trace->weights = store->weights;
    trace->cpu = store->cpu;
    trace->ready = store->ready;
    trace->remotes = opening->remotes;
    store->texts = NULL;
    store->lanes = store->keys = NULL;
    store->edges = NULL;
    store->weights = NULL;
    store->cpu = store->ready = NULL;
    opening->remotes = NULL;
    trace->lane_count = store->lane_count;
    trace->key_count = store->key_count;
    trace->edge_count = store->edge_count;
    trace->weight_count = store->weight_count;
    trace->remote_count = opening->remote_count;
    trace->dropped = store->dropped;
    trace->limited = opening->limited;
    trace->late = opening->late;
    trace->recycled = store->recycled;
    trace->skipped = store->skipped;
    trace->trees_skipped = opening->trees_skipped;
    trace->details_dropped = store->details_dropped;
    trace->dangling = store->dangling;
    trace->length = store->length;
}

/* Reads what the store lacks from the capture: processes, histograms, and the name of each ring's
 * first span. */
static bool read_more(crn_trace *trace, const crn_store_opening *opening)
{
    const crn_span_store *store = opening->store;
    crn_capture_texts texts = {.strings = &store->strings, .into = trace->texts};
    bool good = crn_trace_processes_load(trace, opening->reader, &texts, store->lane_numbers,
                                         opening->error);
    crn_capture_texts_end(&texts);
    for (uint32_t lane = 0; good && lane < trace->lane_count; lane++)
        if (opening->rings[lane].part_count)
            trace->origins[lane] = crn_span_name_make(store->lane_numbers[lane],
                                                      crn_ring_place(&opening->rings[lane]));
    crn_histogram_source source = {opening->reader, store->lane_numbers, store->scale,
                                   store->key_count};
    return good && crn_trace_histograms_load(trace, &source, opening->error);
}

/* Completes the trace: ends open spans, links remote parents, cuts cycles of parents, and charges
 * dangling edges to a process. Of several remote parents or weights of a span, in a damaged file,
 * keeps the last. */
static void finish(crn_trace *trace, const crn_reader *reader)
{
    if (!crn_trace_is_merged(reader))
        trace->processes[0].length = trace->length;
    crn_trace_end_open(trace);
    trace->remote_count =
        crn_keep_last_by_span(trace->remotes, trace->remote_count, sizeof *trace->remotes);
    trace->weight_count =
        crn_keep_last_by_span(trace->weights, trace->weight_count, sizeof *trace->weights);
    crn_trace_resolve(trace);
    crn_trace_cut_circles(trace);
    crn_trace_share_dangling(trace);
}

/* Makes a trace from the store and closes the store. Returns NULL on an error. */
static crn_trace *into_trace(crn_store_opening *opening)
{
    crn_trace *trace = crn_calloc(1, sizeof *trace);
    copy_spans(trace, opening);
    copy_handoffs(trace, opening->store);
    copy_attributes(trace, opening->store);
    move_tables(trace, opening);
    bool good = read_more(trace, opening);
    if (good)
        finish(trace, opening->reader);
    else
        crn_trace_free(trace);
    crn_store_opening_end(opening);
    crn_store_close(opening->store);
    opening->store = NULL;
    return good ? trace : NULL;
}

crn_trace *crn_trace_load(const char *path, crn_error *error)
{
    crn_reader reader;
    if (!crn_reader_open(&reader, path, error))
        return NULL;
    crn_store_opening opening = {.reader = &reader, .resting = true, .error = error};
    crn_trace *trace = crn_store_read(&opening) ? into_trace(&opening) : NULL;
    crn_store_opening_end(&opening);
    crn_reader_close(&reader);
    return trace;
}

crn_profile *crn_trace_load_with_profile(const char *path, crn_trace **trace, crn_error *error)
{
    crn_trace *spans = crn_trace_load(path, error);
    crn_profile *profile = spans ? crn_profile_load(path, error) : NULL;
    if (profile)
        *trace = spans;
    else
        crn_trace_free(spans);
    return profile;
}

/* Reads processes, histograms and counts of lost spans into `more`. Returns false on an error. */
static bool read_more_of_store(crn_store_opening *opening)
{
    crn_span_store *store = opening->store;
    crn_trace *more = crn_calloc(1, sizeof *more);
    more->texts = crn_interning_new();
    more->lane_count = store->lane_count;
    bool good = read_more(more, opening);
    more->dropped = store->dropped;
    more->limited = opening->limited;
    more->late = opening->late;
    more->recycled = store->recycled;
    more->skipped = store->skipped;
    more->trees_skipped = opening->trees_skipped;
    more->details_dropped = store->details_dropped;
    more->dangling = store->dangling;
    if (good) {
        more->processes[0].length = store->length;
        crn_trace_share_dangling(more);
    }
    store->more = store->own_more = more;
    return good;
}

static crn_span_store *store_open(const char *path, bool whole, crn_error *error)
{
    crn_reader reader;
    if (!crn_reader_open(&reader, path, error))
        return NULL;
    crn_store_opening opening = {.reader = &reader, .resting = whole, .error = error};
    crn_span_store *store = crn_store_read(&opening) ? opening.store : NULL;
    if (store && (opening.remote_count || crn_trace_is_merged(&reader))) {
        crn_trace *trace = into_trace(&opening);
        store = trace ? crn_store_of(trace) : NULL;
        if (store) {
            store->own = trace;
            crn_free(trace->spans); /* the store has copies */
            trace->spans = NULL;
            trace->span_count = 0;
            store->more = trace;
        }
    } else if (store && whole && !read_more_of_store(&opening)) {
        crn_store_close(store);
        store = NULL;
    }
    crn_store_opening_end(&opening);
    crn_reader_close(&reader);
    return store;
}

crn_span_store *crn_store_open(const char *path, crn_error *error)
{
    return store_open(path, false, error);
}

crn_span_store *crn_store_open_whole(const char *path, crn_error *error)
{
    return store_open(path, true, error);
}
