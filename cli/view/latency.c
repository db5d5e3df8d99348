/* SPDX-License-Identifier: MIT
 *
 * The page's answer of cairn latency.
 */
#include <string.h>

#include "cli/common/cli.h"
#include "cli/spans/latency.h"
#include "view.h"

enum { TOP_DEFAULT = 10, TOP_MAX = 1000, FRAMES_MAX = 4000 };

/* Returns the name of the query's block `key`. On an error prints why, returns NULL. */
static const char *name_of(const crn_view_file *file, const crn_view_query *query, const char *key)
{
    uint64_t block;
    if (!crn_view_number(query, key, UINT32_MAX, UINT32_MAX, &block))
        return NULL;
    if (block < file->plain->block_count)
        return file->plain->blocks[block].name;
    crn_cli_fail("%s: there is no such block", key);
    return NULL;
}

static bool read_names(crn_latency_report *report, const crn_view_file *file,
                       const crn_view_query *query)
{
    report->from = name_of(file, query, "from");
    report->to = report->from ? name_of(file, query, "to") : NULL;
    if (!report->to)
        return false;
    if (strcmp(report->from, report->to) != 0)
        return true;
    crn_cli_fail("inputs and results are the same");
    return false;
}

/* A choice restricts results; the way back from them leads over all spans. */
bool crn_view_latency(FILE *out, crn_view *view, const crn_view_query *query)
{
    const crn_view_choice *choice;
    uint64_t top, frames;
    crn_view_file *file = crn_view_file_chosen(view, query, &choice);
    if (!file)
        return false;
    crn_span_source source = {
        .path = file->path, .profile = file->plain, .trace = file->trace, .spans = file->spans};
    crn_latency_report report = {.source = &source};
    if (!read_names(&report, file, query) ||
        !crn_view_number(query, "deadline", 0, INT64_MAX, &report.deadline) ||
        !crn_view_number(query, "top", TOP_DEFAULT, TOP_MAX, &top) ||
        !crn_view_number(query, "frames", CRN_LATENCY_FRAMES, FRAMES_MAX, &frames) ||
        !crn_latency_find(&source, report.from, report.to, choice ? choice->kept : NULL,
                          &report.latencies))
        return false;
    report.top = (uint32_t)top;
    report.frames = (uint32_t)frames;
    crn_latency_measure(&report);
    crn_latency_json(out, &report);
    crn_latency_report_free(&report);
    return true;
}
