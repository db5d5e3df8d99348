/* SPDX-License-Identifier: MIT
 *
 * cairn export: writes a capture in the formats of other tools.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/convert/convert.h"
#include "commands.h"
#include "formats/formats.h"
#include "profile/profile.h"
#include "spans/spans.h"

typedef struct target {
    const char *suffix, *other; /* suffix of file names; another that -o may have, or NULL */
    crn_format_write *write;
    crn_format_write_trace *write_trace; /* of formats of spans; else NULL */
} target;

static const target targets[] = {
#define OF_CONTEXTS(name, suffix, other) {suffix, other, crn_##name##_write, NULL},
#define OF_SPANS(name, suffix, other) {suffix, other, NULL, crn_##name##_write},
    CRN_FORMATS_OF_CONTEXTS(OF_CONTEXTS) CRN_FORMATS_OF_SPANS(OF_SPANS)};

enum { TARGET_COUNT = sizeof targets / sizeof *targets };

static struct {
    crn_list captures;
    const char *output, *metric;
    int to; /* index of `targets`; below 0: chosen by the output's name */
    bool no_times, redact;
} given = {.to = -1};

static const target *chosen;

typedef struct source {
    crn_profile *profile;
    crn_trace *trace; /* NULL if the format has no spans */
} source;

static const crn_option options[] = {
    {"to", 't', .argument = "FORMAT",
     .words = (const char *const[]){CRN_FORMATS_OF_CONTEXTS(CRN_FORMAT_NAME)
                                        CRN_FORMATS_OF_SPANS(CRN_FORMAT_NAME) NULL},
     .help = "The format: " CRN_FORMATS_OF_CONTEXTS(
         CRN_FORMAT_WORD) "and of spans " CRN_FORMATS_OF_SPANS(CRN_FORMAT_WORD) "or as OUT's name "
                                                                                "says (else pprof)",
     .choice = &given.to},
    CRN_OPTION_OUTPUT(&given.output, "OUT", "Write to OUT, - for standard output", NULL),
    CRN_OPTION_METRIC(&given.metric, "METRIC",
                      "The metric to write (folded) or to show first (pprof, speedscope): calls, "
                      "ticks, wall, ...; default: wall if present, else ticks, another, calls",
                      "Formats of spans do not take this option, nor --no-times."),
    {"no-times",
     .help = "Leave out what differs between equal runs: wall, processor and ready time, start, "
             "duration, cost of profiling, numbers of time samples, identities of traces",
     .flag = &given.no_times},
    CRN_OPTION_REDACT(&given.redact),
    {0},
};

static const char doc[] =
    "Write CAPTURE in a format that other tools read.\vWithout --output, the file is beside the "
    "capture, with the suffix of its format: a.pb.gz, a.pftrace. Perfetto, Chrome and OTLP hold "
    "single spans on a time line, the other formats sums by context.\n\n  go tool pprof -top "
    "a.pb.gz\n  cairn export a.cairn --to folded -o - | flamegraph.pl > a.svg\n  speedscope "
    "a.speedscope.json\n\ndocs/FORMATS.md describes what each format keeps and loses.";

static const target *target_of_output(const char *output)
{
    for (size_t i = 0; output && i < TARGET_COUNT; i++)
        if (crn_path_ends(output, targets[i].suffix) ||
            (targets[i].other && crn_path_ends(output, targets[i].other)))
            return &targets[i];
    return &targets[0];
}

/* Returns the metric to write. On an error prints a message and returns -1. */
static int metric_find(const crn_profile *profile)
{
    if (!given.metric)
        return crn_export_metric(profile, !given.no_times);
    int metric = crn_profile_metric(profile, given.metric);
    if (metric >= 0 && !(given.no_times && crn_metric_is_time(&profile->metrics[metric])) &&
        !crn_metric_empty(profile, (uint32_t)metric))
        return metric;
    char names[512] = "";
    for (uint32_t m = 0; m < profile->metric_count; m++)
        if (!crn_metric_empty(profile, m) && strlen(names) + 64 < sizeof names)
            snprintf(names + strlen(names), 64, "%s%.60s", *names ? ", " : "",
                     profile->metrics[m].name);
    crn_cli_fail("%s: has no metric \"%s\"; it has %s", given.captures.list[0], given.metric,
                 names);
    return -1;
}

static bool write_target(const source *source, int metric, FILE *out, crn_error *error)
{
    crn_export_options choice = {
        .metric = metric, .times = !given.no_times, .progress = crn_progress_at};
    return chosen->write ? chosen->write(source->profile, &choice, out, error)
                         : chosen->write_trace(source->profile, source->trace, &choice, out, error);
}

static int capture_export(const source *source)
{
    int metric = chosen->write ? metric_find(source->profile) : 0;
    if (metric < 0)
        return CRN_EXIT_BAD;
    char *derived = given.output ? NULL : crn_output_name(given.captures.list[0], chosen->suffix);
    crn_output output;
    bool good = crn_output_open(&output, derived ? derived : given.output, given.captures.list[0]);
    if (good) {
        crn_error error = {0};
        crn_progress_begin("%s: writing %s", crn_cli_name, output.name);
        good = write_target(source, metric, output.file, &error);
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

/* Loads what the format needs. Missing spans are an error: the output would look like an idle
 * program's. On an error prints a message and returns false. */
static bool source_open(source *source)
{
    bool spans = chosen->write_trace != NULL;
    *source = (struct source){0};
    source->profile =
        crn_cli_load_spans(given.captures.list, 1, false, spans ? &source->trace : NULL);
    if (!source->profile)
        return false;
    if (!spans || (source->trace && source->trace->span_count))
        return true;
    crn_cli_fail(
        "%s: has no spans, which this format needs; pprof, folded and speedscope show contexts",
        given.captures.list[0]);
    return false;
}

static void source_close(source *source)
{
    crn_trace_free(source->trace);
    crn_profile_free(source->profile);
}

static int run(void)
{
    chosen = given.to >= 0 ? &targets[given.to] : target_of_output(given.output);
    if (chosen->write_trace && (given.metric || given.no_times))
        return crn_cli_fail("--metric and --no-times are for formats without spans");
    source source;
    int status = CRN_EXIT_BAD;
    if (source_open(&source)) {
        if (given.redact)
            source.profile = crn_cli_redact(source.profile, source.trace, NULL);
        status = capture_export(&source);
    }
    source_close(&source);
    return status;
}

const crn_command crn_command_export = {
    .name = "export",
    .purpose = "write a capture in the formats of other tools",
    .arguments = "[CAPTURE]",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .reads_newest = true,
    .most = 1,
    .run = run,
};
