/* SPDX-License-Identifier: MIT
 *
 * Resolves the options of `cairn report` for a capture.
 */
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "base/memory.h"
#include "cli/common/cli.h"
#include "profile/profile.h"
#include "query/query.h"

enum { TOP_DEFAULT = 30, TOP_SEQUENCE_DEFAULT = 12 };
#define THRESHOLD_TREE_DEFAULT 0.005
#define THRESHOLD_DOT_DEFAULT 0.01

const char *const crn_report_sort_names[] = {"self", "total", "calls", "name", NULL};

static bool choose_metric(crn_report *report, const char *name, size_t length)
{
    for (uint32_t m = 0; m < report->profile->metric_count; m++) {
        const char *other = report->profile->metrics[m].name;
        if (strlen(other) == length && memcmp(other, name, length) == 0) {
            for (uint32_t i = 0; i < report->metric_count; i++)
                if (report->metrics[i] == m)
                    return true;
            report->metrics[report->metric_count++] = m;
            return true;
        }
    }
    return false;
}

static void choose_all_metrics(crn_report *report)
{
    uint32_t first = crn_metric_default(report->profile);
    report->metrics[report->metric_count++] = first;
    for (uint32_t m = CRN_METRIC_TICKS; m < report->profile->metric_count; m++)
        if (m != first && !crn_metric_empty(report->profile, m))
            report->metrics[report->metric_count++] = m;
}

/* Adds all clocks if the default metric, which is first, is a clock. */
static void choose_clocks(crn_report *report)
{
    const crn_metric_info *metrics = report->profile->metrics;
    for (int i = 0; i < CRN_METRIC_FIXED && metrics[report->metrics[0]].is_clock; i++) {
        uint32_t m = crn_metric_order[i];
        if (metrics[m].is_clock && m != report->metrics[0] && !crn_metric_empty(report->profile, m))
            report->metrics[report->metric_count++] = m;
    }
}

static int choose_metrics(crn_report *report, const char *names)
{
    if (!names) {
        report->metrics[report->metric_count++] = crn_metric_default(report->profile);
        if (report->view == CRN_VIEW_FLAT)
            choose_clocks(report);
        return CRN_EXIT_OK;
    }
    if (strcmp(names, "all") == 0) {
        choose_all_metrics(report);
        return CRN_EXIT_OK;
    }
    for (;;) {
        size_t length = strcspn(names, ",");
        if (!choose_metric(report, names, length)) {
            char list[256] = "";
            for (uint32_t m = 0; m < report->profile->metric_count; m++)
                if (!crn_metric_empty(report->profile, m))
                    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                             *list ? ", " : "", report->profile->metrics[m].name);
            return crn_cli_fail("%s: has no metric \"%.*s\"; it has %s", report->path, (int)length,
                                names, list);
        }
        if (!names[length])
            return CRN_EXIT_OK;
        names += length + 1;
    }
}

static const char *collector_of(const crn_report_arguments *arguments)
{
    return arguments->collector ? arguments->collector : "<gc>";
}

static int choose_shown(crn_report *report, const char *keep)
{
    crn_error error = {0};
    if (!keep)
        return CRN_EXIT_OK;
    report->shown = crn_block_set_make(report->profile,
                                       (crn_block_set_about){report->metrics[0], report->collector},
                                       keep, &error);
    return report->shown ? CRN_EXIT_OK : crn_cli_fail("--keep: %s", error.message);
}

crn_profile *crn_report_merge_instances(crn_profile *profile, const crn_report_arguments *arguments)
{
    crn_error error = {0};
    crn_block_set_about about = {crn_metric_default(profile), collector_of(arguments)};
    const char *merge = arguments->merge ? arguments->merge : "all";
    uint8_t *merged = crn_block_set_make(profile, about, merge, &error), *split = NULL;
    if (merged && arguments->split)
        split = crn_block_set_make(profile, about, arguments->split, &error);
    crn_profile *result = NULL;
    if (merged && (split || !arguments->split)) {
        uint8_t *apart = crn_calloc(profile->block_count, 1);
        for (uint32_t b = 1; b < profile->block_count; b++)
            apart[b] = !merged[b] || (split && split[b]);
        result = crn_instances_merge(profile, apart);
        crn_free(apart);
    } else {
        crn_cli_fail("%s: %s", merged ? "--split" : "--merge", error.message);
    }
    crn_free(merged);
    crn_free(split);
    crn_profile_free(profile);
    return result;
}

crn_profile *crn_report_shorten(crn_profile *profile)
{
    crn_profile *shortened = crn_names_shorten(profile);
    crn_profile_free(profile);
    return shortened;
}

crn_transform *crn_report_parse_transforms(const crn_profile *profile, const crn_list *texts)
{
    crn_transform *transforms = crn_calloc(texts->count + 1, sizeof *transforms);
    crn_error error = {0};
    for (size_t i = 0; i < texts->count; i++)
        if (!crn_transform_parse(profile, texts->list[i], &transforms[i], &error)) {
            crn_cli_fail("--transform: %s", error.message);
            crn_free(transforms);
            return NULL;
        }
    return transforms;
}

crn_profile *crn_report_transform(crn_profile *profile, const crn_report_arguments *arguments)
{
    crn_transform *transforms = crn_report_parse_transforms(profile, &arguments->transforms);
    crn_profile *made =
        transforms ? crn_profile_transform(profile, transforms, arguments->transforms.count) : NULL;
    crn_free(transforms);
    crn_profile_free(profile);
    return made;
}

static int choose_sequences(crn_report *report, const crn_report_arguments *arguments)
{
    crn_error error;
    if (arguments->focus) {
        if (!crn_reference_sequence(report->profile, arguments->focus, &report->focus, &error))
            return crn_cli_fail("%s: %s", report->path, error.message);
        report->focused = true;
        report->given = arguments->focus;
    }
    report->drops = crn_calloc(arguments->drops.count + 1, sizeof *report->drops);
    for (size_t i = 0; i < arguments->drops.count; i++) {
        if (!crn_reference_sequence(report->profile, arguments->drops.list[i], &report->drops[i],
                                    &error))
            return crn_cli_fail("%s: %s", report->path, error.message);
        report->drop_count++;
    }
    return CRN_EXIT_OK;
}

static void choose_view(crn_report *report, const crn_report_arguments *arguments)
{
    report->view = arguments->tree                        ? CRN_VIEW_TREE
                   : arguments->stack                     ? CRN_VIEW_STACK
                   : arguments->compare                   ? CRN_VIEW_COMPARE
                   : arguments->zero                      ? CRN_VIEW_ZERO
                   : arguments->dot                       ? CRN_VIEW_DOT
                   : arguments->focus && !arguments->flat ? CRN_VIEW_SEQUENCE
                                                          : CRN_VIEW_FLAT;
    report->sort = (crn_sort)arguments->sort;
    report->before = arguments->before;
    report->after = arguments->after;
    static const uint32_t tops[] = {TOP_DEFAULT, 0, TOP_SEQUENCE_DEFAULT, TOP_DEFAULT, TOP_DEFAULT,
                                    TOP_DEFAULT, 0};
    bool tree = report->view == CRN_VIEW_TREE;
    report->top = arguments->top >= 0 ? (uint32_t)arguments->top : tops[report->view];
    report->threshold = arguments->threshold >= 0 ? arguments->threshold
                        : tree                    ? THRESHOLD_TREE_DEFAULT
                        : arguments->dot          ? THRESHOLD_DOT_DEFAULT
                                                  : 0;
    report->collector = collector_of(arguments);
    report->title = arguments->title;
    report->gray = arguments->gray;
    report->chains = arguments->chains;
}

/* Returns the metric of small calls if it gets a column of its own. Returns 0 if there are none, or
 * if it is requested by name, as it then has columns like any metric. */
static uint32_t find_small_calls(const crn_report *report)
{
    int small = crn_profile_metric(report->profile, CRN_SMALL_CALLS);
    if (small < 0 || crn_metric_empty(report->profile, (uint32_t)small))
        return 0;
    for (uint32_t m = 0; m < report->metric_count; m++)
        if (report->metrics[m] == (uint32_t)small)
            return 0;
    return (uint32_t)small;
}

/* Sets the members that follow from the metrics. */
static void complete(crn_report *report)
{
    bool wall = false, cpu = false;
    for (uint32_t m = 0; m < report->metric_count; m++) {
        report->sampling[m] = crn_sampling_of(report->profile, report->metrics[m]);
        wall |= report->metrics[m] == CRN_METRIC_WALL;
        cpu |= report->metrics[m] == CRN_METRIC_CPU;
    }
    report->waits = wall && cpu && crn_compare_has_waiting(report->profile);
    report->ready = report->waits ? crn_compare_ready(report->profile) : 0;
    report->ready_column = report->ready != 0;
    for (uint32_t m = 0; m < report->metric_count; m++)
        if (report->metrics[m] == report->ready)
            report->ready_column = false;
    report->small = find_small_calls(report);
    report->calls = report->metrics[0] != CRN_METRIC_CALLS && crn_calls_counted(report->profile);
}

/* Checks that --compare has two recorded metrics. */
static int check_comparison(const crn_report *report)
{
    if (report->metric_count != 2)
        return crn_cli_fail("--compare takes two metrics, such as wall,cpu");
    for (uint32_t m = 0; m < 2; m++)
        if (crn_metric_empty(report->profile, report->metrics[m]))
            return crn_cli_fail("%s: has no %s to compare; cairn report shows its metrics",
                                report->path, report->profile->metrics[report->metrics[m]].name);
    return CRN_EXIT_OK;
}

int crn_report_choose(crn_report *report, const crn_report_arguments *arguments)
{
    choose_view(report, arguments);
    int status =
        choose_metrics(report, arguments->compare ? arguments->compare : arguments->metrics);
    if (status == CRN_EXIT_OK && arguments->compare)
        status = check_comparison(report);
    if (status == CRN_EXIT_OK)
        status = choose_sequences(report, arguments);
    if (status == CRN_EXIT_OK)
        status = choose_shown(report, arguments->keep);
    if (status == CRN_EXIT_OK)
        complete(report);
    return status;
}
