/* SPDX-License-Identifier: MIT
 *
 * cairn import: a capture from the files of other tools, their stacks canonicalised.
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli.h"
#include "formats/formats.h"
#include "output.h"
#include "progress.h"

typedef struct origin {
    const char *name;
    crn_format_read *read;
    crn_format_recognise *recognise;
} origin;

/* Asked in this order whether a file is theirs. */
static const origin origins[] = {
    {"pprof", crn_pprof_read, crn_pprof_recognise},
    {"perf", crn_perf_read, crn_perf_recognise},
    {"folded", crn_folded_read, crn_folded_recognise},
};

enum { ORIGIN_COUNT = sizeof origins / sizeof *origins };

typedef struct arguments {
    const char *input, *output, *metric;
    const origin *origin;
} arguments;

static const struct argp_option options[] = {
    {"from", 'f', "FORMAT", 0, "pprof, perf or folded; by default told from the content", 0},
    {"output", 'o', "OUT", 0, "write the capture to OUT", 0},
    {"metric", 'm', "METRIC", 0,
     "what the numbers of folded stacks are: calls, ticks, wall (in nanoseconds) or another "
     "name; by default samples",
     0},
    {0},
};

static const origin *origin_find(const char *name)
{
    for (size_t i = 0; i < ORIGIN_COUNT; i++)
        if (strcmp(origins[i].name, name) == 0)
            return &origins[i];
    return NULL;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    switch (key) {
    case 'f':
        arguments->origin = origin_find(value);
        if (!arguments->origin)
            argp_error(state, "there is no format \"%s\": pprof, perf or folded", value);
        return 0;
    case 'o':
        arguments->output = value;
        return 0;
    case 'm':
        arguments->metric = value;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->input)
            return ARGP_ERR_UNKNOWN;
        arguments->input = value;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->input)
            argp_error(state, "say which file to import");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options,
    parse,
    "FILE",
    "Make a capture of FILE: a pprof profile, what `perf script` printed, or folded stacks, "
    "gzipped or not. - is standard input.\v"
    "Without --output, a.pb.gz becomes a.cairn beside it, which must not be there yet. "
    "Recursion is folded as in any capture, so that calling contexts stay few.\n\n"
    "  perf script | cairn import - -o a.cairn && cairn report a.cairn\n\n"
    "docs/FORMATS.md says what is kept of each format, and what is lost.",
    NULL,
    NULL,
    NULL};

/* The format of what the source holds; NULL after saying that it is none. */
static const origin *origin_recognise(crn_source *source)
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
        crn_cli_fail("%s: is a capture already; see cairn report", name);
    else if (length >= 8 && memcmp(head, "PERFILE2", 8) == 0)
        crn_cli_fail("%s: is perf's own data; import what perf script -i prints of it", name);
    else if (error.code) /* too little of it could be unpacked to tell */
        crn_cli_fail("%s", error.message);
    else
        crn_cli_fail("%s: is neither pprof, nor perf script's output, nor folded stacks; "
                     "if it is all the same, say which with --from",
                     name);
    return NULL;
}

static crn_profile *source_read(crn_source *source, const arguments *arguments)
{
    const origin *origin = arguments->origin ? arguments->origin : origin_recognise(source);
    if (!origin)
        return NULL;
    crn_error error = {0};
    crn_import_options choice = {.metric = arguments->metric, .progress = crn_progress_at};
    crn_progress_begin("%s: reading %s", crn_cli_name, crn_source_name(source));
    crn_profile *profile = origin->read(source, &choice, &error);
    crn_progress_end();
    if (!profile)
        crn_cli_fail("%s", error.message);
    return profile;
}

static crn_profile *file_read(const arguments *arguments)
{
    crn_error error = {0};
    crn_source *source = crn_source_open(arguments->input, &error);
    if (!source) {
        crn_cli_fail("%s", error.message);
        return NULL;
    }
    crn_profile *profile = source_read(source, arguments);
    crn_source_close(source);
    return profile;
}

static bool same_file(const char *left, const char *right)
{
    struct stat a, b;
    return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* What is there already may be the capture that the file was exported from. */
static bool output_is_good(const arguments *arguments, const char *output)
{
    if (!arguments->output && access(output, F_OK) == 0)
        crn_cli_fail("%s: is there already; name the capture with -o", output);
    else if (same_file(arguments->input, output))
        crn_cli_fail("%s: is what is read; name another file with -o", output);
    else
        return true;
    return false;
}

static int file_import(const arguments *arguments, const char *output)
{
    if (!output_is_good(arguments, output))
        return CRN_EXIT_BAD;
    crn_profile *profile = file_read(arguments);
    if (!profile)
        return CRN_EXIT_BAD;
    crn_error error = {0};
    crn_progress_begin("%s: writing %s", crn_cli_name, output);
    bool good = crn_profile_save(profile, output, &error);
    crn_progress_end();
    crn_profile_free(profile);
    if (!good)
        return crn_cli_fail("%s", error.message);
    if (!arguments->output)
        printf("wrote %s\n", output);
    return CRN_EXIT_OK;
}

int crn_cmd_import(int argc, char **argv)
{
    arguments arguments = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (!arguments.input)
        return CRN_EXIT_BAD;
    if (!arguments.output && strcmp(arguments.input, "-") == 0)
        return crn_cli_fail("name the capture with -o: standard input has no name to go by");
    char *output = arguments.output ? crn_strdup(arguments.output)
                                    : crn_output_name(arguments.input, ".cairn");
    int status = file_import(&arguments, output);
    crn_free(output);
    return status;
}
