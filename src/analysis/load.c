/* SPDX-License-Identifier: MIT
 *
 * From a capture to a profile.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cairn/cairn.h>

#include "analysis/freeze.h"
#include "base/memory.h"
#include "snapshot/snapshot.h"

__attribute__((format(printf, 3, 4))) static void note(crn_profile *profile, const char *key,
                                                       const char *format, ...)
{
    char value[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    crn_profile_put_note(profile, key, value);
}

__attribute__((format(printf, 2, 3))) static void warn(crn_profile *profile, const char *format,
                                                       ...)
{
    char *text = crn_calloc(512, 1);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, 512, format, arguments);
    va_end(arguments);
    crn_profile_put_warning(profile, text);
}

static void put_tables(crn_profile *profile, const crn_snapshot *snapshot)
{
    for (uint32_t b = 1; b < snapshot->block_count; b++) {
        const crn_disk_block *block = &snapshot->blocks[b];
        crn_block_info info = {.name = crn_snapshot_string(snapshot, block->name),
                               .file = crn_snapshot_string(snapshot, block->file),
                               .line = block->line,
                               .column = block->column,
                               .parent = block->parent < b ? block->parent : 0};
        crn_profile_put_block(profile, &info);
    }
    for (uint32_t m = CAIRN_METRIC_USER; m < snapshot->metric_count; m++)
        crn_profile_put_metric(profile, crn_snapshot_string(snapshot, snapshot->metrics[m].name),
                               crn_snapshot_string(snapshot, snapshot->metrics[m].unit));
    for (uint32_t n = 0; n < snapshot->note_count; n++)
        crn_profile_put_note(profile, crn_snapshot_string(snapshot, snapshot->notes[n].key),
                             crn_snapshot_string(snapshot, snapshot->notes[n].value));
}

/* Adds what records have in a column to the values of their contexts. */
static void add_column(crn_profile *profile, const crn_snapshot *snapshot, uint32_t metric,
                       const uint64_t *column)
{
    uint64_t *values = crn_calloc(profile->context_count, sizeof *values);
    for (uint32_t r = CRN_RECORD_ROOT; r < snapshot->records.used; r++)
        values[snapshot->records.numbers[r]] += column[r];
    for (uint32_t c = 0; c < profile->context_count && profile->values[metric]; c++)
        values[c] += profile->values[metric][c]; /* a host may define a name twice */
    crn_profile_put_column(profile, metric, values);
}

static void put_columns(crn_profile *profile, const crn_snapshot *snapshot)
{
    for (uint32_t m = CAIRN_METRIC_USER; m < CAIRN_METRIC_MAX && m < snapshot->metric_count; m++) {
        if (!snapshot->columns[m])
            continue;
        const char *name = crn_snapshot_string(snapshot, snapshot->metrics[m].name);
        int metric = crn_profile_metric(profile, name);
        if (metric >= (int)CAIRN_METRIC_USER)
            add_column(profile, snapshot, (uint32_t)metric, snapshot->columns[m]);
        else
            warn(profile, "the host's metric \"%.40s\" is left out: its name is taken", name);
    }
}

static void put_started(crn_profile *profile, uint64_t unix_ns)
{
    if (!unix_ns)
        return;
    time_t seconds = (time_t)(unix_ns / 1000000000u);
    struct tm utc;
    char text[32];
    if (gmtime_r(&seconds, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        crn_profile_put_note(profile, "started", text);
}

/* What the capture itself knows of the run, beside what the host noted. */
static void put_facts(crn_profile *profile, const crn_snapshot *snapshot)
{
    static const char *const walls[] = {"off", "sampled", "exact"};
    const crn_disk_header *header = &snapshot->header;
    put_started(profile, header->started_unix_ns);
    note(profile, "wall", "%s", header->wall < 3 ? walls[header->wall] : "unknown");
    if (header->wall == CAIRN_WALL_SAMPLED)
        note(profile, "wall_period_ns", "%" PRIu64, header->wall_period_ns);
    note(profile, "tick_period", "%" PRIu64, header->tick_period);
    if (header->tick_period > 1)
        note(profile, "seed", "%" PRIu64, header->seed);
    const crn_disk_moment *last = &header->last[header->moments & 1];
    if (last->monotonic_ns > header->first.monotonic_ns && header->first.monotonic_ns)
        note(profile, "recorded_ns", "%" PRIu64, last->monotonic_ns - header->first.monotonic_ns);
    note(profile, "process", "%" PRIu32, header->process);
    note(profile, "library", "%s", header->library_version);
    note(profile, "path_limit", "%" PRIu32, header->path_limit);
    note(profile, "context_budget", "%" PRIu32, header->context_budget);
    note(profile, "lanes", "%" PRIu32, snapshot->lanes);
    note(profile, "strands", "%" PRIu64, snapshot->strands);
    note(profile, "misuses", "%" PRIu64, snapshot->misuses);
    note(profile, "dropped", "%" PRIu64, snapshot->dropped);
    note(profile, "wall_samples", "%" PRIu64, snapshot->wall_samples);
    note(profile, "tick_samples", "%" PRIu64, snapshot->tick_samples);
    note(profile, "state", "%s",
         header->state == CRN_STATE_CLOSED    ? "closed"
         : header->state == CRN_STATE_STOPPED ? "stopped"
                                              : "recording");
}

/* Where the host did not say what profiling cost, the calls and the cost of one do. */
static void put_cost(crn_profile *profile)
{
    double call_ns = strtod(crn_profile_note(profile, "call_ns", "0"), NULL);
    if (crn_profile_note(profile, "cost_ns", NULL) || !(call_ns > 0 && call_ns < 1e9))
        return;
    uint64_t calls = 0;
    for (uint32_t c = 0; c < profile->context_count; c++)
        calls += profile->values[CRN_METRIC_CALLS][c];
    note(profile, "cost_ns", "%.0f", (double)calls * call_ns);
    bool hosted = crn_profile_note(profile, "host", NULL) != NULL;
    note(profile, "cost_method",
         "%" PRIu64 " calls of %.1f ns, as measured on a loop before the run%s", calls, call_ns,
         hosted ? "; the host's own part is known when it ends" : "");
}

static void put_warnings(crn_profile *profile, const crn_snapshot *snapshot)
{
    if (snapshot->truncated)
        warn(profile, "the file is cut short: what is whole is shown");
    else if (snapshot->damaged)
        warn(profile, "parts of the file are damaged and were left out");
    if (snapshot->header.stopped_by)
        warn(profile, "recording could not go on: %s",
             cairn_error_text((cairn_error)snapshot->header.stopped_by));
    if (snapshot->dropped)
        warn(profile, "%" PRIu64 " calls were dropped for want of memory", snapshot->dropped);
    if (snapshot->misuses)
        warn(profile,
             "%" PRIu64 " misuses of the interface: leave without enter, unwinding to a mark "
             "that is gone, a tail call at the root",
             snapshot->misuses);
}

crn_profile *crn_profile_load(const char *path, crn_error *error)
{
    crn_reader reader;
    if (!crn_reader_open(&reader, path, error))
        return NULL;
    crn_snapshot snapshot;
    crn_error cause;
    bool taken = crn_snapshot_take(&snapshot, &reader, false, &cause);
    crn_reader_close(&reader);
    if (!taken) {
        crn_error_set(error, cause.code, "%s: %s", path, cause.message);
        return NULL;
    }
    crn_profile *profile = crn_profile_new();
    put_facts(profile, &snapshot); /* before the notes: what was merged tells more of itself */
    put_tables(profile, &snapshot);
    crn_profile_put_records(profile, &snapshot.records, snapshot.clock_scale);
    put_columns(profile, &snapshot);
    put_cost(profile);
    put_warnings(profile, &snapshot);
    crn_snapshot_free(&snapshot);
    return profile;
}
