/* SPDX-License-Identifier: MIT
 *
 * Loads attributes, edges, weights, processor time and remote parents of spans.
 */
#include <string.h>

#include <cairn/span.h>

#include "spans/span_names.h"
#include "spans/trace_loading.h"

/* Reads a whole section of a lane. */
static bool read_lane(crn_trace_loading *loading, crn_section_kind kind, uint32_t lane,
                      crn_bytes *bytes)
{
    uint64_t size = crn_reader_size(loading->reader, kind, loading->numbers[lane], 0);
    return crn_loading_claim(loading, size) &&
           crn_reader_section(loading->reader, kind, loading->numbers[lane], 0, size, bytes,
                              loading->error);
}

/* Returns the span of a name, CRN_SPAN_NONE if there is none. */
static uint32_t span_named(const crn_trace_loading *loading, uint64_t name)
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

static void add_attribute(crn_trace_loading *loading, uint32_t span, const crn_disk_detail *detail,
                          const char *text)
{
    crn_trace *trace = loading->trace;
    trace->attributes = crn_loading_grow(trace->attributes, trace->attribute_count,
                                         &loading->attribute_room, sizeof *trace->attributes);
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

static void add_edge(crn_trace_loading *loading, uint32_t span, const crn_disk_detail *detail)
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
        trace->handoffs = crn_loading_grow(trace->handoffs, trace->handoff_count,
                                           &loading->handoff_room, sizeof *trace->handoffs);
        trace->handoffs[trace->handoff_count++] = (crn_span_handoff){
            span, detail->key, detail->more ? crn_loading_moment(loading, detail->more) : 0};
    } else {
        trace->edges = crn_loading_grow(trace->edges, trace->edge_count, &loading->edge_room,
                                        sizeof *trace->edges);
        trace->edges[trace->edge_count++] = (crn_span_edge){
            span, other, detail->kind == CRN_DETAIL_WAITS ? CRN_EDGE_WAITS : CRN_EDGE_FOLLOWS,
            detail->more ? crn_loading_moment(loading, detail->more) : 0};
    }
}

/* Adds a weight. Values below 1 are of a damaged file and are ignored. */
static void add_weight(crn_trace_loading *loading, uint32_t span, const crn_disk_detail *detail)
{
    crn_trace *trace = loading->trace;
    double weight;
    memcpy(&weight, &detail->value, sizeof weight);
    if (!(weight >= 1 && weight < CRN_TRACE_LATEST))
        return;
    trace->weights = crn_loading_grow(trace->weights, trace->weight_count, &loading->weight_room,
                                      sizeof *trace->weights);
    trace->weights[trace->weight_count++] = (crn_span_weight){span, weight};
}

static void add_cpu(crn_trace_loading *loading, uint32_t span, const crn_disk_detail *detail)
{
    crn_trace *trace = loading->trace;
    if (!trace->cpu) {
        trace->cpu = crn_calloc(trace->span_count, sizeof *trace->cpu);
        memset(trace->cpu, 0xff, trace->span_count * sizeof *trace->cpu);
    }
    trace->cpu[span] =
        detail->value < (uint64_t)CRN_TRACE_LATEST ? detail->value : (uint64_t)CRN_TRACE_LATEST;
}

/* Converts the bytes of an id, in written order, to a number. */
static uint64_t id_of(uint64_t bytes)
{
    return __builtin_bswap64(bytes);
}

/* Adds a remote parent, which takes two details; a single one was cut off and is ignored. Returns
 * the number of further details read. */
static uint64_t add_remote(crn_trace_loading *loading, uint32_t span,
                           const crn_disk_detail *details, uint64_t left)
{
    crn_trace *trace = loading->trace;
    if (left < 2 || details[1].kind != CRN_DETAIL_MORE || details[1].span != details[0].span)
        return 0;
    trace->remotes = crn_loading_grow(trace->remotes, trace->remote_count, &loading->remote_room,
                                      sizeof *trace->remotes);
    trace->remotes[trace->remote_count++] =
        (crn_span_remote){.span = span,
                          .flags = details[0].key,
                          .trace_id = {id_of(details[0].value), id_of(details[0].more)},
                          .parent = id_of(details[1].value)};
    return 1;
}

/* Copies a text that is split over several details. Returns the number of further details read. */
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

static void add_details(crn_trace_loading *loading, uint32_t lane, const crn_disk_detail *details,
                        uint64_t count)
{
    uint32_t first = loading->first[lane], spans = loading->first[lane + 1] - first;
    uint64_t most = UINT32_MAX - loading->detail_count, i;
    char text[CAIRN_TEXT_MAX + 1];
    count = count < most ? count : most;
    for (i = 0; i < count && details[i].kind; i++) {
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
                          crn_string_at(&loading->strings, (uint32_t)detail->value));
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
        default: /* written by a later version */
            break;
        }
    }
    loading->detail_count += (uint32_t)i;
}

bool crn_trace_load_details(crn_trace_loading *loading, uint32_t lane)
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
