/* SPDX-License-Identifier: MIT
 *
 * The tree view: contexts, the most expensive first.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/terminal.h"
#include "profile/profile.h"
#include "report.h"

/* Levels deeper than LEVELS_DRAWN are counted, not drawn. Chains with CHAIN or more contexts
 * between their ends are shortened. */
enum { LEVELS_DRAWN = 24, PREFIX_SIZE = 256, CHAIN = 3 };

/* Draws the lines before a row. `open`, by level: more siblings follow. */
static void draw_prefix(char prefix[PREFIX_SIZE], const crn_tree_row *row, const uint8_t *open)
{
    const crn_glyphs *glyphs = crn_terminal_get()->glyphs;
    uint32_t bars = row->only ? row->level : row->level - 1;
    char *end = prefix;
    *end = 0;
    for (uint32_t level = 1; level <= bars && level <= LEVELS_DRAWN; level++)
        end = stpcpy(end, open[level] ? glyphs->bar : glyphs->gap);
    if (bars > LEVELS_DRAWN)
        end += sprintf(end, "(%u more levels) ", bars - LEVELS_DRAWN);
    if (row->context)
        stpcpy(end, row->only ? glyphs->only : row->last ? glyphs->last : glyphs->branch);
}

static void draw_suffix(char suffix[64], uint64_t cycles)
{
    char figure[CRN_FIGURE_SIZE];
    suffix[0] = 0;
    if (cycles)
        snprintf(suffix, 64, " %s %s", crn_terminal_get()->glyphs->cycle,
                 crn_figure_alone(figure, "count", cycles));
}

static uint64_t kept_value(const crn_tree_view *view, uint32_t metric, uint32_t context)
{
    return view->kept && !view->kept[context] ? 0 : crn_self(view->profile, metric, context);
}

static uint64_t *kept_values(const crn_tree_view *view, uint32_t metric)
{
    uint64_t *values = crn_calloc(view->profile->context_count, sizeof *values);
    for (uint32_t c = 0; c < view->profile->context_count; c++)
        values[c] = kept_value(view, metric, c);
    return values;
}

/* Sets the view's profile: the report's with the kept blocks alone, and of a sequence the part
 * below or above it. */
static void choose_profile(crn_tree_view *view, const crn_report *report)
{
    crn_profile *kept =
        report->shown ? crn_profile_keep_blocks(report->profile, report->shown) : NULL;
    view->profile = kept ? kept : report->profile;
    view->owned = kept;
    view->kept = crn_sequence_select(view->profile, NULL, report->drops, report->drop_count);
    view->upside_down = report->focused && report->before && !report->after;
    if (!report->focused)
        return;
    view->owned = view->upside_down ? crn_sequence_above(view->profile, &report->focus,
                                                         report->metrics[0], view->kept)
                                    : crn_sequence_below(view->profile, &report->focus, view->kept);
    view->profile = view->owned;
    crn_profile_free(kept);
    crn_free(view->kept);
    view->kept = NULL;
}

crn_tree_view crn_tree_view_make(const crn_report *report, bool chains)
{
    crn_tree_view view = {0};
    choose_profile(&view, report);
    view.cycles = crn_cycle_calls(view.profile);
    view.calls = view.upside_down ? crn_totals(view.profile, CRN_METRIC_CALLS, NULL)
                                  : kept_values(&view, CRN_METRIC_CALLS);
    bool whole = chains || view.upside_down || report->shown;
    view.tree = crn_tree_make(view.profile, &(crn_tree_options){.metric = report->metrics[0],
                                                                .kept = view.kept,
                                                                .threshold = report->threshold,
                                                                .top = report->top,
                                                                .chain = whole ? 0 : CHAIN,
                                                                .calls = view.calls,
                                                                .cycles = view.cycles});
    return view;
}

void crn_tree_view_free(crn_tree_view *view)
{
    crn_tree_free(&view->tree);
    crn_free(view->kept);
    crn_free(view->cycles);
    crn_free(view->calls);
    crn_profile_free(view->owned);
}

static void print_row(FILE *out, const crn_report *report, const crn_tree_view *view,
                      const crn_table *table, uint32_t context, const char *prefix,
                      const char *suffix)
{
    crn_row row = crn_row_begin(table);
    if (context)
        crn_row_figure(out, &row, view->tree.totals[context]);
    else
        crn_row_whole(out, &row, view->tree.totals[context]);
    if (!view->upside_down)
        crn_row_figure(out, &row, kept_value(view, report->metrics[0], context));
    if (report->calls)
        crn_row_figure(out, &row, view->calls[context]);
    crn_row_block(out, &row, prefix, &view->profile->blocks[view->profile->block[context]], suffix);
}

/* Prints "(9 between)" in place of the chain's contexts above the row. */
static void print_between(FILE *out, const crn_table *table, const char *prefix,
                          const crn_tree_row *row)
{
    char text[64];
    snprintf(text, sizeof text, "(%u between)", row->between);
    crn_row line = crn_row_begin(table);
    crn_row_remark(out, &line, prefix, text);
}

/* Returns the block of the parent's row, which the row's name need not repeat; 0: none. */
static uint32_t below(const crn_tree_view *view, const crn_tree_row *row)
{
    bool has = row->context && !row->between;
    return has ? view->profile->block[view->profile->parent[row->context]] : 0;
}

static void print_rows(FILE *out, const crn_report *report, const crn_tree_view *view,
                       crn_table *table)
{
    uint8_t *open = crn_calloc((size_t)view->tree.levels + 1, sizeof *open);
    char prefix[PREFIX_SIZE], suffix[64];
    for (int pass = 0; pass < 2; pass++) { /* measures, then prints */
        for (uint32_t i = view->upside_down; i < view->tree.count; i++) {
            if (pass == 0 && crn_table_is_measured(table))
                break;
            const crn_tree_row *row = &view->tree.rows[i];
            if (!row->only)
                open[row->level] = !row->last;
            draw_prefix(prefix, row, open);
            draw_suffix(suffix, view->cycles[row->context]);
            table->within = below(view, row);
            if (pass == 1 && row->between)
                print_between(out, table, prefix, row);
            if (pass == 0)
                crn_table_measure(table, prefix,
                                  &view->profile->blocks[view->profile->block[row->context]],
                                  suffix);
            else
                print_row(out, report, view, table, row->context, prefix, suffix);
        }
    }
    crn_free(open);
}

static void print_hidden(FILE *out, const crn_report *report, const crn_tree_view *view)
{
    const crn_tree *tree = &view->tree;
    uint64_t total = tree->totals[0];
    char hidden[CRN_FIGURE_SIZE];
    fprintf(out, "%s more context%s", crn_figure_alone(hidden, "", tree->hidden),
            tree->hidden == 1 ? "" : "s");
    if (report->threshold > 0 && !tree->cut)
        fprintf(out, " below %g %%", 100 * report->threshold);
    if (!view->upside_down)
        crn_terminal_format(out, ", with %.1f %% of self %s in all",
                            crn_percent(total > tree->shown ? total - tree->shown : 0, total),
                            report->profile->metrics[report->metrics[0]].name);
    fprintf(out, ": %s%s shows all\n",
            report->threshold > 0 || !tree->cut ? "--threshold 0" : "--top 0",
            report->threshold > 0 && report->top ? " --top 0" : "");
}

static void print_rest(FILE *out, const crn_report *report, const crn_tree_view *view)
{
    if (!view->tree.between && !view->tree.hidden)
        return;
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (view->tree.between)
        fputs("between: contexts without a cost of their own, with one callee in the table; "
              "--chains shows them\n",
              out);
    if (view->tree.hidden)
        print_hidden(out, report, view);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

static uint64_t most_calls(const crn_tree_view *view)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < view->tree.count; i++) {
        uint64_t calls = view->calls[view->tree.rows[i].context];
        if (largest < calls)
            largest = calls;
    }
    return largest;
}

/* Returns true if a shown figure has few samples: a total if `totals`, else a self cost. */
static bool any_uncertain(const crn_report *report, const crn_tree_view *view, bool totals)
{
    for (uint32_t i = totals; i < view->tree.count; i++) {
        uint32_t context = view->tree.rows[i].context;
        uint64_t value =
            totals ? view->tree.totals[context] : kept_value(view, report->metrics[0], context);
        if (crn_report_is_uncertain(report, 0, value))
            return true;
    }
    return false;
}

void crn_report_tree(FILE *out, const crn_report *report)
{
    crn_tree_view view = crn_tree_view_make(report, report->chains);
    crn_table table = {.profile = view.profile};
    crn_report_column(&table, report, "total", 0, view.tree.totals[0],
                      any_uncertain(report, &view, true));
    if (!view.upside_down)
        crn_report_column(&table, report, "self", 0, view.tree.totals[0],
                          any_uncertain(report, &view, false));
    table.rank = 2;
    if (report->calls)
        crn_table_figure(&table, "calls", "", most_calls(&view), false);
    crn_table_head(out, &table, view.upside_down ? "called from" : "context");
    print_rows(out, report, &view, &table);
    crn_table_foot(out, &table);
    print_rest(out, report, &view);
    crn_tree_view_free(&view);
}
