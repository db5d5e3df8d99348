/* SPDX-License-Identifier: MIT
 *
 * The sequence view: callers and callees of a block or a sequence of blocks.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/terminal.h"
#include "profile/profile.h"
#include "report.h"

static void print_section(FILE *out, const char *title)
{
    crn_terminal_style(out, CRN_STYLE_DIM);
    fprintf(out, "%s\n", title);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* Returns true if calls get a column, also as the metric: in this view they belong to edges. */
static bool has_calls(const crn_report *report)
{
    return report->calls || report->metrics[0] == CRN_METRIC_CALLS;
}

static bool has_self(const crn_report *report)
{
    return report->metrics[0] != CRN_METRIC_CALLS;
}

static void print_row(FILE *out, const crn_report *report, const crn_table *table,
                      const crn_sequence_cost *cost, const char *prefix,
                      const crn_block_info *block)
{
    crn_row row = crn_row_begin(table);
    crn_row_figure(out, &row, cost->inclusive);
    if (has_self(report))
        crn_row_figure(out, &row, cost->self);
    if (has_calls(report))
        crn_row_figure(out, &row, cost->calls);
    crn_row_block(out, &row, prefix, block, "");
}

static uint32_t shown_of(const crn_report *report, const crn_neighbour *neighbours, uint32_t count,
                         uint64_t total)
{
    uint32_t shown = 0;
    while (shown < count && (!report->top || shown < report->top) &&
           (double)neighbours[shown].cost.inclusive >= report->threshold * (double)total)
        shown++;
    return shown;
}

static void print_neighbours(FILE *out, const crn_report *report, const crn_table *table,
                             const char *title, const char *none, const crn_neighbour *neighbours,
                             uint32_t count, uint32_t shown)
{
    print_section(out, count ? title : none);
    for (uint32_t i = 0; i < shown; i++)
        print_row(out, report, table, &neighbours[i].cost, "",
                  &report->profile->blocks[neighbours[i].block]);
    if (shown < count) {
        char text[64];
        snprintf(text, sizeof text, "%u more: --top 0%s shows all", count - shown,
                 report->threshold > 0 ? " --threshold 0" : "");
        print_section(out, text);
    }
}

/* Prints the sequence's blocks below each other, the figures beside the last. */
static void print_sequence(FILE *out, const crn_report *report, const crn_table *table,
                           const crn_sequence_cost *cost)
{
    const crn_profile *profile = report->profile;
    const crn_sequence *sequence = &report->focus;
    char prefix[16];
    print_section(out, sequence->length == 1 ? "the function" : "the sequence");
    for (uint32_t i = 0; i < sequence->length; i++) {
        snprintf(prefix, sizeof prefix, "%s%s", i ? crn_terminal_get()->glyphs->arrow : "",
                 i ? " " : "");
        if (i + 1 == sequence->length) {
            print_row(out, report, table, cost, prefix, &profile->blocks[sequence->blocks[i]]);
            continue;
        }
        crn_row row = crn_row_begin(table);
        crn_row_blank(out, &row);
        crn_row_block(out, &row, prefix, &profile->blocks[sequence->blocks[i]], "");
    }
}

static bool is_worth(const crn_neighbour *neighbours, uint32_t count)
{
    return count && neighbours[0].cost.inclusive;
}

/* Prints commands that lengthen the sequence. */
static void print_next(FILE *out, const crn_report *report, const crn_neighbourhood *near)
{
    char spelling[CRN_REFERENCE_SIZE];
    const char *joint = "next: ";
    if (!crn_terminal_get()->width)
        return; /* no terminal to type commands on */
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (report->before && is_worth(near->before, near->before_count) && near->before[0].block) {
        crn_reference_spell(report->profile, near->before[0].block, spelling);
        fprintf(out, "%s--focus '", joint);
        crn_terminal_text(out, spelling, 0, false);
        putc(',', out);
        crn_terminal_text(out, report->given, 0, false);
        putc('\'', out);
        joint = "  or  ";
    }
    if (report->after && is_worth(near->after, near->after_count)) {
        crn_reference_spell(report->profile, near->after[0].block, spelling);
        fprintf(out, "%s--focus '", joint);
        crn_terminal_text(out, report->given, 0, false);
        putc(',', out);
        crn_terminal_text(out, spelling, 0, false);
        fputs("'  or  --drop '", out);
        crn_terminal_text(out, spelling, 0, false);
        putc('\'', out);
        joint = "";
    }
    if (joint[0] != 'n')
        putc('\n', out);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

static void make_table(crn_table *table, const crn_report *report, const crn_neighbourhood *near,
                       uint64_t total, const uint32_t shown[2])
{
    const crn_profile *profile = report->profile;
    uint64_t calls = near->cost.calls;
    bool self = crn_report_is_uncertain(report, 0, near->cost.self);
    bool inclusive = crn_report_is_uncertain(report, 0, near->cost.inclusive);
    for (int side = 0; side < 2; side++) {
        const crn_neighbour *neighbours = side ? near->after : near->before;
        for (uint32_t i = 0; i < shown[side]; i++) {
            const crn_sequence_cost *cost = &neighbours[i].cost;
            calls = calls < cost->calls ? cost->calls : calls;
            self |= crn_report_is_uncertain(report, 0, cost->self);
            inclusive |= crn_report_is_uncertain(report, 0, cost->inclusive);
            crn_table_measure(table, "", &profile->blocks[neighbours[i].block], "");
        }
    }
    for (uint32_t i = 0; i < report->focus.length; i++)
        crn_table_measure(table, i ? "  " : "", &profile->blocks[report->focus.blocks[i]], "");
    crn_report_column(table, report, "total", 0, total, inclusive);
    if (has_self(report))
        crn_report_column(table, report, "self", 0, total, self);
    table->rank = 2;
    if (has_calls(report))
        crn_table_figure(table, "calls", "", calls, false);
}

void crn_report_sequence(FILE *out, const crn_report *report)
{
    const crn_profile *profile = report->profile;
    uint32_t metric = report->metrics[0];
    uint8_t *kept = crn_sequence_select(profile, NULL, report->drops, report->drop_count);
    uint64_t *totals = crn_totals(profile, metric, kept);
    uint64_t total = totals[0];
    crn_free(totals);
    crn_neighbourhood near = crn_neighbourhood_make(profile, &report->focus, metric, kept);
    uint32_t shown[2] = {report->before ? shown_of(report, near.before, near.before_count, total)
                                        : 0,
                         report->after ? shown_of(report, near.after, near.after_count, total) : 0};

    crn_table table = {.profile = report->profile};
    make_table(&table, report, &near, total, shown);
    crn_table_head(out, &table, "function");
    if (report->before)
        print_neighbours(out, report, &table, "callers", "no callers", near.before,
                         near.before_count, shown[0]);
    print_sequence(out, report, &table, &near.cost);
    if (report->after)
        print_neighbours(out, report, &table, "callees", "no callees", near.after, near.after_count,
                         shown[1]);
    crn_table_foot(out, &table);
    print_next(out, report, &near);
    crn_neighbourhood_free(&near);
    crn_free(kept);
}
