/* SPDX-License-Identifier: MIT
 *
 * Sends what a run has besides spans and their edges: histograms of durations, processes with their
 * clocks, parents in other processes, counters, events, off-core times.
 */
#include <string.h>

#include "base/memory.h"
#include "capture/format.h"
#include "fleet/pushing.h"

/* Returns two numbers as 16 bytes, big-endian like W3C trace ids. */
static crn_fleet_id id_of(const uint64_t words[2])
{
    crn_fleet_id id;
    uint64_t swapped[2] = {__builtin_bswap64(words[0]), __builtin_bswap64(words[1])};
    memcpy(id.bytes, swapped, sizeof id.bytes);
    return id;
}

/* ---- histograms ---- */

/* Writes the buckets that are not 0: an array of their indices, and one of their counts. */
static void put_buckets(crn_rows *rows, const crn_disk_histogram *disk)
{
    uint32_t used = 0;
    for (uint32_t b = 0; b < CRN_HISTOGRAM_BUCKETS; b++)
        used += disk->buckets[b] != 0;
    crn_rows_length(rows, used);
    for (uint32_t b = 0; b < CRN_HISTOGRAM_BUCKETS; b++)
        if (disk->buckets[b])
            crn_rows_number(rows, b, 2);
    crn_rows_length(rows, used);
    for (uint32_t b = 0; b < CRN_HISTOGRAM_BUCKETS; b++)
        if (disk->buckets[b])
            crn_rows_number(rows, disk->buckets[b], 8);
}

static void put_histogram(crn_rows *rows, const crn_span_store *store,
                          const crn_trace_histogram *histogram, const crn_fleet_id *block)
{
    const crn_disk_histogram *disk = histogram->disk;
    bool keyed = disk->kind != CRN_HISTOGRAM_BLOCK && disk->key < store->key_count;
    bool text = disk->kind == CRN_HISTOGRAM_TEXT;
    size_t length = text && disk->value < sizeof disk->text ? disk->value : sizeof disk->text;
    crn_rows_number(rows, disk->kind, 1);
    crn_rows_id(rows, block);
    crn_rows_text(rows, keyed ? store->keys[disk->key] : "");
    crn_rows_number(rows, disk->value, 8);
    crn_rows_length(rows, text ? length : 0);
    crn_rows_put(rows, disk->text, text ? length : 0);
    crn_rows_real(rows, histogram->unit);
    const uint64_t figures[] = {disk->total, disk->self,      disk->min,     disk->max,
                                disk->cpu,   disk->cpu_count, disk->cpu_wall};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        crn_rows_number(rows, figures[i], 8);
    put_buckets(rows, disk);
}

static bool push_histograms(crn_pushing *pushing, const crn_profile *recorded,
                            const crn_span_store *store)
{
    crn_fleet_id *blocks = crn_fleet_block_ids(recorded);
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_HISTOGRAMS];
    bool good = true;
    for (uint32_t h = 0; good && h < store->more->histogram_count; h++) {
        const crn_trace_histogram *histogram = &store->more->histograms[h];
        uint32_t block = histogram->disk->block;
        size_t start = rows->size;
        crn_pushing_row(pushing, CRN_BATCH_HISTOGRAMS);
        crn_rows_number(rows, histogram->lane, 4);
        crn_rows_number(rows, h, 4);
        put_histogram(rows, store, histogram, &blocks[block < recorded->block_count ? block : 0]);
        crn_pushing_end(pushing, rows, start, CRN_PUSHED_HISTOGRAMS, h, true);
        good = crn_pushing_send(pushing, CRN_BATCH_HISTOGRAMS);
    }
    crn_free(blocks);
    return good;
}

/* ---- processes ---- */

static void put_process(crn_rows *rows, const crn_trace_process *process)
{
    crn_fleet_id boot = id_of(process->boot), trace = id_of(process->trace_id);
    crn_rows_text(rows, process->name);
    crn_rows_number(rows, process->number, 4);
    crn_rows_number(rows, process->first_lane, 4);
    crn_rows_number(rows, process->unix_ns, 8);
    crn_rows_number(rows, process->monotonic_ns, 8);
    crn_rows_id(rows, &boot);
    crn_rows_number(rows, process->start, 8);
    crn_rows_number(rows, (uint64_t)process->clock_shift, 8);
    crn_rows_id(rows, &trace);
    crn_rows_number(rows, process->span_key, 8);
    crn_rows_number(rows, process->length, 8);
    crn_rows_number(rows, process->dangling, 8);
}

static bool push_processes(crn_pushing *pushing, const crn_span_store *store)
{
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_PROCESSES];
    bool good = true;
    for (uint32_t p = 0; good && p < store->more->process_count; p++) {
        size_t start = rows->size;
        crn_pushing_row(pushing, CRN_BATCH_PROCESSES);
        crn_rows_number(rows, p, 4);
        put_process(rows, &store->more->processes[p]);
        crn_pushing_end(pushing, rows, start, CRN_PUSHED_PROCESSES, p, true);
        good = crn_pushing_send(pushing, CRN_BATCH_PROCESSES);
    }
    return good;
}

/* ---- parents in other processes, counters and events: of spans ---- */

static bool push_remotes(crn_pushing *pushing, const crn_span_store *store)
{
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_REMOTE_PARENTS];
    bool good = true;
    for (uint32_t r = 0; good && r < store->more->remote_count; r++) {
        const crn_span_remote *remote = &store->more->remotes[r];
        crn_fleet_id trace = id_of(remote->trace_id);
        size_t start = rows->size;
        crn_pushing_row(pushing, CRN_BATCH_REMOTE_PARENTS);
        crn_pushing_span(rows, store, remote->span);
        crn_rows_number(rows, remote->flags, 2);
        crn_rows_id(rows, &trace);
        crn_rows_number(rows, remote->parent, 8);
        crn_pushing_end(pushing, rows, start, CRN_PUSHED_REMOTES, r, false);
        good = crn_pushing_send(pushing, CRN_BATCH_REMOTE_PARENTS);
    }
    return good;
}

/* Sends counters. `number` keeps the order of recording, as a counter can have two values at one
 * moment. */
static bool push_counters(crn_pushing *pushing, const crn_span_store *store)
{
    const crn_counter *counters = store->trace ? store->trace->counters : store->counters;
    uint32_t count = store->trace ? store->trace->counter_count : store->counter_count;
    uint32_t number = 0;
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_COUNTERS];
    bool good = true;
    for (uint32_t c = 0; good && c < count; c++) {
        const crn_counter *counter = &counters[c];
        size_t start = rows->size;
        number = c && counters[c - 1].span == counter->span ? number + 1 : 0;
        crn_pushing_row(pushing, CRN_BATCH_COUNTERS);
        crn_pushing_span(rows, store, counter->span);
        crn_rows_number(rows, number, 4);
        crn_rows_text(rows, store->keys[counter->key]);
        crn_rows_number(rows, counter->at, 8);
        crn_rows_real(rows, counter->value);
        crn_pushing_end(pushing, rows, start, CRN_PUSHED_COUNTERS, c, false);
        good = crn_pushing_send(pushing, CRN_BATCH_COUNTERS);
    }
    return good;
}

/* Sends events and log lines, with numbers as for counters. */
static bool push_events(crn_pushing *pushing, const crn_span_store *store)
{
    uint32_t number = 0;
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_EVENTS];
    bool good = true;
    for (uint32_t e = 0; good && e < store->event_count; e++) {
        const crn_span_event *event = &store->events[e];
        size_t start = rows->size;
        number = e && event[-1].span == event->span ? number + 1 : 0;
        crn_pushing_row(pushing, CRN_BATCH_EVENTS);
        crn_pushing_span(rows, store, event->span);
        crn_rows_number(rows, number, 4);
        crn_rows_number(rows, event->level, 1);
        crn_rows_number(rows, event->at, 8);
        crn_rows_text(rows, event->text);
        crn_pushing_end(pushing, rows, start, CRN_PUSHED_EVENTS, e, false);
        good = crn_pushing_send(pushing, CRN_BATCH_EVENTS);
    }
    return good;
}

/* ---- off-core times: of lanes ---- */

static bool push_off_core(crn_pushing *pushing, const crn_span_store *store)
{
    uint32_t number = 0;
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_OFF_CORE];
    bool good = true;
    for (uint32_t o = 0; good && o < store->off_core_count; o++) {
        const crn_off_core *off = &store->off_core[o];
        size_t start = rows->size;
        number = o && off[-1].lane == off->lane ? number + 1 : 0;
        crn_pushing_row(pushing, CRN_BATCH_OFF_CORE);
        crn_rows_number(rows, off->lane, 4);
        crn_rows_number(rows, number, 4);
        crn_rows_number(rows, off->begin, 8);
        crn_rows_number(rows, off->end, 8);
        crn_rows_number(rows, off->waiting, 8);
        crn_rows_number(rows, off->ready, 8);
        crn_rows_number(rows, off->woken_by == CRN_SPAN_NONE ? 0 : off->woken_by + 1, 4);
        crn_pushing_end(pushing, rows, start, CRN_PUSHED_OFF_CORE, o, true);
        good = crn_pushing_send(pushing, CRN_BATCH_OFF_CORE);
    }
    return good;
}

bool crn_push_details(crn_pushing *pushing, const crn_profile *recorded,
                      const crn_span_store *store)
{
    if (!store->more || (!store->count && !store->more->histogram_count))
        return true;
    return push_histograms(pushing, recorded, store) && push_processes(pushing, store) &&
           push_remotes(pushing, store) && push_counters(pushing, store) &&
           push_events(pushing, store) && push_off_core(pushing, store);
}

void crn_push_lost(crn_rows *rows, const crn_span_store *store)
{
    const crn_trace *more = store ? store->more : NULL;
    const uint64_t none[CRN_LOST_COUNTS] = {0};
    const uint64_t lost[CRN_LOST_COUNTS] = {more ? more->dropped : 0,
                                            more ? more->limited : 0,
                                            more ? more->late : 0,
                                            more ? more->recycled : 0,
                                            more ? more->skipped : 0,
                                            more ? more->trees_skipped : 0,
                                            more ? more->details_dropped : 0,
                                            more ? more->histograms_dropped : 0};
    crn_rows_length(rows, CRN_LOST_COUNTS);
    crn_rows_put(rows, more ? lost : none, sizeof lost);
    crn_rows_length(rows, more ? more->lane_count : 0);
    if (more)
        crn_rows_put(rows, more->origins, more->lane_count * sizeof *more->origins);
    crn_rows_number(rows, more ? more->histogram_count : 0, 4);
}
