/* SPDX-License-Identifier: MIT
 *
 * cairn export: a capture in the formats of other tools.
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/redact.h"
#include "base/memory.h"
#include "cli.h"
#include "formats/formats.h"
#include "output.h"
#include "progress.h"

typedef struct target {
    const char *name;
    const char *suffix; /* of files of this format */
    crn_format_write *write;
} target;

/* The first one is the default. */
static const target targets[] = {
    {"pprof", ".pb.gz", crn_pprof_write},
    {"folded", ".folded", crn_folded_write},
    {"speedscope", ".speedscope.json", crn_speedscope_write},
};

enum { TARGET_COUNT = sizeof targets / sizeof *targets };

typedef struct arguments {
    const char *input, *output, *metric;
    const target *target;
    bool no_times, redact;
} arguments;

enum { OPTION_NO_TIMES = 256, OPTION_REDACT };

static const struct argp_option options[] = {
    {"to", 't', "FORMAT", 0, "pprof (default), folded or speedscope", 0},
    {"output", 'o', "OUT", 0, "write to OUT, - for standard output", 0},
    {"metric", 'm', "METRIC", 0,
     "what to write (folded) or to show first (pprof, speedscope): calls, ticks, wall, ...; "
     "by default wall if there is any, else ticks, another, calls",
     0},
    {"no-times", OPTION_NO_TIMES, NULL, 0,
     "leave out wall time, and when and how long it ran: what differs from run to run", 0},
    {"redact", OPTION_REDACT, NULL, 0,
     "replace names, as cairn redact does, which can also keep some and say which was which", 0},
    {0},
};

static const target *target_find(const char *name)
{
    for (size_t i = 0; i < TARGET_COUNT; i++)
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i];
    return NULL;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    switch (key) {
    case 't':
        arguments->target = target_find(value);
        if (!arguments->target)
            argp_error(state, "there is no format \"%s\": pprof, folded or speedscope", value);
        return 0;
    case 'o':
        arguments->output = value;
        return 0;
    case 'm':
        arguments->metric = value;
        return 0;
    case OPTION_REDACT:
        arguments->redact = true;
        return 0;
    case OPTION_NO_TIMES:
        arguments->no_times = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->input)
            return ARGP_ERR_UNKNOWN;
        arguments->input = value;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->input)
            argp_error(state, "say which capture to export");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options,
    parse,
    "FILE",
    "Write the capture FILE in a format that other tools read.\v"
    "Without --output, a.cairn becomes a.pb.gz, a.folded or a.speedscope.json beside it. "
    "Without --to, the end of OUT's name may say which format is meant.\n\n"
    "  go tool pprof -top a.pb.gz\n"
    "  cairn export a.cairn --to folded -o - | flamegraph.pl > a.svg\n"
    "  speedscope a.speedscope.json\n\n"
    "docs/FORMATS.md says what each format keeps and loses.",
    NULL,
    NULL,
    NULL};

static bool has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text), end = strlen(suffix);
    return length > end && strcmp(text + length - end, suffix) == 0;
}

static const target *target_of_output(const char *output)
{
    for (size_t i = 0; output && i < TARGET_COUNT; i++)
        if (has_suffix(output, targets[i].suffix))
            return &targets[i];
    return &targets[0];
}

/* -1 when there is no such metric, which it says. */
static int metric_find(const crn_profile *profile, const arguments *arguments)
{
    if (!arguments->metric)
        return crn_export_metric(profile, !arguments->no_times);
    int metric = crn_profile_metric(profile, arguments->metric);
    if (metric >= 0 && !(metric == CRN_METRIC_WALL && arguments->no_times) &&
        !crn_metric_empty(profile, (uint32_t)metric))
        return metric;
    char names[512] = "";
    for (uint32_t m = 0; m < profile->metric_count; m++)
        if (!crn_metric_empty(profile, m) && strlen(names) + 64 < sizeof names)
            snprintf(names + strlen(names), 64, "%s%.60s", *names ? ", " : "",
                     profile->metrics[m].name);
    crn_cli_fail("%s: there is no \"%s\" in it; there is: %s", arguments->input, arguments->metric,
                 names);
    return -1;
}

static int capture_export(const crn_profile *profile, const arguments *arguments)
{
    int metric = metric_find(profile, arguments);
    if (metric < 0)
        return CRN_EXIT_BAD;
    char *derived =
        arguments->output ? NULL : crn_output_name(arguments->input, arguments->target->suffix);
    crn_output output;
    bool good = crn_output_open(&output, derived ? derived : arguments->output, arguments->input);
    if (good) {
        crn_error error = {0};
        crn_export_options choice = {
            .metric = metric, .times = !arguments->no_times, .progress = crn_progress_at};
        crn_progress_begin("%s: writing %s", crn_cli_name, output.name);
        good = arguments->target->write(profile, &choice, output.file, &error);
        crn_progress_end();
        if (!good)
            crn_cli_fail("%s: %s", output.name, error.message);
        good = crn_output_close(&output, good);
    }
    if (good && derived)
        printf("wrote %s\n", derived);
    crn_free(derived);
    return good ? CRN_EXIT_OK : CRN_EXIT_BAD;
}

int crn_cmd_export(int argc, char **argv)
{
    arguments arguments = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (!arguments.target)
        arguments.target = target_of_output(arguments.output);
    crn_profile *profile = crn_cli_load(arguments.input);
    if (!profile)
        return CRN_EXIT_BAD;
    if (arguments.redact) {
        crn_profile *redacted = crn_redact(profile, NULL);
        crn_profile_free(profile);
        profile = redacted;
    }
    int status = capture_export(profile, &arguments);
    crn_profile_free(profile);
    return status;
}
