/* SPDX-License-Identifier: MIT
 *
 * The page's differences between two files: by block, as one flame graph, and their causes.
 */
#include "profile/profile.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/diff/diff.h"
#include "cli/diff/why.h"
#include "view.h"

/* Reads the query's two files and their metric. On an error prints why, returns false. */
static bool diff_begin(crn_view *view, const crn_view_query *query, crn_diff_report *report,
                       uint64_t numbers[CRN_SIDES])
{
    static const char *const keys[] = {"before", "after"};
    const char *metric = crn_view_text(query, "metric");
    *report = (crn_diff_report){0};
    for (int side = 0; side < CRN_SIDES; side++) {
        if (!crn_view_number(query, keys[side], (uint64_t)side, CRN_VIEW_FILES_MAX, &numbers[side]))
            return false;
        if (numbers[side] >= view->file_count) {
            if (view->file_count < CRN_SIDES)
                crn_cli_fail("a comparison needs two files; start cairn view with both");
            else
                crn_cli_fail("there is no file %llu", (unsigned long long)numbers[side]);
            return false;
        }
        report->paths[side] = view->files[numbers[side]].path;
        report->input.profile[side] = view->files[numbers[side]].profile;
    }
    if (!crn_diff_choose_metric(&report->input, metric && *metric ? metric : NULL)) {
        if (metric && *metric)
            crn_cli_fail("the files do not both have a metric \"%.40s\"", metric);
        else
            crn_cli_fail("the captures have no metric in common");
        return false;
    }
    report->metric_name =
        report->input.profile[CRN_BEFORE]->metrics[report->input.metric[CRN_BEFORE]].name;
    return true;
}

bool crn_view_diff(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_diff_report report;
    uint64_t numbers[CRN_SIDES], top;
    const char *sort = crn_view_text(query, "sort");
    if (!diff_begin(view, query, &report, numbers) ||
        !crn_view_number(query, "top", 100, 100000, &top))
        return false;
    report.input.sort = sort && strcmp(sort, "total") == 0   ? CRN_DIFF_INCLUSIVE
                        : sort && strcmp(sort, "calls") == 0 ? CRN_DIFF_CALLS
                                                             : CRN_DIFF_SELF;
    report.top = (uint32_t)top;
    report.diff = crn_diff_blocks(&report.input);
    crn_diff_json(out, &report);
    crn_diff_free(&report.diff);
    return true;
}

static void both_make(crn_view_part *part, const crn_diff_input *input)
{
    part->profile = part->owned = crn_diff_union(input);
    int before = crn_profile_metric(part->profile, CRN_UNION_BEFORE);
    int after = crn_profile_metric(part->profile, CRN_UNION_AFTER);
    part->metric = after < 0 ? 0 : (uint32_t)after;
    part->totals = part->owned_totals = crn_totals(part->profile, part->metric, NULL);
    part->others = crn_totals(part->profile, before < 0 ? 0 : (uint32_t)before, NULL);
}

/* Sets the factor for figures before. To compare shares in place of costs, it makes both totals
 * equal. */
static void both_scale(crn_view_part *part, const crn_diff_input *input, bool shares)
{
    const uint64_t before = part->others[0], after = part->totals[0];
    part->scale = shares && before && after ? (double)after / (double)before : 1;
    for (int side = 0; side < CRN_SIDES; side++)
        part->sampling[side] = crn_sampling_of(input->profile[side], input->metric[side]);
    crn_sampling *its = &part->sampling[CRN_BEFORE];
    its->unit *= part->scale;
    its->total *= part->scale;
    its->error *= part->scale;
}

bool crn_view_diff_flame(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_diff_report report;
    uint64_t numbers[CRN_SIDES], shares;
    char key[128];
    if (!diff_begin(view, query, &report, numbers) ||
        !crn_view_number(query, "share", 0, 1, &shares))
        return false;
    snprintf(key, sizeof key, "%u %u %u %u %u %u", (unsigned)numbers[0], (unsigned)numbers[1],
             view->files[numbers[0]].generation, view->files[numbers[1]].generation,
             report.input.metric[0], report.input.metric[1]);
    if (!view->both.key || strcmp(view->both.key, key) != 0) {
        crn_view_part_clear(&view->both);
        both_make(&view->both, &report.input);
        view->both.key = crn_strdup(key);
    }
    both_scale(&view->both, &report.input, shares);
    return crn_view_write_part(out, &view->both, query);
}

bool crn_view_why(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_diff_report report;
    uint64_t numbers[CRN_SIDES], top;
    if (!diff_begin(view, query, &report, numbers) ||
        !crn_view_number(query, "top", 20, 100000, &top))
        return false;
    const crn_profile *const *sides = report.input.profile;
    crn_why why = crn_why_make(
        &(crn_why_input){{&sides[CRN_BEFORE], &sides[CRN_AFTER]}, {1, 1}, report.metric_name});
    crn_why_json(out, &(crn_why_report){
                          .why = &why,
                          .captures = {sides, report.paths, CRN_SIDES},
                          .metric = report.metric_name,
                          .unit = sides[CRN_BEFORE]->metrics[report.input.metric[CRN_BEFORE]].unit,
                          .runs = {1, 1},
                          .top = (uint32_t)top});
    crn_why_free(&why);
    return true;
}
