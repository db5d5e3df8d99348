/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/explain/explain.h"
#include "cli/spans/latency.h"
#include "commands.h"

enum { TOP_DEFAULT = 12, REST_LEAST = 40 };

static struct {
    crn_list words; /* captures, then the block's name */
    const char *where;
    char *from, *to; /* of --latency; NULL: not given */
    uint64_t slow;   /* ns; 0: from the 99th percentile */
    long top;
    bool json;
} given = {.top = TOP_DEFAULT};

/* Parses "16.7ms" and ">= 16.7ms" alike; for "> 16.7ms" adds a nanosecond. */
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

static void set_latency(struct argp_state *state, const crn_option *option, char *value)
{
    char *comma = strchr(value, ',');
    if (!comma || comma == value || !comma[1]) {
        argp_error(state, "--%s needs two names such as camera,display, not \"%s\"", option->name,
                   value);
        return; /* not reached */
    }
    *comma = 0;
    given.from = value;
    given.to = comma + 1;
    if (strcmp(given.from, given.to) == 0)
        argp_error(state, "--%s needs two different names", option->name);
}

static const crn_option options[] = {
    {"latency", 'l', .argument = "FROM,TO",
     .help = "Explain the end-to-end latency from inputs to results: camera,display",
     .more = "In place of BLOCK, along hand-offs as in cairn-latency(1).", .set = set_latency},
    {"slow", 's', .argument = "TIME", .help = "Spans above this are slow: '> 16.7ms'",
     .more = "Without this option the slowest hundredth of the spans is slow. Units are ns, us, ms "
             "and s; without > a span of exactly this time is slow, too.",
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
    "frame --slow '> 16.7ms'\n  cairn explain app.cairn --latency camera,display\n\nExit status: "
    "0, or 2 "
    "for bad input.";

/* Returns a bitmap of the spans to explain. On an error prints a message and returns NULL. */
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

static crn_explain *make(const crn_explain_report *report, const uint64_t *chosen, uint64_t limit,
                         uint64_t slow)
{
    const crn_spans *spans = report->source->spans;
    return report->latencies ? crn_explain_latency_make(spans, report->latencies, limit, slow)
                             : crn_explain_make(spans, chosen, limit, slow);
}

void crn_explain_run(FILE *out, crn_explain_report *report, const uint64_t *chosen,
                     void (*print)(FILE *, const crn_explain_report *))
{
    crn_explain *explain = make(report, chosen, UINT64_MAX, report->slow);
    /* If at most a twentieth of the spans makes half of the variance, also explains the spans up to
     * the 95th percentile by themselves. */
    bool few = explain->count >= REST_LEAST && explain->half <= explain->count / 20;
    crn_explain *rest = few && explain->variance > 0 ? make(report, chosen, explain->p95, 0) : NULL;
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

static int explain_latency(const crn_span_source *source)
{
    crn_latencies latencies = {0};
    char name[512];
    uint8_t *kept = given.where ? crn_span_source_where(source, given.where) : NULL;
    bool found =
        (kept || !given.where) && crn_latency_find(source, given.from, given.to, kept, &latencies);
    crn_free(kept);
    if (!found)
        return CRN_EXIT_BAD;
    snprintf(name, sizeof name, "%.200s to %.200s", given.from, given.to);
    crn_explain_report report = {.source = source,
                                 .block = name,
                                 .latencies = &latencies,
                                 .where = given.where,
                                 .slow = given.slow,
                                 .top = given.top ? (uint32_t)given.top : UINT32_MAX};
    bool any = latencies.count > 0;
    if (any)
        crn_explain_run(stdout, &report, NULL, given.json ? crn_explain_json : crn_explain_text);
    else
        crn_latency_fail_unlinked(source, given.from, given.to);
    crn_latencies_free(&latencies);
    return any ? CRN_EXIT_OK : CRN_EXIT_BAD;
}

static const char missing[] =
    "a capture and a block are needed; write the path and the block's name, or --latency";

static void check(struct argp_state *state)
{
    if (!given.from && given.words.count < 2)
        argp_error(state, "%s", missing);
}

static int run(void)
{
    crn_span_source source;
    size_t captures = given.words.count - !given.from;
    int status = CRN_EXIT_BAD;
    if (crn_span_source_open_sampled(&source, given.words.list, captures))
        status =
            given.from ? explain_latency(&source) : explain(&source, given.words.list[captures]);
    crn_span_source_close(&source);
    return status;
}

const crn_command crn_command_explain = {
    .name = "explain",
    .purpose = "explain why the durations of a block's spans differ",
    .arguments = "CAPTURE... [BLOCK]",
    .doc = doc,
    .options = options,
    .words = &given.words,
    .least = 1,
    .missing = missing,
    .check = check,
    .run = run,
};
