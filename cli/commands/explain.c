/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/explain/explain.h"
#include "commands.h"

enum { TOP_DEFAULT = 12, REST_LEAST = 40 };

enum { OPTION_WHERE = 256 };

static const struct argp_option options[] = {
    {"where", OPTION_WHERE, "EXPRESSION", 0,
     "Only spans for which this holds, in SQL: 'iteration > 100 and width > 640'", 0},
    {"top", 'n', "N", 0, "Show at most N rows of each table (12); 0 is all", 0},
    {"json", 'j', 0, 0, "As JSON, for programs", 0},
    {0},
};

typedef struct arguments {
    char **names; /* captures, then the block's name */
    size_t count;
    const char *block, *where;
    long top;
    bool json;
} arguments;

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    switch (key) {
    case OPTION_WHERE:
        arguments->where = value;
        return 0;
    case 'n':
        arguments->top = crn_cli_rows(state, value);
        return 0;
    case 'j':
        arguments->json = true;
        return 0;
    case ARGP_KEY_ARGS:
        arguments->names = state->argv + state->next;
        arguments->count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        if (arguments->count < 2)
            argp_error(state, "which capture, and the spans of which block? write its path and "
                              "the block's name");
        arguments->block = arguments->names[arguments->count - 1];
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Say why the spans of a block do not all take as long: is it the block's own time, how often "
    "it calls others, or how long those take; and what goes with it: attributes, iterations, who "
    "called.\v"
    "The first sentence is the answer. The tables are what it rests on: shares of the variance of "
    "the duration, which add up to all of it; attributes, with what chance alone would explain "
    "taken off; and what the slowest hundredth has that those between the quartiles have not.\n\n"
    "  cairn explain app.cairn render\n\n"
    "Exit status: 0, or 2 for bad input.";

/* Returns a bitmap of the spans to explain; NULL after printing an error. */
static uint64_t *choose(const crn_span_source *source, const arguments *arguments)
{
    uint8_t *named = crn_span_source_named(source, arguments->block);
    uint8_t *where =
        named && arguments->where ? crn_span_source_where(source, arguments->where) : NULL;
    bool good = named && (where || !arguments->where);
    uint64_t *chosen = good ? crn_bits_new(source->trace->span_count) : NULL;
    for (uint32_t s = 0; good && s < source->trace->span_count; s++)
        if (named[s] && (!where || where[s]))
            crn_bits_set(chosen, s);
    crn_free(named);
    crn_free(where);
    return chosen;
}

void crn_explain_run(const crn_span_source *source, const uint64_t *chosen, const char *block,
                     const char *where, uint32_t top, void (*print)(const crn_explain_report *))
{
    crn_explain *explain = crn_explain_make(source->spans, chosen, UINT64_MAX);
    /* If a few outliers make half of the variance, explains the others as well. */
    bool few = explain->count >= REST_LEAST && explain->half <= explain->count / 20;
    crn_explain *rest =
        few && explain->variance > 0 ? crn_explain_make(source->spans, chosen, explain->p95) : NULL;
    crn_explain_report report = {.source = source,
                                 .explain = explain,
                                 .rest = rest,
                                 .block = block,
                                 .where = where,
                                 .top = top};
    print(&report);
    crn_explain_free(rest);
    crn_explain_free(explain);
}

static int explain(const crn_span_source *source, const arguments *arguments)
{
    uint64_t *chosen = choose(source, arguments);
    if (!chosen)
        return CRN_EXIT_BAD;
    crn_explain_run(source, chosen, arguments->block, arguments->where,
                    arguments->top ? (uint32_t)arguments->top : UINT32_MAX,
                    arguments->json ? crn_explain_json : crn_explain_text);
    crn_free(chosen);
    return CRN_EXIT_OK;
}

int crn_cmd_explain(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "CAPTURE... BLOCK", doc, NULL, NULL, NULL};
    arguments arguments = {.top = TOP_DEFAULT};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    crn_span_source source;
    int status = CRN_EXIT_BAD;
    if (crn_span_source_open_all(&source, arguments.names, arguments.count - 1))
        status = explain(&source, &arguments);
    crn_span_source_close(&source);
    return status;
}
