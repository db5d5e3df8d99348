/* SPDX-License-Identifier: MIT
 *
 * The flat view: blocks, wherever they were called from.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reference.h"
#include "base/memory.h"
#include "report.h"
#include "terminal.h"

/* Of the hint's own words. */
enum { NEXT_WIDTH = 50 };

typedef struct order {
    const crn_report *report;
    const crn_flat *flat;
} order;

static int falling(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_names(const crn_report *report, uint32_t a, uint32_t b)
{
    int result = strcmp(report->profile->blocks[a].name, report->profile->blocks[b].name);
    return result ? result : a < b ? -1 : a > b;
}

static int compare_blocks(const void *left, const void *right, void *data)
{
    const order *order = data;
    const crn_flat *flat = order->flat;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int self = falling(flat->cost[0].self[a], flat->cost[0].self[b]);
    int inclusive = falling(flat->cost[0].inclusive[a], flat->cost[0].inclusive[b]);
    int calls = falling(flat->calls.self[a], flat->calls.self[b]);
    int result = 0;
    switch (order->report->sort) {
    case CRN_SORT_SELF:
        result = self ? self : inclusive ? inclusive : calls;
        break;
    case CRN_SORT_INCLUSIVE:
        result = inclusive ? inclusive : self ? self : calls;
        break;
    case CRN_SORT_CALLS:
        result = calls ? calls : self ? self : inclusive;
        break;
    case CRN_SORT_NAME:
        break;
    }
    return result ? result : compare_names(order->report, a, b);
}

/* The root is not a block of the program: it shows when something was charged to it. */
static bool is_listed(const crn_report *report, const crn_flat *flat, uint32_t block)
{
    bool costs = false, runs = flat->calls.self[block] && block;
    for (uint32_t i = 0; i < report->metric_count; i++) {
        costs |= flat->cost[i].self[block] && (block || report->metrics[i] != CRN_METRIC_CALLS);
        runs |= flat->cost[i].inclusive[block] && block;
    }
    return costs || runs;
}

static bool is_significant(const crn_report *report, const crn_flat *flat, uint32_t block)
{
    for (uint32_t i = 0; i < report->metric_count; i++)
        if ((double)flat->cost[i].inclusive[block] >=
            report->threshold * (double)flat->cost[i].total)
            return true;
    return false;
}

crn_flat crn_flat_make(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    crn_flat flat = {0};
    uint8_t *kept = crn_sequence_select(profile, report->focused ? &report->focus : NULL,
                                        report->drops, report->drop_count);
    flat.calls = crn_block_cost_make(profile, CRN_METRIC_CALLS, kept);
    for (uint32_t i = 0; i < report->metric_count; i++)
        flat.cost[i] = crn_block_cost_make(profile, report->metrics[i], kept);
    crn_free(kept);

    flat.blocks = crn_calloc(profile->block_count, sizeof *flat.blocks);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        if (!is_listed(report, &flat, b))
            continue;
        if (is_significant(report, &flat, b))
            flat.blocks[flat.count++] = b;
        else
            flat.hidden++;
    }
    order order = {report, &flat};
    qsort_r(flat.blocks, flat.count, sizeof *flat.blocks, compare_blocks, &order);
    if (report->top && flat.count > report->top) {
        flat.hidden += flat.count - report->top;
        flat.count = report->top;
    }
    return flat;
}

void crn_flat_free(crn_flat *flat, const crn_report *report)
{
    for (uint32_t i = 0; i < report->metric_count; i++)
        crn_block_cost_free(&flat->cost[i]);
    crn_block_cost_free(&flat->calls);
    crn_free(flat->blocks);
}

void crn_report_title(char title[48], const crn_profile *profile, const char *what, uint32_t metric)
{
    if (metric == CRN_METRIC_WALL)
        snprintf(title, 48, "%s", what);
    else
        snprintf(title, 48, "%s %.30s", what, profile->metrics[metric].name);
}

void crn_report_column(crn_table *table, const crn_report *report, const char *what,
                       uint32_t metric, uint64_t largest)
{
    char title[48];
    crn_report_title(title, report->profile, what, metric);
    crn_table_figure(table, title, report->profile->metrics[metric].unit, largest, true);
}

static uint64_t largest_of(const crn_flat *flat, const uint64_t *figures)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < flat->count; i++)
        if (largest < figures[flat->blocks[i]])
            largest = figures[flat->blocks[i]];
    return largest;
}

static void print_rows(const crn_report *report, const crn_flat *flat, const crn_table *table)
{
    for (uint32_t i = 0; i < flat->count; i++) {
        uint32_t block = flat->blocks[i];
        crn_row row = crn_row_begin(table);
        for (uint32_t m = 0; m < report->metric_count; m++) {
            crn_row_figure(&row, flat->cost[m].self[block]);
            crn_row_figure(&row, flat->cost[m].inclusive[block]);
        }
        if (report->calls)
            crn_row_figure(&row, flat->calls.self[block]);
        crn_row_block(&row, "", &report->profile->blocks[block], "");
    }
}

/* What is left out, so that nobody takes the table for the whole. */
static void print_rest(const crn_report *report, const crn_flat *flat)
{
    if (!flat->hidden)
        return;
    uint64_t shown = 0, total = flat->cost[0].total;
    for (uint32_t i = 0; i < flat->count; i++)
        shown += flat->cost[0].self[flat->blocks[i]];
    crn_terminal_style(CRN_STYLE_DIM);
    char hidden[CRN_FIGURE_SIZE];
    printf("%s more block%s with %.1f %% of self %s: --top 0%s shows all\n",
           crn_figure_alone(hidden, "", flat->hidden), flat->hidden == 1 ? "" : "s",
           crn_percent(total > shown ? total - shown : 0, total),
           report->profile->metrics[report->metrics[0]].name,
           report->threshold > 0 ? " --threshold 0" : "");
    crn_terminal_style(CRN_STYLE_PLAIN);
}

/* Says how to look closer at what costs most, in the words to be typed. */
static void print_next(const crn_report *report, const crn_flat *flat)
{
    char spelling[CRN_REFERENCE_SIZE];
    uint32_t first = 0;
    while (first < flat->count && !flat->blocks[first]) /* the root leads nowhere */
        first++;
    if (report->focused || first == flat->count)
        return;
    crn_reference_spell(report->profile, flat->blocks[first], spelling);
    if (2 * crn_terminal_width(spelling) + NEXT_WIDTH > crn_terminal_get()->width)
        return; /* no room, or no terminal: nobody is there to type */
    crn_terminal_style(CRN_STYLE_DIM);
    fputs("next: --tree  or  --focus '", stdout);
    crn_terminal_text(spelling, 0, false);
    fputs("'  or  --tree --callers '", stdout);
    crn_terminal_text(spelling, 0, false);
    fputs("'\n", stdout);
    crn_terminal_style(CRN_STYLE_PLAIN);
}

void crn_report_flat(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    crn_flat flat = crn_flat_make(report);
    crn_table table = {0};
    for (uint32_t m = 0; m < report->metric_count; m++) {
        crn_report_column(&table, report, "self", report->metrics[m], flat.cost[m].total);
        crn_report_column(&table, report, "inclusive", report->metrics[m], flat.cost[m].total);
    }
    if (report->calls)
        crn_table_figure(&table, "calls", "", largest_of(&flat, flat.calls.self), false);
    for (uint32_t i = 0; i < flat.count; i++)
        crn_table_measure(&table, "", &profile->blocks[flat.blocks[i]], "");
    crn_table_head(&table, "block");
    print_rows(report, &flat, &table);
    print_rest(report, &flat);
    print_next(report, &flat);
    crn_flat_free(&flat, report);
}
