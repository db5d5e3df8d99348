/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "output.h"
#include "profile/profile.h"
#include "progress.h"
#include "spans/spans.h"
#include "symbols/symbols.h"

/* Replaces addresses by functions in the profile and in the trace, which may be NULL. Returns the
 * profile, or a new one in its place. */
static crn_profile *name_functions(crn_profile *profile, const char *path, crn_trace *trace)
{
    crn_symbols_stand_ins its;
    if (!crn_symbols_wanted(profile))
        return profile;
    crn_progress_begin("%s: looking up the functions of %s", crn_cli_name, path);
    crn_profile *named = crn_symbols_resolve_blocks(profile, crn_progress_at, &its);
    crn_progress_end();
    if (trace)
        crn_trace_replace_blocks(trace, its.first, its.blocks, profile->block_count);
    crn_free(its.first);
    crn_free(its.blocks);
    crn_profile_free(profile);
    return named;
}

static bool has_spans(const crn_trace *trace)
{
    return trace->span_count || trace->dropped || trace->skipped || trace->details_dropped ||
           trace->histogram_count || trace->samples.count;
}

/* Loads a capture; its spans, too, unless `trace` is NULL: `*trace` becomes NULL if there are none.
 * On an error prints a message and returns NULL. */
static crn_profile *load(const char *path, crn_trace **trace)
{
    crn_error error = {0};
    crn_progress_begin("%s: reading %s", crn_cli_name, path);
    crn_trace *spans = NULL;
    crn_profile *profile =
        trace ? crn_trace_load_with_profile(path, &spans, &error) : crn_profile_load(path, &error);
    crn_progress_end();
    if (!profile) {
        crn_cli_fail("%s", error.message);
        return NULL;
    }
    profile = name_functions(profile, path, spans);
    if (spans && !has_spans(spans)) {
        crn_trace_free(spans);
        spans = NULL;
    }
    if (trace)
        *trace = spans;
    crn_live_derive(profile);
    crn_lean_warn(profile, path);
    return profile;
}

crn_profile *crn_cli_load(const char *path)
{
    return load(path, NULL);
}

/* Captures being merged. Those with spans are kept until the merged blocks have numbers. */
typedef struct adding {
    crn_merge *merge;
    crn_profile **profiles;
    crn_trace **traces;
    size_t count;
} adding;

/* Prefixes each warning with the path of its capture. */
static void tell_where(crn_profile *profile, const char *path)
{
    for (size_t i = 0; i < profile->warning_count; i++) {
        size_t size = strlen(path) + strlen(profile->warnings[i]) + sizeof ": ";
        char *warning = crn_calloc(size, 1);
        snprintf(warning, size, "%s: %s", path, profile->warnings[i]);
        crn_free(profile->warnings[i]);
        profile->warnings[i] = warning;
    }
}

static bool add(adding *adding, const char *path, bool with_spans)
{
    crn_trace *trace = NULL;
    crn_profile *profile = load(path, with_spans ? &trace : NULL);
    if (!profile)
        return false;
    crn_error error = {0};
    if (!crn_merge_fits(adding->merge, profile, &error)) {
        crn_cli_fail("%s: %s", path, error.message);
        crn_profile_free(profile);
        crn_trace_free(trace);
        return false;
    }
    tell_where(profile, path);
    crn_progress_begin("%s: adding %s", crn_cli_name, path);
    crn_merge_add(adding->merge, profile);
    crn_progress_end();
    if (trace) {
        adding->profiles[adding->count] = profile;
        adding->traces[adding->count++] = trace;
    } else {
        crn_profile_free(profile);
    }
    return true;
}

static bool join_traces(const adding *adding, const crn_profile *sum, crn_trace **joined)
{
    crn_error error = {0};
    for (size_t i = 0; i < adding->count; i++) {
        uint32_t *blocks = crn_blocks_match(adding->profiles[i], sum);
        crn_trace_rename_blocks(adding->traces[i], blocks, adding->profiles[i]->block_count);
        crn_free(blocks);
    }
    crn_progress_begin("%s: merging spans", crn_cli_name);
    bool good =
        crn_trace_merge((const crn_trace *const *)adding->traces, adding->count, joined, &error);
    crn_progress_end();
    if (!good)
        crn_cli_fail("%s", error.message);
    return good;
}

crn_profile *crn_cli_load_all(char *const *paths, size_t count)
{
    if (count == 1)
        return load(paths[0], NULL);
    adding adding = {.merge = crn_merge_new()};
    size_t left_out = 0;
    for (size_t i = 0; i < count; i++)
        left_out += !add(&adding, paths[i], false);
    crn_profile *sum = crn_merge_end(adding.merge);
    if (left_out == count) {
        crn_profile_free(sum);
        return NULL;
    }
    if (left_out)
        crn_warn(sum, "%zu of %zu captures could not be read and are left out", left_out, count);
    return sum;
}

crn_profile *crn_cli_load_spans(char *const *paths, size_t count, bool tolerant, crn_trace **trace)
{
    if (trace)
        *trace = NULL;
    if (count == 1)
        return load(paths[0], trace);
    adding adding = {.merge = crn_merge_new()};
    adding.profiles = crn_calloc(count + 1, sizeof *adding.profiles);
    adding.traces = crn_calloc(count + 1, sizeof *adding.traces);
    size_t added = 0;
    for (size_t i = 0; i < count && (tolerant || added == i); i++)
        added += add(&adding, paths[i], trace != NULL);
    bool good = added == count || (added && tolerant);
    crn_profile *sum = crn_merge_end(adding.merge);
    if (good && adding.count)
        good = join_traces(&adding, sum, trace);
    for (size_t i = 0; i < adding.count; i++) {
        crn_profile_free(adding.profiles[i]);
        crn_trace_free(adding.traces[i]);
    }
    crn_free(adding.profiles);
    crn_free(adding.traces);
    if (good)
        return sum;
    crn_profile_free(sum);
    return NULL;
}

crn_profile *crn_cli_redact(crn_profile *profile, crn_trace *trace, crn_redact_map *map)
{
    crn_redact_map *own = map ? NULL : crn_redact_map_new();
    crn_profile *redacted = crn_redact(profile, map ? map : own);
    if (trace)
        crn_redact_trace(trace, profile, redacted, map ? map : own);
    if (own)
        crn_redact_map_free(own);
    crn_profile_free(profile);
    return redacted;
}

bool crn_cli_is_recording(const crn_profile *profile)
{
    long process = strtol(crn_profile_note(profile, "process", "0"), NULL, 10);
    return strcmp(crn_profile_note(profile, "state", ""), "recording") == 0 && process > 0 &&
           (kill((pid_t)process, 0) == 0 || errno == EPERM);
}

bool crn_cli_may_replace(const char *path)
{
    char head[5];
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
        return true;
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    return size == sizeof head && memcmp(head, "CAIRN", sizeof head) == 0;
}

/* Writes a temporary file and renames it. A device is written in place. */
int crn_cli_save_spans(const crn_profile *profile, const crn_trace *trace, const char *path)
{
    crn_error error = {0};
    struct stat info;
    if (!crn_cli_may_replace(path))
        return crn_cli_fail("%s: exists and is not a capture; name another file with -o", path);
    bool in_place = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    char *target = crn_output_target(path);
    size_t size = strlen(target) + 32;
    char *temporary = crn_calloc(size, 1);
    snprintf(temporary, size, in_place ? "%s" : "%s.%ld", target, (long)getpid());
    crn_progress_begin("%s: writing %s", crn_cli_name, path);
    bool good = crn_trace_save(profile, trace, temporary, &error);
    crn_progress_end();
    int status = CRN_EXIT_OK;
    if (!good) {
        status = crn_cli_fail("%s: %s", path, cairn_error_text((cairn_error)error.code));
    } else if (!in_place && rename(temporary, target) != 0) {
        status = crn_cli_fail("%s: %s", path, strerror(errno));
        unlink(temporary);
    }
    crn_free(temporary);
    crn_free(target);
    return status;
}

int crn_cli_save(const crn_profile *profile, const char *path)
{
    return crn_cli_save_spans(profile, NULL, path);
}

void crn_cli_folder(char *folder)
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
}

bool crn_cli_time(const char *text, double least, double most, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    double number = strtod(text, &end), time = -1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (end != text && strcmp(end, units[i].unit) == 0)
            time = number * units[i].ns;
    if (!(time >= least && time <= most))
        return false;
    *ns = (uint64_t)(time + 0.5);
    return true;
}
