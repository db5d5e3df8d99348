/* SPDX-License-Identifier: MIT */
#include "spans/trace.h"

#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "profile/profile.h"
#include "spans/trace_clock.h"
#include "spans/trace_histograms.h"
#include "spans/trace_loading.h"
#include "spans/trace_order.h"
#include "spans/trace_process.h"

/* ---- names ---- */

/* Reads a section of which a capture has one. */
static bool read_table(crn_trace_loading *loading, crn_section_kind kind, crn_bytes *bytes)
{
    return crn_reader_section(loading->reader, kind, 0, 0, loading->reader->header.used[kind],
                              bytes, loading->error);
}

static bool load_keys(crn_trace_loading *loading, crn_capture_texts *texts)
{
    crn_bytes keys;
    if (!read_table(loading, CRN_SECTION_KEYS, &keys))
        return false;
    crn_trace *trace = loading->trace;
    trace->key_count = (uint32_t)(keys.size / sizeof(crn_disk_key));
    trace->keys = crn_calloc(trace->key_count, sizeof *trace->keys);
    for (uint32_t k = 0; k < trace->key_count; k++)
        trace->keys[k] = crn_capture_text_at(texts, ((crn_disk_key *)(void *)keys.data)[k].name);
    crn_free(keys.data);
    return true;
}

static bool load_lanes(crn_trace_loading *loading, crn_capture_texts *texts)
{
    crn_trace *trace = loading->trace;
    for (uint32_t number = 0; crn_reader_lane(loading->reader, &number); number++) {
        crn_bytes header;
        if (!crn_reader_section(loading->reader, CRN_SECTION_LANE, number, 0, sizeof(crn_disk_lane),
                                &header, loading->error))
            return false;
        crn_disk_lane disk = {0};
        memcpy(&disk, header.data, header.size);
        crn_free(header.data);
        trace->dropped += disk.spans_dropped;
        trace->details_dropped += disk.details_dropped;
        trace->limited += disk.spans_limited;
        trace->late += disk.spans_late;
        trace->recycled += disk.spans_recycled;
        trace->skipped += disk.spans_skipped;
        trace->trees_skipped += disk.trees_skipped;
        uint32_t count = trace->lane_count + 1;
        trace->lanes = crn_realloc((void *)trace->lanes, count, sizeof *trace->lanes);
        loading->numbers = crn_realloc(loading->numbers, count, sizeof *loading->numbers);
        if (count >= CRN_LANES_MAX)
            return crn_error_set(loading->error, CAIRN_E_FORMAT, "damaged: it has %u lanes", count);
        trace->lanes[trace->lane_count] = crn_capture_text_at(texts, disk.name);
        loading->numbers[trace->lane_count++] = number;
        if (number == UINT32_MAX)
            break;
    }
    return true;
}

/* ---- spans ---- */

static void add_span(crn_trace_loading *loading, const cairn_priv_span *from, uint32_t lane)
{
    crn_trace *trace = loading->trace;
    trace->spans = crn_loading_grow(trace->spans, trace->span_count, &loading->span_room,
                                    sizeof *trace->spans);
    uint32_t first = loading->first[lane], number = trace->span_count - first + 1;
    crn_span span = {.start = crn_loading_moment(loading, from->start),
                     .end = crn_loading_moment(loading, from->end),
                     .iteration = from->iteration,
                     .block = from->block,
                     .parent = from->parent && from->parent < number ? first + from->parent - 1
                                                                     : CRN_SPAN_NONE,
                     .lane = lane,
                     .open = from->end == 0,
                     .orphaned = from->parent == CRN_SPAN_GONE};
    if (!span.open && span.end < span.start)
        span.end = span.start;
    uint64_t last = span.open ? span.start : span.end;
    if (last > trace->length)
        trace->length = last;
    trace->spans[trace->span_count++] = span;
}

/* Adds the spans of one piece. Returns false after the lane's last span. */
static bool add_spans(crn_trace_loading *loading, const crn_bytes *bytes, uint32_t lane)
{
    const cairn_priv_span *spans = (const cairn_priv_span *)(void *)bytes->data;
    uint64_t count = bytes->size / sizeof *spans, i;
    for (i = 0; i < count && spans[i].start; i++) {
        if (loading->trace->span_count == CRN_SPAN_NONE - 1)
            break;
        add_span(loading, &spans[i], lane);
    }
    return i == count;
}

/* Allocates for all spans that a lane may hold. Untouched pages cost nothing, while growing the
 * array by halves would copy it. */
static void make_room(crn_trace_loading *loading, uint64_t spans)
{
    uint64_t room = loading->trace->span_count + spans;
    room = room < CRN_SPAN_NONE ? room : CRN_SPAN_NONE;
    if (room <= loading->span_room)
        return;
    loading->span_room = (uint32_t)room;
    loading->trace->spans = crn_realloc(loading->trace->spans, room, sizeof(crn_span));
}

/* Loads a lane that keeps its first spans, in pieces of 1 MiB: reading the whole section would
 * double the peak memory. */
static bool load_first_spans(crn_trace_loading *loading, uint32_t lane, uint64_t size)
{
    enum { PIECE = 1 << 20 };
    make_room(loading, size / sizeof(cairn_priv_span));
    bool more = true;
    for (uint64_t from = 0; more && from < size; from += PIECE) {
        crn_bytes bytes;
        if (!crn_reader_part(loading->reader, CRN_SECTION_SPANS, loading->numbers[lane], 0, from,
                             PIECE, &bytes, loading->error))
            return false;
        more = add_spans(loading, &bytes, lane);
        crn_free(bytes.data);
    }
    return true;
}

/* Loads a lane. It keeps its first spans (a section) or its last ones (a ring). */
static bool load_spans(crn_trace_loading *loading, uint32_t lane)
{
    uint64_t size = crn_reader_size(loading->reader, CRN_SECTION_SPANS, loading->numbers[lane], 0);
    if (size)
        return crn_loading_claim(loading, size) && load_first_spans(loading, lane, size);
    crn_ring *ring = &loading->rings[lane];
    if (!crn_ring_read(loading->reader, loading->numbers[lane], &loading->left, ring,
                       loading->error))
        return false;
    add_spans(loading, &ring->spans, lane);
    crn_free(ring->spans.data);
    ring->spans.data = NULL;
    if (ring->part_count)
        loading->trace->origins[lane] =
            crn_span_name_make(loading->numbers[lane], crn_ring_place(ring));
    return true;
}

/* ---- whole captures ---- */

static void finish(crn_trace_loading *loading)
{
    crn_trace *trace = loading->trace;
    if (trace->span_count)
        trace->spans = crn_realloc(trace->spans, trace->span_count, sizeof *trace->spans);
    const crn_disk_header *header = &loading->reader->header;
    const crn_disk_moment *last = &header->last[header->moments & 1];
    uint64_t length = crn_loading_moment(loading, last->clock);
    if (length > trace->length)
        trace->length = length;
    if (!crn_trace_is_merged(loading->reader))
        trace->processes[0].length = trace->length;
    crn_trace_end_open(trace);
    crn_trace_order(trace);
    crn_trace_resolve(trace);
    crn_trace_cut_circles(trace);
    crn_trace_share_dangling(trace);
}

static bool load(crn_trace_loading *loading)
{
    crn_bytes *strings = &loading->strings;
    if (!read_table(loading, CRN_SECTION_STRINGS, strings))
        return false;
    crn_capture_texts texts = {.strings = strings, .into = loading->trace->texts};
    bool loaded = load_keys(loading, &texts) && load_lanes(loading, &texts) &&
                  crn_trace_processes_load(loading->trace, loading->reader, &texts,
                                           loading->numbers, loading->error);
    crn_capture_texts_end(&texts);
    uint32_t lanes = loading->trace->lane_count;
    loading->first = crn_calloc(lanes + (size_t)1, sizeof *loading->first);
    loading->rings = crn_calloc(lanes + (size_t)1, sizeof *loading->rings);
    for (uint32_t lane = 0; loaded && lane < lanes; lane++) {
        loading->first[lane] = loading->trace->span_count;
        loaded = load_spans(loading, lane);
        loading->first[lane + 1] = loading->trace->span_count;
    }
    for (uint32_t lane = 0; loaded && lane < lanes; lane++)
        loaded = crn_trace_load_details(loading, lane);
    loaded = loaded && crn_trace_histograms_load(loading->trace, loading->reader, loading->numbers,
                                                 loading->scale, loading->error);
    for (uint32_t lane = 0; lane < lanes; lane++)
        crn_ring_free(&loading->rings[lane]);
    crn_free(strings->data);
    if (loaded)
        finish(loading);
    return loaded;
}

crn_trace *crn_trace_load(const char *path, crn_error *error)
{
    crn_reader reader;
    if (!crn_reader_open(&reader, path, error))
        return NULL;
    crn_trace *trace = crn_calloc(1, sizeof *trace);
    trace->texts = crn_interning_new();
    crn_trace_loading loading = {.trace = trace,
                                 .reader = &reader,
                                 .left = reader.file_size,
                                 .scale = crn_reader_clock_scale(&reader),
                                 .error = error};
    bool loaded = load(&loading);
    crn_free(loading.numbers);
    crn_free(loading.first);
    crn_free(loading.rings);
    crn_reader_close(&reader);
    if (loaded)
        return trace;
    crn_trace_free(trace);
    return NULL;
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
