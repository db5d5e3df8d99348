/* SPDX-License-Identifier: MIT
 *
 * Functions that the writers share.
 */
#include <cairn/cairn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "formats/formats.h"
#include "profile/profile.h"

int crn_export_metric(const crn_profile *profile, bool times)
{
    uint32_t metric = crn_metric_default(profile);
    if (times || !crn_metric_is_time(&profile->metrics[metric]))
        return (int)metric;
    return crn_metric_empty(profile, CRN_METRIC_TICKS) ? CRN_METRIC_CALLS : CRN_METRIC_TICKS;
}

uint32_t crn_export_metrics(const crn_profile *profile, bool times,
                            uint32_t metrics[CRN_METRIC_MAX])
{
    uint32_t count = 0;
    for (uint32_t m = 0; m < profile->metric_count; m++)
        if (!crn_metric_empty(profile, m) && (times || !crn_metric_is_time(&profile->metrics[m])))
            metrics[count++] = m;
    if (count == 0)
        metrics[count++] = CRN_METRIC_CALLS;
    return count;
}

bool crn_export_is_empty(const crn_profile *profile, const uint32_t *metrics, uint32_t count,
                         uint32_t context)
{
    for (uint32_t i = 0; i < count; i++)
        if (crn_self(profile, metrics[i], context))
            return false;
    return true;
}

bool crn_export_check_size(const crn_profile *profile, const char *format, crn_error *error)
{
    uint32_t *depth = crn_calloc(profile->context_count, sizeof *depth);
    uint64_t frames = 0;
    for (uint32_t c = 1; c < profile->context_count; c++)
        frames += depth[c] = depth[profile->parent[c]] + 1;
    crn_free(depth);
    if (frames <= CRN_EXPORT_FRAMES_MAX)
        return true;
    return crn_error_set(error, CAIRN_E_LIMIT,
                         "%s writes out the whole path of each context, here %llu blocks, more "
                         "than the limit of %llu; speedscope's format does not",
                         format, (unsigned long long)frames,
                         (unsigned long long)CRN_EXPORT_FRAMES_MAX);
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

/* Returns true for notes that differ between equal runs: times, numbers of samples in time, and
 * random names of the run. */
static bool is_of_run(const char *key)
{
    static const char *const of_run[] = {"started",  "samples",  "cpu_samples", "cpu_squares",
                                         "trace_id", "span_key", "parent",      "sample_rounds"};
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run; i++)
        if (strcmp(key, of_run[i]) == 0)
            return true;
    return strncmp(key, "cost", 4) == 0 || strncmp(key, "wall", 4) == 0 || ends_in(key, "_ns");
}

void crn_export_span(const crn_profile *profile, int64_t *began, int64_t *duration)
{
    struct tm utc = {0};
    const char *started = crn_profile_note(profile, "started", "");
    const char *end = strptime(started, "%Y-%m-%dT%H:%M:%S", &utc);
    time_t seconds = end ? timegm(&utc) : 0;
    /* 0 if nanoseconds do not fit 64 bits */
    *began = seconds > 0 && seconds < INT64_MAX / 1000000000 ? seconds * 1000000000 : 0;
    /* The duration that the host measured; without one, the recorded time. */
    const char *recorded = crn_profile_note(profile, "recorded_ns", "0");
    *duration = strtoll(crn_profile_note(profile, "elapsed_ns", recorded), NULL, 10);
    if (*duration < 0)
        *duration = 0;
}

/* Returns true for notes of every capture, which would be noise: pprof shows all comments above
 * each table. */
static bool is_ordinary(const crn_note *note)
{
    static const crn_note ordinary[] = {
        {"context_budget", NULL}, {"dropped", "0"},      {"library", NULL},
        {"misuses", "0"},         {"path_limit", NULL},  {"process", NULL},
        {"state", "closed"},      {"tick_samples", "0"}, {"samples", "0"},
    };
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
        if (strcmp(note->key, ordinary[i].key) == 0 &&
            (!ordinary[i].value || strcmp(note->value, ordinary[i].value) == 0))
            return true;
    /* Notes of modules are needed only to find the functions of addresses. */
    return strncmp(note->key, "module ", strlen("module ")) == 0;
}

const crn_note **crn_export_notes(const crn_profile *profile, bool times, size_t *count)
{
    const crn_note **notes = crn_calloc(profile->note_count + 1, sizeof *notes);
    *count = 0;
    for (size_t i = 0; i < profile->note_count; i++)
        if (!is_ordinary(&profile->notes[i]) && (times || !is_of_run(profile->notes[i].key)))
            notes[(*count)++] = &profile->notes[i];
    qsort(notes, *count, sizeof *notes, crn_note_compare);
    return notes;
}

bool crn_export_failed(crn_error *error, int reason)
{
    return crn_error_set(error, CAIRN_E_SPACE, "%s; free some space, or name another file with -o",
                         strerror(reason ? reason : EIO));
}
