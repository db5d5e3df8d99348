/* SPDX-License-Identifier: MIT
 *
 * The tables of `cairn latency`.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/table.h"
#include "cli/common/terminal.h"
#include "cli/common/texts.h"
#include "latency.h"

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void print_answer(FILE *out, const crn_latency_report *report)
{
    const crn_latencies *latencies = &report->latencies;
    char figures[6][CRN_FIGURE_SIZE], count[CRN_FIGURE_SIZE], percent[CRN_FIGURE_SIZE];
    const uint64_t times[6] = {report->ranks[0], report->ranks[1], report->ranks[2],
                               report->most,     report->ages[0],  report->oldest};
    for (int i = 0; i < 6; i++)
        crn_figure_alone(figures[i], CRN_UNIT_TIME, times[i]);
    crn_words words = {.used = 0};
    words.text[0] = 0;
    crn_words_add(&words, "%.100s to %.100s: %s result%s, median %s, p90 %s, p99 %s, longest %s",
                  report->from, report->to, crn_figure_alone(count, "", latencies->count),
                  plural(latencies->count), figures[0], figures[1], figures[2], figures[3]);
    crn_terminal_style(out, CRN_STYLE_TITLE);
    crn_terminal_wrapped(out, words.text);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
    fprintf(out, "age when the result began: median %s, longest %s; ", figures[4], figures[5]);
    fprintf(out, "jitter: %s from result to result\n",
            crn_texts_time(figures[0], crn_latency_jitter(latencies)));
    if (report->deadline) {
        crn_terminal_style(out, report->missed ? CRN_STYLE_HOT : CRN_STYLE_PLAIN);
        fprintf(out, "deadline %s: %s missed it, %s\n",
                crn_figure_alone(figures[0], CRN_UNIT_TIME, report->deadline),
                crn_figure_alone(count, "", report->missed),
                crn_texts_percent(
                    percent, latencies->count ? (double)report->missed / latencies->count : 0));
        crn_terminal_style(out, CRN_STYLE_PLAIN);
    }
}

/* ---- histogram ---- */

enum { BINS = 20 };

/* Returns the histogram's column for a latency: bounds grow by a constant factor from the shortest
 * to the longest. */
static uint32_t bin_of(const crn_latency_report *report, uint64_t length)
{
    double low = log((double)report->least + 1), high = log((double)report->most + 1);
    double part = high > low ? (log((double)length + 1) - low) / (high - low) : 0;
    uint32_t bin = part > 0 ? (uint32_t)(part * BINS) : 0;
    return bin < BINS ? bin : BINS - 1;
}

static void print_histogram(FILE *out, const crn_latency_report *report)
{
    uint32_t bins[BINS] = {0}, most = 1;
    char low[CRN_FIGURE_SIZE], high[CRN_FIGURE_SIZE];
    for (uint32_t i = 0; i < report->latencies.count; i++)
        bins[bin_of(report, report->latencies.rows[i].length)]++;
    for (int b = 0; b < BINS; b++)
        most = bins[b] > most ? bins[b] : most;
    fprintf(out, "%s ", crn_figure_alone(low, CRN_UNIT_TIME, report->least));
    for (int b = 0; b < BINS; b++)
        fputs(crn_terminal_get()->glyphs->levels[(int)ceil(bins[b] * 8.0 / most)], out);
    fprintf(out, " %s, columns grow by a constant factor\n",
            crn_figure_alone(high, CRN_UNIT_TIME, report->most));
}

/* ---- stages ---- */

static void print_parts(FILE *out, const crn_latency_report *report)
{
    crn_table table = {0};
    uint32_t shown = report->part_count < report->top ? report->part_count : report->top, most = 0;
    for (uint32_t i = 0; i < shown; i++) {
        most = report->parts[i].count > most ? report->parts[i].count : most;
        crn_table_measure(&table, "", &report->source->profile->blocks[report->parts[i].block], "");
    }
    crn_table_figure(&table, "total", CRN_UNIT_TIME, report->sum, true);
    crn_table_figure(&table, "mean", CRN_UNIT_TIME, report->most, false);
    crn_table_figure(&table, "count", "", most, false);
    putc('\n', out);
    crn_table_head(out, &table, "stage: from its begin to that of the next");
    for (uint32_t i = 0; i < shown; i++) {
        const crn_latency_part *part = &report->parts[i];
        crn_row row = crn_row_begin(&table);
        crn_row_figure(out, &row, part->length);
        crn_row_figure(out, &row, part->length / part->count);
        crn_row_figure(out, &row, part->count);
        crn_row_block(out, &row, "", &report->source->profile->blocks[part->block], "");
    }
    crn_table_foot(out, &table);
    if (shown < report->part_count)
        fprintf(out, "%u more: --top 0 shows all\n", report->part_count - shown);
}

/* ---- the slowest ---- */

static void add_stages(crn_words *line, const crn_latency_report *report,
                       const crn_latency_row *row)
{
    uint32_t count;
    crn_latency_stage *stages =
        crn_latency_stages(report->source->trace, &report->latencies, row, &count);
    for (uint32_t i = 0; i < count; i++) {
        const crn_span *span = &report->source->trace->spans[stages[i].span];
        char time[CRN_FIGURE_SIZE];
        if (i)
            crn_words_add(line, " %s%s ", crn_terminal_get()->glyphs->arrow,
                          span->handed_off && span->parent == stages[i - 1].span ? "*" : "");
        crn_words_span(line, report->source, stages[i].span);
        crn_words_add(line, " %s", crn_figure_alone(time, CRN_UNIT_TIME, stages[i].length));
    }
    crn_free(stages);
}

static void print_slowest(FILE *out, const crn_latency_report *report)
{
    const crn_latencies *latencies = &report->latencies;
    const crn_span *spans = report->source->trace->spans;
    uint32_t shown = latencies->count < report->top ? latencies->count : report->top;
    crn_table table = {0};
    uint64_t start = 0;
    for (uint32_t i = 0; i < shown; i++) {
        uint64_t began = spans[latencies->rows[report->slowest[i]].from].start;
        start = began > start ? began : start;
    }
    crn_table_figure(&table, "latency", CRN_UNIT_TIME, report->most, false);
    table.rank = 1;
    crn_table_figure(&table, "age", CRN_UNIT_TIME, report->oldest, false);
    table.rank = 2;
    crn_table_figure(&table, "began", CRN_UNIT_TIME, start, false);
    putc('\n', out);
    crn_table_head(out, &table, "the slowest, with the time of each stage");
    for (uint32_t i = 0; i < shown; i++) {
        const crn_latency_row *its = &latencies->rows[report->slowest[i]];
        crn_row row = crn_row_begin(&table);
        crn_row_figure(out, &row, its->length);
        crn_row_figure(out, &row, its->age);
        crn_row_figure(out, &row, spans[its->from].start);
        crn_words line = {.used = 0};
        line.text[0] = 0;
        add_stages(&line, report, its);
        crn_row_block(out, &row, "", &(crn_block_info){.name = line.text, .file = ""}, "");
    }
    crn_table_foot(out, &table);
    if (shown < latencies->count)
        fprintf(out, "%u more: --top 0 shows all\n", latencies->count - shown);
}

void crn_latency_text(FILE *out, const crn_latency_report *report)
{
    const crn_latencies *latencies = &report->latencies;
    if (latencies->count) {
        print_answer(out, report);
        print_histogram(out, report);
        print_parts(out, report);
        print_slowest(out, report);
    }
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (latencies->unlinked)
        crn_terminal_format(out, "%u result%s of %.100s left out: no %.100s leads to %s\n",
                            latencies->unlinked, plural(latencies->unlinked), report->to,
                            report->from, latencies->unlinked == 1 ? "it" : "them");
    if (latencies->open)
        fprintf(out, "%u result%s had not ended\n", latencies->open, plural(latencies->open));
    crn_terminal_style(out, CRN_STYLE_PLAIN);
    crn_span_source_warn(out, report->source);
}
