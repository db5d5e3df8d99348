/* SPDX-License-Identifier: MIT */
#include "spans/trace_merge.h"

#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "capture/format.h"
#include "spans/trace_clock.h"
#include "spans/trace_histograms.h"
#include "spans/trace_process.h"

/* ---- blocks ---- */

/* Interns what identifies a block, and returns the number. `parent` is the matching block of
 * crn_blocks_match's `to`. */
static uint32_t number_of(crn_interning *numbers, const crn_block_info *info, uint32_t parent)
{
    size_t name_size = strlen(info->name) + 1, file_size = strlen(info->file) + 1;
    uint32_t figures[] = {info->line, info->column, parent};
    size_t size = name_size + file_size + sizeof figures;
    char *key = crn_calloc(size, 1);
    memcpy(key, info->name, name_size);
    memcpy(key + name_size, info->file, file_size);
    memcpy(key + name_size + file_size, figures, sizeof figures);
    uint32_t number = crn_intern_number(numbers, key, size);
    crn_free(key);
    return number;
}

/* Matches blocks in their order: lexical parents precede their blocks, so they are matched
 * first. */
uint32_t *crn_blocks_match(const crn_profile *from, const crn_profile *to)
{
    crn_interning *numbers = crn_interning_new();
    uint32_t count = 0;
    uint32_t *blocks =
        crn_calloc((size_t)to->block_count + 1, sizeof *blocks); /* from interned number to block */
    for (uint32_t b = 0; b < to->block_count; b++) {
        uint32_t parent = to->blocks[b].parent < b ? to->blocks[b].parent : 0;
        uint32_t number = number_of(numbers, &to->blocks[b], parent);
        if (number == count)
            blocks[count++] = b;
    }
    uint32_t *map = crn_calloc((size_t)from->block_count + 1, sizeof *map);
    for (uint32_t b = 1; b < from->block_count; b++) {
        uint32_t parent = from->blocks[b].parent < b ? map[from->blocks[b].parent] : 0;
        uint32_t number = number_of(numbers, &from->blocks[b], parent);
        map[b] = number < count ? blocks[number] : 0;
    }
    crn_free(blocks);
    crn_interning_free(numbers);
    return map;
}

static void rename_block(uint32_t *block, const uint32_t *blocks, uint32_t count)
{
    *block = *block < count ? blocks[*block] : 0;
}

static void rename_spans(crn_trace *trace, const uint32_t *blocks, uint32_t count)
{
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t block = trace->spans[s].block; /* a copy: the member is packed */
        rename_block(&block, blocks, count);
        trace->spans[s].block = block;
    }
    for (uint32_t h = 0; h < trace->histogram_count; h++)
        rename_block(&trace->histograms[h].disk->block, blocks, count);
}

void crn_trace_rename_blocks(crn_trace *trace, const uint32_t *blocks, uint32_t count)
{
    rename_spans(trace, blocks, count);
    for (uint32_t p = 1; p < trace->samples.path_count; p++)
        rename_block(&trace->samples.paths[p].block, blocks, count);
}

void crn_trace_replace_blocks(crn_trace *trace, const uint32_t *first, const uint32_t *blocks,
                              uint32_t count)
{
    uint32_t *last = crn_calloc(count + (size_t)1, sizeof *last);
    for (uint32_t b = 0; b < count; b++)
        last[b] = first[b] < first[b + 1] ? blocks[first[b + 1] - 1] : 0;
    rename_spans(trace, last, count);
    crn_samples_replace(&trace->samples, first, blocks, count);
    crn_free(last);
}

/* ---- concatenation ---- */

typedef struct merging {
    crn_trace *to;
    crn_interning *key_numbers;
    crn_samples_making samples;
    uint32_t span, lane; /* first span and lane of the trace being added */
} merging;

static uint32_t move_span(const merging *merging, uint32_t span)
{
    return span == CRN_SPAN_NONE ? span : merging->span + span;
}

static void add_spans(merging *merging, const crn_trace *from)
{
    if (from->cpu)
        memcpy(merging->to->cpu + merging->span, from->cpu, from->span_count * sizeof *from->cpu);
    if (from->ready)
        memcpy(merging->to->ready + merging->span, from->ready,
               from->span_count * sizeof *from->ready);
    for (uint32_t s = 0; s < from->span_count; s++) {
        crn_span *span = &merging->to->spans[merging->to->span_count++];
        *span = from->spans[s];
        span->parent = move_span(merging, span->parent);
        span->lane += merging->lane;
    }
}

/* Maps the keys of `from` to those of the merged trace; to UINT32_MAX beyond the limit on keys. */
static uint32_t *map_keys(merging *merging, const crn_trace *from)
{
    enum { KEYS_MAX = UINT16_MAX };
    crn_trace *to = merging->to;
    uint32_t *keys = crn_calloc((size_t)from->key_count + 1, sizeof *keys);
    for (uint32_t k = 0; k < from->key_count; k++) {
        size_t length = strlen(from->keys[k]);
        uint32_t number = crn_intern_number(merging->key_numbers, from->keys[k], length);
        if (number == to->key_count && number <= KEYS_MAX)
            to->keys[to->key_count++] = crn_intern(to->texts, from->keys[k], length);
        keys[k] = number < to->key_count ? number : UINT32_MAX;
    }
    return keys;
}

static void add_counters(merging *merging, const crn_trace *from, const uint32_t *keys)
{
    crn_trace *to = merging->to;
    for (uint32_t c = 0; c < from->counter_count; c++) {
        crn_counter counter = from->counters[c];
        if (keys[counter.key] == UINT32_MAX) {
            to->details_dropped++;
            continue;
        }
        counter.span = move_span(merging, counter.span);
        counter.key = (uint16_t)keys[counter.key];
        to->counters[to->counter_count++] = counter;
    }
}

static void add_events(merging *merging, const crn_trace *from)
{
    crn_trace *to = merging->to;
    for (uint32_t e = 0; e < from->event_count; e++) {
        crn_span_event *event = &to->events[to->event_count++];
        *event = from->events[e];
        event->span = move_span(merging, event->span);
        event->text = crn_intern_text(to->texts, event->text);
    }
    for (uint32_t o = 0; o < from->off_core_count; o++) {
        crn_off_core *off = &to->off_core[to->off_core_count++];
        *off = from->off_core[o];
        off->lane += merging->lane;
        if (off->woken_by != CRN_SPAN_NONE)
            off->woken_by += merging->lane;
    }
}

static void add_attributes(merging *merging, const crn_trace *from)
{
    crn_trace *to = merging->to;
    uint32_t *keys = map_keys(merging, from);
    for (uint32_t a = 0; a < from->attribute_count; a++) {
        crn_attribute attribute = from->attributes[a];
        attribute.span = move_span(merging, attribute.span);
        if (keys[attribute.key] == UINT32_MAX) {
            to->details_dropped++;
            continue;
        }
        attribute.key = (uint16_t)keys[attribute.key];
        if (attribute.kind == CRN_ATTRIBUTE_TEXT)
            attribute.value.text = crn_intern_text(to->texts, attribute.value.text);
        to->attributes[to->attribute_count++] = attribute;
    }
    add_counters(merging, from, keys);
    add_events(merging, from);
    crn_trace_histograms_add(to, from, merging->lane, keys);
    crn_free(keys);
}

static void add_relations(merging *merging, const crn_trace *from)
{
    crn_trace *to = merging->to;
    for (uint32_t e = 0; e < from->edge_count; e++) {
        crn_span_edge *edge = &to->edges[to->edge_count++];
        *edge = from->edges[e];
        edge->from = move_span(merging, edge->from);
        edge->to = move_span(merging, edge->to);
    }
    for (uint32_t h = 0; h < from->handoff_count; h++) {
        crn_span_handoff *handoff = &to->handoffs[to->handoff_count++];
        *handoff = from->handoffs[h];
        handoff->span = move_span(merging, handoff->span);
    }
    for (uint32_t w = 0; w < from->weight_count; w++) {
        crn_span_weight *weight = &to->weights[to->weight_count++];
        *weight = from->weights[w];
        weight->span = move_span(merging, weight->span);
    }
    for (uint32_t r = 0; r < from->remote_count; r++) {
        crn_span_remote *remote = &to->remotes[to->remote_count++];
        *remote = from->remotes[r];
        remote->span = move_span(merging, remote->span);
    }
}

static void add_lanes(merging *merging, const crn_trace *from)
{
    crn_trace *to = merging->to;
    for (uint32_t lane = 0; lane < from->lane_count; lane++) {
        to->threads[to->lane_count] = from->threads ? from->threads[lane] : 0;
        to->origins[to->lane_count] =
            from->origins ? from->origins[lane] : crn_span_name_make(lane, 0);
        to->lanes[to->lane_count++] = crn_intern_text(to->texts, from->lanes[lane]);
    }
    for (uint32_t p = 0; p < from->process_count; p++) {
        crn_trace_process *process = &to->processes[to->process_count++];
        *process = from->processes[p];
        process->first_lane += merging->lane;
        process->name = crn_intern_text(to->texts, process->name);
    }
}

static void add_trace(merging *merging, const crn_trace *from)
{
    crn_trace *to = merging->to;
    merging->span = to->span_count;
    merging->lane = to->lane_count;
    add_spans(merging, from);
    add_attributes(merging, from);
    add_relations(merging, from);
    add_lanes(merging, from);
    crn_samples_join(&merging->samples, &from->samples, merging->lane);
    to->dropped += from->dropped;
    to->limited += from->limited;
    to->late += from->late;
    to->recycled += from->recycled;
    to->skipped += from->skipped;
    to->trees_skipped += from->trees_skipped;
    to->details_dropped += from->details_dropped;
    to->dangling += from->dangling;
}

/* ---- allocation ---- */

/* Allocates for the items of all traces. Returns false if a count exceeds its limit. */
static bool make_room(crn_trace *to, const crn_trace *const *traces, size_t count)
{
    uint64_t spans = 0, attributes = 0, edges = 0, handoffs = 0, remotes = 0, lanes = 0, keys = 0;
    uint64_t processes = 0, weights = 0, counters = 0, events = 0, off_core = 0;
    bool cpu = false, ready = false;
    for (size_t t = 0; t < count; t++) {
        spans += traces[t]->span_count;
        attributes += traces[t]->attribute_count;
        edges += traces[t]->edge_count;
        counters += traces[t]->counter_count;
        events += traces[t]->event_count;
        off_core += traces[t]->off_core_count;
        handoffs += traces[t]->handoff_count;
        remotes += traces[t]->remote_count;
        lanes += traces[t]->lane_count;
        keys += traces[t]->key_count;
        processes += traces[t]->process_count;
        weights += traces[t]->weight_count;
        cpu |= traces[t]->cpu != NULL;
        ready |= traces[t]->ready != NULL;
    }
    const uint64_t most = CRN_SPAN_NONE - 1;
    if (spans > most || attributes > most || edges > most || counters > most || events > most ||
        off_core > most || lanes > CRN_LANES_MAX || processes > CRN_PROCESSES_MAX)
        return false;
    to->spans = crn_calloc(spans + 1, sizeof *to->spans);
    to->attributes = crn_calloc(attributes + 1, sizeof *to->attributes);
    to->edges = crn_calloc(edges + 1, sizeof *to->edges);
    to->counters = crn_calloc(counters + 1, sizeof *to->counters);
    to->events = crn_calloc(events + 1, sizeof *to->events);
    to->off_core = crn_calloc(off_core + 1, sizeof *to->off_core);
    to->handoffs = crn_calloc(handoffs + 1, sizeof *to->handoffs);
    to->remotes = crn_calloc(remotes + 1, sizeof *to->remotes);
    to->lanes = crn_calloc(lanes + 1, sizeof *to->lanes);
    to->origins = crn_calloc(lanes + 1, sizeof *to->origins);
    to->threads = crn_calloc(lanes + 1, sizeof *to->threads);
    to->keys = crn_calloc(keys + 1, sizeof *to->keys);
    to->weights = crn_calloc(weights + 1, sizeof *to->weights);
    if (cpu) {
        to->cpu = crn_calloc(spans + 1, sizeof *to->cpu);
        memset(to->cpu, 0xff, spans * sizeof *to->cpu); /* UINT64_MAX: not measured */
    }
    if (ready) {
        to->ready = crn_calloc(spans + 1, sizeof *to->ready);
        memset(to->ready, 0xff, spans * sizeof *to->ready);
    }
    to->processes = crn_calloc(processes + 1, sizeof *to->processes);
    return true;
}

bool crn_trace_merge(const crn_trace *const *traces, size_t count, crn_trace **merged,
                     crn_error *error)
{
    crn_trace *to = crn_calloc(1, sizeof *to);
    to->texts = crn_interning_new();
    *merged = NULL;
    if (!make_room(to, traces, count)) {
        crn_trace_free(to);
        return crn_error_set(error, CAIRN_E_LIMIT,
                             "too much for one capture: it can hold 4,294,967,294 spans, as many "
                             "attributes, %d lanes and %d processes",
                             CRN_LANES_MAX, CRN_PROCESSES_MAX);
    }
    merging merging = {.to = to, .key_numbers = crn_interning_new()};
    crn_samples_begin(&merging.samples, &to->samples);
    for (size_t t = 0; t < count; t++)
        add_trace(&merging, traces[t]);
    crn_interning_free(merging.key_numbers);
    crn_samples_end(&merging.samples);
    crn_trace_resolve(to);
    crn_trace_cut_circles(to);
    crn_trace_share_dangling(to);
    crn_trace_align(to);
    *merged = to;
    return true;
}
