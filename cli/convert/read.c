/* SPDX-License-Identifier: MIT
 *
 * Reads other tools' files.
 */
#include <string.h>

#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "convert.h"
#include "formats/formats.h"

typedef struct origin {
    crn_format_read *read;
    crn_format_recognise *recognise;
} origin;

/* Formats, in the order in which they are tried. */
static const origin origins[] = {
#define ORIGIN(name) {crn_##name##_read, crn_##name##_recognise},
    CRN_FORMATS_READ(ORIGIN)};

enum { ORIGIN_COUNT = sizeof origins / sizeof *origins };

/* Recognises Python's marshal format: a dictionary whose first key is a tuple, each marked as
 * shared or not. */
static bool is_pstats(const char *head, size_t length)
{
    return length >= 2 && (head[0] & 0x7f) == '{' &&
           ((head[1] & 0x7f) == '(' || (head[1] & 0x7f) == ')');
}

/* Recognises the format of a source. On an error prints a message and returns NULL. Only import has
 * an option for the format, and refuses captures: so its message differs. */
static const origin *origin_recognise(crn_source *source, bool importing)
{
    size_t length;
    crn_error error = {0};
    const char *head = crn_source_head(source, &length, &error);
    const char *name = crn_source_name(source);
    if (!head) {
        crn_cli_fail("%s", error.message);
        return NULL;
    }
    for (size_t i = 0; i < ORIGIN_COUNT; i++)
        if (origins[i].recognise(head, length))
            return &origins[i];
    if (length >= 5 && memcmp(head, "CAIRN", 5) == 0)
        crn_cli_fail(importing ? "%s: is already a capture; see cairn report"
                               : "%s: is a capture in a pipe; captures need random access, so save "
                                 "it as a file first",
                     name);
    else if (length >= 8 && memcmp(head, "PERFILE2", 8) == 0)
        crn_cli_fail("%s: is perf's own data; %s what perf script -i prints of it", name,
                     importing ? "import" : "name");
    else if (is_pstats(head, length))
        crn_cli_fail("%s: is Python's pstats, which has no call paths; profile with cairn run, or "
                     "py-spy record --format raw and import that",
                     name);
    else if (error.code) /* too little was unpacked to recognise the format */
        crn_cli_fail("%s", error.message);
    else
        crn_cli_fail("%s: is neither %spprof, nor V8's .cpuprofile, nor MLton's mlmon.out, nor "
                     "callgrind's output, nor "
                     "perf script's output, nor "
                     "folded stacks; %s",
                     name, importing ? "" : "a capture, nor ",
                     importing ? "if it is one of these, name the format with --from"
                               : "if it is one of these, convert it with cairn import --from");
    return NULL;
}

static crn_profile *source_read(crn_source *source, const crn_convert_options *options)
{
    const origin *origin = options->format >= 0
                               ? &origins[options->format]
                               : origin_recognise(source, options->format != CRN_CONVERT_SHOWN);
    if (!origin)
        return NULL;
    crn_error error = {0};
    crn_import_options choice = {.metric = options->metric,
                                 .sources = options->sources,
                                 .split = options->split,
                                 .progress = crn_progress_at};
    crn_progress_begin("%s: reading %s", crn_cli_name, crn_source_name(source));
    crn_profile *profile = origin->read(source, &choice, &error);
    crn_progress_end();
    if (!profile)
        crn_cli_fail("%s", error.message);
    return profile;
}

crn_profile *crn_convert_read(const char *path, const crn_convert_options *options)
{
    crn_error error = {0};
    crn_source *source = crn_source_open(path, &error);
    if (!source) {
        crn_cli_fail("%s", error.message);
        return NULL;
    }
    crn_profile *profile = source_read(source, options);
    crn_source_close(source);
    return profile;
}
