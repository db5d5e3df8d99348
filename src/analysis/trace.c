/* SPDX-License-Identifier: MIT */
#include "analysis/trace.h"

#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "analysis/span_names.h"
#include "analysis/trace_clock.h"
#include "analysis/trace_histograms.h"
#include "analysis/trace_order.h"
#include "analysis/trace_process.h"
#include "base/memory.h"
#include "capture/reader.h"
#include "capture/ring.h"

typedef struct loading {
    crn_trace *trace;
    const crn_reader *reader;
    double scale;      /* nanoseconds per unit of the clock */
    uint32_t *numbers; /* of lanes, by index */
    uint32_t *first;   /* span of each lane, by index; one more at the end */
    crn_ring *rings;   /* by lane; without parts where it keeps its first */
    uint32_t span_room, attribute_room, edge_room, handoff_room, remote_room, weight_room;
    crn_bytes strings;
    uint64_t left; /* bytes that lanes can still have: no two of them have the same */
    crn_error *error;
} loading;

/* No program runs for 146 years. */
#define LATEST 0x1p62

static uint64_t moment(const loading *loading, uint64_t clock)
{
    uint64_t first = loading->reader->header.first.clock, since = clock > first ? clock - first : 0;
    if (loading->scale == 1) /* to the nanosecond, whatever was merged over how many years */
        return since < (uint64_t)LATEST ? since : (uint64_t)LATEST;
    double time = (double)since * loading->scale;
    return time < LATEST ? (uint64_t)time : (uint64_t)LATEST;
}

/* ---- names ---- */

static const char *string_at(const crn_bytes *strings, uint32_t offset)
{
    return offset < strings->size ? strings->data + offset : "";
}

static const char *intern(loading *loading, const char *text)
{
    return crn_intern(loading->trace->texts, text, strlen(text));
}

/* A table of which there is one. */
static bool read_table(loading *loading, crn_section_kind kind, crn_bytes *bytes)
{
    return crn_reader_section(loading->reader, kind, 0, 0, loading->reader->header.used[kind],
                              bytes, loading->error);
}

static bool load_keys(loading *loading, const crn_bytes *strings)
{
    crn_bytes keys;
    if (!read_table(loading, CRN_SECTION_KEYS, &keys))
        return false;
    crn_trace *trace = loading->trace;
    trace->key_count = (uint32_t)(keys.size / sizeof(crn_disk_key));
    trace->keys = crn_calloc(trace->key_count, sizeof *trace->keys);
    for (uint32_t k = 0; k < trace->key_count; k++)
        trace->keys[k] =
            intern(loading, string_at(strings, ((crn_disk_key *)(void *)keys.data)[k].name));
    crn_free(keys.data);
    return true;
}

static bool load_lanes(loading *loading, const crn_bytes *strings)
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
        trace->lanes[trace->lane_count] = intern(loading, string_at(strings, disk.name));
        loading->numbers[trace->lane_count++] = number;
        if (number == UINT32_MAX)
            break;
    }
    return true;
}

/* ---- spans ---- */

static void *grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return array;
    *room = *room ? *room * 2 : 1024;
    return crn_realloc(array, *room, size);
}

static void add_span(loading *loading, const cairn_priv_span *from, uint32_t lane)
{
    crn_trace *trace = loading->trace;
    trace->spans = grow(trace->spans, trace->span_count, &loading->span_room, sizeof *trace->spans);
    uint32_t first = loading->first[lane], number = trace->span_count - first + 1;
    crn_span span = {.start = moment(loading, from->start),
                     .end = moment(loading, from->end),
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

/* Takes `size` bytes of the file for a lane. */
static bool claim(loading *loading, uint64_t size)
{
    if (size > loading->left)
        return crn_error_set(loading->error, CAIRN_E_FORMAT, "damaged: its lanes overlap");
    loading->left -= size;
    return true;
}

/* A lane's section, all of it. */
static bool read_lane(loading *loading, crn_section_kind kind, uint32_t lane, crn_bytes *bytes)
{
    uint64_t size = crn_reader_size(loading->reader, kind, loading->numbers[lane], 0);
    return claim(loading, size) && crn_reader_section(loading->reader, kind, loading->numbers[lane],
                                                      0, size, bytes, loading->error);
}

/* False after the last of the lane's. */
static bool add_spans(loading *loading, const crn_bytes *bytes, uint32_t lane)
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

/* Memory that nothing was written to yet is the system's, so room for all that a lane may hold
 * costs nothing, and growing by halves would. */
static void make_room(loading *loading, uint64_t spans)
{
    uint64_t room = loading->trace->span_count + spans;
    room = room < CRN_SPAN_NONE ? room : CRN_SPAN_NONE;
    if (room <= loading->span_room)
        return;
    loading->span_room = (uint32_t)room;
    loading->trace->spans = crn_realloc(loading->trace->spans, room, sizeof(crn_span));
}

/* The spans of a lane that keeps its first, a piece at a time: all of them would be as much again
 * as is made of them. */
static bool load_first_spans(loading *loading, uint32_t lane, uint64_t size)
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

/* A lane keeps its first, or its last. */
static bool load_spans(loading *loading, uint32_t lane)
{
    uint64_t size = crn_reader_size(loading->reader, CRN_SECTION_SPANS, loading->numbers[lane], 0);
    if (size)
        return claim(loading, size) && load_first_spans(loading, lane, size);
    crn_ring *ring = &loading->rings[lane];
    if (!crn_ring_read(loading->reader, loading->numbers[lane], loading->left, ring,
                       loading->error))
        return false;
    loading->left -= ring->spans.size + ring->details.size;
    add_spans(loading, &ring->spans, lane);
    crn_free(ring->spans.data);
    ring->spans.data = NULL;
    if (ring->part_count)
        loading->trace->origins[lane] =
            crn_span_name_make(loading->numbers[lane], crn_ring_place(ring));
    return true;
}

/* ---- what is known of them ---- */

/* The span of a name, CRN_SPAN_NONE if there is none. */
static uint32_t span_named(const loading *loading, uint64_t name)
{
    uint32_t lanes = loading->trace->lane_count;
    uint32_t lane = crn_lane_named(loading->numbers, lanes, name);
    uint64_t place = crn_span_name_place(name);
    if (lane == lanes)
        return CRN_SPAN_NONE;
    const crn_ring *ring = &loading->rings[lane];
    if (ring->part_count) {
        uint32_t here = crn_ring_number(ring, place);
        place = here ? here - 1 : UINT64_MAX;
    }
    uint32_t count = loading->first[lane + 1] - loading->first[lane];
    return place < count ? loading->first[lane] + (uint32_t)place : CRN_SPAN_NONE;
}

static void add_attribute(loading *loading, uint32_t span, const crn_disk_detail *detail,
                          const char *text)
{
    crn_trace *trace = loading->trace;
    trace->attributes = grow(trace->attributes, trace->attribute_count, &loading->attribute_room,
                             sizeof *trace->attributes);
    crn_attribute attribute = {.span = span, .kind = detail->kind, .key = detail->key};
    if (detail->key >= trace->key_count)
        return;
    if (text) {
        attribute.kind = CRN_ATTRIBUTE_TEXT;
        attribute.value.text = crn_intern(trace->texts, text, strnlen(text, CAIRN_TEXT_MAX));
    } else {
        memcpy(&attribute.value, &detail->value, sizeof detail->value);
    }
    trace->attributes[trace->attribute_count++] = attribute;
}

static void add_edge(loading *loading, uint32_t span, const crn_disk_detail *detail)
{
    crn_trace *trace = loading->trace;
    uint32_t other = span_named(loading, detail->value);
    if (other == CRN_SPAN_NONE || other == span) {
        trace->dangling++;
        trace->spans[span].orphaned |=
            detail->kind == CRN_DETAIL_HANDOFF && !trace->spans[span].handed_off;
    } else if (detail->kind == CRN_DETAIL_HANDOFF) {
        trace->spans[span].parent = other;
        trace->spans[span].handed_off = true;
        trace->spans[span].orphaned = false;
        trace->handoffs = grow(trace->handoffs, trace->handoff_count, &loading->handoff_room,
                               sizeof *trace->handoffs);
        trace->handoffs[trace->handoff_count++] =
            (crn_span_handoff){span, detail->key, detail->more ? moment(loading, detail->more) : 0};
    } else {
        trace->edges =
            grow(trace->edges, trace->edge_count, &loading->edge_room, sizeof *trace->edges);
        trace->edges[trace->edge_count++] = (crn_span_edge){
            span, other, detail->kind == CRN_DETAIL_WAITS ? CRN_EDGE_WAITS : CRN_EDGE_FOLLOWS,
            detail->more ? moment(loading, detail->more) : 0};
    }
}

/* A weight that is none is of a damaged file. */
static void add_weight(loading *loading, uint32_t span, const crn_disk_detail *detail)
{
    crn_trace *trace = loading->trace;
    double weight;
    memcpy(&weight, &detail->value, sizeof weight);
    if (!(weight >= 1 && weight < LATEST))
        return;
    trace->weights =
        grow(trace->weights, trace->weight_count, &loading->weight_room, sizeof *trace->weights);
    trace->weights[trace->weight_count++] = (crn_span_weight){span, weight};
}

static void add_cpu(loading *loading, uint32_t span, const crn_disk_detail *detail)
{
    crn_trace *trace = loading->trace;
    if (!trace->cpu) {
        trace->cpu = crn_calloc(trace->span_count, sizeof *trace->cpu);
        memset(trace->cpu, 0xff, trace->span_count * sizeof *trace->cpu);
    }
    trace->cpu[span] = detail->value < (uint64_t)LATEST ? detail->value : (uint64_t)LATEST;
}

/* An id's bytes in the order in which they are written, as a number. */
static uint64_t id_of(uint64_t bytes)
{
    return __builtin_bswap64(bytes);
}

/* Who asked for the span. It takes two details; one alone was cut off. Returns how many came
 * after the first. */
static uint64_t add_remote(loading *loading, uint32_t span, const crn_disk_detail *details,
                           uint64_t left)
{
    crn_trace *trace = loading->trace;
    if (left < 2 || details[1].kind != CRN_DETAIL_MORE || details[1].span != details[0].span)
        return 0;
    trace->remotes =
        grow(trace->remotes, trace->remote_count, &loading->remote_room, sizeof *trace->remotes);
    trace->remotes[trace->remote_count++] =
        (crn_span_remote){.span = span,
                          .flags = details[0].key,
                          .trace_id = {id_of(details[0].value), id_of(details[0].more)},
                          .parent = id_of(details[1].value)};
    return 1;
}

/* A text and what of it is in the details after it. Returns how many those are. */
static uint64_t read_text(const crn_disk_detail *details, uint64_t left, char *text)
{
    uint64_t more = 0;
    size_t length = 0;
    do {
        memcpy(text + length, &details[more].value, 8);
        memcpy(text + length + 8, &details[more].more, 8);
        length += 16;
        more++;
    } while (more < left && length < CAIRN_TEXT_MAX && details[more].kind == CRN_DETAIL_MORE &&
             details[more].span == details[0].span);
    text[length] = 0;
    return more - 1;
}

static void add_details(loading *loading, uint32_t lane, const crn_disk_detail *details,
                        uint64_t count)
{
    uint32_t first = loading->first[lane], spans = loading->first[lane + 1] - first;
    char text[CAIRN_TEXT_MAX + 1];
    for (uint64_t i = 0; i < count && details[i].kind; i++) {
        const crn_disk_detail *detail = &details[i];
        if (detail->span == 0 || detail->span > spans) {
            loading->trace->dangling++;
            continue;
        }
        uint32_t span = first + detail->span - 1;
        switch (detail->kind) {
        case CRN_DETAIL_TEXT:
            i += read_text(detail, count - i, text);
            add_attribute(loading, span, detail, text);
            break;
        case CRN_DETAIL_NAME:
            add_attribute(loading, span, detail,
                          string_at(&loading->strings, (uint32_t)detail->value));
            break;
        case CRN_DETAIL_INTEGER:
        case CRN_DETAIL_NUMBER:
            add_attribute(loading, span, detail, NULL);
            break;
        case CRN_DETAIL_HANDOFF:
        case CRN_DETAIL_WAITS:
        case CRN_DETAIL_FOLLOWS:
            add_edge(loading, span, detail);
            break;
        case CRN_DETAIL_WEIGHT:
            add_weight(loading, span, detail);
            break;
        case CRN_DETAIL_CPU:
            add_cpu(loading, span, detail);
            break;
        case CRN_DETAIL_REMOTE:
            i += add_remote(loading, span, detail, count - i);
            break;
        default: /* a later version's */
            break;
        }
    }
}

static bool load_details(loading *loading, uint32_t lane)
{
    const crn_ring *ring = &loading->rings[lane];
    if (ring->part_count) {
        add_details(loading, lane, (const crn_disk_detail *)(void *)ring->details.data,
                    ring->details.size / sizeof(crn_disk_detail));
        return true;
    }
    crn_bytes bytes;
    if (!read_lane(loading, CRN_SECTION_DETAILS, lane, &bytes))
        return false;
    add_details(loading, lane, (const crn_disk_detail *)(void *)bytes.data,
                bytes.size / sizeof(crn_disk_detail));
    crn_free(bytes.data);
    return true;
}

/* ---- all of it ---- */

static void finish(loading *loading)
{
    crn_trace *trace = loading->trace;
    if (trace->span_count)
        trace->spans = crn_realloc(trace->spans, trace->span_count, sizeof *trace->spans);
    const crn_disk_header *header = &loading->reader->header;
    const crn_disk_moment *last = &header->last[header->moments & 1];
    uint64_t length = moment(loading, last->clock);
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

static bool load(loading *loading)
{
    crn_bytes *strings = &loading->strings;
    if (!read_table(loading, CRN_SECTION_STRINGS, strings))
        return false;
    bool loaded = load_keys(loading, strings) && load_lanes(loading, strings) &&
                  crn_trace_processes_load(loading->trace, loading->reader, strings,
                                           loading->numbers, loading->error);
    uint32_t lanes = loading->trace->lane_count;
    loading->first = crn_calloc(lanes + (size_t)1, sizeof *loading->first);
    loading->rings = crn_calloc(lanes + (size_t)1, sizeof *loading->rings);
    for (uint32_t lane = 0; loaded && lane < lanes; lane++) {
        loading->first[lane] = loading->trace->span_count;
        loaded = load_spans(loading, lane);
        loading->first[lane + 1] = loading->trace->span_count;
    }
    for (uint32_t lane = 0; loaded && lane < lanes; lane++)
        loaded = load_details(loading, lane);
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
    loading loading = {.trace = trace,
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
