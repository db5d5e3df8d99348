/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/spans/spans.h"
#include "commands.h"
#include "profile/profile.h"

enum {
    OPTION_MISSING = 256,
    OPTION_SLOWEST,
    OPTION_FAIL_ABOVE,
    OPTION_WHERE,
    OPTION_HISTOGRAMS,
    OPTION_BY
};
enum { TOP_DEFAULT = 30, GROUPS_DEFAULT = 12 };
enum { SLOWEST_DEFAULT = 10 };

static const struct argp_option options[] = {
    {"slowest", OPTION_SLOWEST, "N", OPTION_ARG_OPTIONAL,
     "The N slowest (10; 0 is all), with what they ran in and their attributes", 0},
    {"missing", OPTION_MISSING, 0, 0,
     "Time that no child accounts for, of spans without a parent: share, and the largest gaps", 0},
    {"fail-above", OPTION_FAIL_ABOVE, "PERCENT", 0,
     "With --missing: end with status 1 when more than this is missing", 0},
    {"by", OPTION_BY, "WHAT", 0,
     "A row for each iteration, parent-iteration, parent, path, lane, or value of an attribute, or "
     "for ranges of them",
     0},
    {"block", 'b', "NAME", 0, "Only spans of blocks with this name", 0},
    {"where", OPTION_WHERE, "EXPRESSION", 0,
     "Only spans for which this holds, in SQL: 'iteration > 100 and width > 640'", 0},
    {"histograms", OPTION_HISTOGRAMS, 0, 0,
     "What histograms say, also of spans that were not recorded: by block, and by attribute", 0},
    {"sort", 's', "COLUMN", 0, "By total (default), self, count, median, p99 or max", 0},
    {"top", 'n', "N", 0,
     "Show at most N rows (30), or gaps (10), or with --by rows a block (12); 0 is all", 0},
    {"json", 'j', 0, 0, "As JSON, for programs", 0},
    {0},
};

typedef struct arguments {
    const char *path, *block, *by, *where, *sort;
    long top, slowest;
    char **paths; /* `path` is the first */
    size_t path_count;
    double fail_above; /* share of 1; below 0: not requested */
    bool missing, histograms, json;
} arguments;

static void check(struct argp_state *state, const arguments *arguments)
{
    if (!arguments->path)
        argp_error(state, "which capture? write its path");
    if (arguments->missing && arguments->slowest >= 0)
        argp_error(state, "--missing and --slowest are two tables; ask for one of them");
    if (arguments->by && (arguments->missing || arguments->slowest >= 0 || arguments->histograms))
        argp_error(state, "--by is a table of its own; leave out %s",
                   arguments->missing      ? "--missing"
                   : arguments->histograms ? "--histograms"
                                           : "--slowest");
    if (arguments->histograms &&
        (arguments->missing || arguments->slowest >= 0 || arguments->where))
        argp_error(state, "histograms know no single spans; leave out --histograms");
    if (arguments->histograms && arguments->path_count > 1)
        argp_error(state, "histograms are of one capture at a time; \"%s\" is one too many",
                   arguments->paths[1]);
    if (arguments->fail_above >= 0 && !arguments->missing)
        argp_error(state, "--fail-above is about what is missing; add --missing");
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    switch (key) {
    case OPTION_SLOWEST:
        arguments->slowest = value ? crn_cli_rows(state, value) : SLOWEST_DEFAULT;
        return 0;
    case OPTION_MISSING:
        arguments->missing = true;
        return 0;
    case OPTION_HISTOGRAMS:
        arguments->histograms = true;
        return 0;
    case OPTION_FAIL_ABOVE:
        arguments->fail_above = crn_cli_percent(state, value);
        return 0;
    case 'b':
        arguments->block = value;
        return 0;
    case OPTION_BY:
        arguments->by = value;
        return 0;
    case OPTION_WHERE:
        arguments->where = value;
        return 0;
    case 's':
        arguments->sort = value;
        return 0;
    case 'n':
        arguments->top = crn_cli_rows(state, value);
        return 0;
    case 'j':
        arguments->json = true;
        return 0;
    case ARGP_KEY_ARG:
        arguments->paths =
            crn_realloc(arguments->paths, arguments->path_count + 1, sizeof *arguments->paths);
        arguments->paths[arguments->path_count++] = value;
        arguments->path = arguments->paths[0];
        return 0;
    case ARGP_KEY_END:
        check(state, arguments);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Show single executions: how long each took, the slowest, and missing time.\v"
    "A program records spans with cairn_span_begin and cairn_span_end of <cairn/span.h>, in a "
    "profile that was opened with the option \"spans\". What is self is not in any child, also "
    "of those that another thread ran (cairn_handoff_take, cairn_handoff_adopt). A gate against "
    "missing time:\n\n"
    "  cairn spans app.cairn --missing --fail-above 5%\n\n"
    "Of several captures the spans are put together as cairn merge does: what one process asked "
    "another one for is a child of what asked.\n\n"
    "Exit status: 0, 1 when --fail-above was exceeded, 2 for bad input.";

static bool choose_sort(const char *name, crn_span_sort *sort)
{
    static const char *const names[] = {"total", "self", "count", "median", "p99", "max"};
    for (int i = 0; name && i < CRN_SPAN_SORTS; i++)
        if (strcmp(name, names[i]) == 0)
            *sort = (crn_span_sort)i;
    return !name || strcmp(name, names[*sort]) == 0;
}

static uint32_t rows_of(long asked, uint32_t otherwise)
{
    return asked < 0                                ? otherwise
           : asked == 0 || asked > (long)UINT32_MAX ? UINT32_MAX
                                                    : (uint32_t)asked;
}

/* Returns, by block, 1 if it has that name; several may share it. */
static uint8_t *blocks_named(const crn_spans_report *report, const char *name, bool *any)
{
    uint8_t *kept = crn_calloc(report->source.profile->block_count, 1);
    for (uint32_t b = 0; b < report->source.profile->block_count; b++)
        kept[b] = strcmp(report->source.profile->blocks[b].name, name) == 0;
    *any = false;
    for (uint32_t s = 0; s < report->source.trace->span_count && !*any; s++)
        *any = kept[crn_span_block(report->source.spans, s)] &&
               crn_span_is_chosen(report->source.spans, s);
    return kept;
}

static int judge(const crn_spans_report *report, double limit)
{
    double share = crn_missing_share(report->missing.missing, report->missing.total);
    if (limit < 0 || share <= limit)
        return CRN_EXIT_OK;
    crn_cli_fail("%.2f %% is missing, more than %g %%", 100 * share, 100 * limit);
    return CRN_EXIT_NO;
}

static bool group(crn_spans_report *report, const arguments *arguments)
{
    crn_group_by by;
    const char *attribute;
    if (!crn_spans_group_by(&report->source, arguments->by, &by, &attribute))
        return false;
    report->by = arguments->by;
    report->groups = crn_span_groups_make(report->source.spans, report->kept, by, attribute,
                                          report->top, report->sort);
    if (report->groups.count)
        return true;
    crn_span_groups_free(&report->groups);
    crn_cli_fail("%s: none of these spans has what --by %s asks for", report->source.path,
                 arguments->by);
    return false;
}

static int show(crn_spans_report *report, const arguments *arguments)
{
    uint8_t *kept = NULL;
    bool any = true;
    if (arguments->block)
        report->kept = kept = blocks_named(report, arguments->block, &any);
    if (!any) {
        crn_free(kept);
        return crn_cli_fail(
            "%s: there is no span of a block \"%s\"%s; without --block all are shown",
            report->source.path, arguments->block,
            arguments->where ? " for which --where holds" : "");
    }
    if (report->view == CRN_SPANS_VIEW_MISSING)
        report->missing = crn_missing_make(report->source.spans, kept, report->slowest);
    if (report->view == CRN_SPANS_VIEW_GROUPS && !group(report, arguments)) {
        crn_free(kept);
        return CRN_EXIT_BAD;
    }
    if (arguments->json)
        crn_spans_json(report);
    else
        crn_spans_text(report);
    int status = judge(report, arguments->fail_above);
    crn_missing_free(&report->missing);
    crn_span_groups_free(&report->groups);
    crn_free(kept);
    return status;
}

static int show_chosen(crn_spans_report *report, const arguments *arguments)
{
    if (!arguments->where)
        return show(report, arguments);
    uint8_t *chosen = crn_span_source_where(&report->source, arguments->where);
    if (!chosen)
        return CRN_EXIT_BAD;
    report->source.spans->chosen = chosen;
    int status = show(report, arguments);
    report->source.spans->chosen = NULL;
    crn_free(chosen);
    return status;
}

static int run(const arguments *arguments)
{
    crn_spans_report report = {
        .view = arguments->by             ? CRN_SPANS_VIEW_GROUPS
                : arguments->missing      ? CRN_SPANS_VIEW_MISSING
                : arguments->slowest >= 0 ? CRN_SPANS_VIEW_SLOWEST
                                          : CRN_SPANS_VIEW_BLOCKS,
        .top = rows_of(arguments->top, arguments->by ? GROUPS_DEFAULT : TOP_DEFAULT)};
    report.slowest =
        rows_of(arguments->missing ? arguments->top : arguments->slowest, SLOWEST_DEFAULT);
    if (!choose_sort(arguments->sort, &report.sort))
        return crn_cli_fail("cannot sort by \"%s\"; write total, self, count, median, p99 or max",
                            arguments->sort);
    bool table = report.view == CRN_SPANS_VIEW_BLOCKS && !arguments->where;
    if (arguments->path_count > 1)
        table = false;
    if (arguments->histograms || (table && crn_spreads_are_all(arguments->path)))
        return crn_spans_spread(arguments->path, arguments->block, report.sort, report.top,
                                arguments->json);
    int status = CRN_EXIT_BAD;
    if (crn_span_source_open_all(&report.source, arguments->paths, arguments->path_count))
        status = show_chosen(&report, arguments);
    crn_span_source_close(&report.source);
    return status;
}

int crn_cmd_spans(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "CAPTURE...", doc, NULL, NULL, NULL};
    arguments arguments = {.top = -1, .slowest = -1, .fail_above = -1};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    int status = run(&arguments);
    crn_free(arguments.paths);
    return status;
}
