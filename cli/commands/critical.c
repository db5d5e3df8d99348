/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>

#include "cli/common/cli.h"
#include "cli/explain/critical.h"
#include "commands.h"

enum { TOP_DEFAULT = 30 };

static struct {
    crn_list captures;
    const char *span;
    long top;
    bool steps, json;
} given = {.top = TOP_DEFAULT};

static const crn_option options[] = {
    {"path", 'p', .help = "The path itself, step by step, instead of the table by block",
     .flag = &given.steps},
    {"span", 'S', .argument = "ID",
     .help = "To the end of this span, since it began (ids: cairn spans --slowest)",
     .text = &given.span},
    CRN_OPTION_TOP(&given.top, " (30), of the path its longest steps"),
    CRN_OPTION_JSON(&given.json),
    {0},
};

static const char doc[] =
    "Show what has to be quicker for the end to come earlier: the critical path through the "
    "spans, by block, and the slack of all others.\v"
    "The path goes backwards from the end: through what ran; where that had waited, through what "
    "it had waited for; where it began, to what asked for it or what its thread did before, "
    "whichever was later. Slack is how much longer a block's spans could take, each by itself, "
    "without moving the end.\n\n"
    "  cairn critical app.cairn\n"
    "  cairn critical app.cairn --path\n\n"
    "Exit status: 0, or 2 for bad input.";

static bool choose_span(const crn_span_source *source, const char *text, uint32_t *span)
{
    char *end;
    if (!text) {
        *span = CRN_SPAN_NONE;
        return true;
    }
    errno = 0;
    unsigned long long id = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno) {
        crn_cli_fail("\"%s\" is no span's id; cairn spans --slowest shows them", text);
        return false;
    }
    if (id >= source->trace->span_count) {
        crn_cli_fail("%s: there is no span %s; ids go from 0 to %u", source->path, text,
                     source->trace->span_count - 1);
        return false;
    }
    *span = (uint32_t)id;
    return true;
}

static int critical(const crn_span_source *source)
{
    crn_critical_report report = {
        .source = source, .path = given.steps, .top = given.top ? (uint32_t)given.top : UINT32_MAX};
    if (!choose_span(source, given.span, &report.span))
        return CRN_EXIT_BAD;
    crn_critical *critical = crn_critical_make(source->spans, report.span);
    report.critical = critical;
    if (given.json)
        crn_critical_json(stdout, &report);
    else
        crn_critical_text(stdout, &report);
    crn_critical_free(critical);
    return CRN_EXIT_OK;
}

static int run(void)
{
    crn_span_source source;
    int status = CRN_EXIT_BAD;
    if (crn_span_source_open_all(&source, given.captures.list, given.captures.count))
        status = critical(&source);
    crn_span_source_close(&source);
    return status;
}

const crn_command crn_command_critical = {
    .name = "critical",
    .purpose = "show what has to be quicker for the end to come earlier",
    .arguments = "CAPTURE...",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .run = run,
};
