/* SPDX-License-Identifier: MIT
 *
 * Reads what a run has besides spans and their edges: histograms, processes with their clocks,
 * parents in other processes, counters, events, off-core times.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "capture/format.h"
#include "fleet/fetching.h"

enum { KEYS_MAX = UINT16_MAX };

uint16_t crn_fetching_key(crn_trace *trace, crn_interning *keys, crn_answer *answer)
{
    size_t length;
    const char *key = crn_answer_text(answer, &length);
    uint32_t number = crn_intern_number(keys, key, length);
    if (number >= KEYS_MAX) {
        answer->bad = true;
        return 0;
    }
    if (number == trace->key_count) {
        trace->keys = crn_realloc((void *)trace->keys, number + (size_t)1, sizeof *trace->keys);
        trace->keys[number] = crn_intern(trace->texts, key, length);
        trace->key_count++;
    }
    return (uint16_t)number;
}

uint32_t crn_fetching_span(const crn_trace *trace, const uint32_t *lane_first, uint64_t lane,
                           uint64_t number)
{
    if (!number || lane >= trace->lane_count)
        return CRN_SPAN_NONE;
    uint64_t span = lane_first[lane] + number - 1;
    return span < lane_first[lane + 1] ? (uint32_t)span : CRN_SPAN_NONE;
}

typedef struct details {
    crn_fetching *fetching;
    crn_trace *trace;
    crn_interning *keys;
    const uint32_t *lane_first;
    size_t room;
} details;

/* Reads one row. Returns false if it is damaged. */
typedef bool reader(details *details, crn_answer *answer);

static bool read_rows(details *details, const char *select, const char *order, reader *read)
{
    crn_answer answer = {0};
    crn_sql sql = {0};
    bool good = true;
    details->room = 0;
    crn_sql_add(&sql, "SELECT %s FINAL WHERE ", select);
    crn_fetching_run(details->fetching, &sql);
    crn_sql_add(&sql, " ORDER BY %s", order);
    if (!crn_fetching_ask(details->fetching, &sql, &answer))
        return crn_answer_free(&answer), false;
    while (good && crn_answer_more(&answer))
        good = read(details, &answer);
    return crn_fetching_end(details->fetching, &answer, good);
}

static void take_words(crn_answer *answer, uint64_t words[2])
{
    crn_fleet_id id = crn_answer_id(answer);
    memcpy(words, id.bytes, sizeof id.bytes);
    words[0] = __builtin_bswap64(words[0]);
    words[1] = __builtin_bswap64(words[1]);
}

/* ---- histograms ---- */

static bool read_buckets(crn_answer *answer, crn_disk_histogram *disk)
{
    uint16_t used[CRN_HISTOGRAM_BUCKETS];
    uint64_t count = crn_answer_length(answer, 2);
    if (count > CRN_HISTOGRAM_BUCKETS)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        used[i] = (uint16_t)crn_answer_number(answer, 2);
        if (used[i] >= CRN_HISTOGRAM_BUCKETS)
            return false;
    }
    if (crn_answer_length(answer, 8) != count)
        return false;
    for (uint64_t i = 0; i < count; i++)
        disk->buckets[used[i]] = crn_answer_number(answer, 8);
    return !answer->bad;
}

static bool read_key_and_text(details *details, crn_answer *answer, crn_disk_histogram *disk)
{
    size_t length;
    if (disk->kind == CRN_HISTOGRAM_BLOCK)
        crn_answer_text(answer, &length);
    else
        disk->key = crn_fetching_key(details->trace, details->keys, answer);
    disk->value = crn_answer_number(answer, 8);
    const char *text = crn_answer_text(answer, &length);
    if (length > sizeof disk->text)
        return false;
    memcpy(disk->text, text, length);
    return !answer->bad;
}

static bool read_histogram(details *details, crn_answer *answer)
{
    crn_trace *trace = details->trace;
    uint32_t lane = (uint32_t)crn_answer_number(answer, 4);
    if (lane >= trace->lane_count)
        return false;
    crn_disk_histogram *disk = crn_calloc(1, sizeof *disk);
    CRN_GROW(trace->histograms, trace->histogram_count, details->room);
    crn_trace_histogram *histogram = &trace->histograms[trace->histogram_count++];
    *histogram = (crn_trace_histogram){.lane = lane, .disk = disk};
    disk->state = 1;
    disk->kind = (uint32_t)crn_answer_number(answer, 1);
    crn_fleet_id id = crn_answer_id(answer);
    uint32_t block = crn_fetching_block(details->fetching, &id);
    disk->block = block == UINT32_MAX ? 0 : block;
    if (disk->kind < CRN_HISTOGRAM_BLOCK || disk->kind > CRN_HISTOGRAM_OTHER ||
        !read_key_and_text(details, answer, disk))
        return false;
    histogram->unit = crn_answer_real(answer);
    uint64_t *const figures[] = {&disk->total, &disk->self,      &disk->min,     &disk->max,
                                 &disk->cpu,   &disk->cpu_count, &disk->cpu_wall};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        *figures[i] = crn_answer_number(answer, 8);
    return histogram->unit > 0 && read_buckets(answer, disk);
}

/* ---- processes ---- */

static bool read_process(details *details, crn_answer *answer)
{
    crn_trace *trace = details->trace;
    CRN_GROW(trace->processes, trace->process_count, details->room);
    crn_trace_process *process = &trace->processes[trace->process_count++];
    *process = (crn_trace_process){.name = crn_answer_intern(answer, trace->texts)};
    process->number = (uint32_t)crn_answer_number(answer, 4);
    process->first_lane = (uint32_t)crn_answer_number(answer, 4);
    process->unix_ns = crn_answer_number(answer, 8);
    process->monotonic_ns = crn_answer_number(answer, 8);
    take_words(answer, process->boot);
    process->start = crn_answer_number(answer, 8);
    process->clock_shift = (int64_t)crn_answer_number(answer, 8);
    take_words(answer, process->trace_id);
    process->span_key = crn_answer_number(answer, 8);
    process->length = crn_answer_number(answer, 8);
    process->dangling = crn_answer_number(answer, 8);
    trace->dangling += process->dangling;
    uint32_t least = trace->process_count > 1 ? process[-1].first_lane : 0;
    return process->first_lane >= least && process->first_lane <= trace->lane_count &&
           process->start <= (uint64_t)CRN_TRACE_LATEST &&
           process->length <= (uint64_t)CRN_TRACE_LATEST - process->start;
}

/* ---- parents in other processes, counters, events ---- */

static uint32_t take_span(details *details, crn_answer *answer)
{
    uint64_t lane = crn_answer_number(answer, 4), number = crn_answer_number(answer, 4);
    return crn_fetching_span(details->trace, details->lane_first, lane, number);
}

static bool read_remote(details *details, crn_answer *answer)
{
    crn_trace *trace = details->trace;
    CRN_GROW(trace->remotes, trace->remote_count, details->room);
    crn_span_remote *remote = &trace->remotes[trace->remote_count++];
    *remote = (crn_span_remote){.span = take_span(details, answer)};
    remote->flags = (uint16_t)crn_answer_number(answer, 2);
    take_words(answer, remote->trace_id);
    remote->parent = crn_answer_number(answer, 8);
    return remote->span != CRN_SPAN_NONE;
}

static bool read_counter(details *details, crn_answer *answer)
{
    crn_trace *trace = details->trace;
    CRN_GROW(trace->counters, trace->counter_count, details->room);
    crn_counter *counter = &trace->counters[trace->counter_count++];
    *counter = (crn_counter){.span = take_span(details, answer)};
    counter->key = crn_fetching_key(trace, details->keys, answer);
    counter->at = crn_answer_number(answer, 8);
    counter->value = crn_answer_real(answer);
    return counter->span != CRN_SPAN_NONE && counter->at <= (uint64_t)CRN_TRACE_LATEST;
}

static bool read_event(details *details, crn_answer *answer)
{
    crn_trace *trace = details->trace;
    CRN_GROW(trace->events, trace->event_count, details->room);
    crn_span_event *event = &trace->events[trace->event_count++];
    *event = (crn_span_event){.span = take_span(details, answer)};
    event->level = (uint32_t)crn_answer_number(answer, 1);
    event->at = crn_answer_number(answer, 8);
    event->text = crn_answer_intern(answer, trace->texts);
    return event->span != CRN_SPAN_NONE && event->level <= CAIRN_LEVEL_ERROR &&
           event->at <= (uint64_t)CRN_TRACE_LATEST;
}

/* ---- off-core times ---- */

static bool read_off_core(details *details, crn_answer *answer)
{
    crn_trace *trace = details->trace;
    CRN_GROW(trace->off_core, trace->off_core_count, details->room);
    crn_off_core *off = &trace->off_core[trace->off_core_count++];
    *off = (crn_off_core){.lane = (uint32_t)crn_answer_number(answer, 4)};
    off->begin = crn_answer_number(answer, 8);
    off->end = crn_answer_number(answer, 8);
    off->waiting = crn_answer_number(answer, 8);
    off->ready = crn_answer_number(answer, 8);
    uint32_t woken_by = (uint32_t)crn_answer_number(answer, 4);
    off->woken_by = woken_by ? woken_by - 1 : CRN_SPAN_NONE;
    return off->lane < trace->lane_count && woken_by <= trace->lane_count &&
           off->end <= (uint64_t)CRN_TRACE_LATEST && off->begin <= off->end &&
           off->waiting <= off->end - off->begin &&
           off->ready <= off->end - off->begin - off->waiting;
}

static void take_lost(crn_trace *trace, const crn_fetching *fetching)
{
    const uint64_t *lost = fetching->lost;
    trace->dropped = lost[0];
    trace->limited = lost[1];
    trace->late = lost[2];
    trace->recycled = lost[3];
    trace->skipped = lost[4];
    trace->trees_skipped = lost[5];
    trace->details_dropped = lost[6];
    trace->histograms_dropped = lost[7];
    trace->origins = crn_calloc(trace->lane_count + (size_t)1, sizeof *trace->origins);
    memcpy(trace->origins, fetching->origins, trace->lane_count * sizeof *trace->origins);
}

bool crn_fetch_details(crn_fetching *fetching, crn_trace *trace, crn_interning *keys,
                       const uint32_t *lane_first)
{
    details details = {fetching, trace, keys, lane_first, 0};
    take_lost(trace, fetching);
    return read_rows(&details,
                     "lane, kind, block, key, value, text, unit, total, self, shortest, longest, "
                     "cpu, cpu_spans, cpu_wall, buckets, counts FROM histograms",
                     "lane, number", read_histogram) &&
           read_rows(&details,
                     "name, number, first_lane, unix_time, monotonic, boot, start, clock_shift, "
                     "trace, span_key, length, dangling FROM processes",
                     "process", read_process) &&
           read_rows(&details, "lane, span, flags, trace, parent FROM remote_parents", "lane, span",
                     read_remote) &&
           read_rows(&details, "lane, span, name, at, value FROM counters", "lane, span, number",
                     read_counter) &&
           read_rows(&details, "lane, span, level, at, text FROM events", "lane, span, number",
                     read_event) &&
           read_rows(&details, "lane, begin, end, waiting, ready, woken_by FROM off_core",
                     "lane, begin, number", read_off_core);
}
