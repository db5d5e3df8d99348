/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/spans/spans.h"
#include "commands.h"
#include "profile/profile.h"

enum { TOP_DEFAULT = 30, GROUPS_DEFAULT = 12 };
enum { SLOWEST_DEFAULT = 10 };

static struct {
    crn_list captures;
    const char *block, *by, *where;
    int sort;          /* crn_span_sort */
    long top, slowest; /* below 0: not given */
    double fail_above; /* as a fraction of 1; below 0: not requested */
    bool missing, histograms, json, is_slowest;
} given = {.top = -1, .slowest = SLOWEST_DEFAULT, .fail_above = -1};

static const crn_option options[] = {
    {"slowest", .argument = "N", .optional = true,
     .help = "The N slowest (10; 0 is all), with ancestors and attributes",
     .more = "The id is the one for cairn critical --span and cairn-query(1). #7 is an iteration "
             "number; \xe2\x86\x92* is a hand-off. At most 100 ancestors are named, the nearest.",
     .flag = &given.is_slowest, .number = &given.slowest},
    {"missing", .help = "Time of root spans that no child covers: share, and the largest gaps",
     .more = "With --block, of that block's spans instead.", .flag = &given.missing},
    {"fail-above", .argument = "PERCENT",
     .help = "With --missing: exit with status 1 if more than this is missing",
     .share = &given.fail_above},
    {"by", .argument = "WHAT",
     .words = CRN_WORDS("iteration", "parent-iteration", "parent", "path", "lane"),
     .help = "A row for each iteration, parent-iteration, parent, path, lane, or value of an "
             "attribute, or for ranges of them",
     .more = "attribute:iteration is an attribute named iteration. More than --top numbers are "
             "grouped in ranges; of other values the largest have a row each, the rest one row.",
     .text = &given.by},
    {"block", 'b', .argument = "NAME", .help = "Only spans of blocks with this name",
     .text = &given.block},
    CRN_OPTION_WHERE(&given.where, " With --missing, instead of the root spans."),
    {"histograms",
     .help =
         "Histograms, which also count spans that were not recorded: by block, and by attribute",
     .more = "A program records histograms with the option span_histograms of its profile, and by "
             "the attributes that it named with cairn_key_split. Median and p99 are accurate to "
             "1.6 %; self is without children on the same strand. For a capture without spans this "
             "is the default.",
     .flag = &given.histograms},
    {"sort", 's', .argument = "COLUMN",
     .words = CRN_WORDS("total", "self", "count", "median", "p99", "max"),
     .help = "By total (default), self, count, median, p99 or max", .choice = &given.sort},
    CRN_OPTION_TOP(&given.top, " (30), or gaps (10), or with --by rows a block (12)"),
    CRN_OPTION_JSON(&given.json),
    {0},
};

static void check(struct argp_state *state)
{
    if (given.missing && given.is_slowest)
        argp_error(state, "--missing and --slowest exclude each other");
    if (given.by && (given.missing || given.is_slowest || given.histograms))
        argp_error(state, "--by excludes %s",
                   given.missing      ? "--missing"
                   : given.histograms ? "--histograms"
                                      : "--slowest");
    if (given.histograms && (given.missing || given.is_slowest || given.where))
        argp_error(state, "histograms have no single spans; remove --histograms");
    if (given.histograms && given.captures.count > 1)
        argp_error(state, "--histograms takes one capture; remove \"%s\"", given.captures.list[1]);
    if (given.fail_above >= 0 && !given.missing)
        argp_error(state, "--fail-above needs --missing");
}

static const char doc[] =
    "Show single executions: how long each took, the slowest, and missing time.\vA program records "
    "spans with cairn_span_begin and cairn_span_end of <cairn/span.h>, in a profile that was "
    "opened with the option \"spans\". Self time is in no child on any thread, including children "
    "by hand-off (cairn_handoff_take, cairn_handoff_adopt). A test for missing time:\n\n  cairn "
    "spans app.cairn --missing --fail-above 5%\n\nSeveral captures are merged as by cairn merge: a "
    "span that another process requested is a child of the requesting span.\n\nExit status: 0; 1 "
    "if --fail-above was exceeded; 2 for bad input.";

static uint32_t rows_of(long asked, uint32_t otherwise)
{
    return asked < 0                                ? otherwise
           : asked == 0 || asked > (long)UINT32_MAX ? UINT32_MAX
                                                    : (uint32_t)asked;
}

/* Returns, by block, 1 if it has the name. Sets `*any` to true if a chosen span is of such a block,
 * otherwise to false. */
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

static bool group(crn_spans_report *report)
{
    crn_group_by by;
    const char *attribute;
    if (!crn_spans_group_by(&report->source, given.by, &by, &attribute))
        return false;
    report->by = given.by;
    report->groups = crn_span_groups_make(report->source.spans, report->kept, by, attribute,
                                          report->top, report->sort);
    if (report->groups.count)
        return true;
    crn_span_groups_free(&report->groups);
    crn_cli_fail("%s: none of these spans has a value for --by %s", report->source.path, given.by);
    return false;
}

static int show(crn_spans_report *report)
{
    uint8_t *kept = NULL;
    bool any = true;
    if (given.block)
        report->kept = kept = blocks_named(report, given.block, &any);
    if (!any) {
        crn_free(kept);
        return crn_cli_fail("%s: has no span of a block \"%s\"%s; leave out --block to see all",
                            report->source.path, given.block,
                            given.where ? " for which --where holds" : "");
    }
    if (report->view == CRN_SPANS_VIEW_MISSING)
        report->missing = crn_missing_make(report->source.spans, kept, report->slowest);
    if (report->view == CRN_SPANS_VIEW_GROUPS && !group(report)) {
        crn_free(kept);
        return CRN_EXIT_BAD;
    }
    if (given.json)
        crn_spans_json(stdout, report);
    else
        crn_spans_text(stdout, report);
    int status = judge(report, given.fail_above);
    crn_missing_free(&report->missing);
    crn_span_groups_free(&report->groups);
    crn_free(kept);
    return status;
}

static int show_chosen(crn_spans_report *report)
{
    if (!given.where)
        return show(report);
    uint8_t *chosen = crn_span_source_where(&report->source, given.where);
    if (!chosen)
        return CRN_EXIT_BAD;
    report->source.spans->chosen = chosen;
    int status = show(report);
    report->source.spans->chosen = NULL;
    crn_free(chosen);
    return status;
}

static int run(void)
{
    crn_spans_report report = {
        .view = given.by           ? CRN_SPANS_VIEW_GROUPS
                : given.missing    ? CRN_SPANS_VIEW_MISSING
                : given.is_slowest ? CRN_SPANS_VIEW_SLOWEST
                                   : CRN_SPANS_VIEW_BLOCKS,
        .sort = (crn_span_sort)given.sort,
        .top = rows_of(given.top, given.by ? GROUPS_DEFAULT : TOP_DEFAULT),
        .slowest = rows_of(given.missing ? given.top : given.slowest, SLOWEST_DEFAULT)};
    const crn_list *captures = &given.captures;
    bool table = report.view == CRN_SPANS_VIEW_BLOCKS && !given.where && captures->count == 1;
    if (given.histograms || (table && crn_spreads_are_all(captures->list[0])))
        return crn_spans_spread(stdout, captures->list[0], given.block, report.sort, report.top,
                                given.json);
    int status = CRN_EXIT_BAD;
    if (crn_span_source_open_all(&report.source, captures->list, captures->count))
        status = show_chosen(&report);
    crn_span_source_close(&report.source);
    return status;
}

const crn_command crn_command_spans = {
    .name = "spans",
    .purpose = "show single executions, the slowest, and missing time",
    .arguments = "[CAPTURE...]",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .reads_newest = true,
    .check = check,
    .run = run,
};
