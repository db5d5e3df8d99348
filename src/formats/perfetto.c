/* SPDX-License-Identifier: MIT
 *
 * Perfetto traces: a thread track for each lane, child tracks for its further rows, a slice for
 * each span and a flow for each arrow. Names, keys and source locations are interned in the first
 * packets. Packets are encoded and written one at a time.
 */
#include "formats/perfetto.h"

#include <cairn/span.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/text.h"
#include "formats/formats.h"
#include "formats/names.h"

typedef struct writer {
    crn_perfetto perfetto;
    const crn_timeline *timeline;
    const crn_trace *trace;
    const crn_export_options *options;
    uint64_t done;
    Perfetto__Protos__DebugAnnotation *annotations; /* of the current event */
    Perfetto__Protos__DebugAnnotation **annotation_list;
    char **texts; /* the text values among the annotations */
    uint64_t *flows;
    size_t annotation_room, flow_room;
} writer;

/* ---- events ---- */

static void put_event(writer *writer, Perfetto__Protos__TrackEvent *event, uint64_t time)
{
    crn_perfetto_put_event(&writer->perfetto, event, time);
}

static void make_room(writer *writer, size_t annotations, size_t flows)
{
    if (annotations > writer->annotation_room) {
        size_t room = writer->annotation_room = annotations * 2;
        writer->annotations = crn_realloc(writer->annotations, room, sizeof *writer->annotations);
        writer->annotation_list =
            crn_realloc(writer->annotation_list, room, sizeof *writer->annotation_list);
        writer->texts = crn_realloc(writer->texts, room, sizeof *writer->texts);
    }
    if (flows > writer->flow_room) {
        writer->flow_room = flows * 2;
        writer->flows = crn_realloc(writer->flows, writer->flow_room, sizeof *writer->flows);
    }
}

static Perfetto__Protos__DebugAnnotation *annotate(writer *writer,
                                                   Perfetto__Protos__TrackEvent *event,
                                                   uint64_t key)
{
    size_t at = event->n_debug_annotations++;
    Perfetto__Protos__DebugAnnotation *annotation = &writer->annotations[at];
    *annotation = (Perfetto__Protos__DebugAnnotation)PERFETTO__PROTOS__DEBUG_ANNOTATION__INIT;
    annotation->has_name_iid = true;
    annotation->name_iid = key;
    writer->annotation_list[at] = annotation;
    writer->texts[at] = NULL;
    return annotation;
}

static void put_attribute(writer *writer, Perfetto__Protos__TrackEvent *event,
                          const crn_attribute *attribute)
{
    Perfetto__Protos__DebugAnnotation *annotation =
        annotate(writer, event, CRN_PERFETTO_KEYS + attribute->key);
    switch (attribute->kind) {
    case CRN_ATTRIBUTE_INTEGER:
        annotation->value_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_INT_VALUE;
        annotation->int_value = attribute->value.integer;
        break;
    case CRN_ATTRIBUTE_NUMBER:
        annotation->value_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_DOUBLE_VALUE;
        annotation->double_value = attribute->value.number;
        break;
    default:
        annotation->value_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_STRING_VALUE;
        annotation->string_value = crn_text_copy(attribute->value.text, false);
        writer->texts[event->n_debug_annotations - 1] = annotation->string_value;
    }
}

static void put_annotations(writer *writer, Perfetto__Protos__TrackEvent *event, uint32_t span)
{
    const crn_span *its = &writer->trace->spans[span];
    uint32_t count;
    const crn_attribute *attributes = crn_trace_attributes(writer->trace, span, &count);
    make_room(writer, (size_t)count + 4, 0);
    if (its->iteration != CAIRN_ITERATION_NONE) {
        Perfetto__Protos__DebugAnnotation *annotation =
            annotate(writer, event, CRN_PERFETTO_ITERATION);
        annotation->value_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_INT_VALUE;
        annotation->int_value = its->iteration;
    }
    if (its->open) {
        Perfetto__Protos__DebugAnnotation *annotation = annotate(writer, event, CRN_PERFETTO_OPEN);
        annotation->value_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_BOOL_VALUE;
        annotation->bool_value = true;
    }
    uint64_t cpu;
    if (crn_timeline_cpu(writer->timeline, span, &cpu)) {
        Perfetto__Protos__DebugAnnotation *annotation = annotate(writer, event, CRN_PERFETTO_CPU);
        annotation->value_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
        annotation->uint_value = cpu;
    }
    if (writer->trace->ready && writer->trace->ready[span] != UINT64_MAX) {
        Perfetto__Protos__DebugAnnotation *annotation = annotate(writer, event, CRN_PERFETTO_READY);
        annotation->value_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
        annotation->uint_value = writer->trace->ready[span];
    }
    for (uint32_t i = 0; i < count; i++)
        put_attribute(writer, event, &attributes[i]);
    event->debug_annotations = writer->annotation_list;
}

/* Returns true if the arrow arrives at the end of its span, because the span waited. An open span
 * has no end. */
static bool arrives_at_end(const writer *writer, const crn_arrow *arrow)
{
    return arrow->kind == CRN_ARROW_WAITS && !writer->trace->spans[arrow->to].open;
}

/* Adds the arrows of a span's begin or end. Each arrow leaves at the begin of its span: viewers
 * join flow events of one id in the order of time, so an arrow must leave before it arrives. */
static void put_flows(writer *writer, Perfetto__Protos__TrackEvent *event, uint32_t span, bool end)
{
    const crn_timeline *timeline = writer->timeline;
    uint32_t handoff, first;
    uint32_t arriving = crn_timeline_arriving(timeline, span, &first);
    uint32_t leaves = timeline->leaving_first[span];
    uint32_t leaving = end ? 0 : timeline->leaving_first[span + 1] - leaves;
    make_room(writer, 0, (size_t)leaving + arriving + 1);
    for (uint32_t i = 0; i < leaving; i++)
        writer->flows[i] = timeline->leaving[leaves + i] + (uint64_t)1;
    uint64_t *into = writer->flows + leaving;
    size_t count = 0;
    if (!end && crn_timeline_handoff(timeline, span, &handoff))
        into[count++] = handoff + (uint64_t)1;
    for (uint32_t a = first; a < first + arriving; a++)
        if (arrives_at_end(writer, &timeline->arrows[a]) == end)
            into[count++] = a + (uint64_t)1;
    event->n_flow_ids = leaving;
    event->flow_ids = writer->flows;
    event->n_terminating_flow_ids = count;
    event->terminating_flow_ids = into;
}

static void put_begin(void *data, uint32_t span)
{
    writer *writer = data;
    const crn_timeline *timeline = writer->timeline;
    uint64_t category = CRN_PERFETTO_SPAN, block = crn_timeline_block(timeline, span);
    Perfetto__Protos__TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
    if (writer->options->progress)
        writer->options->progress(writer->done++, writer->trace->span_count);
    event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
    event.track_uuid = crn_perfetto_row(timeline->row[span]);
    event.n_category_iids = 1;
    event.category_iids = &category;
    event.has_name_iid = true;
    event.name_iid = block + 1;
    event.has_source_location_iid = *timeline->profile->blocks[block].file != 0;
    event.source_location_iid = block + 1;
    put_annotations(writer, &event, span);
    put_flows(writer, &event, span, false);
    put_event(writer, &event, writer->trace->spans[span].start);
    for (size_t i = 0; i < event.n_debug_annotations; i++)
        crn_free(writer->texts[i]);
}

static void put_end(void *data, uint32_t span)
{
    writer *writer = data;
    Perfetto__Protos__TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
    event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END;
    event.track_uuid = crn_perfetto_row(writer->timeline->row[span]);
    put_flows(writer, &event, span, true);
    put_event(writer, &event, writer->trace->spans[span].end);
}

static void put_level(void *data, uint32_t process, uint64_t time, uint32_t level)
{
    Perfetto__Protos__TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
    event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER;
    event.track_uuid = crn_perfetto_counter(process);
    event.has_counter_value = true;
    event.counter_value = level;
    put_event(data, &event, time);
}

static int compare_times(const void *left, const void *right)
{
    const crn_counter *a = left, *b = right;
    return CRN_ORDER(a->at, b->at) ?: CRN_ORDER(a->span, b->span);
}

static void put_counter(writer *writer, const crn_counter *counter)
{
    uint32_t process = writer->timeline->process[writer->trace->spans[counter->span].lane];
    Perfetto__Protos__TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
    event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER;
    event.track_uuid = crn_perfetto_own_counter(process, counter->key);
    event.has_double_counter_value = true;
    event.double_counter_value = counter->value;
    put_event(writer, &event, counter->at);
}

/* Writes the counters' values in the order of time, as several lanes can set the same counter. */
static void put_counters(writer *writer)
{
    const crn_trace *trace = writer->trace;
    crn_counter *counters = crn_calloc(trace->counter_count + (size_t)1, sizeof *counters);
    if (trace->counter_count)
        memcpy(counters, trace->counters, trace->counter_count * sizeof *counters);
    qsort(counters, trace->counter_count, sizeof *counters, compare_times);
    for (uint32_t c = 0; c < trace->counter_count; c++)
        put_counter(writer, &counters[c]);
    crn_free(counters);
}

bool crn_perfetto_write(const crn_profile *profile, const crn_trace *trace,
                        const crn_export_options *options, FILE *out, crn_error *error)
{
    crn_timeline timeline;
    crn_timeline_open(&timeline, profile, trace);
    writer writer = {.timeline = &timeline, .trace = trace, .options = options};
    writer.perfetto = (crn_perfetto){.timeline = &timeline, .out = out};
    crn_perfetto_begin(&writer.perfetto);
    crn_timeline_walk(&timeline, put_begin, put_end, &writer);
    crn_timeline_levels(&timeline, put_level, &writer);
    put_counters(&writer);
    crn_perfetto_put_events(&writer.perfetto);
    crn_perfetto_put_off_core(&writer.perfetto);
    crn_perfetto_put_samples(&writer.perfetto);
    crn_free(writer.perfetto.packed);
    crn_free(writer.annotations);
    crn_free(writer.annotation_list);
    crn_free(writer.texts);
    crn_free(writer.flows);
    crn_timeline_close(&timeline);
    return !ferror(out) || crn_export_failed(error, errno);
}
