/* SPDX-License-Identifier: MIT
 *
 * Tables about spans, except `spans` itself, and about captures.
 */
#include "profile/profile.h"
#include "query/simple.h"

/* ---- edges between spans ---- */

static crn_value span_edge_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, span_edge, (uint32_t)row);
    const crn_span_store *store = capture->store;
    uint32_t number = (uint32_t)row - capture->span_edge, span, other;
    const char *kind = "handoff";
    uint64_t at;
    (void)text;
    if (number < store->edge_count) {
        const crn_span_edge *edge = &store->edges[number];
        span = edge->from;
        other = edge->to;
        at = edge->at;
        kind = edge->kind == CRN_EDGE_WAITS ? "waits" : "follows";
    } else {
        const crn_span_move *move = &store->moves[number - store->edge_count];
        span = move->span;
        other = move->parent;
        at = move->taken;
        kind = move->handed_off && other != CRN_SPAN_NONE ? kind : "cut";
    }
    switch (column) {
    case 0:
        return crn_integer((int64_t)capture->span + span);
    case 1:
        return crn_text(kind);
    case 2:
        return crn_id_or_null(capture->span, other);
    case 3:
        return at ? crn_figure_value(at) : (crn_value){0};
    default:
        return crn_capture_number(query, capture);
    }
}

/* ---- attributes ---- */

static crn_value attribute_value(crn_query *query, uint64_t row, int column, char *text)
{
    static const char *const kinds[] = {
        [CRN_ATTRIBUTE_INTEGER] = "integer",
        [CRN_ATTRIBUTE_NUMBER] = "number",
        [CRN_ATTRIBUTE_TEXT] = "text",
    };
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, attribute, (uint32_t)row);
    uint32_t number = (uint32_t)row - capture->attribute;
    crn_store_attributes(capture->store);
    if (column == 4)
        return crn_capture_number(query, capture);
    if (number >= capture->store->attribute_count)
        return (crn_value){0};
    if (column == 0)
        return crn_integer((int64_t)capture->span + capture->store->attributes[number].span);
    if (column == 1)
        return crn_text(capture->store->keys[crn_store_key(capture->store, number)]);
    crn_attribute attribute = crn_store_attribute(capture->store, number, text);
    if (column == 3)
        return crn_text(attribute.kind <= CRN_ATTRIBUTE_TEXT && kinds[attribute.kind]
                            ? kinds[attribute.kind]
                            : "");
    switch (attribute.kind) {
    case CRN_ATTRIBUTE_INTEGER:
        return crn_integer(attribute.value.integer);
    case CRN_ATTRIBUTE_NUMBER:
        return (crn_value){.kind = CRN_VALUE_NUMBER, .number = attribute.value.number};
    case CRN_ATTRIBUTE_TEXT:
        return crn_text(attribute.value.text);
    default:
        return (crn_value){0};
    }
}

/* ---- counters ---- */

static crn_value counter_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, counter, (uint32_t)row);
    const crn_counter *counter = &capture->store->counters[(uint32_t)row - capture->counter];
    (void)text;
    switch (column) {
    case 0:
        return crn_text(capture->store->keys[counter->key]);
    case 1:
        return crn_figure_value(counter->at);
    case 2:
        return (crn_value){.kind = CRN_VALUE_NUMBER, .number = counter->value};
    case 3:
        return crn_integer((int64_t)capture->span + counter->span);
    default:
        return crn_capture_number(query, capture);
    }
}

/* ---- events ---- */

static crn_value event_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, event, (uint32_t)row);
    const crn_span_event *event = &capture->store->events[(uint32_t)row - capture->event];
    (void)text;
    switch (column) {
    case 0:
        return crn_figure_value(event->at);
    case 1:
        return crn_text(crn_level_name(event->level));
    case 2:
        return crn_text(event->text);
    case 3:
        return crn_integer((int64_t)capture->span + event->span);
    default:
        return crn_capture_number(query, capture);
    }
}

/* ---- off core ---- */

static crn_value off_core_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, off_core, (uint32_t)row);
    const crn_off_core *entry = &capture->store->off_core[(uint32_t)row - capture->off_core];
    const uint64_t figures[] = {0, entry->begin, entry->end, entry->waiting, entry->ready};
    (void)text;
    switch (column) {
    case 0:
        return crn_integer((int64_t)capture->lane + entry->lane);
    case 5:
        return crn_id_or_null(capture->lane, entry->woken_by);
    case 6:
        return crn_capture_number(query, capture);
    default:
        return crn_figure_value(figures[column]);
    }
}

/* ---- samples ---- */

static uint32_t span_of_sample(const crn_query_capture *capture, uint32_t sample)
{
    uint32_t **spans = &((crn_query_capture *)capture)->sample_spans;
    if (!*spans)
        *spans = crn_store_samples_spans(capture->store);
    return (*spans)[sample];
}

/* Returns the names of a path's functions, outermost first, with ";" between them. Leaves out
 * outermost functions if the text would be too long. */
static crn_value path_text(const crn_query_capture *capture, uint32_t path, char *text)
{
    const crn_path *paths = capture->store->samples.paths;
    size_t at = CAIRN_TEXT_MAX;
    text[at] = 0;
    for (; path != CRN_PATH_NONE; path = paths[path].caller) {
        uint32_t block = crn_captures_block(capture, paths[path].block);
        const char *name = capture->profile->blocks[block].name;
        size_t length = strlen(name);
        if (length + 1 > at)
            break;
        if (text[at])
            text[--at] = ';';
        at -= length;
        memcpy(text + at, name, length);
    }
    memmove(text, text + at, CAIRN_TEXT_MAX + 1 - at);
    return crn_text(text);
}

static crn_value sample_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, sample, (uint32_t)row);
    uint32_t number = (uint32_t)row - capture->sample;
    const crn_sample *sample = &capture->store->samples.list[number];
    uint32_t block = crn_captures_block(capture, capture->store->samples.paths[sample->path].block);
    switch (column) {
    case 0:
        return crn_figure_value(sample->at);
    case 1:
        return crn_figure_value(sample->cpu);
    case 2:
        return crn_integer((int64_t)capture->lane + sample->lane);
    case 3:
        return crn_id_or_null(capture->span, span_of_sample(capture, number));
    case 4:
        return crn_text(sample->path ? capture->profile->blocks[block].name : "");
    case 5:
        return path_text(capture, sample->path, text);
    case 6:
        return crn_integer((int64_t)capture->block + block);
    default:
        return crn_capture_number(query, capture);
    }
}

/* ---- lanes ---- */

static crn_value lane_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, lane, (uint32_t)row);
    uint32_t lane = (uint32_t)row - capture->lane;
    (void)text;
    switch (column) {
    case 0:
        return crn_integer((int64_t)row);
    case 1:
        return crn_text(capture->store->lanes[lane]);
    case 2:
        return crn_integer(capture->store->lane_first[lane + 1] - capture->store->lane_first[lane]);
    case 3: {
        uint32_t thread = capture->store->threads ? capture->store->threads[lane] : 0;
        return thread ? crn_integer(thread) : (crn_value){0};
    }
    default:
        return crn_capture_number(query, capture);
    }
}

static crn_value lane_figure(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, lane, (uint32_t)row);
    uint32_t lane = (uint32_t)row - capture->lane;
    if (column < 3)
        return lane_value(query, row, column, text);
    if (column > 5)
        return crn_capture_number(query, capture);
    if (capture->store->lane_first[lane + 1] == capture->store->lane_first[lane])
        return (crn_value){0};
    crn_captures_lanes(capture);
    const crn_lane_row *its = &capture->lanes[lane];
    return crn_figure_value(column == 3 ? its->first : column == 4 ? its->last : its->busy);
}

/* ---- metrics, notes, captures ---- */

static crn_value metric_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, metric, (uint32_t)row);
    uint32_t metric = (uint32_t)row - capture->metric;
    (void)text;
    switch (column) {
    case 0:
        return crn_text(capture->profile->metrics[metric].name);
    case 1:
        return crn_text(capture->profile->metrics[metric].unit);
    case 2:
        return crn_figure_value(crn_metric_total(capture->profile, metric));
    default:
        return crn_capture_number(query, capture);
    }
}

static crn_value note_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, note, (uint32_t)row);
    const crn_note *note = &capture->profile->notes[(uint32_t)row - capture->note];
    (void)text;
    return column == 0   ? crn_text(note->key)
           : column == 1 ? crn_text(note->value)
                         : crn_capture_number(query, capture);
}

static uint64_t count_captures(crn_query *query)
{
    return query->count;
}

static crn_value capture_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = &query->captures[row];
    const crn_span_store *store = capture->store;
    const uint64_t figures[] = {row,
                                0,
                                store->length,
                                store->count,
                                store->open,
                                store->dropped,
                                store->recycled,
                                store->skipped,
                                store->details_dropped,
                                store->dangling,
                                capture->profile->context_count};
    (void)text;
    return column == 1 ? crn_text(capture->path) : crn_figure_value(figures[column]);
}

const crn_simple_table crn_trace_tables[] = {
    {"span_edges", "span INTEGER, kind TEXT, other INTEGER, at INTEGER, capture INTEGER",
     span_edge_value, .ids = CRN_IDS(span_edge)},
    {"attributes", "span INTEGER, key TEXT, value, kind TEXT, capture INTEGER", attribute_value,
     .ids = CRN_IDS(attribute)},
    {"counters", "name TEXT, at INTEGER, value REAL, span INTEGER, capture INTEGER", counter_value,
     .ids = CRN_IDS(counter)},
    {"events", "at INTEGER, level TEXT, text TEXT, span INTEGER, capture INTEGER", event_value,
     .ids = CRN_IDS(event)},
    {"off_core",
     "lane INTEGER, begin INTEGER, end INTEGER, waiting INTEGER, ready INTEGER, "
     "woken_by INTEGER, capture INTEGER",
     off_core_value, .ids = CRN_IDS(off_core)},
    {"samples",
     "at INTEGER, cpu INTEGER, lane INTEGER, span INTEGER, name TEXT, path TEXT, block INTEGER, "
     "capture INTEGER",
     sample_value, .ids = CRN_IDS(sample)},
    {"lanes", "id INTEGER, name TEXT, spans INTEGER, thread INTEGER, capture INTEGER", lane_value,
     .ids = CRN_IDS(lane)},
    {"lane_figures",
     "lane INTEGER, name TEXT, spans INTEGER, first INTEGER, last INTEGER, busy INTEGER, "
     "capture INTEGER",
     lane_figure, .ids = CRN_IDS(lane)},
    {"metrics", "name TEXT, unit TEXT, total INTEGER, capture INTEGER", metric_value,
     .ids = CRN_IDS(metric)},
    {"notes", "key TEXT, value TEXT, capture INTEGER", note_value, .ids = CRN_IDS(note)},
    {"captures",
     "id INTEGER, path TEXT, length INTEGER, spans INTEGER, open INTEGER, dropped INTEGER, "
     "recycled INTEGER, skipped INTEGER, "
     "details_dropped INTEGER, dangling INTEGER, contexts INTEGER",
     capture_value, .count = count_captures},
    {0},
};
