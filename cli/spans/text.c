/* SPDX-License-Identifier: MIT
 *
 * The tables of `cairn spans`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/table.h"
#include "cli/common/terminal.h"
#include "spans.h"

/* ---- by block ---- */

static const crn_block_info *block_of(const crn_spans_report *report, const void *context,
                                      const crn_span_row *row, uint32_t at)
{
    (void)context, (void)at;
    return &report->source.profile->blocks[row->block];
}

static void print_blocks(FILE *out, const crn_spans_report *report)
{
    crn_span_table spans = crn_span_table_make(report->source.spans, report->kept, report->sort);
    uint32_t shown = spans.count < report->top ? spans.count : report->top;
    crn_spans_rows(out, report, &spans, shown, "span name", block_of, NULL);
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (shown < spans.count)
        fprintf(out, "%" PRIu32 " more span name%s: --top 0 shows all\n", spans.count - shown,
                spans.count - shown == 1 ? "" : "s");
    crn_terminal_style(out, CRN_STYLE_PLAIN);
    crn_span_table_free(&spans);
}

/* ---- the slowest ---- */

enum { ID_SIZE = 11 };

static void print_slowest(FILE *out, const crn_spans_report *report)
{
    crn_span_parts slowest = crn_spans_slowest(report->source.spans, report->kept, report->slowest);
    crn_table table = {0};
    bool handed_off = false;
    uint64_t self = 0, start = 0;
    size_t width = 0;
    for (uint32_t i = 0; i < slowest.count; i++) {
        const crn_span_part *part = &slowest.parts[i];
        size_t digits = (size_t)snprintf(NULL, 0, "%" PRIu32, part->span);
        width = width < digits ? digits : width;
        uint64_t own = crn_span_self(report->source.spans, part->span);
        self = self < own ? own : self;
        start = start < part->start ? part->start : start;
        handed_off |= crn_words_has_handoff(&report->source, part->span);
    }
    crn_table_figure(&table, "total", CRN_UNIT_TIME, slowest.count ? slowest.parts[0].length : 0,
                     false);
    table.rank = 2;
    crn_table_figure(&table, "self", CRN_UNIT_TIME, self, false);
    table.rank = 1;
    crn_table_figure(&table, "began", CRN_UNIT_TIME, start, false);
    table.rank = 3;
    crn_table_text(&table, "id", width);
    crn_table_head(out, &table, "span");
    for (uint32_t i = 0; i < slowest.count; i++) {
        const crn_span_part *part = &slowest.parts[i];
        crn_row row = crn_row_begin(&table);
        crn_row_figure(out, &row, part->length);
        crn_row_figure(out, &row, crn_span_self(report->source.spans, part->span));
        crn_row_figure(out, &row, part->start);
        char id[ID_SIZE];
        snprintf(id, sizeof id, "%" PRIu32, part->span);
        crn_row_text(out, &row, CRN_STYLE_DIM, id);
        crn_words line = {.used = 0};
        line.text[0] = 0;
        crn_words_path(&line, &report->source, part->span);
        crn_words_attributes(&line, &report->source, part->span);
        if (report->source.trace->spans[part->span].open)
            crn_words_add(&line, "  (has not ended)");
        crn_row_block(out, &row, "", &(crn_block_info){.name = line.text, .file = ""}, "");
    }
    crn_table_foot(out, &table);
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (handed_off)
        fprintf(out, "%s*: hand-off, the job runs on another lane\n",
                crn_terminal_get()->glyphs->arrow);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
    crn_span_parts_free(&slowest);
}

/* ---- missing time ---- */

static void print_missing_blocks(FILE *out, const crn_spans_report *report)
{
    const crn_missing *missing = &report->missing;
    uint32_t shown = missing->count < report->top ? missing->count : report->top;
    crn_table table = {0};
    uint64_t count = 0, total = 0;
    for (uint32_t i = 0; i < shown; i++) {
        const crn_missing_row *row = &missing->rows[i];
        count = count < row->count ? row->count : count;
        total = total < row->total ? row->total : total;
        crn_table_measure(&table, "", &report->source.profile->blocks[row->block], "");
    }
    crn_table_figure(&table, "missing", CRN_UNIT_TIME, missing->total, true);
    crn_table_figure(&table, "total", CRN_UNIT_TIME, total, false);
    crn_table_figure(&table, "count", "", count, false);
    crn_table_head(out, &table, "span name");
    for (uint32_t i = 0; i < shown; i++) {
        const crn_missing_row *row_of = &missing->rows[i];
        crn_row row = crn_row_begin(&table);
        crn_row_figure(out, &row, row_of->missing);
        crn_row_figure(out, &row, row_of->total);
        crn_row_figure(out, &row, row_of->count);
        crn_row_block(out, &row, "", &report->source.profile->blocks[row_of->block], "");
    }
    if (shown < missing->count)
        fprintf(out, "%" PRIu32 " more span name%s: --top 0 shows all\n", missing->count - shown,
                missing->count - shown == 1 ? "" : "s");
}

/* Appends "main #3: after load #1, to its end". */
static void append_gap(crn_words *line, const crn_spans_report *report, const crn_span_part *gap)
{
    crn_words_path(line, &report->source, gap->span);
    if (gap->before == CRN_SPAN_NONE && gap->after == CRN_SPAN_NONE) {
        crn_words_add(line, ": all of it");
        return;
    }
    crn_words_add(line, gap->before == CRN_SPAN_NONE ? ": from its begin" : ": after ");
    if (gap->before != CRN_SPAN_NONE)
        crn_words_span(line, &report->source, gap->before);
    crn_words_add(line, gap->after == CRN_SPAN_NONE ? ", to its end" : ", before ");
    if (gap->after != CRN_SPAN_NONE)
        crn_words_span(line, &report->source, gap->after);
}

static void print_gaps(FILE *out, const crn_spans_report *report)
{
    const crn_span_parts *gaps = &report->missing.gaps;
    crn_table table = {0};
    uint64_t start = 0;
    if (!gaps->count)
        return;
    for (uint32_t i = 0; i < gaps->count; i++)
        start = start < gaps->parts[i].start ? gaps->parts[i].start : start;
    putc('\n', out);
    crn_table_figure(&table, "missing", CRN_UNIT_TIME, gaps->parts[0].length, false);
    table.rank = 1;
    crn_table_figure(&table, "began", CRN_UNIT_TIME, start, false);
    crn_table_head(out, &table, "the largest gaps");
    for (uint32_t i = 0; i < gaps->count; i++) {
        crn_row row = crn_row_begin(&table);
        crn_row_figure(out, &row, gaps->parts[i].length);
        crn_row_figure(out, &row, gaps->parts[i].start);
        crn_words line = {.used = 0};
        line.text[0] = 0;
        append_gap(&line, report, &gaps->parts[i]);
        crn_row_block(out, &row, "", &(crn_block_info){.name = line.text, .file = ""}, "");
    }
    crn_table_foot(out, &table);
}

static void print_missing(FILE *out, const crn_spans_report *report)
{
    const crn_missing *missing = &report->missing;
    char part[CRN_FIGURE_SIZE], whole[CRN_FIGURE_SIZE];
    fprintf(out, "missing %s of %s, %.2f %%\n\n",
            crn_figure_alone(part, CRN_UNIT_TIME, missing->missing),
            crn_figure_alone(whole, CRN_UNIT_TIME, missing->total),
            100 * crn_missing_share(missing->missing, missing->total));
    print_missing_blocks(out, report);
    print_gaps(out, report);
    if (missing->gap_count > missing->gaps.count) {
        crn_terminal_style(out, CRN_STYLE_DIM);
        fprintf(out, "%s smaller: --top 0 shows all\n",
                crn_figure_alone(part, "", missing->gap_count - missing->gaps.count));
        crn_terminal_style(out, CRN_STYLE_PLAIN);
    }
}

void crn_spans_text(FILE *out, const crn_spans_report *report)
{
    static void (*const print[])(FILE *, const crn_spans_report *) = {
        [CRN_SPANS_VIEW_BLOCKS] = print_blocks,
        [CRN_SPANS_VIEW_GROUPS] = crn_spans_groups_text,
        [CRN_SPANS_VIEW_SLOWEST] = print_slowest,
        [CRN_SPANS_VIEW_MISSING] = print_missing,
    };
    print[report->view](out, report);
    crn_span_source_warn(out, &report->source);
}
