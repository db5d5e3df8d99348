/* SPDX-License-Identifier: MIT
 *
 * The comparison of two metrics of one run.
 */
#include <stdio.h>

#include "base/memory.h"
#include "cli/common/terminal.h"
#include "report.h"

crn_compare_view crn_compare_view_make(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    uint8_t *kept = crn_report_kept(report);
    crn_compare_view view = {.compare = crn_compare_make(profile, report->metrics,
                                                         report->sort == CRN_SORT_INCLUSIVE, kept)};
    crn_block_cost calls = crn_block_cost_make(profile, CRN_METRIC_CALLS, kept);
    crn_free(calls.inclusive);
    view.calls = calls.self;
    if (report->ready) {
        crn_block_cost ready = crn_block_cost_make(profile, report->ready, kept);
        bool inclusive = report->sort == CRN_SORT_INCLUSIVE;
        view.ready = inclusive ? ready.inclusive : ready.self;
        crn_free(inclusive ? ready.self : ready.inclusive);
    }
    crn_free(kept);
    crn_compare *compare = &view.compare;
    for (uint32_t i = 0; i < compare->count; i++) {
        const crn_compare_row *row = &compare->rows[i];
        bool significant = false;
        for (int side = 0; side < 2; side++)
            significant |=
                (double)row->values[side] >= report->threshold * (double)compare->totals[side];
        if (significant && (!report->top || view.count < report->top))
            compare->rows[view.count++] = *row;
        else
            view.hidden++;
    }
    return view;
}

void crn_compare_view_free(crn_compare_view *view)
{
    crn_compare_free(&view->compare);
    crn_free(view->calls);
    crn_free(view->ready);
}

uint64_t crn_compare_view_waited(const crn_report *report, const crn_compare_view *view,
                                 const crn_compare_row *row)
{
    uint32_t wall = report->metrics[0] == CRN_METRIC_WALL ? 0 : 1;
    return crn_compare_waited(row->values[wall], row->values[1 - wall],
                              view->ready ? view->ready[row->block] : 0);
}

static void make_table(crn_table *table, const crn_report *report, const crn_compare_view *view)
{
    const char *what = report->sort == CRN_SORT_INCLUSIVE ? "total" : "self";
    uint64_t waits = 0, ready = 0, calls = 0;
    bool uncertain[2] = {false, false};
    for (uint32_t i = 0; i < view->count; i++) {
        const crn_compare_row *row = &view->compare.rows[i];
        for (uint32_t side = 0; side < 2; side++)
            uncertain[side] |= crn_report_is_uncertain(report, side, row->values[side]);
        uint64_t waited = crn_compare_view_waited(report, view, row);
        waits = waits < waited ? waited : waits;
        if (view->ready && ready < view->ready[row->block])
            ready = view->ready[row->block];
        calls = calls < view->calls[row->block] ? view->calls[row->block] : calls;
        crn_table_measure(table, "", &report->profile->blocks[row->block], "");
    }
    for (uint32_t side = 0; side < 2; side++)
        crn_report_column(table, report, what, side, view->compare.totals[side], uncertain[side]);
    crn_table_points(table, "apart");
    table->rank = 1;
    if (report->waits)
        crn_table_figure(table, "waits", CRN_UNIT_TIME, waits, false);
    if (view->ready)
        crn_table_figure(table, "ready", CRN_UNIT_TIME, ready, false);
    table->rank = 2;
    if (report->calls)
        crn_table_figure(table, "calls", "", calls, false);
}

static void print_foot(FILE *out, const crn_report *report, const crn_compare_view *view,
                       bool chance)
{
    char figure[CRN_FIGURE_SIZE];
    crn_terminal_style(out, CRN_STYLE_DIM);
    fputs("apart: share of ", out);
    crn_terminal_text(out, report->profile->metrics[report->metrics[0]].name, 0, false);
    fputs(" less share of ", out);
    crn_terminal_text(out, report->profile->metrics[report->metrics[1]].name, 0, false);
    fprintf(out, "%s\n", chance ? "; ~: sampling alone can cause this difference" : "");
    if (view->hidden)
        fprintf(out, "%s more function%s: --top 0%s shows all\n",
                crn_figure_alone(figure, "", view->hidden), view->hidden == 1 ? "" : "s",
                report->threshold > 0 ? " --threshold 0" : "");
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

void crn_report_compare(FILE *out, const crn_report *report)
{
    crn_compare_view view = crn_compare_view_make(report);
    crn_table table = {.profile = report->profile};
    bool chance = false;
    make_table(&table, report, &view);
    crn_table_head(out, &table, "function");
    for (uint32_t i = 0; i < view.count; i++) {
        const crn_compare_row *compared = &view.compare.rows[i];
        bool by_chance = crn_compare_is_chance(compared);
        crn_row row = crn_row_begin(&table);
        crn_row_figure(out, &row, compared->values[0]);
        crn_row_figure(out, &row, compared->values[1]);
        crn_row_points(out, &row, compared->apart, by_chance);
        if (report->waits)
            crn_row_figure(out, &row, crn_compare_view_waited(report, &view, compared));
        if (view.ready)
            crn_row_figure(out, &row, view.ready[compared->block]);
        if (report->calls)
            crn_row_figure(out, &row, view.calls[compared->block]);
        crn_row_block(out, &row, "", &report->profile->blocks[compared->block], "");
        chance |= by_chance;
    }
    crn_table_foot(out, &table);
    print_foot(out, report, &view, chance);
    crn_compare_view_free(&view);
}
