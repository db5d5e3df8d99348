/* SPDX-License-Identifier: MIT */
#include "spans/trace_process.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"

typedef struct notes {
    const crn_bytes *strings;
    crn_bytes bytes;
} notes;

/* Returns the last value of a key, or "". Bounds the comparison, because a hostile file may have
 * long strings that many notes share. */
static const char *note_of(const notes *notes, const char *key)
{
    const crn_disk_note *all = (const crn_disk_note *)(const void *)notes->bytes.data;
    size_t size = strlen(key) + 1;
    for (size_t n = notes->bytes.size / sizeof *all; n-- > 0;)
        if (strncmp(crn_string_at(notes->strings, all[n].key), key, size) == 0)
            return crn_string_at(notes->strings, all[n].value);
    return "";
}

/* Parses `length` <= 16 hexadecimal digits; 0 if `text` does not begin with them. */
static uint64_t digits_of(const char *text, size_t length)
{
    char digits[17] = "", *end;
    if (strlen(text) < length || strspn(text, "0123456789abcdef") < length)
        return 0;
    memcpy(digits, text, length);
    return strtoull(digits, &end, 16);
}

/* ---- a capture of one process ---- */

static bool load_one(crn_trace *trace, const crn_reader *reader, const crn_bytes *strings,
                     const uint32_t *numbers, crn_error *error)
{
    const crn_disk_header *header = &reader->header;
    notes notes = {.strings = strings};
    if (!crn_reader_section(reader, CRN_SECTION_NOTES, 0, 0, header->used[CRN_SECTION_NOTES],
                            &notes.bytes, error))
        return false;
    const char *trace_id = note_of(&notes, "trace_id");
    trace->process_count = 1;
    trace->processes = crn_calloc(1, sizeof *trace->processes);
    trace->processes[0] =
        (crn_trace_process){.name = crn_intern_text(trace->texts, note_of(&notes, "command")),
                            .number = header->process,
                            .unix_ns = header->started_unix_ns,
                            .monotonic_ns = header->first.monotonic_ns,
                            .boot = {header->boot[0], header->boot[1]},
                            .trace_id = {digits_of(trace_id, 16),
                                         strlen(trace_id) == 32 ? digits_of(trace_id + 16, 16) : 0},
                            .span_key = digits_of(note_of(&notes, "span_key"), 16)};
    crn_free(notes.bytes.data);
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        trace->origins[lane] = crn_span_name_make(numbers[lane], 0);
    return true;
}

/* ---- a merged capture ---- */

/* Returns true if the lanes of each process are consecutive and in order. If not, the file is
 * damaged, and all lanes count for the first process. */
static bool are_in_order(const crn_trace *trace)
{
    if (trace->processes[0].first_lane != 0)
        return false;
    for (uint32_t p = 1; p < trace->process_count; p++)
        if (trace->processes[p].first_lane < trace->processes[p - 1].first_lane ||
            trace->processes[p].first_lane > trace->lane_count)
            return false;
    return true;
}

static uint64_t no_more(uint64_t time, uint64_t most)
{
    return time < most ? time : most;
}

static void load_processes(crn_trace *trace, crn_capture_texts *texts, const crn_bytes *bytes)
{
    uint64_t count = bytes->size / sizeof(crn_disk_process);
    trace->process_count = count < CRN_PROCESSES_MAX ? (uint32_t)count : CRN_PROCESSES_MAX;
    trace->processes = crn_calloc(trace->process_count, sizeof *trace->processes);
    for (uint32_t p = 0; p < trace->process_count; p++) {
        const crn_disk_process *disk = (const crn_disk_process *)(const void *)bytes->data + p;
        const uint64_t latest = (uint64_t)CRN_TRACE_LATEST;
        uint64_t start = no_more(disk->start, latest);
        trace->processes[p] =
            (crn_trace_process){.name = crn_capture_text_at(texts, disk->name),
                                .number = disk->process,
                                .first_lane = disk->first_lane,
                                .unix_ns = disk->started_unix_ns,
                                .monotonic_ns = disk->monotonic_ns,
                                .boot = {disk->boot[0], disk->boot[1]},
                                .start = start,
                                .clock_shift = (int64_t)disk->clock_shift,
                                .length = no_more(disk->length, latest - start),
                                .trace_id = {disk->trace_id[0], disk->trace_id[1]},
                                .span_key = disk->span_key,
                                .dangling = disk->dangling};
        trace->dangling += disk->dangling;
    }
    if (!are_in_order(trace))
        trace->process_count = 1;
    trace->processes[0].first_lane = 0;
}

static void load_origins(crn_trace *trace, const crn_bytes *bytes)
{
    const crn_disk_origin *origins = (const crn_disk_origin *)(const void *)bytes->data;
    uint64_t count = bytes->size / sizeof *origins;
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        trace->origins[lane] = lane < count ? origins[lane].name : 0;
}

bool crn_trace_is_merged(const crn_reader *reader)
{
    return reader->header.used[CRN_SECTION_PROCESSES] >= sizeof(crn_disk_process) &&
           crn_reader_size(reader, CRN_SECTION_PROCESSES, 0, 0) >= sizeof(crn_disk_process);
}

bool crn_trace_processes_load(crn_trace *trace, const crn_reader *reader, crn_capture_texts *texts,
                              const uint32_t *numbers, crn_error *error)
{
    crn_bytes processes, origins;
    const uint64_t *used = reader->header.used;
    trace->origins = crn_calloc((size_t)trace->lane_count + 1, sizeof *trace->origins);
    if (!crn_trace_is_merged(reader))
        return load_one(trace, reader, texts->strings, numbers, error);
    if (!crn_reader_section(reader, CRN_SECTION_PROCESSES, 0, 0, used[CRN_SECTION_PROCESSES],
                            &processes, error))
        return false;
    load_processes(trace, texts, &processes);
    crn_free(processes.data);
    if (!crn_reader_section(reader, CRN_SECTION_ORIGINS, 0, 0, used[CRN_SECTION_ORIGINS], &origins,
                            error))
        return false;
    load_origins(trace, &origins);
    crn_free(origins.data);
    return true;
}

void crn_trace_share_dangling(crn_trace *trace)
{
    uint64_t counted = 0;
    for (uint32_t p = 0; p < trace->process_count; p++)
        counted += trace->processes[p].dangling;
    if (trace->process_count)
        trace->processes[0].dangling += trace->dangling - counted;
}

uint32_t crn_trace_process_of(const crn_trace *trace, uint32_t lane)
{
    uint32_t low = 0, high = trace->process_count;
    while (high - low > 1) { /* last process whose first lane is at or before `lane` */
        uint32_t middle = low + (high - low) / 2;
        if (trace->processes[middle].first_lane <= lane)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- from ids to spans ---- */

/* Returns the lane's first span, or that of the next lane with spans. */
static uint32_t first_of_lane(const crn_trace *trace, uint32_t lane)
{
    uint32_t low = 0, high = trace->span_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trace->spans[middle].lane < lane)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Spans of a lane with the same upper half of their ids. */
typedef struct origin {
    uint32_t upper, first, count; /* first, count: spans of the trace */
    uint32_t lane;
    uint64_t key, place; /* key of the process; position of the first span when recorded */
} origin;

typedef struct origins {
    origin *all; /* sorted by upper half, then lane */
    size_t count;
} origins;

static int compare_origins(const void *left, const void *right)
{
    const origin *a = left, *b = right;
    return CRN_ORDER(a->upper, b->upper) ?: CRN_ORDER(a->lane, b->lane);
}

/* Adds a lane by the upper half of its span ids; twice if the places of its spans pass a multiple
 * of 2^32, where the upper half changes. */
static void add_origin(origins *origins, const crn_trace *trace, uint32_t lane, uint64_t key)
{
    uint64_t name = trace->origins[lane];
    origin its = {.first = first_of_lane(trace, lane),
                  .lane = lane,
                  .key = key,
                  .place = crn_span_name_place(name)};
    its.count = first_of_lane(trace, lane + 1) - its.first;
    if (!its.count)
        return;
    uint64_t last = crn_span_name_make(crn_span_name_lane(name), its.place + its.count - 1);
    its.upper = (uint32_t)((name ^ key) >> 32);
    origins->all[origins->count++] = its;
    its.upper = (uint32_t)((last ^ key) >> 32);
    if (name >> 32 != last >> 32)
        origins->all[origins->count++] = its;
}

static origins find_origins(const crn_trace *trace)
{
    origins origins = {crn_calloc(2 * (size_t)trace->lane_count + 1, sizeof *origins.all), 0};
    for (uint32_t lane = 0; lane < trace->lane_count && trace->process_count; lane++) {
        uint64_t key = trace->processes[crn_trace_process_of(trace, lane)].span_key;
        if (key)
            add_origin(&origins, trace, lane, key);
    }
    qsort(origins.all, origins.count, sizeof *origins.all, compare_origins);
    return origins;
}

/* Returns the span of an id, CRN_SPAN_NONE if it is unknown. If several spans match, prefers the
 * current parent. Compares a limited number: keys are random, so equal upper halves are rare
 * (chance, the same capture twice, a hostile file). */
static uint32_t span_of_id(const origins *origins, uint64_t id, uint32_t parent)
{
    enum { TRIES = 16 };
    uint32_t found = CRN_SPAN_NONE;
    uint32_t upper = (uint32_t)(id >> 32);
    size_t low = CRN_BELOW(origins->all, origins->count, upper, upper);
    for (size_t i = low; i < origins->count && i < low + TRIES; i++) {
        const origin *its = &origins->all[i];
        uint64_t place = crn_span_name_place(id ^ its->key) - its->place;
        if (its->upper != upper)
            break;
        if (place >= its->count)
            continue;
        uint32_t span = its->first + (uint32_t)place;
        if (found == CRN_SPAN_NONE || span == parent)
            found = span;
    }
    return found;
}

/* ---- remote parents ---- */

static int compare_handoffs(const void *left, const void *right)
{
    const crn_span_handoff *a = left, *b = right;
    return CRN_ORDER(a->span, b->span);
}

/* Makes the time of a span's hand-off unknown: the time of a local hand-off says nothing about that
 * of the remote parent. */
static void note_handoff(crn_trace *trace, uint32_t before, uint32_t span)
{
    crn_span_handoff key = {.span = span};
    crn_span_handoff *known =
        before ? bsearch(&key, trace->handoffs, before, sizeof *trace->handoffs, compare_handoffs)
               : NULL;
    if (known)
        known->taken = 0;
    else
        trace->handoffs[trace->handoff_count++] = key;
}

void crn_trace_resolve(crn_trace *trace)
{
    if (!trace->remote_count)
        return;
    uint32_t before = trace->handoff_count;
    origins origins = find_origins(trace);
    trace->handoffs =
        crn_realloc(trace->handoffs, (size_t)before + trace->remote_count, sizeof *trace->handoffs);
    for (uint32_t r = 0; r < trace->remote_count; r++) {
        crn_span_remote *remote = &trace->remotes[r];
        crn_span *span = &trace->spans[remote->span];
        uint32_t parent = span_of_id(&origins, remote->parent, span->parent);
        if (remote->resolved || parent == CRN_SPAN_NONE || parent == remote->span)
            continue;
        remote->resolved = true;
        span->parent = parent;
        span->handed_off = true;
        span->orphaned = false;
        note_handoff(trace, before, remote->span);
    }
    crn_free(origins.all);
    if (trace->handoff_count > before)
        qsort(trace->handoffs, trace->handoff_count, sizeof *trace->handoffs, compare_handoffs);
}
