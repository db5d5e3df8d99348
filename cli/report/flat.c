/* SPDX-License-Identifier: MIT
 *
 * The flat view: figures by block, summed over callers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "cli/common/terminal.h"
#include "profile/profile.h"
#include "report.h"

/* Width of the hint without the function's names. */
enum { NEXT_WIDTH = 50 };

typedef struct order {
    const crn_report *report;
    const crn_flat *flat;
} order;

static int compare_blocks(const void *left, const void *right, void *data)
{
    const order *order = data;
    const crn_flat *flat = order->flat;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int self = CRN_ORDER(flat->cost[0].self[b], flat->cost[0].self[a]);
    int inclusive = CRN_ORDER(flat->cost[0].inclusive[b], flat->cost[0].inclusive[a]);
    int calls = CRN_ORDER(flat->calls.self[b], flat->calls.self[a]);
    int result = 0;
    switch (order->report->sort) {
    case CRN_SORT_SELF:
        result = self ?: inclusive ?: calls;
        break;
    case CRN_SORT_INCLUSIVE:
        result = inclusive ?: self ?: calls;
        break;
    case CRN_SORT_CALLS:
        result = calls ?: self ?: inclusive;
        break;
    case CRN_SORT_NAME:
        break;
    }
    return result ?: crn_report_compare_names(order->report, a, b);
}

/* Returns true for a block with cost or calls; for the root only with cost. */
static bool is_listed(const crn_report *report, const crn_flat *flat, uint32_t block)
{
    bool costs = report->small && flat->small.self[block];
    bool runs = flat->calls.self[block] && block;
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

uint64_t crn_report_total(const crn_report *report, uint32_t metric)
{
    return report->known ? crn_figure_cache_cost(report->known, metric)->total
                         : crn_metric_total(report->profile, metric);
}

static uint64_t *copy_of(const uint64_t *numbers, uint32_t count)
{
    uint64_t *copy = crn_calloc(count, sizeof *copy);
    memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

crn_block_cost crn_report_cost(const crn_report *report, uint32_t metric, const uint8_t *kept)
{
    if (kept || !report->known)
        return crn_block_cost_make(report->profile, metric, kept);
    const crn_block_cost *cost = crn_figure_cache_cost(report->known, metric);
    uint32_t count = report->profile->block_count;
    return (crn_block_cost){copy_of(cost->self, count), copy_of(cost->inclusive, count),
                            cost->total};
}

const uint64_t *crn_report_totals(const crn_report *report, uint32_t metric, const uint8_t *kept,
                                  uint64_t **owned)
{
    *owned = NULL;
    if (report->known && !kept)
        return crn_figure_cache_totals(report->known, metric);
    return *owned = crn_totals(report->profile, metric, kept);
}

crn_flat crn_flat_make(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    crn_flat flat = {0};
    uint8_t *kept = crn_report_kept(report);
    flat.calls = crn_report_cost(report, CRN_METRIC_CALLS, kept);
    uint32_t metric = 0; /* a report has at least one metric */
    do
        flat.cost[metric] = crn_report_cost(report, report->metrics[metric], kept);
    while (++metric < report->metric_count);
    if (report->small)
        flat.small = crn_report_cost(report, report->small, kept);
    if (report->ready)
        flat.ready = crn_report_cost(report, report->ready, kept);
    crn_free(kept);

    flat.blocks = crn_calloc(profile->block_count, sizeof *flat.blocks);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        if (!is_listed(report, &flat, b))
            continue;
        bool wanted = crn_report_shows(report, b);
        if (wanted && is_significant(report, &flat, b))
            flat.blocks[flat.count++] = b;
        else
            crn_unshown_add(&flat.rest, !wanted, flat.cost[0].self[b]);
    }
    order order = {report, &flat};
    qsort_r(flat.blocks, flat.count, sizeof *flat.blocks, compare_blocks, &order);
    while (report->top && flat.count > report->top)
        crn_unshown_add(&flat.rest, false, flat.cost[0].self[flat.blocks[--flat.count]]);
    return flat;
}

void crn_flat_free(crn_flat *flat, const crn_report *report)
{
    for (uint32_t i = 0; i < report->metric_count; i++)
        crn_block_cost_free(&flat->cost[i]);
    crn_block_cost_free(&flat->calls);
    crn_block_cost_free(&flat->small);
    crn_block_cost_free(&flat->ready);
    crn_free(flat->blocks);
}

void crn_report_title(char title[48], const crn_profile *profile, const char *what, uint32_t metric)
{
    if (metric == CRN_METRIC_WALL)
        snprintf(title, 48, "%s", what);
    else
        snprintf(title, 48, "%s %.30s", what, profile->metrics[metric].name);
}

void crn_report_column(crn_table *table, const crn_report *report, const char *what, uint32_t place,
                       uint64_t largest, bool uncertain)
{
    char title[48];
    uint32_t metric = report->metrics[place];
    crn_report_title(title, report->profile, what, metric);
    crn_table_sampled(table, title, report->profile->metrics[metric].unit, largest, true,
                      uncertain ? &report->sampling[place] : NULL);
}

static uint64_t largest_of(const crn_flat *flat, const uint64_t *figures)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < flat->count; i++)
        if (largest < figures[flat->blocks[i]])
            largest = figures[flat->blocks[i]];
    return largest;
}

uint64_t crn_flat_waited(const crn_report *report, const crn_flat *flat, uint32_t block)
{
    uint64_t values[CRN_METRIC_CPU + 1] = {0};
    for (uint32_t m = 0; m < report->metric_count; m++)
        if (report->metrics[m] <= CRN_METRIC_CPU)
            values[report->metrics[m]] = flat->cost[m].self[block];
    return crn_compare_waited(values[CRN_METRIC_WALL], values[CRN_METRIC_CPU],
                              report->ready ? flat->ready.self[block] : 0);
}

static void print_rows(FILE *out, const crn_report *report, const crn_flat *flat,
                       const crn_table *table)
{
    for (uint32_t i = 0; i < flat->count; i++) {
        uint32_t block = flat->blocks[i];
        crn_row row = crn_row_begin(table);
        for (uint32_t m = 0; m < report->metric_count; m++) {
            if (block)
                crn_row_figure(out, &row, flat->cost[m].inclusive[block]);
            else
                crn_row_whole(out, &row, flat->cost[m].inclusive[block]);
        }
        for (uint32_t m = 0; m < report->metric_count; m++)
            crn_row_figure(out, &row, flat->cost[m].self[block]);
        if (report->waits)
            crn_row_figure(out, &row, crn_flat_waited(report, flat, block));
        if (report->ready_column)
            crn_row_figure(out, &row, flat->ready.self[block]);
        if (report->calls)
            crn_row_figure(out, &row, flat->calls.self[block]);
        if (report->small)
            crn_row_figure(out, &row, flat->small.self[block]);
        crn_row_block(out, &row, "", &report->profile->blocks[block], "");
    }
}

void crn_report_rest(FILE *out, const crn_report *report, const crn_unshown *rest, uint64_t total)
{
    char figure[CRN_FIGURE_SIZE];
    const char *metric = report->profile->metrics[report->metrics[0]].name;
    if (!rest->hidden && !rest->unwanted)
        return;
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (rest->hidden)
        crn_terminal_format(out,
                            "%s more function%s with %.1f %% of self %s: --top 0%s shows all\n",
                            crn_figure_alone(figure, "", rest->hidden),
                            rest->hidden == 1 ? "" : "s", crn_percent(rest->hidden_self, total),
                            metric, report->threshold > 0 ? " --threshold 0" : "");
    if (rest->unwanted)
        crn_terminal_format(out, "%s other block%s with %.1f %% of self %s left out by --keep\n",
                            crn_figure_alone(figure, "", rest->unwanted),
                            rest->unwanted == 1 ? "" : "s", crn_percent(rest->unwanted_self, total),
                            metric);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* Prints commands that look closer at the most expensive block. */
static void print_next(FILE *out, const crn_report *report, const crn_flat *flat)
{
    char spelling[CRN_REFERENCE_SIZE];
    uint32_t first = 0;
    while (first < flat->count && !flat->blocks[first]) /* skips the root */
        first++;
    if (report->focused || first == flat->count)
        return;
    crn_reference_spell(report->profile, flat->blocks[first], spelling);
    if (2 * crn_terminal_width(spelling) + NEXT_WIDTH > crn_terminal_get()->width)
        return; /* too narrow, or no terminal to type commands on */
    crn_terminal_style(out, CRN_STYLE_DIM);
    fputs("next: --tree  or  --focus '", out);
    crn_terminal_text(out, spelling, 0, false);
    fputs("'  or  --tree --callers '", out);
    crn_terminal_text(out, spelling, 0, false);
    fputs("'\n", out);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* If memory is shown, prints the options that show its other metrics and wall time. */
static void print_next_figures(FILE *out, const crn_report *report)
{
    static const char *const names[] = {CRN_LIVE_BYTES, CRN_PEAK_BYTES, "wall"};
    const crn_profile *profile = report->profile;
    const char *joint = "next: ";
    if (!crn_terminal_get()->width || report->focused ||
        strcmp(profile->metrics[report->metrics[0]].name, CRN_ALLOC_BYTES) != 0)
        return;
    crn_terminal_style(out, CRN_STYLE_DIM);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int metric = crn_profile_metric(profile, names[i]);
        if (metric < 0 || crn_metric_empty(profile, (uint32_t)metric))
            continue;
        const char *quote = strchr(names[i], ' ') ? "'" : "";
        fprintf(out, "%s--metric %s%s%s", joint, quote, names[i], quote);
        joint = "  or  ";
    }
    if (*joint == ' ')
        putc('\n', out);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* If a sampled program ran an interpreter, prints the command that shows its functions alone. */
static void print_next_language(FILE *out, const crn_report *report)
{
    static const struct {
        const char *note, *files, *language;
    } interpreters[] = {{"python", "[.]py$", "Python"}, {"lua", "[.]lua$", "Lua"}};
    const crn_profile *profile = report->profile;
    if (!crn_terminal_get()->width || report->focused || report->shown ||
        strcmp(crn_profile_note(profile, "host", ""), "sample") != 0)
        return;
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++) {
        const char *version = crn_profile_note(profile, interpreters[i].note, NULL);
        if (!version || strstr(version, "not shown"))
            continue;
        crn_terminal_style(out, CRN_STYLE_DIM);
        fprintf(out, "next: --tree --keep 'file(\"%s\")' shows the functions of %s alone\n",
                interpreters[i].files, interpreters[i].language);
        crn_terminal_style(out, CRN_STYLE_PLAIN);
    }
}

static bool any_uncertain(const crn_report *report, const crn_flat *flat, uint32_t place,
                          const uint64_t *figures, bool inclusive)
{
    for (uint32_t i = 0; i < flat->count; i++)
        if ((flat->blocks[i] || !inclusive) &&
            crn_report_is_uncertain(report, place, figures[flat->blocks[i]]))
            return true;
    return false;
}

/* Makes the columns: totals, self figures (of both the first metric's first), and others. On a
 * narrow terminal the totals of the other metrics are hidden first, their self figures last. */
static void make_table(crn_table *table, const crn_report *report, const crn_flat *flat)
{
    for (uint32_t m = 0; m < report->metric_count; m++) {
        const crn_block_cost *cost = &flat->cost[m];
        table->rank = m ? CRN_RANK_INTERVAL + 1 : 0;
        crn_report_column(table, report, "total", m, cost->total,
                          any_uncertain(report, flat, m, cost->inclusive, true));
    }
    for (uint32_t m = 0; m < report->metric_count; m++) {
        const crn_block_cost *cost = &flat->cost[m];
        table->rank = m ? 1 : 0;
        crn_report_column(table, report, "self", m, cost->total,
                          any_uncertain(report, flat, m, cost->self, false));
    }
    uint64_t most = 0;
    for (uint32_t i = 0; i < flat->count; i++) {
        uint64_t waits = crn_flat_waited(report, flat, flat->blocks[i]);
        most = most < waits ? waits : most;
    }
    table->rank = 2;
    if (report->waits)
        crn_table_figure(table, "waits", CRN_UNIT_TIME, most, false);
    if (report->ready_column)
        crn_table_figure(table, "ready", CRN_UNIT_TIME, largest_of(flat, flat->ready.self), false);
    table->rank = 3;
    if (report->calls)
        crn_table_figure(table, "calls", "", largest_of(flat, flat->calls.self), false);
    if (report->small)
        crn_table_figure(table, CRN_SMALL_CALLS, "", largest_of(flat, flat->small.self), false);
}

void crn_report_flat(FILE *out, const crn_report *report)
{
    const crn_profile *profile = report->profile;
    crn_flat flat = crn_flat_make(report);
    crn_table table = {.profile = profile};
    make_table(&table, report, &flat);
    for (uint32_t i = 0; i < flat.count; i++)
        crn_table_measure(&table, "", &profile->blocks[flat.blocks[i]], "");
    crn_table_head(out, &table, "function");
    print_rows(out, report, &flat, &table);
    crn_table_foot(out, &table);
    crn_report_rest(out, report, &flat.rest, flat.cost[0].total);
    print_next_figures(out, report);
    print_next_language(out, report);
    print_next(out, report, &flat);
    crn_flat_free(&flat, report);
}
