/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/explain/explain.h"
#include "commands.h"

enum { TOP_DEFAULT = 12, REST_LEAST = 40 };

static struct {
    crn_list words; /* captures, the block's name */
    const char *where;
    uint64_t slow; /* ns; 0: the 99th percentile */
    long top;
    bool json;
} given = {.top = TOP_DEFAULT};

/* "16.7ms" or ">= 16.7ms", and "> 16.7ms", which is a nanosecond more. */
static void set_slow(struct argp_state *state, const crn_option *option, char *value)
{
    const char *time = value + strspn(value, "> ");
    bool more = *value == '>', equal = more && value[1] == '=';
    if (equal)
        time = value + 2 + strspn(value + 2, " ");
    if (!crn_cli_time(time, 1, 1e18, &given.slow))
        argp_error(state, "--%s needs a time such as '> 16.7ms', not \"%s\"", option->name, value);
    given.slow += more && !equal;
}

static const crn_option options[] = {
    {"slow", 's', .argument = "TIME", .help = "Spans above this are slow: '> 16.7ms'",
     .more = "Without it the slowest hundredth is. Units are ns, us, ms and s; without > the time "
             "itself "
             "is slow, too.",
     .set = set_slow},
    CRN_OPTION_WHERE(&given.where, ""),
    CRN_OPTION_TOP(&given.top, " of each table (12)"),
    CRN_OPTION_JSON(&given.json),
    {0},
};

static const char doc[] =
    "Explain why the durations of a block's spans differ: self time, number of calls, or duration "
    "of calls; and attributes, iterations or parents that they depend on.\vThe first sentence is "
    "the answer. The tables have the details: the shares of the variance, which add up to 100 %; "
    "attributes, less the share that chance would explain; and the slowest hundredth compared with "
    "the spans between the quartiles.\n\n  cairn explain app.cairn render\n  cairn explain "
    "app.cairn "
    "frame --slow '> 16.7ms'\n\nExit status: 0, or 2 "
    "for bad input.";

/* Returns a bitmap of the spans to explain; NULL after printing an error. */
static uint64_t *choose(const crn_span_source *source, const char *block)
{
    uint8_t *named = crn_span_source_named(source, block);
    uint8_t *where = named && given.where ? crn_span_source_where(source, given.where) : NULL;
    bool good = named && (where || !given.where);
    uint64_t *chosen = good ? crn_bits_new(source->trace->span_count) : NULL;
    for (uint32_t s = 0; good && s < source->trace->span_count; s++)
        if (named[s] && (!where || where[s]))
            crn_bits_set(chosen, s);
    crn_free(named);
    crn_free(where);
    return chosen;
}

void crn_explain_run(FILE *out, crn_explain_report *report, const uint64_t *chosen,
                     void (*print)(FILE *, const crn_explain_report *))
{
    const crn_spans *spans = report->source->spans;
    crn_explain *explain = crn_explain_make(spans, chosen, UINT64_MAX, report->slow);
    /* If a few outliers make half of the variance, explains the others as well. */
    bool few = explain->count >= REST_LEAST && explain->half <= explain->count / 20;
    crn_explain *rest =
        few && explain->variance > 0 ? crn_explain_make(spans, chosen, explain->p95, 0) : NULL;
    report->explain = explain;
    report->rest = rest;
    print(out, report);
    crn_explain_free(rest);
    crn_explain_free(explain);
}

static int explain(const crn_span_source *source, const char *block)
{
    uint64_t *chosen = choose(source, block);
    if (!chosen)
        return CRN_EXIT_BAD;
    crn_explain_report report = {.source = source,
                                 .block = block,
                                 .where = given.where,
                                 .slow = given.slow,
                                 .top = given.top ? (uint32_t)given.top : UINT32_MAX};
    crn_explain_run(stdout, &report, chosen, given.json ? crn_explain_json : crn_explain_text);
    crn_free(chosen);
    return CRN_EXIT_OK;
}

static int run(void)
{
    crn_span_source source;
    size_t captures = given.words.count - 1;
    int status = CRN_EXIT_BAD;
    if (crn_span_source_open_all(&source, given.words.list, captures))
        status = explain(&source, given.words.list[captures]);
    crn_span_source_close(&source);
    return status;
}

const crn_command crn_command_explain = {
    .name = "explain",
    .purpose = "explain why the durations of a block's spans differ",
    .arguments = "CAPTURE... BLOCK",
    .doc = doc,
    .options = options,
    .words = &given.words,
    .least = 2,
    .missing = "a capture and a block are needed; write the path and the block's name",
    .run = run,
};
