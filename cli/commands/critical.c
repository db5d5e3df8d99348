/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>

#include "cli/common/cli.h"
#include "cli/explain/critical.h"
#include "commands.h"

enum { TOP_DEFAULT = 30 };

static const struct argp_option options[] = {
    {"path", 'p', 0, 0, "The path itself, step by step, instead of the table by block", 0},
    {"span", 'S', "ID", 0, "To the end of this span, since it began (ids: cairn spans --slowest)",
     0},
    {"top", 'n', "N", 0, "Show at most N rows (30), of the path its longest steps; 0 is all", 0},
    {"json", 'j', 0, 0, "As JSON, for programs", 0},
    {0},
};

typedef struct arguments {
    char **paths;
    size_t count;
    const char *span;
    long top;
    bool steps, json;
} arguments;

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    switch (key) {
    case 'p':
        arguments->steps = true;
        return 0;
    case 'S':
        arguments->span = value;
        return 0;
    case 'n':
        arguments->top = crn_cli_rows(state, value);
        return 0;
    case 'j':
        arguments->json = true;
        return 0;
    case ARGP_KEY_ARGS:
        arguments->paths = state->argv + state->next;
        arguments->count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which capture? write its path");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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

static int critical(const crn_span_source *source, const arguments *arguments)
{
    crn_critical_report report = {.source = source,
                                  .path = arguments->steps,
                                  .top = arguments->top ? (uint32_t)arguments->top : UINT32_MAX};
    if (!choose_span(source, arguments->span, &report.span))
        return CRN_EXIT_BAD;
    crn_critical *critical = crn_critical_make(source->spans, report.span);
    report.critical = critical;
    if (arguments->json)
        crn_critical_json(&report);
    else
        crn_critical_text(&report);
    crn_critical_free(critical);
    return CRN_EXIT_OK;
}

int crn_cmd_critical(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "CAPTURE...", doc, NULL, NULL, NULL};
    arguments arguments = {.top = TOP_DEFAULT};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    crn_span_source source;
    int status = CRN_EXIT_BAD;
    if (crn_span_source_open_all(&source, arguments.paths, arguments.count))
        status = critical(&source, &arguments);
    crn_span_source_close(&source);
    return status;
}
