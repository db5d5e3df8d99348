/* SPDX-License-Identifier: MIT
 *
 * The stack view: cost while a block runs, while it is on the stack, and of the garbage collector
 * below it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "cli/common/terminal.h"
#include "report.h"

typedef struct order {
    const crn_report *report;
    const crn_stack_view *view;
} order;

static int compare_blocks(const void *left, const void *right, void *data)
{
    const order *order = data;
    const crn_stack_view *view = order->view;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int self = CRN_ORDER(view->stack.current[b], view->stack.current[a]);
    int inclusive = CRN_ORDER(view->inclusive[b], view->inclusive[a]);
    int result = order->report->sort == CRN_SORT_NAME        ? 0
                 : order->report->sort == CRN_SORT_INCLUSIVE ? inclusive ?: self
                                                             : self ?: inclusive;
    return result ?: crn_report_compare_names(order->report, a, b);
}

crn_stack_view crn_stack_view_make(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    uint8_t *kept = crn_report_kept(report);
    uint8_t *collectors = crn_stack_collectors(profile, report->collector);
    crn_stack_view view = {.stack = crn_stack_make(profile, report->metrics[0], collectors, kept)};
    crn_free(collectors);
    crn_free(kept);
    view.inclusive = crn_calloc(profile->block_count, sizeof *view.inclusive);
    view.blocks = crn_calloc(profile->block_count, sizeof *view.blocks);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        view.inclusive[b] = view.stack.stack[b] + view.stack.collector[b];
        if (b ? !view.inclusive[b] : !view.stack.current[b])
            continue;
        bool wanted = crn_report_shows(report, b);
        if (wanted && (double)view.inclusive[b] >= report->threshold * (double)view.stack.total)
            view.blocks[view.count++] = b;
        else
            crn_unshown_add(&view.rest, !wanted, view.stack.current[b]);
    }
    order order = {report, &view};
    qsort_r(view.blocks, view.count, sizeof *view.blocks, compare_blocks, &order);
    while (report->top && view.count > report->top)
        crn_unshown_add(&view.rest, false, view.stack.current[view.blocks[--view.count]]);
    return view;
}

void crn_stack_view_free(crn_stack_view *view)
{
    crn_stack_free(&view->stack);
    crn_free(view->inclusive);
    crn_free(view->blocks);
}

static bool any_uncertain(const crn_report *report, const crn_stack_view *view,
                          const uint64_t *figures)
{
    for (uint32_t i = 0; i < view->count; i++)
        if (crn_report_is_uncertain(report, 0, figures[view->blocks[i]]))
            return true;
    return false;
}

void crn_report_collector(const crn_report_lines *lines, const crn_report *report)
{
    const crn_profile *profile = report->profile;
    const crn_metric_info *metric = &profile->metrics[report->metrics[0]];
    uint8_t *collectors = crn_stack_collectors(profile, report->collector);
    crn_stack stack = crn_stack_make(profile, report->metrics[0], collectors, NULL);
    char text[512], figure[CRN_FIGURE_SIZE];
    if (stack.total_collector) {
        snprintf(text, sizeof text,
                 "%s %.64s (%.1f %%) in %.64s and its callees; --stack shows it separately",
                 crn_figure_alone(figure, metric->unit, stack.total_collector), metric->name,
                 crn_percent(stack.total_collector, stack.total), report->collector);
        lines->put(lines->to, "collector", text);
    }
    crn_free(collectors);
    crn_stack_free(&stack);
}

void crn_report_stack(FILE *out, const crn_report *report)
{
    const crn_profile *profile = report->profile;
    crn_stack_view view = crn_stack_view_make(report);
    const uint64_t *columns[] = {view.stack.current, view.stack.stack, view.stack.collector};
    static const char *const titles[] = {"current", "stack", "stack/GC"};
    crn_table table = {.profile = profile};
    for (int i = 0; i < 3; i++)
        crn_report_column(&table, report, titles[i], 0, view.stack.total,
                          any_uncertain(report, &view, columns[i]));
    for (uint32_t i = 0; i < view.count; i++)
        crn_table_measure(&table, "", &profile->blocks[view.blocks[i]], "");
    crn_table_head(out, &table, "function");
    for (uint32_t i = 0; i < view.count; i++) {
        uint32_t block = view.blocks[i];
        crn_row row = crn_row_begin(&table);
        for (int column = 0; column < 3; column++)
            crn_row_figure(out, &row, columns[column][block]);
        crn_row_block(out, &row, "", &profile->blocks[block], "");
    }
    crn_table_foot(out, &table);
    if (!view.stack.total_collector) {
        crn_terminal_style(out, CRN_STYLE_DIM);
        fputs("no garbage collection: no block ", out);
        crn_terminal_text(out, report->collector, 0, false);
        fputs(" costs anything here; --gc NAME names another\n", out);
        crn_terminal_style(out, CRN_STYLE_PLAIN);
    }
    crn_report_rest(out, report, &view.rest, view.stack.total);
    crn_stack_view_free(&view);
}
