/* SPDX-License-Identifier: MIT
 *
 * OTLP traces in protobuf: the spans, ids, links and attributes that otlp.c writes as JSON. Names
 * of attributes may repeat here.
 */
#include <cairn/span.h>
#include <string.h>

#include "base/memory.h"
#include "formats/otlp_parts.h"
#include "formats/timeline.h"

enum { SPANS_A_PART = 5000, KIND_INTERNAL = 1 };

typedef struct writer {
    const crn_timeline *timeline;
    const crn_trace *trace;
    const crn_otlp_options *options;
    crn_trace_ids ids;
    const char **lanes; /* names of lanes, also of those that the program did not name */
    uint64_t base;      /* ns from 1970 to the trace's time 0 */
} writer;

/* Memory that the message of one span points to. */
typedef struct piece {
    uint8_t trace_id[16], span_id[8], parent[8];
    crn_otlp_list attributes;
    crn_otlp_list link_attributes;
    Otlp__Span__Link *links, **link_items;
    uint8_t *link_ids; /* 24 bytes a link */
} piece;

static void put_big(uint8_t *bytes, uint64_t number)
{
    number = __builtin_bswap64(number);
    memcpy(bytes, &number, sizeof number);
}

static void put_trace_id(const writer *writer, uint32_t span, uint8_t bytes[16])
{
    uint64_t id[2];
    crn_trace_id_of(&writer->ids, span, id);
    put_big(bytes, id[0]);
    put_big(bytes + 8, id[1]);
}

static void add_attributes(const writer *writer, uint32_t span, crn_otlp_list *list)
{
    const crn_span *its = &writer->trace->spans[span];
    const crn_block_info *info =
        &writer->timeline->profile->blocks[crn_timeline_block(writer->timeline, span)];
    uint32_t count;
    const crn_attribute *attribute = crn_trace_attributes(writer->trace, span, &count);
    crn_otlp_add_text(list, "thread.name", writer->lanes[its->lane]);
    if (*info->file)
        crn_otlp_add_text(list, "code.file.path", info->file);
    if (info->line)
        crn_otlp_add_integer(list, "code.line.number", info->line);
    if (its->iteration != CAIRN_ITERATION_NONE)
        crn_otlp_add_integer(list, "cairn.iteration", its->iteration);
    if (its->open)
        crn_otlp_add_true(list, "cairn.open");
    if (its->handed_off)
        crn_otlp_add_true(list, "cairn.handed_off");
    uint64_t cpu;
    if (crn_timeline_cpu(writer->timeline, span, &cpu))
        crn_otlp_add_integer(list, "cairn.cpu_ns", (int64_t)cpu);
    for (; count; count--, attribute++) {
        const char *key = writer->trace->keys[attribute->key];
        if (attribute->kind == CRN_ATTRIBUTE_INTEGER)
            crn_otlp_add_integer(list, key, attribute->value.integer);
        else if (attribute->kind == CRN_ATTRIBUTE_NUMBER)
            crn_otlp_add_number(list, key, attribute->value.number);
        else
            crn_otlp_add_text(list, key, attribute->value.text);
    }
}

static void add_links(const writer *writer, uint32_t span, Otlp__Span *message, piece *piece)
{
    static const char *const kinds[] = {"hand-off", "waits for", "follows"};
    uint32_t first, count = crn_timeline_arriving(writer->timeline, span, &first);
    if (!count)
        return;
    piece->links = crn_calloc(count, sizeof *piece->links);
    piece->link_items = crn_calloc(count, sizeof *piece->link_items);
    piece->link_ids = crn_calloc(count, 24);
    for (uint32_t i = 0; i < count; i++)
        crn_otlp_add_text(&piece->link_attributes, "cairn.edge",
                          kinds[writer->timeline->arrows[first + i].kind]);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = writer->timeline->arrows[first + i].from;
        uint8_t *ids = piece->link_ids + (size_t)24 * i;
        Otlp__Span__Link *link = piece->link_items[i] = &piece->links[i];
        otlp__span__link__init(link);
        put_trace_id(writer, from, ids);
        put_big(ids + 16, crn_span_id_of(&writer->ids, from));
        link->trace_id = (ProtobufCBinaryData){16, ids};
        link->span_id = (ProtobufCBinaryData){8, ids + 16};
        link->n_attributes = 1;
        link->attributes = piece->link_attributes.items + i;
    }
    message->n_links = count;
    message->links = piece->link_items;
}

static void make_span(const writer *writer, uint32_t span, Otlp__Span *message, piece *piece)
{
    const crn_span *its = &writer->trace->spans[span];
    uint64_t parent = crn_parent_id_of(&writer->ids, span);
    *piece = (struct piece){.links = NULL};
    otlp__span__init(message);
    put_trace_id(writer, span, piece->trace_id);
    put_big(piece->span_id, crn_span_id_of(&writer->ids, span));
    put_big(piece->parent, parent);
    message->trace_id = (ProtobufCBinaryData){16, piece->trace_id};
    message->span_id = (ProtobufCBinaryData){8, piece->span_id};
    message->parent_span_id = (ProtobufCBinaryData){parent ? 8 : 0, piece->parent};
    message->name = (char *)(uintptr_t)crn_timeline_name(writer->timeline, span);
    message->kind = KIND_INTERNAL;
    message->start_time_unix_nano = writer->base + its->start;
    message->end_time_unix_nano = writer->base + its->end;
    add_attributes(writer, span, &piece->attributes);
    message->n_attributes = piece->attributes.count;
    message->attributes = piece->attributes.items;
    add_links(writer, span, message, piece);
}

static void piece_free(piece *piece)
{
    crn_otlp_list_free(&piece->attributes);
    crn_otlp_list_free(&piece->link_attributes);
    crn_free(piece->links);
    crn_free((void *)piece->link_items);
    crn_free(piece->link_ids);
}

/* Passes on a request with some spans of one process. */
static bool hand_on(const writer *writer, uint32_t process, Otlp__Span **spans, size_t count)
{
    crn_otlp_list attributes = {0};
    Otlp__Scope scope = OTLP__SCOPE__INIT;
    Otlp__ScopeSpans scoped = OTLP__SCOPE_SPANS__INIT, *scopes = &scoped;
    Otlp__Resource resource = OTLP__RESOURCE__INIT;
    Otlp__ResourceSpans its = OTLP__RESOURCE_SPANS__INIT, *resources = &its;
    Otlp__TracesRequest request = OTLP__TRACES_REQUEST__INIT;
    crn_otlp_add_resource(&attributes, writer->options);
    crn_otlp_add_text(&attributes, "process.command_line",
                      writer->timeline->process_names[process]);
    if (writer->trace->process_count && writer->trace->processes[process].number)
        crn_otlp_add_integer(&attributes, "process.pid", writer->trace->processes[process].number);
    scope.name = (char *)(uintptr_t) "cairn";
    scope.version = (char *)(uintptr_t)CAIRN_VERSION;
    scoped.scope = &scope;
    scoped.n_spans = count;
    scoped.spans = spans;
    resource.n_attributes = attributes.count;
    resource.attributes = attributes.items;
    its.resource = &resource;
    its.n_scope_spans = 1;
    its.scope_spans = &scopes;
    request.n_resource_spans = 1;
    request.resource_spans = &resources;
    bool good = crn_otlp_hand_on(&request.base, writer->options);
    crn_otlp_list_free(&attributes);
    return good;
}

static bool put_part(const writer *writer, uint32_t process, uint32_t first, uint32_t count)
{
    Otlp__Span *spans = crn_calloc(count, sizeof *spans);
    Otlp__Span **items = crn_calloc(count, sizeof *items);
    piece *pieces = crn_calloc(count, sizeof *pieces);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = &spans[i];
        make_span(writer, first + i, &spans[i], &pieces[i]);
    }
    bool good = hand_on(writer, process, items, count);
    for (uint32_t i = 0; i < count; i++)
        piece_free(&pieces[i]);
    crn_free(pieces);
    crn_free((void *)items);
    crn_free(spans);
    return good;
}

bool crn_otlp_traces(const crn_profile *profile, const crn_trace *trace,
                     const crn_otlp_options *options)
{
    crn_timeline timeline;
    crn_timeline_open(&timeline, profile, trace);
    writer writer = {.timeline = &timeline, .trace = trace, .options = options};
    if (trace->process_count && trace->processes[0].unix_ns > trace->processes[0].start)
        writer.base = trace->processes[0].unix_ns - trace->processes[0].start;
    crn_trace_ids_open(&writer.ids, trace);
    writer.lanes = crn_timeline_lane_names(&timeline);
    bool good = true;
    for (uint32_t span = 0; good && span < trace->span_count;) {
        uint32_t process = timeline.process[trace->spans[span].lane], count = 1;
        while (count < SPANS_A_PART && span + count < trace->span_count &&
               timeline.process[trace->spans[span + count].lane] == process)
            count++;
        good = put_part(&writer, process, span, count);
        span += count;
    }
    crn_free((void *)writer.lanes);
    crn_trace_ids_close(&writer.ids);
    crn_timeline_close(&timeline);
    return good;
}
