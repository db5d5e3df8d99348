/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/spans/latency.h"
#include "commands.h"

enum { TOP_DEFAULT = 10 };

static struct {
    crn_list captures;
    const char *from, *to;
    uint64_t deadline;
    double fail_above; /* as a fraction of 1; below 0: not requested */
    long top;
    bool json;
} given = {.top = TOP_DEFAULT, .fail_above = -1};

static void set_deadline(struct argp_state *state, const crn_option *option, char *value)
{
    if (!crn_cli_time(value, 1, 1e18, &given.deadline))
        argp_error(state, "--%s needs a time such as 16.7ms, not \"%s\"", option->name, value);
}

static const crn_option options[] = {
    {"from", 'f', .argument = "NAME", .help = "Spans that are the inputs: camera",
     .text = &given.from},
    {"to", 't', .argument = "NAME", .help = "Spans that are the results: display",
     .text = &given.to},
    {"deadline", 'd', .argument = "TIME", .help = "Count results that took longer: 16.7ms",
     .more = "Units are ns, us, ms and s.", .set = set_deadline},
    {"fail-above", .argument = "PERCENT",
     .help = "With --deadline: exit with status 1 if a larger share missed it",
     .share = &given.fail_above},
    CRN_OPTION_TOP(&given.top, " (10) of stages and of the slowest results"),
    CRN_OPTION_JSON(&given.json),
    {0},
};

static const char doc[] =
    "Show end-to-end latency: from the begin of an input's span to the end of the span of the "
    "result "
    "that was made from it, along hand-offs.\vThe way goes back from the result: to the parent of "
    "a "
    "span, by nesting or by hand-off, and to the span that it follows. Of several inputs that lead "
    "to a result the newest counts.\n\n  cairn latency app.cairn --from camera --to display\n  "
    "cairn "
    "latency app.cairn --from camera --to display --deadline 16.7ms --fail-above 1%\n\nExit "
    "status: 0; 1 if --fail-above was exceeded; 2 for bad input.";

static void check(struct argp_state *state)
{
    if (!given.from || !given.to)
        argp_error(state, "--from and --to name the spans of inputs and of results");
    else if (strcmp(given.from, given.to) == 0)
        argp_error(state, "--from and --to are the same; cairn spans shows how long a span takes");
    if (given.fail_above >= 0 && !given.deadline)
        argp_error(state, "--fail-above needs --deadline");
}

static int judge(const crn_latency_report *report)
{
    double count = report->latencies.count, share = count > 0 ? report->missed / count : 0;
    if (given.fail_above < 0 || share <= given.fail_above)
        return CRN_EXIT_OK;
    crn_cli_fail("%.2f %% missed the deadline, more than %g %%", 100 * share,
                 100 * given.fail_above);
    return CRN_EXIT_NO;
}

static int show(crn_latency_report *report)
{
    if (!report->latencies.count && !given.json)
        crn_latency_fail_unlinked(report->source, given.from, given.to);
    crn_latency_measure(report);
    if (given.json)
        crn_latency_json(stdout, report);
    else
        crn_latency_text(stdout, report);
    int status = report->latencies.count || given.json ? judge(report) : CRN_EXIT_BAD;
    crn_latency_report_free(report);
    return status;
}

static int run(void)
{
    crn_span_source source;
    int status = CRN_EXIT_BAD;
    if (crn_span_source_open_all(&source, given.captures.list, given.captures.count)) {
        crn_latency_report report = {.source = &source,
                                     .from = given.from,
                                     .to = given.to,
                                     .deadline = given.deadline,
                                     .frames = CRN_LATENCY_FRAMES,
                                     .top = given.top ? (uint32_t)given.top : UINT32_MAX};
        if (crn_latency_find(&source, given.from, given.to, NULL, &report.latencies))
            status = show(&report);
    }
    crn_span_source_close(&source);
    return status;
}

const crn_command crn_command_latency = {
    .name = "latency",
    .purpose = "show end-to-end latency along hand-offs, and missed deadlines",
    .arguments = "[CAPTURE...]",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .reads_newest = true,
    .check = check,
    .run = run,
};
