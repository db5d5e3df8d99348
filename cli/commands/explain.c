/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/explain/explain.h"
#include "commands.h"

enum { TOP_DEFAULT = 12, REST_LEAST = 40 };

static struct {
    crn_list words; /* captures, the block's name */
    const char *where;
    long top;
    bool json;
} given = {.top = TOP_DEFAULT};

static const crn_option options[] = {
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
    "the spans between the quartiles.\n\n  cairn explain app.cairn render\n\nExit status: 0, or 2 "
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

void crn_explain_run(FILE *out, const crn_span_source *source, const uint64_t *chosen,
                     const char *block, const char *where, uint32_t top,
                     void (*print)(FILE *, const crn_explain_report *))
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
    print(out, &report);
    crn_explain_free(rest);
    crn_explain_free(explain);
}

static int explain(const crn_span_source *source, const char *block)
{
    uint64_t *chosen = choose(source, block);
    if (!chosen)
        return CRN_EXIT_BAD;
    crn_explain_run(stdout, source, chosen, block, given.where,
                    given.top ? (uint32_t)given.top : UINT32_MAX,
                    given.json ? crn_explain_json : crn_explain_text);
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
