/* SPDX-License-Identifier: MIT
 *
 * Loads a capture as a profile.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "profile/capture_texts.h"
#include "profile/freeze.h"
#include "profile/live.h"
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

static void put_tables(crn_profile *profile, const crn_snapshot *snapshot)
{
    crn_capture_texts texts = {.strings = &snapshot->strings, .into = profile->names};
    for (uint32_t b = 1; b < snapshot->block_count; b++) {
        const crn_disk_block *block = &snapshot->blocks[b];
        crn_block_info info = {.name = crn_capture_text_at(&texts, block->name),
                               .file = crn_capture_text_at(&texts, block->file),
                               .line = block->line,
                               .column = block->column,
                               .parent = block->parent < b ? block->parent : 0,
                               .flags = block->flags};
        crn_profile_put_named(profile, &info);
    }
    for (uint32_t m = CAIRN_METRIC_USER; m < CAIRN_METRIC_MAX && m < snapshot->metric_count; m++)
        crn_profile_put_metric(profile, crn_snapshot_string(snapshot, snapshot->metrics[m].name),
                               crn_snapshot_string(snapshot, snapshot->metrics[m].unit));
    for (uint32_t n = 0; n < snapshot->note_count; n++)
        crn_profile_put_known_note(profile, crn_capture_text_at(&texts, snapshot->notes[n].key),
                                   crn_capture_text_at(&texts, snapshot->notes[n].value));
    crn_capture_texts_end(&texts);
}

/* Adds a column, by record, to the metric's values of the records' contexts. */
static void add_column(crn_profile *profile, const crn_snapshot *snapshot, uint32_t metric,
                       const uint64_t *column)
{
    uint64_t *values = crn_calloc(profile->context_count, sizeof *values);
    for (uint32_t r = CRN_RECORD_ROOT; r < snapshot->records.used; r++)
        values[snapshot->records.numbers[r]] += column[r];
    for (uint32_t c = 0; c < profile->context_count && profile->values[metric]; c++)
        values[c] += profile->values[metric][c]; /* a host may define two metrics with one name */
    crn_profile_put_column(profile, metric, values);
}

static void put_columns(crn_profile *profile, crn_snapshot *snapshot)
{
    for (uint32_t m = CAIRN_METRIC_CPU; m < CAIRN_METRIC_MAX && m < snapshot->metric_count; m++) {
        if (!snapshot->columns[m])
            continue;
        const char *name = crn_snapshot_string(snapshot, snapshot->metrics[m].name);
        int metric = crn_profile_metric(profile, name);
        if (metric >= (int)CAIRN_METRIC_CPU)
            add_column(profile, snapshot, (uint32_t)metric, snapshot->columns[m]);
        else
            crn_warn(profile, "the host's metric \"%.40s\" is left out: its name is taken", name);
        crn_free(snapshot->columns[m]);
        snapshot->columns[m] = NULL;
    }
}

/* Makes contexts and metrics. Frees the snapshot's arrays on the way. */
static void put_contexts(crn_profile *profile, crn_snapshot *snapshot)
{
    const crn_records *records = &snapshot->records;
    crn_profile_put_paths(profile, records);
    crn_profile_put_wall(profile, records, snapshot->clock_scale);
    crn_snapshot_free_links(snapshot);
    crn_profile_put_counts(profile, records);
    crn_snapshot_free_hot(snapshot);
    put_columns(profile, snapshot);
    crn_profile_put_previous(profile);
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

/* Adds notes about sampling. The intervals of sampling.h need the squared gaps. */
static void put_sampling(crn_profile *profile, const crn_snapshot *snapshot)
{
    const crn_disk_header *header = &snapshot->header;
    bool wall = header->wall == CAIRN_WALL_SAMPLED, cpu = header->cpu == CAIRN_CPU_SAMPLED;
    if (header->cpu)
        note(profile, "cpu", "%s", cpu ? "sampled" : "unknown");
    if (wall || cpu)
        note(profile, "sample_period_ns", "%" PRIu64, header->sample_period_ns);
    if (header->rounds) {
        note(profile, "sample_rounds", "%" PRIu64, header->rounds);
        note(profile, "sample_rounds_ns", "%" PRIu64, header->rounds_ns);
        note(profile, "sampler_ns", "%" PRIu64, header->sampler_ns);
    }
    if (wall)
        note(profile, "wall_squares", "%" PRIu64, snapshot->wall_squares);
    if (cpu) {
        note(profile, "sampler", "%s", header->sampler == CAIRN_SAMPLER_TIMER ? "timer" : "thread");
        note(profile, "cpu_samples", "%" PRIu64, snapshot->cpu_samples);
        note(profile, "cpu_squares", "%" PRIu64, snapshot->cpu_squares);
    }
}

/* Adds notes about lost spans. */
static void put_lost_spans(crn_profile *profile, const crn_snapshot *snapshot)
{
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {{"spans_dropped", snapshot->spans_dropped},
                  {"spans_limited", snapshot->spans_limited},
                  {"spans_late", snapshot->spans_late},
                  {"spans_recycled", snapshot->spans_recycled},
                  {"spans_skipped", snapshot->spans_skipped}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].count)
            note(profile, counts[i].key, "%" PRIu64, counts[i].count);
    uint32_t refused = snapshot->header.refused;
    if (snapshot->spans_limited && refused)
        note(profile, "out_of_space", refused == CRN_REFUSED_LIMIT ? "file_limit" : "disk");
}

/* Values of the note "damage", which copies of the capture keep. */
enum { DAMAGE_PARTS = 1, DAMAGE_TRUNCATED = 2 };

/* Adds notes about facts that the capture records besides the host's notes. */
static void put_facts(crn_profile *profile, const crn_snapshot *snapshot)
{
    static const char *const walls[] = {"off", "sampled", "exact"};
    const crn_disk_header *header = &snapshot->header;
    put_started(profile, header->started_unix_ns);
    note(profile, "wall", "%s", header->wall < 3 ? walls[header->wall] : "unknown");
    put_sampling(profile, snapshot);
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
    note(profile, "samples", "%" PRIu64, snapshot->samples);
    note(profile, "tick_samples", "%" PRIu64, snapshot->tick_samples);
    put_lost_spans(profile, snapshot);
    if (snapshot->truncated || snapshot->damaged)
        note(profile, "damage", "%d", snapshot->truncated ? DAMAGE_TRUNCATED : DAMAGE_PARTS);
    if (header->stopped_by)
        note(profile, "stopped_by", "%" PRIu32, header->stopped_by);
    note(profile, "state", "%s",
         header->state == CRN_STATE_CLOSED    ? "closed"
         : header->state == CRN_STATE_STOPPED ? "stopped"
                                              : "recording");
    if (header->state == CRN_STATE_RECORDING) {
        note(profile, "lanes_open", "%" PRIu32, snapshot->open_lanes);
        note(profile, "unaccounted_ns", "%.0f",
             (double)snapshot->unaccounted * snapshot->clock_scale);
    }
}

/* Notes the estimated cost of profiling: calls and samples times their cost. Does nothing if the
 * host noted the cost. */
static void put_cost(crn_profile *profile)
{
    double call_ns = strtod(crn_profile_note(profile, "call_ns", "0"), NULL);
    if (crn_profile_note(profile, "cost_ns", NULL) || !(call_ns > 0 && call_ns < 1e9))
        return;
    uint64_t calls = 0;
    for (uint32_t c = 1; c < profile->context_count; c++)
        calls += profile->values[CRN_METRIC_CALLS][c];
    double samples = strtod(crn_profile_note(profile, "samples", "0"), NULL) +
                     strtod(crn_profile_note(profile, "cpu_samples", "0"), NULL);
    double sample_ns = strtod(crn_profile_note(profile, "sample_ns", "0"), NULL);
    if (!calls && !(samples > 0))
        return; /* the host did not record calls or samples */
    note(profile, "cost_ns", "%.0f", (double)calls * call_ns + samples * sample_ns);
    bool hosted = crn_profile_note(profile, "host", NULL) != NULL;
    if (!calls)
        note(profile, "cost_method", "%.0f samples; calls were not counted", samples);
    else
        note(profile, "cost_method",
             "%" PRIu64 " call%s of %.1f ns, as measured on a loop before the run%s", calls,
             calls == 1 ? "" : "s", call_ns, hosted ? "; without the host's own cost" : "");
}

static void put_warnings(crn_profile *profile, const crn_snapshot *snapshot)
{
    int damage = atoi(crn_profile_note(profile, "damage", "0"));
    if (damage == DAMAGE_TRUNCATED)
        crn_warn(profile, "the file is truncated: the complete part is shown");
    else if (damage)
        crn_warn(profile, "parts of the file are damaged and were left out");
    int stopped_by = atoi(crn_profile_note(profile, "stopped_by", "0"));
    if (stopped_by)
        crn_warn(profile, "recording stopped: %s", cairn_error_text((cairn_error)stopped_by));
    if (snapshot->dropped)
        crn_warn(profile, "%" PRIu64 " call%s dropped for lack of memory", snapshot->dropped,
                 snapshot->dropped == 1 ? " was" : "s were");
    if (snapshot->spans_dropped)
        crn_warn(profile,
                 "%" PRIu64 " span%s dropped: %" PRIu64 " %s, %" PRIu64
                 " when space was not ready in time",
                 snapshot->spans_dropped, snapshot->spans_dropped == 1 ? " was" : "s were",
                 snapshot->spans_limited,
                 snapshot->header.refused == CRN_REFUSED_SYSTEM  ? "when the disk was full"
                 : snapshot->header.refused == CRN_REFUSED_LIMIT ? "at the file limit"
                                                                 : "at the span limit",
                 snapshot->spans_late);
    if (snapshot->misuses)
        crn_warn(profile,
                 "%" PRIu64 " misuse%s of the interface: leave without enter, unwinding to an "
                 "invalid mark, a tail call at the root, or a block that was never added",
                 snapshot->misuses, snapshot->misuses == 1 ? "" : "s");
    const char *lost = crn_alloc_lost(profile);
    if (lost)
        crn_warn(profile, "allocations or frees are missing: %.200s", lost);
    const char *mismatch = crn_profile_note(profile, "mismatch", NULL);
    if (mismatch)
        crn_warn(profile, "enter and leave do not match: the program first %s", mismatch);
    const char *wrong = crn_profile_note(profile, "not_understood", NULL);
    if (wrong)
        crn_warn(profile,
                 "the value of %.60s in the program's environment was not understood: see "
                 "cairn-run(1)",
                 wrong);
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
    put_facts(profile, &snapshot); /* first: notes of a merged capture override facts */
    put_tables(profile, &snapshot);
    put_contexts(profile, &snapshot);
    put_cost(profile);
    put_warnings(profile, &snapshot);
    crn_snapshot_free(&snapshot);
    return profile;
}
