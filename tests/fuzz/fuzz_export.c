/* SPDX-License-Identifier: MIT
 *
 * fuzz_export.c - spans of any file (libFuzzer) are merged with themselves, saved, loaded and
 * written in each format of time lines. Nothing is lost, and JSON is well-formed.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/formats.h"
#include "spans/spans.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Readers take a path; this one leads to a file in memory. */
static int file_new(char path[64])
{
    int file = memfd_create("capture", MFD_CLOEXEC);
    snprintf(path, 64, "/proc/self/fd/%d", file);
    if (file < 0)
        abort();
    return file;
}

static char *written(crn_format_write_trace *write, const crn_profile *profile,
                     const crn_trace *trace, size_t *size)
{
    char *text = NULL;
    crn_error error = {0};
    crn_export_options options = {.times = true};
    FILE *out = open_memstream(&text, size);
    if (!out || !write(profile, trace, &options, out, &error))
        abort();
    fclose(out);
    return text;
}

static void export(const crn_profile *profile, const crn_trace *trace)
{
    static crn_format_write_trace *const writers[] = {crn_chrome_write, crn_otlp_write,
                                                      crn_perfetto_write};
    for (int i = 0; i < 3; i++) {
        size_t size;
        char *text = written(writers[i], profile, trace, &size);
        json_t *json = i < 2 ? json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL) : NULL;
        if (i < 2 && !json)
            abort();
        json_decref(json);
        free(text);
    }
}

static char saved[64];

static void remove_saved(void)
{
    unlink(saved);
}

/* Files are saved at a path of their own. */
static const char *save_path(void)
{
    if (!*saved) {
        const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(saved, sizeof saved, "%s/fuzz_export.%ld.cairn", folder, (long)getpid());
        atexit(remove_saved);
    }
    return saved;
}

/* A saved and loaded file has the same numbers of everything. */
static void save(const crn_profile *profile, const crn_trace *trace)
{
    const char *path = save_path();
    crn_error error = {0};
    if (!crn_trace_save(profile, trace, path, &error))
        abort();
    crn_trace *again = crn_trace_load(path, &error);
    if (!again || again->span_count != trace->span_count ||
        again->edge_count != trace->edge_count ||
        again->attribute_count != trace->attribute_count ||
        again->remote_count != trace->remote_count || again->dropped != trace->dropped)
        abort();
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (again->spans[s].parent != trace->spans[s].parent ||
            again->spans[s].end - again->spans[s].start !=
                trace->spans[s].end - trace->spans[s].start)
            abort();
    crn_trace_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    crn_error error = {0};
    int file = file_new(path);
    if (pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    crn_profile *profile = crn_profile_load(path, &error);
    crn_trace *trace = profile ? crn_trace_load(path, &error) : NULL;
    close(file);
    if (trace) {
        const crn_trace *twice[] = {trace, trace};
        crn_trace *merged;
        if (crn_trace_merge(twice, 2, &merged, &error)) {
            if (merged->span_count != 2 * trace->span_count ||
                merged->edge_count != 2 * trace->edge_count)
                abort();
            export(profile, merged);
            save(profile, merged);
        }
        crn_trace_free(merged);
    }
    crn_trace_free(trace);
    crn_profile_free(profile);
    return 0;
}
