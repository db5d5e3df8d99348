/* SPDX-License-Identifier: MIT
 *
 * Reads the spans of a run, a bounded number of them at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fleet/fetching.h"

enum { SPANS_AT_A_TIME = 250000 };

typedef struct reading {
    crn_fetching *fetching;
    crn_trace *trace;
    uint32_t *parent_lanes; /* by span; span.parent has the parent's number in that lane, 0 for a
                               root span */
    uint32_t *lane_first;   /* by lane: its first span; lane_count + 1 entries */
    crn_interning *keys;
    size_t span_room, attribute_room, weight_room, handoff_room, edge_room;
} reading;

static void reserve_span(reading *reading)
{
    crn_trace *trace = reading->trace;
    if (trace->span_count < reading->span_room)
        return;
    reading->span_room = reading->span_room ? reading->span_room * 2 : 1024;
    trace->spans = crn_realloc(trace->spans, reading->span_room, sizeof *trace->spans);
    trace->cpu = crn_realloc(trace->cpu, reading->span_room, sizeof *trace->cpu);
    reading->parent_lanes =
        crn_realloc(reading->parent_lanes, reading->span_room, sizeof *reading->parent_lanes);
}

/* Reads one column of a span's attributes into the attributes from `first` on. */
static void read_column(reading *reading, crn_answer *answer, uint32_t first, int column)
{
    enum { KEY, KIND, INTEGER, NUMBER, TEXT };
    crn_trace *trace = reading->trace;
    uint64_t count = crn_answer_length(answer, 1);
    for (uint64_t i = 0; column == KEY && i < count && !answer->bad; i++) {
        CRN_GROW(trace->attributes, trace->attribute_count, reading->attribute_room);
        trace->attributes[trace->attribute_count++] = (crn_attribute){
            .span = trace->span_count, .key = crn_fetching_key(trace, reading->keys, answer)};
    }
    if (count != trace->attribute_count - first)
        answer->bad = true;
    for (uint32_t a = first; column != KEY && a < trace->attribute_count && !answer->bad; a++) {
        crn_attribute *attribute = &trace->attributes[a];
        size_t length = 0;
        uint64_t integer = column == INTEGER ? crn_answer_number(answer, 8) : 0;
        double number = column == NUMBER ? crn_answer_real(answer) : 0;
        const char *text = column == TEXT ? crn_answer_text(answer, &length) : "";
        if (column == KIND)
            attribute->kind = (uint16_t)crn_answer_number(answer, 1);
        else if (column == INTEGER && attribute->kind == CRN_ATTRIBUTE_INTEGER)
            attribute->value.integer = (int64_t)integer;
        else if (column == NUMBER && attribute->kind == CRN_ATTRIBUTE_NUMBER)
            attribute->value.number = number;
        else if (column == TEXT && attribute->kind == CRN_ATTRIBUTE_TEXT)
            attribute->value.text = crn_intern(trace->texts, text, length);
    }
    for (uint32_t a = first; column == KIND && a < trace->attribute_count; a++)
        if (trace->attributes[a].kind < CRN_ATTRIBUTE_INTEGER ||
            trace->attributes[a].kind > CRN_ATTRIBUTE_TEXT)
            answer->bad = true;
}

static void read_origin(reading *reading, crn_answer *answer, crn_span *span)
{
    crn_trace *trace = reading->trace;
    reading->parent_lanes[trace->span_count] = (uint32_t)crn_answer_number(answer, 4);
    span->parent = (uint32_t)crn_answer_number(answer, 4);
    span->handed_off = crn_answer_number(answer, 1) != 0;
    uint64_t taken = crn_answer_number(answer, 8);
    uint16_t adoption = (uint16_t)crn_answer_number(answer, 2);
    if (!span->handed_off)
        return;
    CRN_GROW(trace->handoffs, trace->handoff_count, reading->handoff_room);
    trace->handoffs[trace->handoff_count++] =
        (crn_span_handoff){trace->span_count, adoption, taken};
}

/* Reads the weight of a span. Keeps that of a root span, which its descendants share. */
static void read_weight(reading *reading, crn_answer *answer, const crn_span *span)
{
    crn_trace *trace = reading->trace;
    double weight = crn_answer_real(answer);
    if (span->parent || !(weight > 1))
        return;
    CRN_GROW(trace->weights, trace->weight_count, reading->weight_room);
    trace->weights[trace->weight_count++] = (crn_span_weight){trace->span_count, weight};
}

/* Reads a span. Returns false if its number is another than `number`: a lane's numbers have no
 * gaps. */
static bool read_span(reading *reading, crn_answer *answer, uint32_t lane, uint32_t number)
{
    crn_trace *trace = reading->trace;
    reserve_span(reading);
    crn_span *span = &trace->spans[trace->span_count];
    *span = (crn_span){.lane = lane};
    if (crn_answer_number(answer, 4) != number)
        return false;
    span->start = crn_answer_number(answer, 8);
    uint64_t duration = crn_answer_number(answer, 8);
    if (span->start > (uint64_t)CRN_TRACE_LATEST || duration > (uint64_t)CRN_TRACE_LATEST)
        return false;
    span->end = span->start + duration;
    span->open = crn_answer_number(answer, 1) != 0;
    trace->cpu[trace->span_count] = crn_answer_number(answer, 8);
    crn_fleet_id block = crn_answer_id(answer);
    uint32_t known = crn_fetching_block(reading->fetching, &block);
    span->block = known == UINT32_MAX ? 0 : known;
    read_origin(reading, answer, span);
    span->iteration = (int64_t)crn_answer_number(answer, 8);
    read_weight(reading, answer, span);
    uint32_t first = trace->attribute_count;
    for (int column = 0; column < 5; column++)
        read_column(reading, answer, first, column);
    trace->span_count++;
    return !answer->bad;
}

/* Reads up to SPANS_AT_A_TIME spans of a lane that follow number `*last`. */
static bool read_some(reading *reading, uint32_t lane, uint32_t *last)
{
    crn_answer answer = {0};
    crn_sql sql = {0};
    bool good = true;
    crn_sql_add(&sql, "SELECT span, start, duration, open, cpu, block, parent_lane, parent, "
                      "handed_off, taken, adoption, iteration, weight, attributes.key, "
                      "attributes.kind, attributes.integer, attributes.number, attributes.text "
                      "FROM spans FINAL WHERE ");
    crn_fetching_run(reading->fetching, &sql);
    crn_sql_add(&sql, " AND lane = %u AND span > %u AND span <= %u ORDER BY span", lane, *last,
                *last + SPANS_AT_A_TIME);
    if (!crn_fetching_ask(reading->fetching, &sql, &answer))
        return crn_answer_free(&answer), false;
    while (good && crn_answer_more(&answer))
        good = read_span(reading, &answer, lane, ++*last);
    return crn_fetching_end(reading->fetching, &answer, good);
}

static bool read_lane(reading *reading, uint32_t lane)
{
    uint32_t last = 0, before;
    reading->trace->lanes[lane] = crn_intern(reading->trace->texts, reading->fetching->lanes[lane],
                                             strlen(reading->fetching->lanes[lane]));
    do {
        before = last;
        if (before > UINT32_MAX - SPANS_AT_A_TIME || !read_some(reading, lane, &last))
            return false;
    } while (last - before == SPANS_AT_A_TIME);
    reading->lane_first[lane + 1] = reading->trace->span_count;
    return true;
}

static void resolve_parents(const reading *reading)
{
    crn_trace *trace = reading->trace;
    bool cpu = false;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        trace->spans[s].parent = crn_fetching_span(
            trace, reading->lane_first, reading->parent_lanes[s], trace->spans[s].parent);
        cpu |= trace->cpu[s] != UINT64_MAX;
    }
    if (cpu)
        return;
    crn_free(trace->cpu);
    trace->cpu = NULL;
}

static bool read_edges(reading *reading)
{
    crn_trace *trace = reading->trace;
    crn_answer answer = {0};
    crn_sql sql = {0};
    bool good = true;
    crn_sql_add(&sql, "SELECT lane, span, to_lane, to_span, kind, at FROM span_edges FINAL WHERE ");
    crn_fetching_run(reading->fetching, &sql);
    crn_sql_add(&sql, " ORDER BY lane, span, to_lane, to_span");
    if (!crn_fetching_ask(reading->fetching, &sql, &answer))
        return crn_answer_free(&answer), false;
    while (good && crn_answer_more(&answer)) {
        uint64_t lane = crn_answer_number(&answer, 4), span = crn_answer_number(&answer, 4);
        uint64_t to_lane = crn_answer_number(&answer, 4), to_span = crn_answer_number(&answer, 4);
        uint64_t kind = crn_answer_number(&answer, 1), at = crn_answer_number(&answer, 8);
        crn_span_edge edge = {crn_fetching_span(trace, reading->lane_first, lane, span),
                              crn_fetching_span(trace, reading->lane_first, to_lane, to_span),
                              (crn_edge_kind)kind, at};
        good = edge.from != CRN_SPAN_NONE && edge.to != CRN_SPAN_NONE &&
               (kind == CRN_EDGE_WAITS || kind == CRN_EDGE_FOLLOWS);
        CRN_GROW(trace->edges, trace->edge_count, reading->edge_room);
        trace->edges[trace->edge_count++] = edge;
    }
    return crn_fetching_end(reading->fetching, &answer, good);
}

crn_trace *crn_fetch_spans(crn_fetching *fetching)
{
    crn_trace *trace = crn_calloc(1, sizeof *trace);
    uint32_t lanes = fetching->lane_count < CRN_LANES_MAX ? fetching->lane_count : CRN_LANES_MAX;
    reading reading = {.fetching = fetching,
                       .trace = trace,
                       .lane_first = crn_calloc(lanes + (size_t)1, sizeof *reading.lane_first),
                       .keys = crn_interning_new()};
    trace->texts = crn_interning_new();
    trace->lane_count = lanes;
    trace->lanes = crn_calloc(lanes, sizeof *trace->lanes);
    trace->length = fetching->length;
    bool good = true;
    for (uint32_t lane = 0; lane < lanes && good; lane++)
        good = read_lane(&reading, lane);
    if (good && trace->span_count != fetching->spans)
        good = crn_error_set(fetching->error, EIO,
                             "%u of %llu spans are in the database; push the "
                             "capture again",
                             trace->span_count, (unsigned long long)fetching->spans);
    if (good) {
        resolve_parents(&reading);
        good = read_edges(&reading) &&
               crn_fetch_details(fetching, trace, reading.keys, reading.lane_first);
    }
    crn_free(reading.parent_lanes);
    crn_free(reading.lane_first);
    crn_interning_free(reading.keys);
    if (good)
        return trace;
    crn_trace_free(trace);
    return NULL;
}
