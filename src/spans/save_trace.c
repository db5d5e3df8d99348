/* SPDX-License-Identifier: MIT
 *
 * Writes the span sections of a capture from a trace. The capture's clock counts ns and begins at
 * the CLOCK_MONOTONIC reading of the trace's begin.
 */
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/save.h"
#include "spans/trace_histograms.h"
#include "spans/trace_process.h"

typedef struct writer {
    crn_saving *saving;
    const crn_trace *trace;
    uint32_t *lane_first; /* by lane: its first span */
    uint64_t zero; /* clock value of the trace's begin; not 0: a start of 0 means "no span" */
    /* Next entries to write. off_core is sorted by lane, the other arrays by span. */
    uint32_t attribute, edge, counter, event, handoff, remote, weight, off_core;
    uint32_t histogram; /* next histogram, by lane */
    uint32_t sample;    /* next sample, by lane */
    uint32_t change;    /* next thread change, by lane */
    uint32_t *contexts; /* by sample path: its context */
    crn_section details;
    uint64_t details_size;
} writer;

/* ---- details ---- */

static void put_detail(writer *writer, crn_disk_detail detail)
{
    crn_saving *saving = writer->saving;
    uint64_t end = writer->details_size + sizeof detail;
    if (!saving->error)
        saving->error = crn_section_grow(&writer->details, end);
    if (saving->error)
        return;
    memcpy(writer->details.base + writer->details_size, &detail, sizeof detail);
    writer->details_size = end;
}

static uint64_t clock_of(const writer *writer, uint64_t time)
{
    return time ? writer->zero + time : 0;
}

static uint64_t name_of(const writer *writer, uint32_t span)
{
    uint32_t lane = writer->trace->spans[span].lane;
    return crn_span_name_make(lane, span - writer->lane_first[lane]);
}

/* Writes a text as details of 16 bytes each: `first`, then continuations. */
static void put_text(writer *writer, crn_disk_detail first, const char *value)
{
    char text[CAIRN_TEXT_MAX + 16] = {0};
    size_t length = strnlen(value, CAIRN_TEXT_MAX), at = 0;
    memcpy(text, value, length);
    do {
        memcpy(&first.value, text + at, 8);
        memcpy(&first.more, text + at + 8, 8);
        put_detail(writer, first);
        first.kind = CRN_DETAIL_MORE;
        at += 16;
    } while (at < length);
}

static void put_attribute(writer *writer, uint32_t number, const crn_attribute *attribute)
{
    if (attribute->kind == CRN_ATTRIBUTE_TEXT) {
        put_text(writer,
                 (crn_disk_detail){.span = number, .kind = CRN_DETAIL_TEXT, .key = attribute->key},
                 attribute->value.text);
        return;
    }
    crn_disk_detail detail = {.span = number, .kind = attribute->kind, .key = attribute->key};
    memcpy(&detail.value, &attribute->value, sizeof detail.value);
    put_detail(writer, detail);
}

static void put_counter(writer *writer, uint32_t number, const crn_counter *counter)
{
    crn_disk_detail detail = {.span = number,
                              .kind = CRN_DETAIL_COUNTER,
                              .key = counter->key,
                              .more = writer->zero + counter->at};
    memcpy(&detail.value, &counter->value, sizeof detail.value);
    put_detail(writer, detail);
}

static void put_event(writer *writer, uint32_t number, const crn_span_event *event)
{
    put_detail(writer, (crn_disk_detail){.span = number,
                                         .kind = CRN_DETAIL_EVENT,
                                         .key = (uint16_t)event->level,
                                         .value = writer->zero + event->at});
    put_text(writer, (crn_disk_detail){.span = number, .kind = CRN_DETAIL_MORE}, event->text);
}

static void put_remote(writer *writer, uint32_t number, const crn_span_remote *remote)
{
    put_detail(writer, (crn_disk_detail){.span = number,
                                         .kind = CRN_DETAIL_REMOTE,
                                         .key = remote->flags,
                                         .value = __builtin_bswap64(remote->trace_id[0]),
                                         .more = __builtin_bswap64(remote->trace_id[1])});
    put_detail(writer, (crn_disk_detail){.span = number,
                                         .kind = CRN_DETAIL_MORE,
                                         .value = __builtin_bswap64(remote->parent)});
}

/* Returns a span's hand-off, zeros if the trace has none for it. */
static crn_span_handoff next_handoff(writer *writer, uint32_t span)
{
    const crn_trace *trace = writer->trace;
    while (writer->handoff < trace->handoff_count && trace->handoffs[writer->handoff].span < span)
        writer->handoff++;
    if (writer->handoff < trace->handoff_count && trace->handoffs[writer->handoff].span == span)
        return trace->handoffs[writer->handoff];
    return (crn_span_handoff){.span = span};
}

/* Returns true if the span's record can name its parent: an earlier span of the lane, not by
 * hand-off. */
static bool is_plain(const writer *writer, uint32_t span)
{
    const crn_span *its = &writer->trace->spans[span];
    return !its->handed_off && its->parent < span &&
           writer->trace->spans[its->parent].lane == its->lane;
}

static void put_relations(writer *writer, uint32_t number, uint32_t span)
{
    const crn_trace *trace = writer->trace;
    if (trace->spans[span].parent != CRN_SPAN_NONE && !is_plain(writer, span)) {
        crn_span_handoff handoff = next_handoff(writer, span);
        put_detail(writer, (crn_disk_detail){.span = number,
                                             .kind = CRN_DETAIL_HANDOFF,
                                             .key = (uint16_t)handoff.adoption,
                                             .value = name_of(writer, trace->spans[span].parent),
                                             .more = clock_of(writer, handoff.taken)});
    }
    for (; writer->edge < trace->edge_count && trace->edges[writer->edge].from <= span;
         writer->edge++) {
        const crn_span_edge *edge = &trace->edges[writer->edge];
        bool waits = edge->kind == CRN_EDGE_WAITS;
        put_detail(writer, (crn_disk_detail){.span = number,
                                             .kind = waits ? CRN_DETAIL_WAITS : CRN_DETAIL_FOLLOWS,
                                             .value = name_of(writer, edge->to),
                                             .more = clock_of(writer, edge->at)});
    }
    for (; writer->remote < trace->remote_count && trace->remotes[writer->remote].span <= span;
         writer->remote++)
        put_remote(writer, number, &trace->remotes[writer->remote]);
}

static void put_figures(writer *writer, uint32_t number, uint32_t span)
{
    const crn_trace *trace = writer->trace;
    if (trace->cpu && trace->cpu[span] != UINT64_MAX)
        put_detail(writer, (crn_disk_detail){
                               .span = number, .kind = CRN_DETAIL_CPU, .value = trace->cpu[span]});
    for (; writer->weight < trace->weight_count && trace->weights[writer->weight].span <= span;
         writer->weight++) {
        crn_disk_detail detail = {.span = number, .kind = CRN_DETAIL_WEIGHT};
        memcpy(&detail.value, &trace->weights[writer->weight].weight, sizeof detail.value);
        put_detail(writer, detail);
    }
}

static void put_details(writer *writer, uint32_t number, uint32_t span)
{
    const crn_trace *trace = writer->trace;
    put_figures(writer, number, span);
    for (; writer->attribute < trace->attribute_count &&
           trace->attributes[writer->attribute].span <= span;
         writer->attribute++)
        put_attribute(writer, number, &trace->attributes[writer->attribute]);
    put_relations(writer, number, span);
    for (; writer->counter < trace->counter_count && trace->counters[writer->counter].span <= span;
         writer->counter++)
        put_counter(writer, number, &trace->counters[writer->counter]);
    for (; writer->event < trace->event_count && trace->events[writer->event].span <= span;
         writer->event++)
        put_event(writer, number, &trace->events[writer->event]);
}

/* ---- lanes ---- */

static void put_spans(writer *writer, uint32_t lane, uint32_t first, uint32_t count)
{
    crn_saving *saving = writer->saving;
    crn_section section;
    crn_section_open(&section, &saving->capture, CRN_SECTION_SPANS, 0, lane);
    crn_section_open(&writer->details, &saving->capture, CRN_SECTION_DETAILS, 0, lane);
    writer->details_size = 0;
    if (!saving->error && count)
        saving->error = crn_section_grow(&section, count * (uint64_t)sizeof(cairn_priv_span));
    for (uint32_t i = 0; i < count && !saving->error; i++) {
        const crn_span *span = &writer->trace->spans[first + i];
        cairn_priv_span *disk = (cairn_priv_span *)section.base + i;
        *disk = (cairn_priv_span){.start = writer->zero + span->start,
                                  .end = span->open ? 0 : writer->zero + span->end,
                                  .iteration = span->iteration,
                                  .block = span->block};
        if (span->parent != CRN_SPAN_NONE && is_plain(writer, first + i))
            disk->parent = span->parent - first + 1;
        else if (span->parent == CRN_SPAN_NONE && span->orphaned)
            disk->parent = CRN_SPAN_GONE;
        put_details(writer, i + 1, first + i);
    }
    crn_section_close(&section);
    crn_section_close(&writer->details);
}

static void put_off_core(writer *writer, uint32_t lane)
{
    const crn_trace *trace = writer->trace;
    crn_section section;
    crn_section_open(&section, &writer->saving->capture, CRN_SECTION_OFF_CORE, 0, lane);
    uint64_t size = 0;
    for (; writer->off_core < trace->off_core_count &&
           trace->off_core[writer->off_core].lane == lane && !writer->saving->error;
         writer->off_core++) {
        const crn_off_core *its = &trace->off_core[writer->off_core];
        crn_disk_off_core disk = {.begin = writer->zero + its->begin,
                                  .end = writer->zero + its->end,
                                  .waiting = its->waiting,
                                  .ready = its->ready,
                                  .woken_by =
                                      its->woken_by == CRN_SPAN_NONE ? 0 : its->woken_by + 1};
        writer->saving->error = crn_section_grow(&section, size + sizeof disk);
        if (!writer->saving->error)
            memcpy(section.base + size, &disk, sizeof disk);
        size += sizeof disk;
    }
    crn_section_close(&section);
}

/* An edge of the profile's graph: from a context by a block to a child, or to an earlier context if
 * it folds. */
typedef struct step {
    uint32_t from, block, to;
} step;

static int compare_steps(const void *left, const void *right)
{
    const step *a = left, *b = right;
    return CRN_ORDER(a->from, b->from) ?: CRN_ORDER(a->block, b->block);
}

static step *steps_of(const crn_profile *profile, uint32_t *count)
{
    step *steps = crn_calloc((size_t)profile->context_count + profile->edge_count, sizeof *steps);
    *count = 0;
    for (uint32_t c = 1; c < profile->context_count; c++)
        steps[(*count)++] = (step){profile->parent[c], profile->block[c], c};
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        steps[(*count)++] = (step){edge->from, profile->block[edge->target], edge->target};
    }
    qsort(steps, *count, sizeof *steps, compare_steps);
    return steps;
}

/* Returns, by sample path, its context in the profile. Where the profile lacks a call on the path,
 * leaves out the function called. */
static uint32_t *contexts_of_paths(const writer *writer)
{
    const crn_samples *samples = &writer->trace->samples;
    uint32_t count, *contexts = crn_calloc(samples->path_count + (size_t)1, sizeof *contexts);
    if (!samples->count)
        return contexts;
    step *steps = steps_of(writer->saving->profile, &count);
    for (uint32_t p = 1; p < samples->path_count; p++) {
        step wanted = {contexts[samples->paths[p].caller], samples->paths[p].block, 0};
        step *found = bsearch(&wanted, steps, count, sizeof *steps, compare_steps);
        contexts[p] = found ? found->to : wanted.from;
    }
    crn_free(steps);
    return contexts;
}

static void put_sample(writer *writer, crn_section *section, uint64_t *size, crn_disk_sample disk)
{
    if (!writer->saving->error)
        writer->saving->error = crn_section_grow(section, *size + sizeof disk);
    if (!writer->saving->error)
        memcpy(section->base + *size, &disk, sizeof disk);
    *size += sizeof disk;
}

/* Writes a lane's thread changes, then its samples. */
static void put_samples(writer *writer, uint32_t lane)
{
    const crn_samples *samples = &writer->trace->samples;
    crn_section section;
    uint64_t size = 0;
    crn_section_open(&section, &writer->saving->capture, CRN_SECTION_SAMPLES, 0, lane);
    for (; writer->change < samples->change_count && samples->changes[writer->change].lane == lane;
         writer->change++) {
        const crn_thread_change *change = &samples->changes[writer->change];
        put_sample(writer, &section, &size,
                   (crn_disk_sample){.at = writer->zero + change->at, .cpu = change->thread});
    }
    for (; writer->sample < samples->count && samples->list[writer->sample].lane == lane;
         writer->sample++) {
        const crn_sample *sample = &samples->list[writer->sample];
        put_sample(writer, &section, &size,
                   (crn_disk_sample){.at = writer->zero + sample->at,
                                     .record = writer->contexts[sample->path] + 1,
                                     .cpu = sample->cpu});
    }
    crn_section_close(&section);
}

/* Writes a lane's header and histograms. Lane 0 has all contexts, and the totals of lost spans. */
static void put_lane(writer *writer, uint32_t lane)
{
    crn_saving *saving = writer->saving;
    crn_section section, *links = &section;
    crn_section_open(&section, &saving->capture, CRN_SECTION_LANE, 0, lane);
    if (lane == 0)
        links = &saving->links;
    uint32_t name = crn_save_string(saving, writer->trace->lanes[lane]);
    double unit = crn_trace_histograms_save(saving, writer->trace, lane, &writer->histogram);
    if (!saving->error)
        saving->error = crn_section_grow(links, sizeof(crn_disk_lane));
    if (!saving->error) {
        crn_disk_lane *disk = (crn_disk_lane *)links->base;
        disk->name = name;
        disk->thread = writer->trace->threads ? writer->trace->threads[lane] : 0;
        memcpy(&disk->histogram_unit, &unit, sizeof unit);
        if (lane == 0) {
            disk->spans_dropped = writer->trace->dropped;
            disk->details_dropped = writer->trace->details_dropped;
            disk->spans_limited = writer->trace->limited;
            disk->spans_late = writer->trace->late;
            disk->spans_recycled = writer->trace->recycled;
            disk->spans_skipped = writer->trace->skipped;
            disk->trees_skipped = writer->trace->trees_skipped;
            disk->histograms_dropped = writer->trace->histograms_dropped;
        }
    }
    crn_section_close(&section);
}

static void put_lanes(writer *writer)
{
    const crn_trace *trace = writer->trace;
    uint32_t span = 0;
    for (uint32_t lane = 0; lane < trace->lane_count && !writer->saving->error; lane++) {
        uint32_t first = span;
        while (span < trace->span_count && trace->spans[span].lane == lane)
            span++;
        put_lane(writer, lane);
        if (span > first)
            put_spans(writer, lane, first, span - first);
        put_off_core(writer, lane);
        put_samples(writer, lane);
    }
}

/* ---- sections of which there is one ---- */

static void put_keys(writer *writer)
{
    crn_section keys;
    crn_section_open(&keys, &writer->saving->capture, CRN_SECTION_KEYS, 0, 0);
    for (uint32_t k = 0; k < writer->trace->key_count; k++) {
        crn_disk_key key = {crn_save_string(writer->saving, writer->trace->keys[k])};
        crn_save_put(writer->saving, &keys, &key, sizeof key);
    }
    crn_section_close(&keys);
}

static void put_processes(writer *writer)
{
    const crn_trace *trace = writer->trace;
    crn_section processes, origins;
    crn_section_open(&processes, &writer->saving->capture, CRN_SECTION_PROCESSES, 0, 0);
    crn_section_open(&origins, &writer->saving->capture, CRN_SECTION_ORIGINS, 0, 0);
    for (uint32_t p = 0; p < trace->process_count; p++) {
        const crn_trace_process *process = &trace->processes[p];
        crn_disk_process disk = {.name = crn_save_string(writer->saving, process->name),
                                 .process = process->number,
                                 .first_lane = process->first_lane,
                                 .started_unix_ns = process->unix_ns,
                                 .monotonic_ns = process->monotonic_ns,
                                 .boot = {process->boot[0], process->boot[1]},
                                 .start = process->start,
                                 .clock_shift = (uint64_t)process->clock_shift,
                                 .length = process->length,
                                 .dangling = process->dangling,
                                 .trace_id = {process->trace_id[0], process->trace_id[1]},
                                 .span_key = process->span_key};
        crn_save_put(writer->saving, &processes, &disk, sizeof disk);
    }
    for (uint32_t lane = 0; lane < trace->lane_count && trace->origins; lane++) {
        crn_disk_origin origin = {trace->origins[lane]};
        crn_save_put(writer->saving, &origins, &origin, sizeof origin);
    }
    crn_section_close(&processes);
    crn_section_close(&origins);
}

/* Writes clocks as if the first process had recorded everything. */
static void put_clock(writer *writer)
{
    crn_disk_header *header = writer->saving->capture.header;
    const crn_trace *trace = writer->trace;
    const uint64_t most = (uint64_t)1 << 61;
    writer->zero = 1;
    if (trace->process_count) {
        const crn_trace_process *first = &trace->processes[0];
        if (first->monotonic_ns > first->start && first->monotonic_ns < most)
            writer->zero = first->monotonic_ns - first->start;
        if (first->unix_ns > first->start)
            header->started_unix_ns = first->unix_ns - first->start;
        header->boot[0] = first->boot[0];
        header->boot[1] = first->boot[1];
    }
    header->first = (crn_disk_moment){writer->zero, writer->zero};
    header->last[0] = (crn_disk_moment){writer->zero + trace->length, writer->zero + trace->length};
}

void crn_save_trace(crn_saving *saving, const crn_trace *trace)
{
    writer writer = {.saving = saving, .trace = trace};
    writer.lane_first = crn_calloc((size_t)trace->lane_count + 1, sizeof *writer.lane_first);
    for (uint32_t s = trace->span_count; s-- > 0;)
        writer.lane_first[trace->spans[s].lane] = s;
    writer.contexts = contexts_of_paths(&writer);
    put_clock(&writer);
    put_keys(&writer);
    put_processes(&writer);
    put_lanes(&writer);
    crn_free(writer.lane_first);
    crn_free(writer.contexts);
}
