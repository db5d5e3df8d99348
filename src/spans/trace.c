/* SPDX-License-Identifier: MIT
 *
 * Makes a trace from a span store: copies its spans, and resolves parents in other processes.
 */
#include "spans/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "spans/store_opening.h"
#include "spans/trace_clock.h"
#include "spans/trace_histograms.h"
#include "spans/trace_order.h"
#include "spans/trace_process.h"

static void copy_spans(crn_trace *trace, const crn_store_opening *opening)
{
    const crn_span_store *store = opening->store;
    trace->spans = store->count ? crn_realloc(NULL, store->count, sizeof *trace->spans) : NULL;
    for (uint32_t p = 0; p < store->piece_count; p++) {
        const crn_span_piece *piece = &store->pieces[p];
        for (uint32_t i = 0; i < piece->count; i++)
            trace->spans[piece->first + i] = crn_store_span_in(store, piece, piece->first + i);
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
            attribute->value.text = crn_intern(store->texts, text, strlen(text));
    }
}

/* Moves tables and counts from the store to the trace. */
static void take_tables(crn_trace *trace, crn_store_opening *opening)
{
    crn_span_store *store = opening->store;
    crn_store_cpu(store);
    trace->texts = store->texts;
    trace->lanes = store->lanes;
    trace->keys = store->keys;
    trace->edges = store->edges;
    trace->weights = store->weights;
    trace->cpu = store->cpu;
    trace->remotes = opening->remotes;
    store->texts = NULL;
    store->lanes = store->keys = NULL;
    store->edges = NULL;
    store->weights = NULL;
    store->cpu = NULL;
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

/* Reads what the store does not have: processes and histograms. */
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
    return good && crn_trace_histograms_load(trace, opening->reader, store->lane_numbers,
                                             store->scale, opening->error);
}

static void finish(crn_trace *trace, const crn_reader *reader)
{
    if (!crn_trace_is_merged(reader))
        trace->processes[0].length = trace->length;
    crn_trace_end_open(trace);
    crn_trace_order(trace);
    crn_trace_resolve(trace);
    crn_trace_cut_circles(trace);
    crn_trace_share_dangling(trace);
}

crn_trace *crn_store_into_trace(crn_store_opening *opening)
{
    crn_trace *trace = crn_calloc(1, sizeof *trace);
    copy_spans(trace, opening);
    copy_handoffs(trace, opening->store);
    copy_attributes(trace, opening->store);
    take_tables(trace, opening);
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
    crn_store_opening opening = {.reader = &reader, .error = error};
    crn_trace *trace = crn_store_read(&opening) ? crn_store_into_trace(&opening) : NULL;
    crn_store_opening_end(&opening);
    crn_reader_close(&reader);
    return trace;
}

void crn_trace_free(crn_trace *trace)
{
    if (!trace)
        return;
    crn_free(trace->spans);
    crn_free(trace->attributes);
    crn_free(trace->cpu);
    crn_free(trace->weights);
    crn_free(trace->edges);
    crn_free(trace->handoffs);
    crn_free(trace->remotes);
    crn_trace_histograms_free(trace);
    crn_free(trace->origins);
    crn_free(trace->processes);
    crn_free((void *)trace->lanes);
    crn_free((void *)trace->keys);
    crn_interning_free(trace->texts);
    crn_free(trace);
}
