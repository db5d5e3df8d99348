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
    {"path", 'p', .help = "Show the path step by step, not the table by block",
     .flag = &given.steps},
    {"span", 'S', .argument = "ID",
     .help = "Only from the begin to the end of this span (ids: cairn spans --slowest)",
     .text = &given.span},
    CRN_OPTION_TOP(&given.top, " (30); of the path, the longest steps"),
    CRN_OPTION_JSON(&given.json),
    {0},
};

static const char doc[] =
    "Show the critical path through the spans, by block: only if it gets shorter does the run end "
    "earlier. Also show the slack of all blocks.\vThe path is followed backwards from the end. A "
    "wait leads to the span that was waited for; the begin of a span leads to the span that asked "
    "for it, or to the previous work of its thread, if that was later. Slack is how much longer a "
    "span of the block could take without delaying the end.\n\n  cairn critical app.cairn\n  cairn "
    "critical app.cairn --path\n\nExit status: 0, or 2 for bad input.";

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
        crn_cli_fail("\"%s\" is not a span's id; cairn spans --slowest shows ids", text);
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
    .purpose = "show the critical path, and the slack of other spans",
    .arguments = "[CAPTURE...]",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .reads_newest = true,
    .run = run,
};
