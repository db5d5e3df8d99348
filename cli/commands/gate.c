/* SPDX-License-Identifier: MIT
 *
 * cairn gate: compares a run with a committed baseline, for continuous integration.
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/convert/convert.h"
#include "cli/gate/gate.h"
#include "commands.h"

#define TOLERANCE_USUAL 0.01
#define SHARE_USUAL 0.005

static struct {
    crn_list captures;
    const char *baseline, *metric;
    double tolerance, share; /* as a fraction of 1; below 0: as in the baseline */
    bool update, markdown, json;
} given = {.tolerance = -1, .share = -1};

static void check(struct argp_state *state)
{
    if (!given.baseline)
        argp_error(state, "no baseline given; write --baseline FILE");
    if (given.markdown && given.json)
        argp_error(state, "either --markdown or --json");
    if (given.update && (given.markdown || given.json))
        argp_error(state, "--update compares nothing: leave --markdown and --json out");
    if (!given.update && (given.metric || given.share >= 0))
        argp_error(state, "--metric and --share are in the baseline; --update changes them");
}

static const crn_option options[] = {
    {"baseline", 'b', .argument = "FILE", .help = "The baseline, a text file (required)",
     .text = &given.baseline},
    {"update", 'u', .help = "Write the baseline anew from the capture, in place of comparing",
     .more = "Tolerances of contexts that the file has are kept.", .flag = &given.update},
    CRN_OPTION_METRIC(&given.metric, "METRIC",
                      "With --update: ticks, instructions (of callgrind), calls or another "
                      "(default: the first of these that the capture has)",
                      "It should be the same in each run; times are not."),
    {"tolerance", 'T', .argument = "PERCENT",
     .help = "Growth that is allowed, of the total and of each context (1)",
     .more = "With --update it is written into the baseline.", .share = &given.tolerance},
    {"share", .argument = "PERCENT",
     .help = "With --update: contexts below this share of the total are added up (0.5)",
     .share = &given.share},
    {"markdown", .help = "Print Markdown, for a comment on a merge request",
     .flag = &given.markdown},
    CRN_OPTION_JSON(&given.json),
    {0},
};

static const char doc[] =
    "Compare a capture with a baseline, and fail if it costs more.\vThe capture may also be a file "
    "that cairn import reads, such as callgrind.out.\n\n  cairn run --ticks=1 -o new.cairn "
    "bench.lua\n  cairn gate --baseline bench.baseline --update new.cairn     once, and commit it\n"
    "  cairn gate --baseline bench.baseline new.cairn              in each build\n\nExit status: "
    "0; 1 if something costs more than allowed; 2 for bad input. docs/WHY.md has recipes for "
    "GitLab, GitHub and plain shell.";

/* Loads one or several captures, merged; or one file of another tool, which sets `*imported` to
 * true. On an error prints a message and returns NULL. */
static crn_profile *load(bool *imported)
{
    char head[5] = "";
    const char *path = given.captures.list[0];
    FILE *file = fopen(path, "re");
    bool is_capture = !file || (fread(head, 1, sizeof head, file) == sizeof head &&
                                memcmp(head, "CAIRN", sizeof head) == 0);
    if (file)
        fclose(file);
    *imported = !is_capture && given.captures.count == 1;
    if (!*imported)
        return crn_cli_load_all(given.captures.list, given.captures.count);
    return crn_convert_read(path, &(crn_convert_options){.format = -1});
}

/* Returns the default metric: ticks or instructions, which are equal in all runs; otherwise
 * calls. */
static const char *usual_metric(const crn_profile *profile)
{
    static const char *const names[] = {"ticks", "instructions"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int metric = crn_profile_metric(profile, names[i]);
        if (metric >= 0 && !crn_metric_empty(profile, (uint32_t)metric))
            return names[i];
    }
    return "calls";
}

/* Returns, by context of `profile`, its own tolerance in `old`; below 0: none. Free it with
 * crn_free. */
static double *keep_tolerances(const crn_baseline *old, const crn_profile *profile)
{
    double *own = crn_calloc(profile->context_count, sizeof *own);
    for (uint32_t c = 0; c < profile->context_count; c++)
        own[c] = -1;
    if (!old->profile)
        return own;
    crn_diff rows = crn_diff_contexts(&(crn_diff_input){
        {old->profile, profile}, {CRN_METRIC_CALLS, CRN_METRIC_CALLS}, CRN_DIFF_SELF});
    for (uint32_t i = 0; i < rows.count; i++)
        if (rows.rows[i].id[CRN_BEFORE] != CRN_DIFF_NONE &&
            rows.rows[i].id[CRN_AFTER] != CRN_DIFF_NONE)
            own[rows.rows[i].id[CRN_AFTER]] = old->own[rows.rows[i].id[CRN_BEFORE]];
    crn_diff_free(&rows);
    return own;
}

static int update(const crn_profile *profile)
{
    crn_baseline old = {.tolerance = TOLERANCE_USUAL, .share = SHARE_USUAL};
    if (!crn_baseline_read(&old, given.baseline, true))
        return CRN_EXIT_BAD;
    crn_baseline new = old;
    const char *metric = given.metric  ? given.metric
                         : old.profile ? old.metric
                                       : usual_metric(profile);
    snprintf(new.metric, sizeof new.metric, "%s", metric);
    new.tolerance = given.tolerance >= 0 ? given.tolerance : old.tolerance;
    new.share = given.share >= 0 ? given.share : old.share;
    new.profile = crn_baseline_reduce(profile, new.metric, new.share, NULL);
    int status = CRN_EXIT_BAD;
    if (new.profile) {
        new.own = keep_tolerances(&old, new.profile);
        status = crn_baseline_write(&new, given.baseline);
        if (status == CRN_EXIT_OK)
            printf("wrote %s: %u contexts\n", given.baseline, new.profile->context_count);
        crn_baseline_free(&new);
    }
    crn_baseline_free(&old);
    return status;
}

static int compare(const crn_profile *profile, bool imported)
{
    crn_baseline baseline = {.tolerance = TOLERANCE_USUAL, .share = SHARE_USUAL};
    if (!crn_baseline_read(&baseline, given.baseline, false))
        return CRN_EXIT_BAD;
    if (given.tolerance >= 0)
        baseline.tolerance = given.tolerance;
    crn_profile *reduced =
        crn_baseline_reduce(profile, baseline.metric, baseline.share, baseline.profile);
    int status = CRN_EXIT_BAD;
    if (reduced) {
        crn_gate gate = crn_gate_judge(&baseline, reduced);
        gate.baseline_path = given.baseline;
        gate.capture_path = given.captures.list[0];
        gate.imported = imported;
        (given.json       ? crn_gate_json
         : given.markdown ? crn_gate_markdown
                          : crn_gate_text)(stdout, &gate);
        status = gate.worse ? CRN_EXIT_NO : CRN_EXIT_OK;
        crn_gate_free(&gate);
        crn_profile_free(reduced);
    }
    crn_baseline_free(&baseline);
    return status;
}

static int run(void)
{
    bool imported;
    crn_profile *profile = load(&imported);
    if (!profile)
        return CRN_EXIT_BAD;
    int status = given.update ? update(profile) : compare(profile, imported);
    crn_profile_free(profile);
    return status;
}

const crn_command crn_command_gate = {
    .name = "gate",
    .purpose = "compare a run with a committed baseline, for CI",
    .arguments = "CAPTURE...",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .check = check,
    .run = run,
};
