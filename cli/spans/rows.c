/* SPDX-License-Identifier: MIT
 *
 * Prints rows of spans: by block, or by group.
 */
#include <stdio.h>
#include <string.h>

#include "cli/common/table.h"
#include "cli/common/terminal.h"
#include "spans.h"

enum { WAITING_SIZE = 8, NAME_LEAST = 16 };

static void make_table(crn_table *table, const crn_spans_report *report,
                       const crn_span_table *spans, uint32_t shown)
{
    uint64_t most[10] = {0};
    for (uint32_t i = 0; i < shown; i++) {
        const crn_span_row *row = &spans->rows[i];
        const uint64_t figures[10] = {
            row->count, row->open, row->total, row->self, row->median,
            row->p99,   row->max,  row->min,   row->cpu,  (uint64_t)row->weight};
        for (int f = 0; f < 10; f++)
            most[f] = most[f] < figures[f] ? figures[f] : most[f];
    }
    table->rank = 1;
    crn_table_figure(table, "total", CRN_UNIT_TIME, most[2], false);
    table->rank = 3;
    crn_table_figure(table, "self", CRN_UNIT_TIME, spans->self, true);
    table->rank = 0;
    crn_table_figure(table, "count", "", most[0], false);
    if (report->source.trace->weight_count)
        crn_table_figure(table, "stand for", "", most[9], false);
    table->rank = 5;
    if (report->source.open)
        crn_table_figure(table, "open", "", most[1], false);
    table->rank = 0;
    if (report->source.trace->cpu) {
        crn_table_figure(table, "cpu", CRN_UNIT_TIME, most[8], false);
        crn_table_text(table, "waiting", WAITING_SIZE - 1);
    }
    crn_table_figure(table, "median", CRN_UNIT_TIME, most[4], false);
    crn_table_figure(table, "p99", CRN_UNIT_TIME, most[5], false);
    table->rank = 2;
    crn_table_figure(table, "max", CRN_UNIT_TIME, most[6], false);
    table->rank = 4;
    crn_table_figure(table, "min", CRN_UNIT_TIME, most[7], false);
}

/* Formats the share of the spans' time off the processor. */
static const char *waiting(char text[WAITING_SIZE], const crn_span_row *row)
{
    double share = row->cpu_wall > row->cpu ? 1 - (double)row->cpu / (double)row->cpu_wall : 0;
    if (row->cpu_wall)
        snprintf(text, WAITING_SIZE, "%5.1f %%", 100 * share);
    else
        snprintf(text, WAITING_SIZE, "      -");
    return text;
}

enum { HISTOGRAM_SIZE = CRN_SPAN_BINS * 4 + 8 };

/* Returns true if the terminal is wide enough for histograms. */
static bool is_drawn(void)
{
    enum { LEAST = 76 };
    size_t width = crn_terminal_get()->width;
    return !width || width >= LEAST;
}

/* Draws a histogram, a character for each bin; a bin with spans is never blank. */
static void draw(char text[HISTOGRAM_SIZE], const crn_span_row *row)
{
    const char *const *levels = crn_terminal_get()->glyphs->levels;
    uint32_t most = 1;
    for (int i = 0; i < CRN_SPAN_BINS; i++)
        most = most < row->bins[i] ? row->bins[i] : most;
    text[0] = 0;
    for (int i = 0; i < CRN_SPAN_BINS && is_drawn(); i++) {
        uint64_t level = ((uint64_t)row->bins[i] * 8 + most - 1) / most;
        strcat(text, levels[level]);
    }
    if (is_drawn())
        strcat(text, "    "); /* as wide as its title */
}

static void print_scale(FILE *out, const crn_span_table *spans)
{
    char low[CRN_FIGURE_SIZE], high[CRN_FIGURE_SIZE], line[256];
    snprintf(line, sizeof line, "durations: from %s to %s, columns grow by a constant factor",
             crn_figure_alone(low, CRN_UNIT_TIME, spans->edges[0]),
             crn_figure_alone(high, CRN_UNIT_TIME, spans->edges[CRN_SPAN_BINS]));
    if (is_drawn())
        crn_terminal_wrapped(out, line);
}

void crn_spans_rows(FILE *out, const crn_spans_report *report, const crn_span_table *spans,
                    uint32_t shown, const char *title, crn_spans_row_name *name,
                    const void *context)
{
    crn_table table = {0};
    char histogram[HISTOGRAM_SIZE], head[256], safe[200];
    make_table(&table, report, spans, shown);
    for (uint32_t i = 0; i < shown; i++) {
        draw(histogram, &spans->rows[i]);
        crn_table_measure(&table, histogram, name(report, context, &spans->rows[i], i), "");
    }
    table.name_least = is_drawn() ? 18 + 2 + NAME_LEAST : NAME_LEAST;
    crn_terminal_fit(safe, sizeof safe, title, 60, false);
    snprintf(head, sizeof head, "%s%s", is_drawn() ? "durations           " : "", safe);
    crn_table_head(out, &table, head);
    for (uint32_t i = 0; i < shown; i++) {
        const crn_span_row *span = &spans->rows[i];
        crn_row row = crn_row_begin(&table);
        crn_row_figure(out, &row, span->total);
        crn_row_figure(out, &row, span->self);
        crn_row_figure(out, &row, span->count);
        if (report->source.trace->weight_count)
            crn_row_figure(out, &row, (uint64_t)(span->weight + 0.5));
        if (report->source.open)
            crn_row_figure(out, &row, span->open);
        if (report->source.trace->cpu) {
            char text[WAITING_SIZE];
            crn_row_figure(out, &row, span->cpu);
            crn_row_text(out, &row, CRN_STYLE_PLAIN, waiting(text, span));
        }
        crn_row_figure(out, &row, span->median);
        crn_row_figure(out, &row, span->p99);
        crn_row_figure(out, &row, span->max);
        crn_row_figure(out, &row, span->min);
        draw(histogram, span);
        crn_row_block(out, &row, histogram, name(report, context, span, i), "");
    }
    crn_table_foot(out, &table);
    crn_terminal_style(out, CRN_STYLE_DIM);
    print_scale(out, spans);
    if (report->source.trace->cpu)
        fputs("waiting: share of the time in which the thread had no processor\n", out);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}
